"""Conducting: who plays when, one conductor at a time, and what happens to owners that are gone (D2, D13, D23)."""

import json
import os
import signal
import subprocess
import time
from typing import TYPE_CHECKING

import pytest
from psutil import Process

from musician import service
from musician.plans.plan import load_plan
from musician.processes.identity import boot_id, host_name, identify, started_at_s
from musician.processes.life_lock import HeldBy, hold, lock_path
from musician.processes.machine import CLOCK, MACHINE
from musician.protocol.resumption.handoff import FELL_SILENT
from musician.protocol.rules.liveness import Owner
from musician.protocol.settings import Settings
from musician.protocol.states import State
from musician.reporting.standing import standings_of
from musician.runtime.conductor.facts import Gatherer, Memory
from musician.runtime.conductor.plan_run import PlanRun, RunOptions
from musician.runtime.conductor.ticks import Ticks
from musician.runtime.program import programs_of
from musician.runtime.world import WORLD
from musician.trees.root import find_root

if TYPE_CHECKING:
    from tests.runtime.conftest import Stage

HEAD = """\
---
plan: band
test: "true"
---
# Band

## Overview
Some tasks.

## Phase 1: First
"""

TASK = """
### task-{number:02}: Task {number}
```yaml task
{keys}
```
#### Step 1: Write
```bash run
{solo}
{run}
echo {number} >> {number}.txt
echo {number} >> "$MUSICIAN_TEST_HALL/order"
```
"""

SHORT_LIVED = """
[heartbeat]
refresh_after_s = 1
stale_after_s = 60
[waiting]
background_poll_s = 0.2
pause_poll_s = 0.2
[conductor]
beat_every_s = 1
"""


def task(stage: "Stage", number: int, run: str = ":", keys: str = "labels: []") -> str:
    return TASK.format(number=number, run=run, keys=keys, solo=stage.solo)


def order(stage: "Stage") -> list[int]:
    return [int(line) for line in (stage.hall / "order").read_text().split()]


# -- who plays when -----------------------------------------------------------------------------------------------


def test_phases_are_played_in_order_and_tasks_wait_for_those_they_name(stage: "Stage") -> None:
    stage.write(
        HEAD
        + task(stage, 1, keys="after: [task-02]")
        + task(stage, 2)
        + "\n## Phase 2: Second\n"
        + task(stage, 3, run="cat 1.txt 2.txt")
    )
    stage.to_the_end()
    stage.check_whole()
    assert order(stage) == [2, 1, 3]


@pytest.mark.deep
def test_tasks_that_share_a_dangerous_file_are_played_one_after_the_other(stage: "Stage") -> None:
    alone = 'mkdir "$MUSICIAN_TEST_HALL/alone"\n{gate}rmdir "$MUSICIAN_TEST_HALL/alone"'
    gate = stage.gate("first")
    stage.write(
        HEAD
        + task(stage, 1, run=alone.format(gate=gate), keys="danger: [shared.toml]")
        + task(stage, 2, run=alone.format(gate=""), keys="files: [shared.toml]")
        + task(stage, 3)
    )
    run = stage.start("run", "PLAN.md", "--jobs", "3")
    stage.wait_at("first")
    stage.until(lambda: stage.state("task-03") is State.COMPLETE)
    assert stage.state("task-02") is State.WATCHING
    stage.open_gate("first")
    assert stage.end(run).code == 0, stage.told()
    stage.check_whole()
    assert order(stage) == [3, 1, 2]


def test_one_job_is_one_musician_at_a_time(stage: "Stage") -> None:
    alone = 'mkdir "$MUSICIAN_TEST_HALL/alone"; sync; rmdir "$MUSICIAN_TEST_HALL/alone"'
    stage.write(HEAD + "".join(task(stage, number, run=alone) for number in (1, 2, 3)))
    assert stage.conduct("--jobs", "1").code == 0, stage.told()
    stage.check_whole()
    assert order(stage) == [1, 2, 3]


