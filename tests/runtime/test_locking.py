"""Locking, amending and adding: what is stored, and that a kill in between loses nothing (DESIGN 7, D4)."""

import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import anyio
import pytest

from musician import service
from musician.plans.instructions import read_instructions
from musician.plans.plan import load_plan
from musician.processes.life_lock import HeldBy, lock_path
from musician.processes.machine import MACHINE
from musician.protocol.errors import (
    ConductorRunning,
    InvalidPlan,
    NothingAgain,
    PlanChanged,
    StillPlayed,
    TreeNotReady,
    UnknownPlan,
)
from musician.protocol.messages.kinds import MessageType
from musician.protocol.settings import from_mapping
from musician.protocol.states import State
from musician.runtime.adding import add_task_file, add_to_plan
from musician.runtime.conductor.conduct import conduct
from musician.runtime.conductor.conductor_lock import conducting_run, hold_conductor_lock
from musician.runtime.conductor.plan_run import RunOptions
from musician.runtime.locking import amend_plan_file, changing_plans, check_ids, lock_plan_file
from musician.runtime.world import WORLD
from musician.service.documents import latest_document
from musician.store.opening import create_store
from musician.store.port import Store
from musician.store.queries.work import Work
from musician.trees.merge import ensure_integration
from musician.trees.root import Root, exclude_private, find_root
from musician.trees.steps import commit_step
from musician.trees.worktree import ensure_worktree
from tests.conftest import every_task
from tests.said import evidence, submission

SETTINGS = from_mapping({"limits": {"error_retries": 7}})
TASK = "### {id}: {title}\n#### Step 1: Do\n```bash run\n{script}\n```\n"
FILED = "### task-09: Filed\n```yaml task\ninstructions: docs/filed.md\n```\n"
BODY = "# Filed\n## Step 1: Do\n```bash run\n{script}\n```\n"


def plan_text(*tasks: str, overview: str = "Why.") -> str:
    return f"---\nplan: p\ntest: 'true'\n---\n# P\n## Overview\n{overview}\n## Phase 1: One\n" + "".join(
        tasks
    )


def task(number: int, script: str = "true") -> str:
    return TASK.format(id=f"task-{number:02d}", title=f"Task {number}", script=script)


class Place:
    """A repository with its store, and a plan in it."""

    def __init__(self, root: Root, store: Store) -> None:
        self.root, self.store = root, store

    def git(self, *arguments: str) -> None:
        argv = ["git", "-c", "user.name=A", "-c", "user.email=a@b", *arguments]
        subprocess.run(argv, cwd=self.root.path, check=True, capture_output=True)

    def write(self, text: str, name: str = "PLAN.md") -> Path:
        path = self.root.path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def lock(self, text: str) -> None:
        path = self.write(text)
        self.git("add", "-A")
        self.git("commit", "-qm", "plan", "--allow-empty")
        lock_plan_file(self.root, self.store, path, SETTINGS)

    def paths(self) -> dict[str, str | None]:
        return {row.task_id: row.instruction_path for row in every_task(self.store)}

    def instructions_said(self, task_id: str) -> list[tuple[str, str]]:
        return [(each.message_type, each.message) for each in service.messages_of(self.store, task_id)]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    subprocess.run(["git", "init", "-q", "-b", "trunk", str(tmp_path)], check=True)
    root = find_root(tmp_path)
    root.musician_dir.mkdir()
    exclude_private(root)
    store = create_store(root.database)
    yield Place(root, store)
    store.close()


def test_every_task_gets_whole_instructions_as_a_file_and_a_document(place: Place) -> None:
    place.lock(plan_text(task(1, script="echo ☂")))
    path = place.paths()["task-01"]
    assert path is not None
    text = (place.root.path / path).read_text(encoding="utf-8")
    assert "## Plan overview\n\nWhy.\n" in text
    read = read_instructions(text, path=path, task_id="task-01")
    assert read.test == "true"
    assert read.steps[0].run == ("echo ☂\n",)
    kept = latest_document(place.store, "task-01", "instruction")
    assert kept is not None
    assert (kept.path, kept.body, kept.written_by) == (path, text, "program")
    assert place.instructions_said("task-01") == [("instruction", path)]


def test_the_base_and_the_retries_are_kept(place: Place) -> None:
    place.lock(plan_text(task(1)))
    row = service.plan_row(place.store, "p")
    assert row is not None
    assert row.base_branch == "trunk"
    assert len(row.base_commit) == 40
    assert service.task_row(place.store, "task-01").retry_limit == 7


def test_locking_again_restores_the_files_and_changes_nothing_else(place: Place) -> None:
    place.lock(plan_text(task(1)))
    path = place.root.path / str(place.paths()["task-01"])
    text = path.read_text()
    path.unlink()
    place.write("dirt", "stray.txt")  # the tree is looked at when a plan begins, not each time
    lock_plan_file(place.root, place.store, place.root.path / "PLAN.md", SETTINGS)
    assert path.read_text() == text
    assert len(place.instructions_said("task-01")) == 1
    with place.store.read() as tx:
        documents = tx.one(Work.latest_document, task_id="task-01", kind="instruction")
    assert documents is not None
    assert documents.id == 1


