"""What a session hears while it plays and while it waits (D11, D12).

The musicians are real; the conductor is the test.
"""

import os
import signal
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest

from musician import service
from musician.config import load_settings
from musician.processes.life_lock import LifeLock, held_by, hold
from musician.protocol.claim import Claim
from musician.protocol.musician import inputs as i
from musician.protocol.rules.liveness import HeartbeatStatus, heartbeat_status
from musician.protocol.settings import Settings, Waiting
from musician.protocol.states import State
from musician.runtime.musician.watching import Watcher
from musician.store import bell
from musician.testing.waiting import HANG_S
from musician.trees.root import find_root

if TYPE_CHECKING:
    from tests.runtime.conftest import Stage

TASK = "task-01"

PLAN = """\
---
plan: solo
test: test -s one.txt
---
# Solo

## Overview
Each step adds a line, once.

## Phase 1: All

### task-01: The tune
#### Step 1: Begin
```bash run
{solo}
{in_step}
echo "one $MUSICIAN_FEEDBACK" >> one.txt
```
#### Step 2: Go on
```bash run
{solo}
echo "two $MUSICIAN_FEEDBACK" >> one.txt
```
"""

IMPATIENT = """
[waiting]
timeout_s = 0.4
background_poll_s = 0.1
pause_poll_s = 0.1
"""

SHORT_LIVED = """
[heartbeat]
refresh_after_s = 2
stale_after_s = 60
[waiting]
background_poll_s = 0.1
pause_poll_s = 0.1
[conductor]
beat_every_s = 1
"""


def begin(stage: "Stage", in_step: str = ":", settings: str = "") -> None:
    """Everything up to a locked plan: the test is the conductor."""
    stage.write(PLAN.format(solo=stage.solo, in_step=in_step), settings)
    stage.lock()


def facts(stage: "Stage", message_id: int) -> tuple[bool, bool]:
    """Whether a message was delivered, and whether it was acknowledged."""
    query = "SELECT delivered_at, acknowledged_at FROM receipts WHERE message_id = :message_id"
    rows = stage.raw(query, message_id=message_id)
    return bool(rows), bool(rows) and rows[0][1] is not None


def approve(stage: "Stage") -> None:
    stage.until(lambda: stage.state(TASK) is State.NEEDS_REVIEW)
    service.judge(stage.store, TASK, State.REVIEW_APPROVED, "so be it")


def tree_file(stage: "Stage") -> str:
    return stage.git("show", f"musician/solo/{TASK}:one.txt")


def test_an_urgent_message_stops_a_running_step_at_once(stage: "Stage") -> None:
    begin(stage, '[ -n "$MUSICIAN_FEEDBACK" ] || echo half > half.txt' + stage.gate("step"))
    musician = stage.start("work", TASK)
    agent = stage.wait_at("step")
    told = service.send(stage.store, TASK, "in the key of C", urgent=True)
    stage.until(lambda: agent not in {process.pid for process in stage.processes()})
    approve(stage)
    assert stage.end(musician).code == 0
    assert facts(stage, told) == (True, True)
    assert tree_file(stage) == "one in the key of C\ntwo \n"
    assert "half.txt" not in stage.git("ls-tree", "--name-only", f"musician/solo/{TASK}")


def test_while_a_session_waits_nothing_that_it_had_running_goes_on(stage: "Stage") -> None:
    """D11.4: not after a step that failed, nor after one that is done; not even what left its group."""
    leaving = "setsid sleep 4711 & sleep 4711 & "
    begin(stage, leaving + '[ -n "$MUSICIAN_FEEDBACK" ] || exit 1')
    musician = stage.start("work", TASK)
    stage.until(lambda: stage.state(TASK) is State.ERROR)
    assert stage.processes("4711") == []
    service.judge(stage.store, TASK, State.FIX_PROPOSED, "again")
    stage.until(lambda: stage.state(TASK) is State.NEEDS_REVIEW)
    assert stage.processes("4711") == []
    approve(stage)
    assert stage.end(musician).code == 0
    assert tree_file(stage) == "one again\ntwo \n"


def test_a_note_is_told_at_the_next_boundary(stage: "Stage") -> None:
    begin(stage, stage.gate("step"))
    musician = stage.start("work", TASK)
    agent = stage.wait_at("step")
    told = service.send(stage.store, TASK, "softly")
    stage.until(lambda: facts(stage, told)[0])
    assert facts(stage, told) == (True, False)
    assert agent in {process.pid for process in stage.processes()}
    stage.open_gate("step")
    approve(stage)
    assert stage.end(musician).code == 0
    assert facts(stage, told) == (True, True)
    assert tree_file(stage) == "one \ntwo softly\n"