# -- one conductor ------------------------------------------------------------------------------------------------


def test_a_second_conductor_is_refused_and_told_of_the_first(stage: "Stage") -> None:
    stage.write(HEAD + task(stage, 1, run=stage.gate("step")))
    first = stage.start("run", "PLAN.md")
    stage.wait_at("step")
    second = stage.conduct()
    assert second.code not in (0, 1)
    assert str(first.pid) in second.err
    assert len(second.err.splitlines()) == 1
    stage.open_gate("step")
    assert stage.end(first).code == 0
    stage.check_whole()


@pytest.mark.deep
def test_a_musician_by_hand_on_a_task_that_is_played_is_blocked_and_that_is_written_down(
    stage: "Stage",
) -> None:
    """Once for the session, however often it tries (D9)."""
    stage.write(HEAD + task(stage, 1, run=stage.gate("step")))
    run = stage.start("run", "PLAN.md")
    stage.wait_at("step")
    for _ in range(2):
        assert stage.run("work", "task-01", "--session", "by-hand").code == 5
    assert stage.run("work", "task-01", "--session", "polling", "--quiet").code == 5
    said = [
        each for each in service.messages_of(stage.store, "task-01") if each.message_type == "claim_blocked"
    ]
    assert [each.from_session for each in said] == ["by-hand"]
    stage.open_gate("step")
    assert stage.end(run).code == 0
    stage.check_whole()


@pytest.mark.deep
def test_a_conductor_that_starts_while_the_musicians_of_a_killed_one_wind_down_waits_for_them(
    stage: "Stage",
) -> None:
    """One musician has not claimed yet, one plays. Neither is doubled, and no launch counts as a failed one."""
    stage.write(HEAD + task(stage, 1, run=stage.gate("step")) + task(stage, 2))
    late = {**stage.armed("work", "before:musician.service:claim"), "MUSICIAN_TEST_STOP": "1"}
    first = stage.start("run", "PLAN.md", **late)

    def stopped_ones() -> list[Process]:
        return [each for each in stage.processes("work") if stage.stopped(each.pid)]

    stage.until(stopped_ones)
    first.send_signal(signal.SIGKILL)
    assert stage.end(first).code == -signal.SIGKILL
    (stopped,) = stopped_ones()
    task_id = stopped.cmdline()[stopped.cmdline().index("work") + 1]
    second = stage.start("run", "PLAN.md")
    stage.until(lambda: stage.conductors() == [second.pid])
    if task_id == "task-02":
        stage.wait_at("step")
    else:
        stage.until(lambda: stage.state("task-02") is State.COMPLETE)
    assert stage.state(task_id) is State.WATCHING
    stopped.resume()
    if task_id == "task-01":
        stage.wait_at("step")
    stage.open_gate("step")
    assert stage.end(second).code == 0, stage.told()
    stage.check_whole()


# -- owners that are gone -----------------------------------------------------------------------------------------


@pytest.mark.deep
def test_a_musician_that_stopped_is_fenced_ended_and_succeeded(stage: "Stage") -> None:
    """Its lock is held and its process is there: only its heartbeat tells (D2)."""
    stage.write(HEAD + task(stage, 1, run="echo half > half.txt" + stage.gate("step")), SHORT_LIVED)
    run = stage.start("run", "PLAN.md")
    agent = stage.wait_at("step")
    assert agent in [each.pid for each in stage.processes()]
    stage.suspend(stage.musician("task-01"))
    make_silent(stage)
    assert stage.end(run).code == 0, stage.told()
    stage.check_whole()
    # Not by its pid: an orphan that has ended keeps that until the system's first process gets round to it.
    assert agent not in [each.pid for each in stage.processes()]
    assert [each.exit_reason for each in stage.view("task-01").sessions] == [FELL_SILENT, "complete"]
    assert stage.view("task-01").sessions[1].claim_epoch == 3, "the fence is an epoch of its own"