def test_a_tree_that_is_not_ready_locks_nothing(place: Place) -> None:
    path = place.write(plan_text(task(1)))
    with pytest.raises(TreeNotReady):
        lock_plan_file(place.root, place.store, path, SETTINGS)
    assert place.paths() == {}
    assert not (place.root.musician_dir / "instructions").exists()


def test_a_changed_plan_is_refused_with_its_difference(place: Place) -> None:
    place.lock(plan_text(task(1)))
    path = place.write(plan_text(task(1, script="false")))
    with pytest.raises(PlanChanged) as caught:
        lock_plan_file(place.root, place.store, path, SETTINGS)
    assert "-true\n+false\n" in caught.value.difference


def test_a_changed_instruction_file_is_refused_with_its_own_difference(place: Place) -> None:
    place.write(BODY.format(script="true"), "docs/filed.md")
    place.lock(plan_text(FILED))
    place.write(BODY.format(script="false"), "docs/filed.md")
    with pytest.raises(PlanChanged) as caught:
        lock_plan_file(place.root, place.store, place.root.path / "PLAN.md", SETTINGS)
    assert "docs/filed.md (locked)" in caught.value.difference
    assert "-true\n+false\n" in caught.value.difference


def test_amending_opens_changes_and_withdraws_and_keeps_the_rest(place: Place) -> None:
    place.lock(plan_text(task(1), task(2), task(3)))
    before = place.paths()
    path = place.write(plan_text(task(1), task(2, script="false"), task(4)))
    made = amend_plan_file(place.root, place.store, path, SETTINGS)
    assert (made.added, made.changed, made.withdrawn) == (("task-04",), ("task-02",), ("task-03",))
    after = place.paths()
    assert after["task-01"] == before["task-01"]
    assert after["task-02"] != before["task-02"]
    assert place.instructions_said("task-02") == [
        ("instruction_superseded", before["task-02"]),
        ("instruction", after["task-02"]),
    ]
    assert service.task_row(place.store, "task-03").state == "exited"
    assert service.task_row(place.store, "task-04").retry_limit == 7
    again = amend_plan_file(place.root, place.store, path, SETTINGS)
    assert (again.added, again.changed, again.withdrawn) == ((), (), ())


def test_the_work_of_a_withdrawn_task_is_told_of_once(place: Place) -> None:
    """Each later amendment named again what an earlier one had kept."""
    place.lock(plan_text(task(1), task(2), task(3)))
    ensure_integration(place.root, "p", "HEAD")
    for task_id in ("task-02", "task-03"):
        tree = ensure_worktree(place.root, "p", task_id, "HEAD")
        (tree.path / f"{task_id}.txt").touch()
        commit_step(tree, task_id=task_id, item="step 1", title="Do", session_id="s", epoch=1)
    named = [
        [each.task_id for each in amend_plan_file(place.root, place.store, place.write(text), SETTINGS).left]
        for text in (
            plan_text(task(1), task(2)),
            plan_text(task(1), task(2, script="false")),
            plan_text(task(1)),
            plan_text(task(1), task(4)),
        )
    ]
    assert named == [["task-03"], [], ["task-02"], []]


def test_a_changed_overview_is_a_change_of_every_task(place: Place) -> None:
    place.lock(plan_text(task(1), task(2)))
    path = place.write(plan_text(task(1), task(2), overview="Otherwise."))
    assert amend_plan_file(place.root, place.store, path, SETTINGS).changed == ("task-01", "task-02")


def test_a_task_that_is_claimed_cannot_be_dropped(place: Place) -> None:
    place.lock(plan_text(task(1), task(2)))
    service.claim(place.store, "task-02", "s1", settings=SETTINGS)
    path = place.write(plan_text(task(1)))
    with pytest.raises(StillPlayed, match="musician stop task-02"):
        amend_plan_file(place.root, place.store, path, SETTINGS)
    row = service.plan_row(place.store, "p")
    assert row is not None
    assert "task-02" in row.text


def test_a_skipped_task_that_leaves_its_plan_is_withdrawn(place: Place) -> None:
    """AGAIN-AMEND: played again it would keep a plan open that does not have it, and no run could end."""
    place.lock(plan_text(task(1), task(2)))
    service.skip(place.store, "task-02", "not worth it")
    made = amend_plan_file(place.root, place.store, place.write(plan_text(task(1))), SETTINGS)
    assert made.withdrawn == ("task-02",)
    with pytest.raises(NothingAgain, match="withdrawn from its plan"):
        service.retry(place.store, "task-02")
    back = amend_plan_file(place.root, place.store, place.write(plan_text(task(1), task(2))), SETTINGS)
    assert back.back == ("task-02",)
    assert service.task_row(place.store, "task-02").state is not State.EXITED


