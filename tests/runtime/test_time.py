"""Clocks are set, machines sleep, processes hang: nobody is called dead for it (D10, D38)."""

from typing import TYPE_CHECKING

import pytest

from musician import service
from musician.protocol.settings import Settings
from musician.runtime.conductor.ticks import Ticks

if TYPE_CHECKING:
    from tests.runtime.conftest import Stage

PLAN = """\
---
plan: solo
test: "true"
---
# Solo

## Overview
One step that takes its time.

## Phase 1: All

### task-01: The tune
#### Step 1: Play
```bash run
{solo}
echo played >> "$MUSICIAN_TEST_HALL/played"
{gate}
echo one >> one.txt
```
"""

SELDOM = """
[waiting]
background_poll_s = 50
[conductor]
beat_every_s = 1
"""
"""The conductor looks, and says so, before the musician does."""
TICK_S = 2.0


@pytest.mark.parametrize("off_s", [700, -700])
def test_a_clock_that_is_set_kills_nobody(stage: "Stage", off_s: float) -> None:
    """AUDIT-P1, D38.1: by the new time its heartbeat is stale, or in the future; its process lives, and plays on."""
    stage.write(PLAN.format(solo=stage.solo, gate=stage.gate("step")), settings=SELDOM)
    conductor = stage.start("run", "PLAN.md", **stage.clock())
    stage.wait_at("step")
    stage.clock(off_s)
    first = next_beat(stage, "")
    next_beat(stage, next_beat(stage, first))  # a look lies between two
    stage.open_gate("step")
    assert stage.end(conductor).code == 0
    assert [each.exit_reason for each in stage.view("task-01").sessions] == ["complete"]
    assert (stage.hall / "played").read_text() == "played\n"
    assert not stage.view("task-01").asks


def next_beat(stage: "Stage", before: str) -> str:
    """The conductor's next sign of life."""

    def beat() -> str:
        row = service.conductor_row(stage.store)
        return "" if row is None else row.last_heartbeat or ""

    stage.until(lambda: beat() != before)
    return beat()


class Clock:
    """The machine's own, as far as the test lets it go."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ticks(clock: Clock) -> Ticks:
    return Ticks(settings=Settings(), own_clock_s=clock)


def pass_time(ticks: Ticks, clock: Clock, seconds: float, *, apart_s: float) -> None:
    """So much of both clocks, tick by tick."""
    for _ in range(int(seconds / TICK_S)):
        before_s = clock.now_s
        clock.now_s += TICK_S
        ticks.waited(before_s, at_most_s=TICK_S)
        ticks.looked(clock.now_s + apart_s)


@pytest.mark.parametrize("jump_s", [700, -700, 3])
def test_a_jump_of_the_databases_clock_is_a_gap(ticks: Ticks, clock: Clock, jump_s: float) -> None:
    """AUDIT-P1, D38.1: either way, and as after a sleep one refresh period passes before an age counts."""
    pass_time(ticks, clock, 60, apart_s=5000)
    assert ticks.trusts_ages()
    pass_time(ticks, clock, 479, apart_s=5000 + jump_s)
    assert not ticks.trusts_ages()
    pass_time(ticks, clock, 4, apart_s=5000 + jump_s)
    assert ticks.trusts_ages()


def test_a_clock_that_is_corrected_bit_by_bit_is_no_gap(ticks: Ticks, clock: Clock) -> None:
    for number in range(1000):
        pass_time(ticks, clock, TICK_S, apart_s=number * 0.001)
    assert ticks.trusts_ages()


def test_a_process_that_lives_and_is_silent_gets_one_refresh_period_more(ticks: Ticks, clock: Clock) -> None:
    """AUDIT-P1, D38.2: counted from when it was first seen so."""
    seen = []
    for after_s in (0, 479, 1):
        clock.now_s += after_s
        seen.append(ticks.has_seen_for("task-01", Settings().heartbeat.refresh_after_s))
    assert seen == [False, False, True]
    ticks.forget("task-01")
    assert not ticks.has_seen_for("task-01", 1)