def silent(stage: "Stage", session_id: str) -> None:
    """A session that was opened by hand, and has not been heard of since."""
    service.claim(stage.store, "task-01", session_id, settings=Settings())
    make_silent(stage)


def make_silent(stage: "Stage") -> None:
    stage.raw(
        "UPDATE orchestration_tasks SET last_heartbeat = datetime('now', '-9 hours') WHERE task_id = 'task-01'"
    )


@pytest.mark.deep
def test_a_session_opened_by_hand_is_fenced_and_a_person_asked_to_see_to_it(stage: "Stage") -> None:
    stage.write(HEAD + task(stage, 1))
    stage.lock()
    silent(stage, "by-hand")
    assert stage.conduct().code == 1
    (ask,) = service.open_asks(stage.store)
    assert (ask.kind, "by-hand" in ask.text) == ("doubtful", True)
    assert stage.view("task-01").row.claim_epoch == 2, "it is shut out already"
    assert stage.run("send", "task-01", "it is gone").code == 0
    stage.to_the_end()
    stage.check_whole()


@pytest.mark.deep
def test_the_lock_of_a_later_process_does_not_make_a_dead_owner_live(stage: "Stage") -> None:
    """Another session took the lock and claimed nothing: the owner's own process is asked."""
    stage.write(
        HEAD + task(stage, 1, run='mkdir "$MUSICIAN_TEST_HALL/x" && kill -KILL "$MUSICIAN_PID"; true')
    )
    stage.lock()
    assert stage.run("work", "task-01").code == -signal.SIGKILL
    other = hold(lock_path(find_root(stage.root).locks_dir, "task-01"), session_id="somebody-else")
    assert not isinstance(other, HeldBy)
    with other:
        pass
    stage.to_the_end()
    stage.check_whole()


def test_an_owner_on_another_host_is_never_signalled(stage: "Stage") -> None:
    """Its process number is somebody else's here: the test's own child's."""
    stage.write(HEAD + task(stage, 1))
    stage.lock()
    silent(stage, "far-away")
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, start_new_session=True) as bystander:
        stage.raw(
            "INSERT INTO processes (task_id, claim_epoch, role, pid, pgid, started_at_s, boot_id, host)"
            " VALUES ('task-01', 1, 'musician', :pid, :pid, :started_at_s, :boot_id, :host)",
            pid=bystander.pid,
            started_at_s=started_at_s(bystander.pid),
            boot_id=boot_id(),
            host=f"{host_name()}-other",
        )
        assert stage.conduct().code == 1
        assert bystander.poll() is None
    (ask,) = service.open_asks(stage.store)
    assert ask.kind == "doubtful"


def test_a_session_whose_client_has_ended_is_taken_over_without_a_person(stage: "Stage") -> None:
    """Its heartbeat is fresh, but its end is known: there is nothing left to end."""
    stage.write(HEAD + task(stage, 1))
    stage.lock()
    service.claim(stage.store, "task-01", "opened", settings=Settings())
    met = service.Met(identity=identify(os.getpid()), attended=True, hosted=False)
    service.meet_client(stage.store, "opened", met)
    service.end_client(stage.store, "opened", reason="other")
    stage.to_the_end()
    stage.check_whole()
    assert [each.exit_reason for each in stage.view("task-01").sessions] == ["died", "complete"]


def test_a_silent_client_is_shut_out_and_never_ended(stage: "Stage") -> None:
    """It is the user's own process, whatever it does not say."""
    stage.write(HEAD + task(stage, 1))
    stage.lock()
    silent(stage, "opened")
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, start_new_session=True) as client:
        met = service.Met(identity=identify(client.pid), attended=True, hosted=False)
        service.meet_client(stage.store, "opened", met)
        assert stage.conduct().code == 1
        assert client.poll() is None
    (ask,) = service.open_asks(stage.store)
    assert ask.kind == "doubtful"


