"""A phase that stands still for one task's checkpoint, with real musicians (PLAN-21, S-PAR-3)."""

import signal
from typing import TYPE_CHECKING

import pytest

from musician import service
from musician.protocol.journal import EntryKind
from musician.protocol.messages.kinds import MessageType
from musician.protocol.states import State

if TYPE_CHECKING:
    from subprocess import Popen

    from tests.runtime.conftest import Stage

pytestmark = pytest.mark.deep

PLAN = """\
---
plan: band
test: "true"
---
# Band

## Overview
Two tasks.

## Phase 1: Together

### task-01: First
```yaml task
pause-siblings-at: [1]
review: {review}
```
#### Step 1: Write
```bash run
{one}
echo 1 > one.txt
```
#### Checkpoint 1: all together
- test: `test -e one.txt`
#### Step 2: More
```bash run
echo 2 >> one.txt
```

### task-02: Second
#### Step 1: Write
```bash run
{two}
echo 1 > two.txt
```
#### Step 2: More
```bash run
echo 2 >> two.txt
```
"""


def started(stage: "Stage", *, review: str) -> "Popen[str]":
    """A run in which the first task comes to its checkpoint while the second stands at a gate in its first step."""
    stage.write(PLAN.format(one=stage.gate("one"), two=stage.gate("two"), review=review))
    run = stage.start("run", "PLAN.md", "--jobs", "2")
    stage.wait_at("two")
    stage.wait_at("one")
    stage.open_gate("one")
    return run


def messages(stage: "Stage", task_id: str, kind: MessageType) -> list[int]:
    return [
        message.id for message in service.messages_of(stage.store, task_id) if message.message_type == kind
    ]


def kinds_of(stage: "Stage", task_id: str) -> list[str]:
    return [row.kind for row in stage.view(task_id).journal]


def is_paused(stage: "Stage") -> bool:
    return kinds_of(stage, "task-02")[-1] == EntryKind.PAUSED


def test_at_a_checkpoint_that_pauses_its_siblings_they_stand_still_until_it_is_judged(stage: "Stage") -> None:
    run = started(stage, review="rules")
    stage.until(lambda: messages(stage, "task-02", MessageType.PAUSE))
    assert stage.state("task-01") is State.NEEDS_REVIEW
    stage.open_gate("two")
    assert stage.end(run).code == 0, stage.told()
    stage.check_whole()
    (paused,), (went_on,) = (
        messages(stage, "task-02", kind) for kind in (MessageType.PAUSE, MessageType.GO_ON)
    )
    assert paused < messages(stage, "task-01", MessageType.APPROVAL)[0] < went_on
    kinds = kinds_of(stage, "task-02")
    stood = kinds.index(EntryKind.PAUSED)
    assert kinds[stood - 1 : stood + 3] == [
        EntryKind.COMPLETED,
        EntryKind.PAUSED,
        EntryKind.NOTE,
        EntryKind.STARTED,
    ]
    assert kinds_of(stage, "task-01").count(EntryKind.PAUSED) == 0


def test_a_conductor_that_is_killed_at_a_barrier_finds_it_up_and_goes_on_after_a_persons_verdict(
    stage: "Stage",
) -> None:
    run = started(stage, review="human")
    stage.until(lambda: messages(stage, "task-02", MessageType.PAUSE))
    stage.open_gate("two")
    stage.until(lambda: is_paused(stage))
    run.send_signal(signal.SIGKILL)
    run.wait()
    stage.until(lambda: not stage.processes())
    waiting = stage.conduct("--jobs", "2")
    assert waiting.code == 1, stage.told()
    assert "task-01" in waiting.out
    assert stage.state("task-01") is State.NEEDS_REVIEW
    assert stage.view("task-02").pause
    assert stage.run("review", "approve", "task-01", "all together").code == 0
    assert stage.conduct("--jobs", "2").code == 1, "the completion waits for a person as well"
    assert stage.run("review", "approve", "task-01", "done").code == 0
    stage.to_the_end()
    stage.check_whole()
    assert not stage.view("task-02").pause
    assert messages(stage, "task-02", MessageType.PAUSE)[1:] == []


def test_a_session_by_hand_that_has_nothing_under_way_holds_nobody_up(stage: "Stage") -> None:
    """What it has begun is waited for, and what it would begin is refused (PLAN-21)."""
    stage.write(PLAN.format(one="", two="", review="rules"))
    stage.lock()
    by_hand = {"MUSICIAN_SESSION": "s1"}
    assert stage.run("claim", "task-02", **by_hand).code == 0
    assert stage.run("step", "task-02", "start", "1", **by_hand).code == 0
    run = stage.start("run", "PLAN.md", "--jobs", "1")
    stage.until(lambda: messages(stage, "task-02", MessageType.PAUSE))
    assert stage.state("task-01") is State.NEEDS_REVIEW
    assert messages(stage, "task-01", MessageType.APPROVAL) == []
    assert stage.run("step", "task-02", "done", "1", "--commit", **by_hand).code == 0
    stage.until(lambda: messages(stage, "task-02", MessageType.GO_ON))
    assert len(messages(stage, "task-01", MessageType.APPROVAL)) >= 1
    assert stage.run("release", "task-02", **by_hand).code == 0
    assert stage.end(run).code == 0, stage.told()
