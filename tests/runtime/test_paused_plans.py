"""A plan that a person pauses while real musicians play it (PLAN-23)."""

import json
import signal
from typing import TYPE_CHECKING

import pytest

from musician import service
from musician.protocol.errors import ClaimBlocked, EvidenceMissing
from musician.protocol.journal import EntryKind
from musician.protocol.states import State
from musician.reporting.timeline import happenings
from tests.runtime.entrances import ByCommands, ByHand, ByTools

if TYPE_CHECKING:
    from tests.runtime.conftest import Stage

PLAN = """\
---
plan: band
test: "true"
---
# Band

## Overview
Two tasks, one after the other.

## Phase 1: One

### task-01: First
#### Step 1: Write
```bash run
{one}
echo 1 > one.txt
```
#### Step 2: More
```bash run
echo 2 >> one.txt
```

## Phase 2: Two

### task-02: Second
#### Step 1: Write
```bash run
echo 1 > two.txt
```
"""


RAW_PAUSE = "INSERT INTO plan_pauses (plan_id, who, reason) VALUES ('band', 'eve', 'lunch')"
RAW_RESUME = (
    "UPDATE plan_pauses SET resumed_at = datetime('now'), resumed_by = 'eve' WHERE resumed_at IS NULL"
)


def pause(stage: "Stage") -> None:
    assert stage.run("plan", "pause", "--reason", "lunch").code == 0


def resume(stage: "Stage") -> None:
    assert stage.run("plan", "resume").code == 0


def stands_still(stage: "Stage") -> bool:
    return kinds(stage)[-1] == EntryKind.PAUSED


def kinds(stage: "Stage") -> list[str]:
    return [row.kind for row in stage.view("task-01").journal]


def completed(stage: "Stage") -> int:
    return kinds(stage).count(EntryKind.COMPLETED)


@pytest.mark.deep
def test_a_plan_that_is_paused_in_the_middle_of_a_step_and_killed_goes_on_when_it_is_resumed(
    stage: "Stage",
) -> None:
    stage.write(PLAN.format(one=stage.gate("one")))
    run = stage.start("run", "PLAN.md")
    stage.wait_at("one")
    assert stage.run("plan", "pause", "--reason", "lunch").code == 0
    stage.open_gate("one")
    stage.until(lambda: kinds(stage)[-1] == EntryKind.PAUSED)
    assert completed(stage) == 1, "what was under way is played to its end, and nothing after it"
    assert run.poll() is None
    run.send_signal(signal.SIGKILL)
    run.wait()
    stage.until(lambda: not stage.processes())

    again = stage.conduct()
    assert again.code == 1, again
    for part in ("paused by", "lunch", "musician plan resume band"):
        assert part in again.out
    assert completed(stage) == 1
    refused = stage.run("claim", "task-01", MUSICIAN_SESSION="s1")
    assert refused.code == 5
    assert "musician plan resume band" in refused.err
    assert json.loads(stage.run("status", "--json").out)["plans"][0]["paused"]["reason"] == "lunch"
    assert stage.run("plan", "resume").code == 0
    stage.to_the_end()
    stage.check_whole()


def test_a_run_goes_on_waiting_for_its_own_pause_and_goes_on_with_it(stage: "Stage") -> None:
    stage.write(PLAN.format(one=stage.gate("one")))
    run = stage.start("run", "PLAN.md")
    stage.wait_at("one")
    assert stage.run("plan", "pause", "band").code == 0
    stage.open_gate("one")
    stage.until(lambda: kinds(stage)[-1] == EntryKind.PAUSED)
    beat = stage.view("task-01").row.heartbeat_age_s
    assert beat is not None
    assert stage.state("task-01") is State.WORKING
    assert stage.run("plan", "resume", "band").code == 0
    done = stage.end(run)
    assert done.code == 0, stage.told()
    assert done.out.count("Nothing is begun until `musician plan resume band`") == 1
    assert service.paused_plans(stage.store) == {}
    stage.check_whole()


