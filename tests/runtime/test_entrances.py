"""One musician (D30): the same story, told through every entrance, leaves the same in the database."""

from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

import pytest

from musician import service
from musician.protocol.errors import EvidenceMissing, IllegalEvent
from musician.protocol.journal import AWAITS_ANSWER, EntryKind
from musician.protocol.messages.corrections import with_corrections
from musician.protocol.musician.inputs import CheckpointChosen
from musician.protocol.settings import Settings
from musician.protocol.states import State
from musician.runtime.manual.manual_session import ManualSession
from musician.trees.root import find_root
from tests.runtime.conftest import Stage
from tests.runtime.entrances import (
    TASK,
    ByCommands,
    ByHooks,
    ByTools,
    Client,
    Conducted,
    Driven,
    InSql,
    Life,
    opened,
)

PLAN = """\
---
plan: entrances
test: test -s one.txt
---
# Entrances

## Overview
One task.

## Phase 1: All

### task-01: The tune
"""
TWO_STEPS = """\
#### Step 1: Begin
```bash run
{run}
```
#### Step 2: End
```bash run
echo two.txt > two.txt
```
"""
WRITES = """\
#### Step {number}: Write {number}
```bash run
{says}
echo {name} > {name}
```
"""
Story = Callable[[type[Life], Stage], None]


def is_in(state: State) -> Callable[[service.TaskView], bool]:
    return lambda view: view.row.state is state


def submitted(times: int) -> Callable[[service.TaskView], bool]:
    return lambda view: view.row.state is State.NEEDS_REVIEW and len(view.submissions) == times


# -- the stories ----------------------------------------------------------------------------------------------------


PLAYED = WRITES.format(number=1, says="", name="one.txt") + WRITES.format(number=2, says="", name="two.txt")


def is_played(entrance: type[Life], stage: Stage) -> None:
    with closing(entrance(stage)) as life:
        life.claim()
        life.play(1, "one.txt")
        life.play(2, "two.txt")
        life.checkpoint()
        life.until(submitted(1))
        life.judge(State.REVIEW_APPROVED, "so be it")
        life.complete()


FAILS = TWO_STEPS.format(run="echo '::deviation Medium slower'\necho '::deviation Medium slower'\nexit 1")


def fails(entrance: type[Life], stage: Stage) -> None:
    """What is said twice counts once."""
    with closing(entrance(stage)) as life:
        life.claim()
        life.step(1, "start")
        life.deviation("Medium", "slower")
        life.deviation("Medium", "slower")
        life.error("broke")
        life.until(is_in(State.ERROR))


def fails_for_the_last_time(entrance: type[Life], stage: Stage) -> None:
    stage.raw("UPDATE orchestration_tasks SET retry_limit = 1")
    with closing(entrance(stage)) as life:
        life.claim()
        life.step(1, "start")
        life.error("broke")
        life.until(is_in(State.EXITED))


FAILS_ONCE = TWO_STEPS.format(
    run="""\
if test -e "$MUSICIAN_SCRATCH/again"; then echo one.txt > one.txt; exit; fi
touch "$MUSICIAN_SCRATCH/again"
exit 1"""
)


def is_fixed(entrance: type[Life], stage: Stage) -> None:
    """Failed, answered, played, verified, approved, complete."""
    with closing(entrance(stage)) as life:
        life.claim()
        life.step(1, "start")
        life.error("broke")
        life.until(is_in(State.ERROR))
        life.judge(State.FIX_PROPOSED, "try again")
        life.play(1, "one.txt")
        life.play(2, "two.txt")
        life.checkpoint()
        life.until(submitted(1))
        life.judge(State.REVIEW_APPROVED, "so be it")
        life.complete()


SENT_BACK = (
    WRITES.format(number=1, says="echo '::deviation Low slower'", name="one.txt")
    + """\
```bash rework
echo three.txt > three.txt
```
#### Step 2: A piece
##### Agent 1: Hand it out
```bash run
echo two.txt > two.txt
```
"""
)


def is_sent_back(entrance: type[Life], stage: Stage) -> None:
    """A piece for a subagent, a rejection, and what mends it."""
    with closing(entrance(stage)) as life:
        life.claim()
        life.step(1, "start")
        life.write("one.txt")
        life.deviation("Low", "slower")
        life.step(1, "done")
        life.agent(2, "launched")
        life.write("two.txt")
        life.agent(2, "returned")
        life.checkpoint()
        life.until(submitted(1))
        life.judge(State.REVIEW_FAILED, "1. too short")
        life.write("three.txt")
        life.checkpoint()
        life.until(submitted(2))
        life.judge(State.REVIEW_APPROVED, "so be it")
        life.complete()


TIGHT = (
    WRITES.format(number=1, says="echo '::context 57%'", name="one.txt")
    + WRITES.format(number=2, says="", name="two.txt")
    + WRITES.format(number=3, says="", name="three.txt")
    + WRITES.format(number=4, says="", name="four.txt")
)


