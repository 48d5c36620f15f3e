"""What wakes an idle session: a pointer when its conductor has spoken, and nothing else."""

import os
import select
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

import pytest

from musician import service
from musician.hooks.hook_context import HookContext
from musician.plugin.monitor import PATIENCE_S, Monitor
from musician.processes.identity import identify
from musician.protocol.claim import Claim
from musician.protocol.messages.kinds import MessageType
from musician.protocol.settings import Settings
from musician.protocol.states import State
from musician.service import Met, rebind
from musician.store.sqlite.store import SqliteStore
from musician.testing.waiting import HANG_S, until
from tests.said import report as report_of

SETTINGS = Settings()


def client(pid: int) -> Met:
    return Met(identity=identify(pid), attended=True, hosted=False)


@pytest.fixture
def monitor(store: SqliteStore, claim: Claim) -> Monitor:
    return Monitor(HookContext(None, str(store.path)), "s1", store, SETTINGS)


def reported(store: SqliteStore, claim: Claim) -> int:
    """The session has reported an error and waits."""
    return service.report(
        store, claim, report_of(MessageType.ERROR, "ERROR: no migration"), last_error="no migration"
    )


def raw(store: SqliteStore, sql: str) -> None:
    import apsw

    connection = apsw.Connection(str(store.path))
    connection.execute(sql)
    connection.close()


def test_a_verdict_wakes_the_waiting_session_once_and_says_only_where_to_look(
    monitor: Monitor, store: SqliteStore, claim: Claim
) -> None:
    """D12: a pointer; nothing is delivered by it."""
    assert monitor.due(0) == []
    report = reported(store, claim)
    assert monitor.due(1) == []
    service.judge(store, "task-03", State.FIX_PROPOSED, "use column mass", submission_id=report)
    (newest,) = service.unread(store, "task-03")
    assert monitor.due(2) == [f"task-03 is fix_proposed: message {newest.id}, call inbox"]
    assert monitor.due(3) == []
    assert service.unread(store, "task-03") == (newest,)
    service.send(store, "task-03", "and column weight")
    (line,) = monitor.due(4)
    assert line.endswith("call inbox")
    assert monitor.due(1000) == []


def test_a_session_at_work_is_left_to_its_hooks(monitor: Monitor, store: SqliteStore, claim: Claim) -> None:
    assert monitor.due(0) == []
    first = service.send(store, "task-03", "mind the accents")
    assert monitor.due(1) == []
    service.deliver(store, claim, (first,))
    assert monitor.due(PATIENCE_S + 2) == []
    second = service.send(store, "task-03", "mind the umlauts")
    assert monitor.due(100) == []
    assert monitor.due(99 + PATIENCE_S) == []
    assert monitor.due(100 + PATIENCE_S) == [f"task-03 is working: message {second}, call inbox"]
    assert monitor.due(1000) == []


def test_what_came_during_work_is_told_as_soon_as_the_session_waits(
    monitor: Monitor, store: SqliteStore, claim: Claim
) -> None:
    monitor.due(0)
    message = service.send(store, "task-03", "mind the accents")
    assert monitor.due(1) == []
    reported(store, claim)
    assert monitor.due(2) == [f"task-03 is error: message {message}, call inbox"]


def test_nobody_is_woken_while_the_plan_is_paused_but_to_leave_and_all_are_when_it_goes_on(
    monitor: Monitor, store: SqliteStore, claim: Claim
) -> None:
    """PLAN-25, PLAN-26."""
    assert monitor.due(0) == []
    service.pause_plan(store, "greeter", who="ada", reason="lunch")
    report = reported(store, claim)
    service.judge(store, "task-03", State.FIX_PROPOSED, "use column mass", submission_id=report)
    assert monitor.due(1) == []
    assert monitor.due(1 + PATIENCE_S) == []
    service.resume_plan(store, "greeter", who="ada")
    (line,) = monitor.due(2 + PATIENCE_S)
    assert line.startswith("task-03 is fix_proposed: message ")
    service.resume(store, claim)
    service.pause_plan(store, "greeter", who="ada")
    assert monitor.due(3 + PATIENCE_S) == []
    service.resume_plan(store, "greeter", who="ada")
    assert monitor.due(4 + PATIENCE_S) == [
        "task-03 is working: its plan goes on, call claim for where it stands"
    ]
    assert monitor.due(5 + PATIENCE_S) == []
    service.pause_plan(store, "greeter", who="ada")
    service.request_exit(store, "task-03", "leave", urgent=False)
    (line,) = monitor.due(6 + PATIENCE_S)
    assert line.startswith("task-03 is exit_requested: message ")


def test_a_state_set_by_plain_sql_is_told_too(monitor: Monitor, store: SqliteStore, claim: Claim) -> None:
    """A conductor may speak SQL, and say nothing."""
    monitor.due(0)
    raw(store, "UPDATE orchestration_tasks SET state = 'exit_requested' WHERE task_id = 'task-03'")
    assert monitor.due(1) == ["task-03 is exit_requested: call inbox"]
    assert monitor.due(2) == []


def test_a_claim_is_followed_to_the_id_a_cleared_conversation_has(
    monitor: Monitor, store: SqliteStore, claim: Claim
) -> None:
    """B05: the client keeps a monitor with the old id."""
    service.meet_client(store, "s1", client(os.getpid()))
    assert monitor.due(0) == []
    (moved,) = rebind(store, "s2", client(os.getpid()))
    assert monitor.due(1) == []
    message = service.send(store, "task-03", "go on")
    reported(store, moved)
    assert message in {each.id for each in service.unread(store, "task-03")}
    assert any("call inbox" in line for line in monitor.due(2 + PATIENCE_S))