def test_an_exit_request_is_followed_after_the_step(stage: "Stage") -> None:
    begin(stage, stage.gate("step"))
    musician = stage.start("work", TASK)
    stage.wait_at("step")
    service.request_exit(stage.store, TASK, "hand off, please", urgent=False)
    stage.open_gate("step")
    assert stage.end(musician).code == 1
    view = stage.view(TASK)
    assert view.row.state is State.EXITED
    assert (view.sessions[-1].exit_reason or "").startswith("conductor requested")
    assert [row.item for row in view.journal if row.kind == "completed"] == ["step 1"]
    assert (stage.root / "temp" / f"{TASK}-HANDOFF").is_file()


def test_an_urgent_exit_request_does_not_wait_for_the_step(stage: "Stage") -> None:
    begin(stage, stage.gate("step"))
    musician = stage.start("work", TASK)
    stage.wait_at("step")
    service.request_exit(stage.store, TASK, "stop", urgent=True)
    assert stage.end(musician).code == 1
    assert stage.state(TASK) is State.EXITED
    assert not [row for row in stage.view(TASK).journal if row.kind == "completed"]


def test_a_verdict_by_raw_sql_is_noticed_without_a_bell(stage: "Stage") -> None:
    begin(stage)
    musician = stage.start("work", TASK)
    stage.until(lambda: stage.state(TASK) is State.NEEDS_REVIEW)
    stage.raw(
        "INSERT INTO orchestration_messages (task_id, from_session, message_type, message)"
        " VALUES ('task-01', 'task-00', 'approval', 'by hand')"
    )
    stage.raw("UPDATE orchestration_tasks SET state = 'review_approved' WHERE task_id = 'task-01'")
    assert stage.end(musician).code == 0
    assert stage.state(TASK) is State.COMPLETE


def test_a_heartbeat_is_refreshed_before_it_is_stale(stage: "Stage") -> None:
    begin(stage, stage.gate("step"), SHORT_LIVED)
    settings = load_settings(find_root(stage.root).config)
    musician = stage.start("work", TASK)
    stage.wait_at("step")
    stage.raw(
        "UPDATE orchestration_tasks SET last_heartbeat = datetime('now', '-30 seconds')"
        " WHERE task_id = 'task-01'"
    )
    stage.until(
        lambda: heartbeat_status(stage.view(TASK).row.heartbeat_age_s, settings) is HeartbeatStatus.OK
    )
    stage.open_gate("step")
    approve(stage)
    assert stage.end(musician).code == 0


def test_a_wait_that_times_out_twice_without_a_conductor_ends_with_a_handoff(stage: "Stage") -> None:
    """And a task that waits for a person does not time out: it waits longer here than the other one did."""
    second = (
        PLAN[PLAN.index("### task-01") :].replace("task-01", "task-02").format(solo=stage.solo, in_step=":")
    )
    stage.write(PLAN.format(solo=stage.solo, in_step=":") + "\n" + second, IMPATIENT)
    stage.lock()
    service.ask_human(stage.store, "task-02", kind="review", subject_id=0, text="a person reviews this")
    patient = stage.start("work", "task-02")
    stage.until(lambda: stage.state("task-02") is State.NEEDS_REVIEW)
    impatient = stage.start("work", TASK)
    assert stage.end(impatient).code == 1
    assert stage.view(TASK).sessions[-1].exit_reason == "conductor unresponsive"
    assert any("conductor timeout" in each.message for each in stage.view(TASK).reports.values())
    assert (stage.root / "temp" / f"{TASK}-HANDOFF").is_file()
    assert stage.state("task-02") is State.NEEDS_REVIEW
    service.judge(stage.store, "task-02", State.REVIEW_APPROVED, "so be it")
    assert stage.end(patient).code == 0


def test_a_question_that_nobody_is_there_to_answer_ends_with_a_handoff_too(stage: "Stage") -> None:
    begin(stage, 'echo "::question which key?"', IMPATIENT)
    assert stage.end(stage.start("work", TASK)).code == 1
    view = stage.view(TASK)
    assert view.sessions[-1].exit_reason == "conductor unresponsive"
    assert [row.item for row in view.journal if row.kind == "completed"] == ["step 1"]


def test_a_fenced_musician_ends_without_another_word(stage: "Stage") -> None:
    """Stopped, taken for dead, succeeded, and then continued: whatever it still wanted to write is refused (D2)."""
    begin(stage, stage.gate("step"))
    zombie = stage.start("work", TASK, "--session", "zombie")
    stage.wait_at("step")
    process = stage.musician(TASK)
    stage.suspend(process)
    service.fence(stage.store, TASK, epoch=1)
    service.take_over(stage.store, TASK, "go on", reason="died")
    taken = service.claim(stage.store, TASK, "successor", settings=Settings())
    before = stage.view(TASK)
    process.resume()
    assert stage.end(zombie).code == 1
    stage.check_quiet()
    after = stage.view(TASK)
    assert (after.row.session_id, after.row.claim_epoch) == ("successor", taken.claim.epoch)
    assert after.row.last_heartbeat == before.row.last_heartbeat
    assert (after.journal, after.history, after.sessions) == (before.journal, before.history, before.sessions)