def runs_out_of_context(entrance: type[Life], stage: Stage) -> None:
    """A warning, the one piece that was agreed on, the handoff, and the session that goes on."""
    with closing(entrance(stage)) as life:
        life.claim()
        life.step(1, "start")
        life.write("one.txt")
        life.context(57)
        life.step(1, "done")
        life.warn()
        life.until(is_in(State.ERROR))
        life.judge(State.REVIEW_APPROVED, "as you say")
        life.hear()
        life.play(2, "two.txt")
        life.refused(lambda: life.step(3, "start"))
        life.handoff()
        life.until(is_in(State.EXITED))
    service.hand_over(stage.store, TASK, "go on where it stopped")
    with closing(entrance(stage, "s2")) as life:
        life.claim()
        life.play(3, "three.txt")
        life.play(4, "four.txt")
        life.checkpoint()
        life.until(submitted(1))
        life.judge(State.REVIEW_APPROVED, "so be it")
        life.complete()


ASKS = WRITES.format(number=1, says="echo '::question which key?'", name="one.txt") + WRITES.format(
    number=2, says="", name="two.txt"
)


def asks(entrance: type[Life], stage: Stage) -> None:
    """The next step waits for the answer."""
    with closing(entrance(stage)) as life:
        life.claim()
        life.step(1, "start")
        life.write("one.txt")
        life.question("which key?")
        life.step(1, "done")
        life.until(lambda view: view.question and any(row.text == AWAITS_ANSWER for row in view.journal))
        life.refused(lambda: life.step(2, "start"))
        service.send(stage.store, TASK, "the other one")
        life.play(2, "two.txt")
        life.checkpoint()
        life.until(submitted(1))
        life.judge(State.REVIEW_APPROVED, "so be it")
        life.complete()


RED = """\
```yaml task
test: 'test ! -e one.txt || test -e "$(git rev-parse --git-common-dir)/ok"'
```
#### Step 1: Write 1
```bash run
echo one.txt > one.txt
```
```bash rework
true
```
"""


def is_red(answer: State, entrance: type[Life], stage: Stage) -> None:
    """Sent back, and then red three times in a row. What failed was not the work; or it is to be mended once more."""
    ok = stage.root / ".git" / "ok"
    ok.touch()
    with closing(entrance(stage)) as life:
        life.claim()
        life.play(1, "one.txt")
        life.checkpoint()
        life.until(submitted(1))
        ok.unlink()
        life.judge(State.REVIEW_FAILED, "1. too short")
        for _ in range(3):
            with suppress(AssertionError):  # a command fails with it, a tool says so
                life.checkpoint()
        life.until(is_in(State.ERROR))
        ok.touch()
        life.judge(answer, "now it is there")
        life.checkpoint()
        life.until(submitted(2))
        life.judge(State.REVIEW_APPROVED, "so be it")
        life.complete()


STORIES: dict[str, tuple[str, Story, tuple[type[Life], ...]]] = {
    "it is played": (PLAYED, is_played, (Conducted, ByCommands, ByTools, ByHooks)),
    "it fails": (FAILS, fails, (ByCommands, ByTools, ByHooks)),
    "it fails for the last time": (
        TWO_STEPS.format(run="exit 1"),
        fails_for_the_last_time,
        (ByCommands, ByTools, ByHooks),
    ),
    "it is fixed": (FAILS_ONCE, is_fixed, (ByCommands, ByTools, ByHooks)),
    "it is sent back": (SENT_BACK, is_sent_back, (ByCommands, ByTools, ByHooks)),
    "its context runs out": (TIGHT, runs_out_of_context, (ByCommands, ByTools, ByHooks)),
    "it is red": (RED, partial(is_red, State.REVIEW_APPROVED), (ByCommands, ByTools, ByHooks)),
    "it is red and is to be mended": (RED, partial(is_red, State.FIX_PROPOSED), (ByTools,)),
    "it asks": (ASKS, asks, (ByTools, ByHooks)),
}

FREE = frozenset(
    {EntryKind.CLAIMED, EntryKind.FAILED, EntryKind.ERROR, EntryKind.CONTEXT, EntryKind.APPROVED}
)
"""An agent's shell and a conductor have words of their own."""


def left(folder: Path, entrance: type[Life], plan: str, story: Story) -> dict[str, list[object]]:
    """What a story leaves in the task's rows, and in its journal."""
    with opened(folder, PLAN + plan) as stage:
        story(entrance, stage)
        view = stage.view(TASK)
        return {
            "messages": [row.message_type for row in service.messages_of(stage.store, TASK)],
            "history": [(change.from_state, change.to_state) for change in view.history],
            "row": [view.row.state, view.error_count],
            "sessions": [(row.claim_epoch, row.ended_at is None) for row in view.sessions],
            "journal": [
                (row.kind, row.item, row.severity, "" if row.kind in FREE else row.text)
                for row in view.journal
            ],
        }