def test_a_session_whose_task_was_taken_is_told_so_and_no_more(
    monitor: Monitor, store: SqliteStore, claim: Claim
) -> None:
    monitor.due(0)
    service.fence(store, "task-03", epoch=claim.epoch)
    assert monitor.due(1) == ["task-03 was taken from this session: write nothing more for it"]
    service.send(store, "task-03", "for the next one")
    assert monitor.due(1000) == []
    assert monitor.tasks == frozenset()


def test_a_heartbeat_is_refreshed_before_it_is_stale_and_not_earlier(
    monitor: Monitor, store: SqliteStore, claim: Claim
) -> None:
    """D11: a watcher that lives says that its session does."""

    def age_s() -> float:
        age = service.task_row(store, "task-03").heartbeat_age_s
        assert age is not None
        return age

    for old_s, is_kept in ((400, True), (481, False)):
        raw(store, f"UPDATE orchestration_tasks SET last_heartbeat = datetime('now', '-{old_s} seconds')")  # noqa: S608
        monitor.due(0)
        assert (age_s() > 300) == is_kept


def test_a_long_wait_looks_at_the_conductor_and_a_person_may_take_their_time(
    monitor: Monitor, store: SqliteStore, claim: Claim
) -> None:
    """D11."""
    monitor.due(0)
    reported(store, claim)
    limit_s = SETTINGS.waiting.timeout_s
    assert monitor.due(1) == monitor.due(limit_s + 2) == []
    service.start_conducting(store, "conductor", settings=SETTINGS)
    assert monitor.due(2 * limit_s + 3) == []
    raw(
        store,
        "UPDATE orchestration_tasks SET last_heartbeat = datetime('now', '-1 hour') WHERE task_id = 'task-00'",
    )
    assert monitor.due(3 * limit_s + 4) == [
        "task-03 is error: the conductor shows no life, call conductor_health"
    ]
    service.ask_human(store, "task-03", kind="verdict", subject_id=1, text="look at it")
    assert monitor.due(4 * limit_s + 5) == []


@dataclass
class Started:
    """The monitor as a process of a client of its own, which ends when its standard input does."""

    client: "subprocess.Popen[str]"
    bells: Path

    def until_it_listens(self) -> None:
        until(lambda: any(path.is_socket() for path in self.bells.glob("musician-*/*/*")))

    def line(self) -> str:
        out = cast("IO[str]", self.client.stdout)
        assert select.select([out], [], [], HANG_S)[0], "the monitor says nothing"
        return out.readline()

    def end_client(self) -> None:
        cast("IO[str]", self.client.stdin).close()


CLIENT = """\
import subprocess, sys
monitor = subprocess.Popen(["sh", "-c", sys.argv[1]], stdin=subprocess.DEVNULL)
print(monitor.pid, flush=True)
sys.stdin.read()
"""

Start = Callable[[], Started]


@pytest.fixture
def start(
    store: SqliteStore, claim: Claim, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Start]:
    """Started like the client does it, through a shell."""
    running: list[Started] = []
    with tempfile.TemporaryDirectory(prefix="bells-", dir="/tmp") as bells:

        def started() -> Started:
            code = (
                "import sys; from musician.plugin import monitor;"
                f" monitor.POLL_S = {HANG_S + 100}; sys.exit(monitor.program([]))"
            )
            env = {**os.environ, "CLAUDE_CODE_SESSION_ID": "s1", "XDG_RUNTIME_DIR": bells}
            monitor = f"exec {shlex.quote(sys.executable)} -c {shlex.quote(code)}"
            argv = [sys.executable, "-c", CLIENT, monitor]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            popen = subprocess.Popen(argv, cwd=repository, env=env, text=True, **pipes)  # type: ignore[call-overload]
            running.append(Started(popen, Path(bells)))
            return running[-1]

        monkeypatch.setenv("XDG_RUNTIME_DIR", bells)
        yield started
        for each in running:
            with each.client:
                each.client.kill()


@pytest.mark.parametrize("rings", [True, False])
def test_a_bell_wakes_it_and_it_ends_with_its_client(
    start: Start, store: SqliteStore, claim: Claim, *, rings: bool
) -> None:
    """D11, D11.9: and plain SQL does; no slow look comes within the test's life."""
    reported(store, claim)
    running = start()
    pid = int(running.line())
    running.until_it_listens()
    if rings:
        service.send(store, "task-03", "mind the accents")
    else:
        raw(
            store,
            "INSERT INTO orchestration_messages (task_id, from_session, message_type, message)"
            " VALUES ('task-03', 'task-00', 'note', 'by hand')",
        )
    message = service.unread(store, "task-03")[-1].id
    assert running.line() == f"task-03 is error: message {message}, call inbox\n"
    ended = os.pidfd_open(pid)
    running.end_client()
    assert select.select([ended], [], [], HANG_S)[0], "the monitor outlives its client"
    os.close(ended)


@pytest.mark.parametrize("session", ["", "null", "stranger"])
def test_nobody_is_woken_who_plays_no_task(store: SqliteStore, claim: Claim, session: str) -> None:
    service.send(store, "task-03", "mind the accents")
    assert Monitor(HookContext(None, str(store.path)), session, store, SETTINGS).due(1000) == []
