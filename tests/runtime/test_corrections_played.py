"""Correction steps of a person, played by real musicians with real git, and killed on the way (D17.6).

The steps append, so that one played twice, or not taken back, shows in what is merged in the end.
"""

import os
from typing import TYPE_CHECKING

import pytest

from musician import service
from musician.protocol.journal import EntryKind
from musician.protocol.messages.corrections import with_corrections
from musician.protocol.states import State

if TYPE_CHECKING:
    from tests.runtime.conftest import Stage

pytestmark = pytest.mark.deep

EXHAUSTIVE = os.environ.get("MUSICIAN_EXHAUSTIVE") == "1"
MOMENTS = range(1, 90) if EXHAUSTIVE else (24,)

TASK = "task-01"
PLAN = """\
---
plan: tune
test: test -s one.txt
review: human
---
# Tune

## Phase 1: Verses

### task-01: The tune
#### Step 1: Begin
```bash run
echo one >> one.txt
```
#### Step 2: Go on
```bash run
echo two >> two.txt
```
"""

ORDERS = ["revert step 1", "echo three >> three.txt"]
DONE = (EntryKind.COMPLETED, EntryKind.RECONCILED)


def to_review(stage: "Stage") -> None:
    stage.write(PLAN)
    waits_for_review(stage)


def waits_for_review(stage: "Stage", **env: str) -> None:
    done = stage.conduct(**env)
    assert (done.code, stage.state(TASK)) == (1, State.NEEDS_REVIEW), (done, stage.told())


def approve(stage: "Stage") -> None:
    service.judge(stage.store, TASK, State.REVIEW_APPROVED, "well done")
    stage.to_the_end()


def order(stage: "Stage", *steps: str) -> None:
    service.judge(stage.store, TASK, State.FIX_PROPOSED, with_corrections("Put it right.", steps))


def kinds(stage: "Stage", item: str) -> list[str]:
    return [row.kind for row in stage.view(TASK).journal if row.item == item]


def check(stage: "Stage") -> None:
    approve(stage)
    assert stage.merged("one.txt") == "one\n"
    assert stage.merged("two.txt") == "two\n"
    assert stage.merged("three.txt") == "three\n"
    subjects = stage.git("log", "--format=%s", "--no-merges", "main").splitlines()
    assert sum("revert step 1" in subject for subject in subjects) == 1
    assert sum(subject.startswith("task-01, step 1:") for subject in subjects) == 2, "undone by a new commit"
    rows = stage.view(TASK).journal
    for number in (1, 2):
        done = [row for row in rows if row.item.endswith(f".{number}") and row.kind in DONE]
        assert len(done) == 1, done
    assert kinds(stage, "step 1").count(EntryKind.UNDONE) == 1
    assert sum(row.kind in DONE for row in rows if row.item == "step 1") == 2
    stage.check_quiet()


def test_a_person_has_a_step_reverted_and_another_played(stage: "Stage") -> None:
    """D17.6."""
    to_review(stage)
    ordered = stage.run(
        "review", "fix", TASK, "Put it right.", "--correct", ORDERS[0], "--correct", ORDERS[1]
    )
    assert ordered.code == 0, ordered
    waits_for_review(stage)
    check(stage)


@pytest.mark.parametrize(
    "where",
    [
        "after:musician.runtime.tasktree:revert_item 1",
        "after:musician.runtime.tasktree:commit_step 1",
        *(f"any {number}" for number in MOMENTS),
    ],
)
def test_corrections_survive_a_kill_at_any_moment_each_played_once(stage: "Stage", where: str) -> None:
    """D17.6."""
    to_review(stage)
    order(stage, *ORDERS)
    moment, number = where.rsplit(" ", 1)
    waits_for_review(stage, **stage.armed("work", moment, int(number)))
    if EXHAUSTIVE and not stage.killed_at:
        pytest.skip(f"no musician does {number} things")
    assert stage.killed_at, stage.told()
    check(stage)


def test_a_revert_that_later_work_is_in_the_way_of_is_an_error_and_another_order_takes_its_place(
    stage: "Stage",
) -> None:
    stage.write(PLAN.replace("two >> two.txt", "two >> one.txt"))
    waits_for_review(stage)
    order(stage, "revert step 1")
    done = stage.conduct()
    assert (done.code, stage.state(TASK)) == (1, State.ERROR), (done, stage.told())
    assert "later work has changed the same lines" in (stage.view(TASK).row.last_error or "")
    order(stage, "revert step 2", "revert step 1 and skip it", "echo all > one.txt", "skip step 2")
    waits_for_review(stage)
    approve(stage)
    assert stage.merged("one.txt") == "all\n"