def test_a_task_is_not_written_into_a_plan_that_another_is_changing(place: Place) -> None:
    """AGAIN-ADD: of two at once, one would take the other's task out of the file again."""
    place.lock(plan_text(task(1)))
    plan, other = place.root.path / "PLAN.md", place.root.path / "other.md"
    other.write_text(BODY.format(script="true"))
    add = partial(add_to_plan, place.root, place.store, "task-09", other, SETTINGS, plan_path=plan)
    file = plan.stat().st_ino
    with changing_plans(place.root, WORLD), pytest.raises(ConductorRunning):
        add()
    assert plan.stat().st_ino == file, "it was not even written and put back"
    assert add().added == ("task-09",)


@pytest.mark.parametrize("task_id", ["amending", "change", "run", "takeover", "task-00.change"])
def test_no_task_is_named_as_a_lock_of_ours(place: Place, task_id: str) -> None:
    """While a task of that name is played, its life lock is held; none could be added to the plan then."""
    played = MACHINE.hold(lock_path(place.root.locks_dir, task_id), session_id="a")
    assert not isinstance(played, HeldBy)
    with played, changing_plans(place.root, WORLD), conducting_run(place.root, "conductor-1", MACHINE):
        assert (place.root.locks_dir / f"{task_id}.lock").exists()


def test_a_plan_is_not_amended_while_another_command_changes_plans(place: Place) -> None:
    """A run would take it up; `clean` or `plan archive` would not."""
    place.lock(plan_text(task(1)))
    path = place.write(plan_text(task(1), task(2)))
    with hold_conductor_lock(place.root, "conductor-1", MACHINE), pytest.raises(ConductorRunning) as caught:
        amend_plan_file(place.root, place.store, path, SETTINGS)
    assert "conductor-1" in str(caught.value)
    assert sorted(place.paths()) == ["task-01"]
    assert amend_plan_file(place.root, place.store, path, SETTINGS).added == ("task-02",)


def test_a_plan_that_was_amended_after_it_was_read_is_not_conducted(place: Place) -> None:
    place.lock(plan_text(task(1)))
    path = place.root.path / "PLAN.md"
    read = lock_plan_file(place.root, place.store, path, SETTINGS)
    amend_plan_file(place.root, place.store, place.write(plan_text(task(1), task(2))), SETTINGS)
    play = partial(conduct, place.root, place.store, read, settings=SETTINGS, options=RunOptions(jobs=1))
    with pytest.raises(PlanChanged):
        anyio.run(play)
    assert service.task_row(place.store, "task-01").state is State.WATCHING


def test_a_task_that_is_complete_is_changed_too_late(place: Place) -> None:
    place.lock(plan_text(task(1), task(2)))
    claim = service.claim(place.store, "task-01", "s1", settings=SETTINGS).claim
    service.submit(
        place.store, claim, submission(MessageType.COMPLETION, "TASK COMPLETE"), verified=evidence()
    )
    service.judge(place.store, "task-01", State.REVIEW_APPROVED, "good")
    service.complete(place.store, claim, report_path="r.md", report="done", notice="COMPLETE")
    path = place.write(plan_text(task(1, script="false"), task(2, script="false")))
    made = amend_plan_file(place.root, place.store, path, SETTINGS)
    assert (made.changed, made.too_late) == (("task-02",), ("task-01",))


def test_every_id_that_another_plan_has_is_told_with_its_line(place: Place) -> None:
    """Whoever writes a second plan begins with task-01 again (D8)."""
    place.lock(plan_text(task(1), task(2), task(3)))
    other = plan_text(task(2), task(4), task(3)).replace("plan: p", "plan: q")
    path = place.write(other, "NEXT.md")
    place.git("add", "-A")
    place.git("commit", "-qm", "next")
    with pytest.raises(InvalidPlan) as caught:
        lock_plan_file(place.root, place.store, path, SETTINGS)
    assert caught.value.problems == tuple(
        f"NEXT.md:{line}: 'task-0{number}' is a task of plan 'p', which is open;"
        " expected an id that is new in this repository"
        for line, number in ((9, 2), (19, 3))
    )
    assert service.plan_row(place.store, "q") is None


def test_an_id_that_differs_by_case_alone_is_another_plans_too(place: Place) -> None:
    """AUDIT-U11"""
    place.lock(plan_text(task(1)))
    path = place.write(
        plan_text(task(1)).replace("plan: p", "plan: q").replace("### task-01", "### TASK-01"), "N.md"
    )
    with pytest.raises(InvalidPlan) as caught:
        check_ids(place.store, load_plan(path, root=place.root.path))
    assert "'task-01' is a task of plan 'p'" in caught.value.problems[0]


def test_only_a_locked_plan_is_amended(place: Place) -> None:
    path = place.write(plan_text(task(1)))
    with pytest.raises(UnknownPlan):
        amend_plan_file(place.root, place.store, path, SETTINGS)


def test_a_task_of_its_own_keeps_its_file_as_a_document(place: Place) -> None:
    path = place.write(BODY.format(script="true"), "docs/own.md")
    assert add_task_file(place.root, place.store, "task-05", path, SETTINGS) == "docs/own.md"
    kept = latest_document(place.store, "task-05", "instruction")
    assert kept is not None
    assert kept.body == path.read_text()
    assert service.task_row(place.store, "task-05").retry_limit == 7