LONG = frozenset(
    {
        "its context runs out",
        "it is red",
        "it is fixed",
        "it is sent back",
        "it fails for the last time",
        "it fails",
    }
)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.deep) if name in LONG else name for name in STORIES]
)
def test_a_story_leaves_the_same_through_every_entrance(name: str, tmp_path: Path) -> None:
    """D30.1, D30.2, D30.3: work, run, commands, a client's tools, and a client with its hooks."""
    plan, story, others = STORIES[name]
    first = left(tmp_path / "driven", Driven, plan, story)
    for other in others:
        assert left(tmp_path / other.__name__, other, plan, story) == first, other.__name__


def test_sql_leaves_the_rows_that_every_entrance_leaves(tmp_path: Path) -> None:
    """D30.3: the sources' script has no journal; messages, states and what counts as an error are the same."""
    plan, story, _ = STORIES["it is fixed"]
    in_sql, by_tool = (left(tmp_path / each.__name__, each, plan, story) for each in (InSql, ByTools))
    del in_sql["journal"], by_tool["journal"]
    assert in_sql == by_tool


@pytest.fixture
def by_hand(stage: Stage) -> Stage:
    """Session s1 holds the task."""
    stage.write(PLAN + TWO_STEPS.format(run="true"))
    stage.lock()
    stage.run("claim", TASK, MUSICIAN_SESSION="s1")
    return stage


def test_steps_are_begun_in_their_order(by_hand: Stage) -> None:
    """D30.2: as a driven session begins them; what is done may be begun again, to mend it."""
    with closing(Client(by_hand)) as client:
        with pytest.raises(EvidenceMissing, match="before step 2 comes what is not done yet: step 1"):
            client.call("step", n=2, act="start")
        for number in (1, 2):
            client.call("step", n=number, act="start")
            client.call("step", n=number, act="done")
        client.call("step", n=1, act="start")


def test_what_waits_for_an_answer_does_not_fail_again(by_hand: Stage) -> None:
    """D30.2: reported again, while it waits, it would be counted, and at the last retry be the end."""
    by_hand.raw("UPDATE orchestration_tasks SET retry_limit = 2")
    with closing(Client(by_hand)) as client:
        client.call("error", text="broke")
        with pytest.raises(IllegalEvent):
            client.call("error", text="broke")
    assert by_hand.state(TASK) is State.ERROR


def test_an_error_that_was_approved_leaves_nothing_to_mend(stage: Stage) -> None:
    """D30.2: a checkpoint that was killed in its verification has heard the answer, and the next one knows it."""
    stage.write(PLAN + RED)
    stage.lock()
    with closing(Client(stage)) as client:
        client.call("claim", task=TASK)
        client.call("step", n=1, act="start")
        (find_root(stage.root).trees_dir / "entrances" / TASK / "one.txt").write_text("one.txt\n")
        client.call("step", n=1, act="done")
        for _ in range(3):
            assert "not green" in client.call("checkpoint", summary="all")
        service.judge(stage.store, TASK, State.REVIEW_APPROVED, "now it is there")
        (stage.root / ".git" / "ok").touch()
        claim = service.only_claim(stage.store, "s1")
        killed = ManualSession(
            root=find_root(stage.root), store=stage.store, claim=claim, settings=Settings()
        )
        killed.store_records(killed.choose(CheckpointChosen(number=None))[1].records)
        before = stage.view(TASK).journal
        assert "submitted" in client.call("checkpoint", summary="all")
        assert EntryKind.REWORKED not in [row.kind for row in stage.view(TASK).journal[len(before) :]]


def test_what_the_conductor_orders_is_written_down_once(by_hand: Stage) -> None:
    """D30.2: with the failure that is reported before the order is carried out."""
    service.send(by_hand.store, TASK, with_corrections("not so", ["use the other key"]))
    with closing(Client(by_hand)) as client:
        client.call("error", text="broke")
    assert [row.kind for row in by_hand.view(TASK).journal].count(EntryKind.CORRECTION) == 1


@pytest.mark.deep
def test_what_a_process_plays_is_not_played_by_hand_too(stage: Stage) -> None:
    """D30.4: while it lives its claim is moved by nobody else, under the same session either."""
    stage.write(PLAN + TWO_STEPS.format(run=stage.gate("here")))
    stage.lock()
    started = stage.start("work", TASK, "--session", "s1")
    stage.wait_at("here")
    for name, *more in (
        ("step", "start", "1"),
        ("step", "done", "1"),
        ("step", "skipped", "2", "no need"),
        ("checkpoint",),
        ("error", "broke"),
        ("exit",),
    ):
        refused = stage.run(name, TASK, *more, MUSICIAN_SESSION="s1")
        assert (refused.code, f"process {started.pid} plays it" in refused.err) == (4, True), (name, refused)
    assert stage.run("deviation", TASK, "Low", "slower", MUSICIAN_SESSION="s1").code == 0
    started.kill()
    started.wait()
    assert stage.run("exit", TASK, MUSICIAN_SESSION="s1").code == 0