@pytest.mark.deep
def test_a_plan_that_is_paused_before_anybody_plays_is_not_begun(stage: "Stage") -> None:
    stage.write(PLAN.format(one=""))
    stage.lock()
    assert stage.run("plan", "pause", "--reason", "not yet").code == 0
    found = stage.conduct()
    assert found.code == 1, found
    assert "not yet" in found.out
    assert stage.view("task-01").sessions == ()
    assert stage.run("plan", "resume").code == 0
    stage.to_the_end()


@pytest.mark.deep
def test_a_run_that_waits_for_a_paused_plan_can_be_interrupted(stage: "Stage") -> None:
    stage.write(PLAN.format(one=stage.gate("one")))
    run = stage.start("run", "PLAN.md")
    stage.wait_at("one")
    pause(stage)
    stage.open_gate("one")
    stage.until(lambda: stands_still(stage))
    run.send_signal(signal.SIGINT)
    assert stage.end(run).code == 130
    stage.check_quiet()
    resume(stage)
    stage.to_the_end()
    stage.check_whole()


@pytest.mark.deep
def test_a_musician_without_a_run_stands_still_for_what_a_raw_writer_pauses_and_goes_on_with_it(
    stage: "Stage",
) -> None:
    """PLAN-25, PLAN-26: in the same session, at the boundary right after; nobody rings, and nobody conducts."""
    stage.write(PLAN.format(one=stage.gate("one")))
    stage.lock()
    works = stage.start("work", "task-01")
    stage.wait_at("one")
    stage.raw(RAW_PAUSE)
    stage.open_gate("one")
    stage.until(lambda: stands_still(stage))
    assert kinds(stage)[-2] == EntryKind.COMPLETED, "its step was played to its end"
    assert "plan band is paused by eve: lunch" in [row.text for row in happenings(stage.store).happenings]
    stage.raw(RAW_RESUME)
    stage.until(lambda: stage.state("task-01") is State.NEEDS_REVIEW)
    (only,) = stage.view("task-01").sessions
    assert only.ended_at is None
    stood = kinds(stage).index(EntryKind.PAUSED)
    assert kinds(stage)[stood + 1 : stood + 3] == [EntryKind.NOTE, EntryKind.STARTED]
    works.terminate()
    stage.end(works)


@pytest.mark.deep
def test_a_worker_claims_nothing_of_it(stage: "Stage") -> None:
    """PLAN-23: on whichever machine."""
    stage.write(PLAN.format(one=""))
    stage.lock()
    pause(stage)
    idle = stage.run("worker", "--once")
    assert (idle.code, set(stage.states().values())) == (0, {"watching"}), idle
    works = stage.start("worker")
    resume(stage)
    stage.until(lambda: stage.state("task-01") is State.NEEDS_REVIEW)
    works.terminate()
    stage.end(works)


@pytest.mark.parametrize("entrance", [ByCommands, ByTools])
def test_a_session_by_hand_claims_nothing_and_begins_nothing_and_ends_what_it_has_begun(
    stage: "Stage", entrance: type[ByHand]
) -> None:
    """PLAN-23, PLAN-25."""
    stage.write(PLAN.format(one="").replace("plan: band", "plan: entrances"))
    stage.lock()
    pause(stage)
    life = entrance(stage)
    try:
        with pytest.raises((ClaimBlocked, AssertionError), match="is paused by"):
            life.claim()
        assert stage.state("task-01") is State.WATCHING
        resume(stage)
        life.claim()
        life.step(1, "start")
        pause(stage)
        life.write("one.txt")
        life.step(1, "done")
        with pytest.raises((EvidenceMissing, AssertionError), match="is paused by"):
            life.step(2, "start")
        with pytest.raises((EvidenceMissing, AssertionError), match="is paused by"):
            life.checkpoint()
        assert stands_still(stage)
        resume(stage)
        life.step(2, "start")
    finally:
        life.close()


def test_who_waits_for_a_paused_plan_goes_on_with_it(stage: "Stage") -> None:
    """PLAN-26."""
    stage.write(PLAN.format(one=""))
    stage.lock()
    by_hand = {"MUSICIAN_SESSION": "s1"}
    assert stage.run("claim", "task-01", **by_hand).code == 0
    pause(stage)
    waits = stage.start("wait", "task-01", **by_hand)
    stage.until(lambda: stands_still(stage))
    resume(stage)
    assert stage.end(waits).code == 0
