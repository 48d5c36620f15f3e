"""The real conductor and real musicians in virtual time: whatever befalls them, the plan becomes whole, once."""

import random
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from musician import service
from musician.plans.model import Plan
from musician.plans.plan import load_plan
from musician.protocol.settings import Settings
from musician.protocol.states import State
from musician.runtime.locking import lock_plan_file
from musician.store.sqlite.store import SqliteStore
from musician.testing.simulation.orchestra import Simulation, Troubles
from musician.testing.simulation.trees import Tree
from musician.trees.root import find_root
from tests.nightly import at_night

TASK = """
### task-0{number}: Part {number}

#### Step 1: First
```bash run
true
```
#### Step 2: Second
```bash run
true
```
#### Checkpoint 1: half of it
- test: `true`

#### Step 3: Third
```bash run
true
```
```bash rework
true
```
#### Checkpoint 2: all of it
- test: `true`
"""

PLAN = "---\nplan: band\n---\n# Band\n\n## Overview\nTwo tasks.\n\n## Phase 1: First\n" + "".join(
    TASK.format(number=number) for number in (1, 2)
)
ITEMS = ["step 1", "step 2", "step 3"]

QUICK, DEEP = 10, 1000
CHUNK = 50


@pytest.fixture(scope="module")
def template() -> Iterator[Path]:
    """A project in which the plan was locked, by the program itself; in memory, where the system has such a place."""
    memory = Path("/dev/shm")  # a place, not a file's name
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        project = Path(name) / "project"
        project.mkdir()
        (project / "PLAN.md").write_text(PLAN)
        someone = ["-c", "user.name=Someone", "-c", "user.email=someone@example.com"]
        for arguments in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "A plan"]):
            subprocess.run(["git", *someone, *arguments], cwd=project, check=True)
        root = find_root(project)
        root.musician_dir.mkdir()
        store = SqliteStore.create(root.database)
        lock_plan_file(root, store, project / "PLAN.md", Settings())
        store.close()
        yield project


@pytest.fixture
def plan(template: Path) -> Plan:
    return load_plan(template / "PLAN.md", root=template)


def troubles(seed: int) -> Troubles:
    dice = random.Random(-seed)
    return Troubles(
        deaths=dice.choice([0, 1, 3]),
        failures=dice.choice([0, 1, 2]),
        reds=dice.choice([0, 1, 2]),
        conflicts=dice.choice([0, 1]),
        questions=dice.choice([0, 1]),
        orders=dice.choice([0, 0, 5, 20]),
        workers=dice.choice([0, 0, 1, 2]),
        pauses=dice.choice([0, 0, 1, 3]),
    )


def played(seed: int, template: Path, plan: Plan) -> Simulation:
    with tempfile.TemporaryDirectory(dir=template.parent) as name:
        simulation = Simulation(seed, template, Path(name) / "project", plan, troubles(seed)).play()
        check(simulation)
    return simulation


def check(simulation: Simulation) -> None:
    repository = simulation.repository
    assert simulation.is_complete, "nobody could bring the plan to its end"
    assert repository.forwarded
    store = SqliteStore.open(simulation.root.database)
    views = service.everything(store, simulation.plan.plan_id)
    store.close()
    assert all(view.question is None for view in views)
    for view in views:
        branch = repository.branches[view.row.task_id]
        steps = [item.item for item in branch.finished if item.item.startswith("step")]
        assert steps == ITEMS, "each step is done once, in its order"
        assert repository.merged[view.row.task_id] == branch.tip, "all that was done is merged"
        assert not branch.is_dirty, "nothing lies about"
        assert view.row.state is State.COMPLETE
        assert [change.to_state for change in view.history].count(State.COMPLETE) == 1
        epochs = [session.claim_epoch for session in view.sessions]
        assert epochs == sorted(set(epochs)), "each claim has an epoch of its own"


@pytest.mark.parametrize("seed", range(QUICK))
def test_a_plan_becomes_whole(seed: int, template: Path, plan: Plan) -> None:
    """PROOF-6: processes that die between any two acts, failures, red tests, conflicts, questions, pauses."""
    played(seed, template, plan)


@pytest.mark.deep
@pytest.mark.parametrize("first", at_night(range(QUICK, DEEP, CHUNK), but=[str(QUICK)]))
def test_a_plan_becomes_whole_a_thousand_times(first: int, template: Path, plan: Plan) -> None:
    """PROOF-6: the same, with many more dice: the first fifty in CI, all at night."""
    for seed in range(first, min(first + CHUNK, DEEP)):
        played(seed, template, plan)


def test_a_seed_plays_the_same_again(template: Path, plan: Plan) -> None:
    """PROOF-6: one seed decides everything."""
    first, again = (played(7, template, plan) for _ in range(2))
    assert first.said == again.said
    assert first.said, "and it is something"


def test_a_commit_that_is_lost_is_found(template: Path, plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    """PROOF-6: a simulation that could not fail would show nothing."""

    def forgets(self: Tree, item: str, title: str) -> str:  # the port's shape
        return "lost"

    monkeypatch.setattr(Tree, "keep", forgets)
    with pytest.raises((AssertionError, ExceptionGroup)):
        played(1, template, plan)
