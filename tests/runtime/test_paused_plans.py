"""A plan that a person pauses while real musicians play it (PLAN-23)."""

import json
import signal
from typing import TYPE_CHECKING

import pytest

from musician import service
from musician.protocol.journal import EntryKind
from musician.protocol.states import State

if TYPE_CHECKING:
    from tests.runtime.conftest import Stage

pytestmark = pytest.mark.deep

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


def kinds(stage: "Stage") -> list[str]:
    return [row.kind for row in stage.view("task-01").journal]


def completed(stage: "Stage") -> int:
    return kinds(stage).count(EntryKind.COMPLETED)


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