def test_a_musician_that_was_fenced_before_it_began_plays_nothing(stage: "Stage") -> None:
    begin(stage)
    where = "before:musician.runtime.tasktree:open_tree"
    musician = stage.start("work", TASK, **stage.armed("work", where), MUSICIAN_TEST_STOP="1")
    stage.until(lambda: stage.stopped(musician.pid))
    service.fence(stage.store, TASK, epoch=1)
    service.take_over(stage.store, TASK, "go on", reason="died")
    before = stage.view(TASK)
    musician.send_signal(signal.SIGCONT)
    ended = stage.end(musician)
    assert (ended.code, ended.err) == (1, "")
    assert "the claim was taken over" in ended.out
    after = stage.view(TASK)
    assert replace(after, at=before.at, quiet_s=before.quiet_s) == before


# -- one look -----------------------------------------------------------------------------------------------------


@pytest.fixture
def claimed(stage: "Stage") -> Claim:
    begin(stage)
    return service.claim(stage.store, TASK, "me", settings=Settings()).claim


def watch(stage: "Stage", claim: Claim, settings: Settings, *, until: type[object]) -> list[i.Input]:
    """What a watcher tells up to the first input of a kind."""
    told: list[i.Input] = []

    async def run() -> None:
        with anyio.fail_after(HANG_S):
            async with anyio.create_task_group() as group:

                async def tell(given: i.Input) -> None:
                    told.append(given)
                    if isinstance(given, until):
                        group.cancel_scope.cancel()

                watcher = Watcher(store=stage.store, claim=claim, settings=settings, tell=tell)
                watcher.pause(True)
                await watcher.run()

    anyio.run(run)
    return told


def test_a_claim_that_was_fenced_is_told_as_lost(stage: "Stage", claimed: Claim) -> None:
    service.fence(stage.store, TASK, epoch=claimed.epoch)
    assert watch(stage, claimed, Settings(), until=i.ClaimWasLost) == [i.ClaimWasLost()]


def test_a_conductor_that_lives_is_waited_for(stage: "Stage", claimed: Claim) -> None:
    settings = Settings(waiting=Waiting(timeout_s=0.4, background_poll_s=0.1, pause_poll_s=0.1))
    service.start_conducting(stage.store, "conductor", settings=settings)
    assert watch(stage, claimed, settings, until=i.WaitTimedOut) == [i.WaitTimedOut(conductor_is_fresh=True)]


def test_without_a_place_for_a_bell_the_database_is_looked_at(
    stage: "Stage", claimed: Claim, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The only folder there would be is open to everybody, and not used for that."""
    public = stage.hall / f"musician-{os.geteuid()}"
    public.mkdir()
    public.chmod(0o777)
    for name in ("XDG_RUNTIME_DIR", "TMPDIR"):
        monkeypatch.setenv(name, str(stage.hall))
    monkeypatch.setattr(bell, "_SHARED_TEMPORARY", str(stage.hall))
    with pytest.raises((PermissionError, FileNotFoundError)):
        bell.Bell(Path(stage.store.name), TASK)
    told = service.send(stage.store, TASK, "can you hear me?")
    heard = watch(stage, claimed, Settings(), until=i.MessageArrived)
    assert [given.message_id for given in heard if isinstance(given, i.MessageArrived)] == [told]


def test_of_two_persons_one_after_the_other_each_is_heard(
    stage: "Stage", claimed: Claim, tmp_path: Path
) -> None:
    """ATTACH: the lock changes hands between two looks; the second must not have the agent by the first one's leave."""
    told: list[str] = []

    async def tell(given: i.Input) -> None:
        told.append(type(given).__name__)
        if len(told) == 1:  # nobody looks while the lock changes hands
            held.pop().release()
            second = hold(lock, session_id="second")
            assert isinstance(second, LifeLock)
            held.append(second)
        if len(told) == 3:
            held.pop().release()
        if len(told) == 4:
            service.fence(stage.store, TASK, epoch=claimed.epoch)

    async def run() -> None:
        with anyio.fail_after(HANG_S):
            await Watcher(
                store=stage.store,
                claim=claimed,
                settings=Settings(),
                tell=tell,
                wanted_by=partial(held_by, lock),
            ).run()

    lock, held = tmp_path / "person", list[LifeLock]()
    first = hold(lock, session_id="first")
    assert isinstance(first, LifeLock)
    held.append(first)
    anyio.run(run)
    assert told == ["PersonCame", "PersonLeft", "PersonCame", "PersonLeft", "ClaimWasLost"]