@pytest.mark.deep
def test_a_lock_file_of_before_the_last_boot_says_that_its_owner_is_dead(stage: "Stage") -> None:
    """After a power cut nobody waits nine minutes for a heartbeat to go stale."""
    stage.write(HEAD + task(stage, 1))
    stage.lock()
    service.claim(stage.store, "task-01", "before", settings=Settings())
    path = lock_path(find_root(stage.root).locks_dir, "task-01")
    held = hold(path, session_id="before")
    content = json.loads(path.read_text()) | {"boot_id": "another", "pid": os.getpid()}
    held.release()  # type: ignore[union-attr]
    path.write_text(json.dumps(content))
    stage.to_the_end()
    stage.check_whole()
    assert [each.exit_reason for each in stage.view("task-01").sessions] == ["died", "complete"]


def test_nobody_is_called_stale_right_after_the_machine_slept(stage: "Stage") -> None:
    """Everybody slept; healthy owners get the time to show themselves first (D10)."""
    stage.write(HEAD + task(stage, 1))
    stage.lock()
    silent(stage, "by-hand")
    plan = load_plan(stage.plan, root=stage.root)
    memory = Memory(ticks=Ticks(settings=Settings(), own_clock_s=MACHINE.clock_s))
    row = service.plan_row(stage.store, plan.plan_id)
    assert row is not None
    options = RunOptions(jobs=1)
    run = PlanRun(find_root(stage.root), stage.store, plan, row, Settings(), options, WORLD)
    gatherer = Gatherer(run=run, memory=memory)
    seen = []
    for slept_s in (0, 3600):
        memory.ticks.waited(memory.ticks.now_s() - slept_s, at_most_s=2)
        standings = standings_of(service.everything(stage.store, "band"), programs_of(plan))
        seen += [facts.owner for facts in gatherer.gather(standings, {}).tasks]
    assert seen == [Owner.STALE, Owner.LIVE]


def test_the_conductors_clock_goes_on_while_the_machine_sleeps() -> None:
    """The clock of since-boot counts suspended time; the monotonic one, which would hide a sleep, does not."""
    if not hasattr(time, "CLOCK_BOOTTIME"):
        pytest.skip("this system has no such clock")
    assert CLOCK == time.CLOCK_BOOTTIME


# -- leaks --------------------------------------------------------------------------------------------------------


@pytest.mark.deep
def test_nothing_is_leaked_over_many_pieces(stage: "Stage") -> None:
    """Descriptors of the musician and the conductor, seen from a step: as many late as early."""
    count = 'ls /proc/{who}/fd | wc -l >> "$MUSICIAN_TEST_HALL/{name}"'
    steps = "".join(
        f"#### Step {number}: Count\n```bash run\n"
        + count.format(who="$MUSICIAN_PID", name="musician")
        + "\n"
        + count.format(who="$(ps -o ppid= $MUSICIAN_PID | tr -d ' ')", name="conductor")
        + f"\necho {number} > {number}.txt\n```\n#### Checkpoint {number}: counted\n"
        for number in range(1, 8)
    )
    stage.write(HEAD + "\n### task-01: Count\n" + steps)
    stage.to_the_end()
    for name in ("musician", "conductor"):
        counts = [int(line) for line in (stage.hall / name).read_text().split()]
        assert len(counts) == 7
        assert max(counts[3:]) <= max(counts[:3]), counts


@pytest.mark.parametrize("name", ["task-01/checks.log", pytest.param("merges.log", marks=pytest.mark.deep)])
def test_output_is_logged(stage: "Stage", name: str) -> None:
    stage.write(HEAD.replace('"true"', "echo tested") + task(stage, 1, run="echo played"))
    stage.to_the_end()
    assert "tested" in (stage.root / ".musician" / "logs" / name).read_text()
