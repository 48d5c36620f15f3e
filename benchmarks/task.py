"""The protocol's own CPU time for one whole task (P6): five steps, two checkpoints, a shell agent.

``musician work`` plays the task in a process of its own and this one plays the conductor, approving what comes.
Counted apart: starting the command, what it then does itself, the git commands it runs, and what runs on its leash.
Agent and tests are kept too small to count: a step appends one line to a file, so that there is something to commit,
and the test is ``true``.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.figures import Figure
from benchmarks.orchestra import SETTINGS, scratch
from musician import service
from musician.protocol.states import State
from musician.runtime.locking import lock_plan_file
from musician.store.sqlite.store import SqliteStore
from musician.trees.root import find_root

__all__ = ["TINY", "Size", "git", "measure", "prepare", "surroundings"]

GOAL_S = 0.1
_LOOK_S = 0.2
_LIMIT_LOOKS = 600
_REPOSITORY = Path(__file__).parent.parent

_PLAN_HEAD = """\
---
plan: benchmark
test: "true"
agent: shell
---
# A benchmark's plan

## Overview
One task that costs as little as a task can.

## Phase 1: All of it

### task-01: Write five lines
"""
_STEP = """
#### Step {number}: Write line {number}
```bash run
echo {number} >> lines.txt
```
"""
_CHECKPOINT = """
#### Checkpoint {number}: the lines are there
- test: `true`
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    rounds: int = 3
    steps: int = 5


TINY = Size(rounds=1, steps=1)


def measure(size: Size) -> tuple[Figure, ...]:
    """Where the CPU time of a task goes."""
    with scratch() as folder:
        _play(folder / "warming", TINY, surroundings(folder))
        played = [_play(folder / str(number), size, surroundings(folder)) for number in range(size.rounds)]
    used = {name: median(each[name] for each in played) for name in played[0]}
    own = used["start_s"] + used["self_s"] + used["git_s"] + used["leash_s"]
    parts = {
        "starting the command": used["start_s"],
        "the session itself": used["self_s"],
        f"its {used['git_calls']:.0f} git commands": used["git_s"],
        "its leashes, and what runs on them": used["leash_s"],
    }
    return (
        Figure(
            what="task: CPU of the protocol",
            median=own * 1e3,
            unit="ms",
            ratio=own / GOAL_S,
            against=f"{GOAL_S * 1e3:g} ms",
            goal="P6",
            at_most=1.0,
        ),
        *(
            Figure(
                what=f"task: {name}",
                median=spent * 1e3,
                unit="ms",
                ratio=spent / own,
                against="the protocol's",
            )
            for name, spent in parts.items()
        ),
    )


def prepare(folder: Path, steps: int, plan: str | None = None) -> Path:
    """A repository with a locked plan, of one task if none is given; its database."""
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    (folder / "PLAN.md").write_text(plan or _plan(steps), encoding="utf-8")
    git(folder, "add", "PLAN.md")
    git(folder, "commit", "--quiet", "--message", "A plan")
    init = [sys.executable, "-m", "musician", "init", "--json"]
    subprocess.run(init, cwd=folder, env=surroundings(folder.parent), check=True, stdout=subprocess.DEVNULL)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "Musician's folders")
    root = find_root(folder)
    store = SqliteStore.open(root.database)
    lock_plan_file(root, store, folder / "PLAN.md", SETTINGS)
    store.close()
    return root.database


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=Benchmark", "-c", "user.email=benchmark@localhost")
    subprocess.run(["git", *who, *arguments], cwd=folder, env=surroundings(folder.parent), check=True)


def surroundings(byte_code: Path) -> dict[str, str]:
    """Nothing of the caller's git, session or Python; this package can be imported; byte code is kept there."""
    foreign = ("GIT_", "MUSICIAN_", "PYTHON")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    own = {"PYTHONPATH": str(_REPOSITORY), "PYTHONPYCACHEPREFIX": str(byte_code / "byte-code")}
    return {**kept, **own, "GIT_CONFIG_GLOBAL": os.devnull}


def _plan(steps: int) -> str:
    half = (steps + 1) // 2
    first = "".join(_STEP.format(number=number) for number in range(1, half + 1))
    second = "".join(_STEP.format(number=number) for number in range(half + 1, steps + 1))
    return (
        _PLAN_HEAD + first + _CHECKPOINT.format(number=1) + (second and second + _CHECKPOINT.format(number=2))
    )


def _play(folder: Path, size: Size, environment: dict[str, str]) -> dict[str, float]:
    database = prepare(folder, size.steps)
    found = folder.with_suffix(".json")
    command = [sys.executable, "-m", "benchmarks.played", str(found), "task-01"]
    store = SqliteStore.open(database)
    with (
        store.listen() as ear,
        subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL) as musician,
    ):
        try:
            for _ in range(_LIMIT_LOOKS):
                if musician.poll() is not None:
                    break
                _approve(store)
                ear.wait(_LOOK_S)
        finally:
            musician.kill()
    store.close()
    if musician.returncode != 0:
        raise RuntimeError(f"the task was not played to its end: exit code {musician.returncode}")
    used: dict[str, float] = json.loads(found.read_text(encoding="utf-8"))
    return used


def _approve(store: SqliteStore) -> None:
    if service.task_row(store, "task-01").state is State.NEEDS_REVIEW:
        service.judge(store, "task-01", State.REVIEW_APPROVED, "REVIEW APPROVED: go on")
