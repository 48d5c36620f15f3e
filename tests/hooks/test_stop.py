"""The gate before a session's end, as the client calls it (B01, B10, D11)."""

import json
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw
import pytest

from musician import service
from musician.hooks.stop import MONITOR
from musician.processes.life_lock import LifeLock, hold
from musician.protocol.claim import Claim
from musician.protocol.journal import Entry, EntryKind
from musician.protocol.messages.kinds import MessageType
from musician.protocol.rules.gate import AllowStop
from musician.protocol.settings import Settings
from musician.protocol.states import State
from musician.store.sqlite.store import SqliteStore
from musician.testing.waiting import HANG_S, NotInTime, until
from musician.trees.root import find_root
from tests.said import report as report_of

if TYPE_CHECKING:
    from tests.hooks.conftest import Hook

FIRST: dict[str, Any] = {"stop_hook_active": False, "transcript_path": "transcript.jsonl", "cwd": "proj"}
AGAIN: dict[str, Any] = {**FIRST, "stop_hook_active": True}


def started(store: SqliteStore, claim: Claim, item: str = "step 1") -> None:
    """The session has read what it was told, and begins."""
    ids = tuple(message.id for message in service.unread(store, claim.task_id))
    service.deliver(store, claim, ids)
    service.record(store, claim, Entry(kind=EntryKind.STARTED, item=item))


def in_error(store: SqliteStore, claim: Claim) -> None:
    started(store, claim)
    service.report(
        store, claim, report_of(MessageType.ERROR, "ERROR (Retry 1/5):\n  Error: x"), last_error="x"
    )


def told(store: SqliteStore) -> list[str]:
    """What the conductor was told by the gate."""
    rows = service.messages_of(store, "task-03")
    return [row.message for row in rows if row.message_type == MessageType.SYSTEM]


@pytest.fixture(autouse=True)
def tools(request: pytest.FixtureRequest) -> Iterator[LifeLock | None]:
    """The tools' server, as it holds the life lock of the session's task."""
    if "claim" not in request.fixturenames:
        yield None
        return
    request.getfixturevalue("claim")
    root = find_root(request.getfixturevalue("repository"))
    sign = hold(root.locks_dir / "task-03.lock", session_id="sess-aaa")
    assert isinstance(sign, LifeLock)
    with sign:
        yield sign


def test_without_the_tools_server_the_commands_are_named(
    hook: "Hook", claim: Claim, store: SqliteStore, tools: LifeLock
) -> None:
    """AUDIT-C8: late or dead, its tools do not exist."""
    started(store, claim)
    assert 'call `step(n=1, act="done")`' in hook("Stop", **FIRST).blocks
    tools.release()
    assert "call `musician step task-03 done 1`" in hook("Stop", **FIRST).blocks


def test_the_client_says_which_subagents_still_run(hook: "Hook", claim: Claim, store: SqliteStore) -> None:
    """AUDIT-K6: of one that a person stopped no end is told, and it would be waited for in vain."""
    for agent_id in ("a1", "a2"):
        hook("SubagentStart", agent_id=agent_id, agent_type="general-purpose")
    hook("Stop", **FIRST)
    assert len(service.running_subagents(store, claim)) == 2
    hook("Stop", background_tasks=[{"id": "a2", "type": "local_agent"}, 7], **FIRST)
    assert [each.agent_id for each in service.running_subagents(store, claim)] == ["a2"]


def test_a_session_in_plan_mode_is_not_kept(hook: "Hook", claim: Claim, store: SqliteStore) -> None:
    """AUDIT-C7: whatever it is told to do is refused to it there; the task stays its own."""
    started(store, claim)
    answered = hook("Stop", permission_mode="plan", **FIRST)
    assert not answered.blocks
    assert "plan mode" in answered.notice
    assert service.claims_of(store, "sess-aaa") == (claim,)


def test_who_works_is_kept_and_told_the_next_call(hook: "Hook", claim: Claim, store: SqliteStore) -> None:
    assert "call `inbox()` first" in hook("Stop", **FIRST).blocks
    started(store, claim)
    assert 'call `step(n=1, act="done")`' in hook("Stop", **FIRST).blocks


@pytest.mark.usefixtures("claim")
@pytest.mark.parametrize("session_id", [None, "", "null", "sess-bbb", "x" * 90, {"a": 1}])
def test_a_session_that_owns_nothing_may_always_stop(hook: "Hook", session_id: object) -> None:
    """D8.7, S-HOOK-4: empty, null and unknown ids match nothing."""
    assert hook("Stop", session_id=session_id, **FIRST).document is None


def test_a_blocked_session_may_stop(hook: "Hook", claim: Claim, store: SqliteStore) -> None:
    """S-CLAIM-6: by its fallback row."""
    service.block_claim(store, claim.task_id, "sess-bbb", "somebody lives on it")
    assert hook("Stop", session_id="sess-bbb", **FIRST).document is None


def test_b01_nobody_is_kept_for_ever_and_the_last_allowance_leaves_a_trace(
    hook_process: "Hook", claim: Claim, store: SqliteStore
) -> None:
    """The counter is the session's and survives every process; the conductor sees why, once."""
    started(store, claim)
    assert hook_process("Stop", **FIRST).blocks
    for _ in range(7):
        assert hook_process("Stop", **AGAIN).blocks
    assert told(store) == []
    assert "let stop: it was kept 8 times in a row" in hook_process("Stop", **AGAIN).notice
    assert ["8 times in a row" in text for text in told(store)] == [True]
    assert [row.kind for row in service.journal_of(store, "task-03")][-1] == EntryKind.LET_GO
    client = service.client_of(store, claim.session_id)
    assert client is not None
    assert client.iterations == 9


def test_a_tool_call_between_starts_the_row_anew_and_progress_the_count(
    hook_process: "Hook", claim: Claim, store: SqliteStore, tmp_path: Path
) -> None:
    started(store, claim)
    transcript = tmp_path / "t.jsonl"
    transcript.write_text("")
    again = {**AGAIN, "transcript_path": str(transcript)}

    def counts() -> tuple[int, int]:
        assert hook_process("Stop", **again).blocks
        client = service.client_of(store, claim.session_id)
        assert client is not None
        return client.iterations, client.stops_in_a_row

    assert [counts() for _ in range(2)] == [(1, 1), (2, 2)]
    with transcript.open("a") as file:
        file.write(json.dumps({"type": "assistant", "message": {"content": [{"type": "tool_use"}]}}) + "\n")
    assert counts() == (3, 1)
    service.record(store, claim, Entry(kind=EntryKind.COMPLETED, item="step 1"))
    assert counts() == (1, 2)


def test_after_five_hundred_stops_without_progress_the_session_is_let_go(
    hook: "Hook", claim: Claim, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S-HOOK-3: whatever the client's cap is."""
    monkeypatch.setenv("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", "0")
    started(store, claim)
    assert hook("Stop", **FIRST).blocks
    raw = apsw.Connection(str(store.path))
    raw.execute("UPDATE clients SET iterations = 499")
    raw.close()
    assert hook("Stop", **AGAIN, n=1).blocks
    assert "501 times" in hook("Stop", **AGAIN, n=2).notice


def test_two_registrations_of_one_hook_count_once(boot: list[str], claim: Claim, store: SqliteStore) -> None:
    started(store, claim)
    said = json.dumps({"hook_event_name": "Stop", "session_id": "sess-aaa", **FIRST}).encode()
    both = [subprocess.Popen([*boot, "Stop"], stdin=-1, stdout=-1, stderr=-1) for _ in range(2)]
    answers = [each.communicate(said, timeout=HANG_S)[0] for each in both]
    assert [json.loads(each)["decision"] for each in answers] == ["block", "block"]
    client = service.client_of(store, claim.session_id)
    assert client is not None
    assert client.iterations == 1


@pytest.mark.parametrize("variable", ["CLAUDE_CODE_SESSION_ATTENDED", "MUSICIAN_HOST"])
def test_a_waiting_session_that_somebody_wakes_just_stops(
    hook: "Hook", claim: Claim, store: SqliteStore, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "1")
    in_error(store, claim)
    assert hook("Stop", **FIRST).document is None
    service.send(store, "task-03", "Look at the tests.")
    assert "call `inbox()` first" in hook("Stop", **FIRST).blocks


@pytest.mark.parametrize(
    ("running", "is_woken"),
    [
        ([{"type": "monitor", "status": "running", "description": MONITOR}], True),
        ([{"type": "monitor", "status": "running", "description": "the weather"}], False),
        ([{"type": "shell", "status": "running", "description": MONITOR}, None], False),
        ([], False),
        (None, True),
    ],
)
def test_in_a_terminal_the_monitor_wakes_it_and_without_one_the_gate_waits(
    hook: "Hook",
    claim: Claim,
    store: SqliteStore,
    monkeypatch: pytest.MonkeyPatch,
    running: object,
    *,
    is_woken: bool,
) -> None:
    """D11: a session that was resumed has no monitor. A client that does not say what runs is believed to have it."""
    waited: list[Claim] = []

    def wait(_place: object, waits: Claim) -> AllowStop:
        waited.append(waits)
        return AllowStop()

    monkeypatch.setattr("musician.hooks.stop_waiting.wait_for_conductor", wait)
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ATTENDED", "1")
    in_error(store, claim)
    assert hook("Stop", **FIRST, background_tasks=running).document is None
    assert waited == ([] if is_woken else [claim])


def test_where_nobody_wakes_it_the_session_waits_in_the_hook_until_it_is_answered(
    waiting: Callable[[], "subprocess.Popen[bytes]"], claim: Claim, store: SqliteStore
) -> None:
    """D11.1: woken by the bell."""
    in_error(store, claim)
    with waiting() as hook:
        service.judge(store, "task-03", State.FIX_PROPOSED, "Try again.")
        out, _ = hook.communicate(timeout=HANG_S)
    assert "task-03 is fix_proposed. Message " in json.loads(out)["reason"]


def test_an_answer_by_raw_sql_is_heard_long_before_the_slow_look(
    waiting: Callable[[], "subprocess.Popen[bytes]"], claim: Claim, store: SqliteStore, repository: Path
) -> None:
    """D11.9"""
    find_root(repository).config.write_text(
        "[heartbeat]\nrefresh_after_s = 100\n[waiting]\npause_poll_s = 400\n"
    )
    in_error(store, claim)
    with waiting() as hook:
        store.connection.execute(
            "INSERT INTO orchestration_messages (task_id, from_session, message_type, message)"
            " VALUES ('task-03', 'task-00', 'note', 'by hand')"
        )
        out, _ = hook.communicate(timeout=HANG_S)
    assert "Message " in json.loads(out)["reason"]


def test_while_its_plan_is_paused_a_session_waits_in_the_hook_whatever_it_has_to_do(
    waiting: Callable[[], "subprocess.Popen[bytes]"], claim: Claim, store: SqliteStore
) -> None:
    """PLAN-25, PLAN-26: no model is prompted before the plan goes on, and then it is told what is next."""
    started(store, claim)
    service.pause_plan(store, "greeter", who="ada", reason="lunch")
    with waiting() as hook:
        service.send(store, "task-03", "mind the accents")
        service.resume_plan(store, "greeter", who="ada")
        out, _ = hook.communicate(timeout=HANG_S)
    assert "Message " in json.loads(out)["reason"]


def test_a_lost_claim_ends_the_wait_without_a_word(
    waiting: Callable[[], "subprocess.Popen[bytes]"], claim: Claim, store: SqliteStore
) -> None:
    """D11.3."""
    in_error(store, claim)
    with waiting() as hook:
        service.fence(store, "task-03", epoch=claim.epoch)
        service.take_over(store, "task-03", "gone", reason="stale")
        assert hook.communicate(timeout=HANG_S) == (b"", b"")


def test_a_hook_that_is_told_to_end_takes_its_bell_down(
    waiting: Callable[[], "subprocess.Popen[bytes]"], claim: Claim, store: SqliteStore, bells: Path
) -> None:
    """B32."""
    in_error(store, claim)
    with waiting() as hook:
        hook.send_signal(signal.SIGTERM)
        assert hook.communicate(timeout=HANG_S)[0] == b""
    assert hook.returncode == 128 + signal.SIGTERM
    assert sockets(bells) == []


def test_a_silent_conductor_is_reported_then_the_session_is_told_to_hand_off(
    hook: "Hook", claim: Claim, store: SqliteStore, repository: Path
) -> None:
    """D11.6, D11.7, D30.5, with a time-out of moments; the heartbeat is kept."""
    config = repository / ".musician" / "config.toml"
    config.write_text("[waiting]\ntimeout_s = 0.1\npause_poll_s = 0.05\nbackground_poll_s = 0.05\n")
    in_error(store, claim)
    assert 'call `handoff(reason="conductor unresponsive")`' in hook("Stop", **FIRST).blocks
    said = [
        row.message for row in service.messages_of(store, "task-03") if row.message_type == MessageType.ERROR
    ]
    assert ["conductor timeout" in text for text in said] == [False, True]
    assert service.task_row(store, "task-03").state is State.ERROR


@pytest.mark.usefixtures("claim")
def test_b10_a_broken_database_lets_the_session_go_and_leaves_a_trace(
    hook: "Hook", store: SqliteStore, repository: Path
) -> None:
    path = store.path
    store.close()
    path.write_bytes(b"no database " * 500)
    assert str(path) in hook("Stop", saying=str(path), **FIRST).notice
    assert str(path) in (repository / ".musician" / "logs" / "gate.log").read_text()
    path.unlink()
    assert hook("Stop", **FIRST).document is None


def test_b10_a_locked_database_keeps_the_session_uncounted(
    hook: "Hook", claim: Claim, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("musician.hooks.hook_context.PATIENCE_S", 0.1)
    started(store, claim)
    holder = apsw.Connection(str(store.path))
    holder.execute("BEGIN IMMEDIATE")
    try:
        assert hook("Stop", saying="not counted", **FIRST).blocks
    finally:
        holder.execute("ROLLBACK")
        holder.close()


def test_wrong_settings_let_a_waiting_session_go(
    hook: "Hook", claim: Claim, store: SqliteStore, repository: Path
) -> None:
    in_error(store, claim)
    (repository / ".musician" / "config.toml").write_text("[waiting]\ntimeout_s = 'soon'\n")
    assert "waiting.timeout_s" in hook("Stop", saying="waiting.timeout_s", **FIRST).notice


def test_a_conductors_own_session_is_kept_until_it_is_asked_to_leave(
    hook: "Hook", store: SqliteStore
) -> None:
    """S-HOOK-2."""
    service.start_conducting(store, "sess-aaa", settings=Settings())
    assert "You conduct" in hook("Stop", **FIRST).blocks


def sockets(folder: Path) -> list[Path]:
    return [path for path in folder.glob("musician-*/*/*") if path.is_socket()]


@pytest.fixture
def bells() -> Iterator[Path]:
    """Where bells hang: a short path, as a socket's must be."""
    with tempfile.TemporaryDirectory(prefix="m-") as folder:
        yield Path(folder)


@pytest.fixture
def waiting(
    boot: list[str], bells: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], "subprocess.Popen[bytes]"]:
    """Begin the hook as a process of its own, and give it back once its bell hangs."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(bells))

    def begin() -> "subprocess.Popen[bytes]":
        said = json.dumps({"hook_event_name": "Stop", "session_id": "sess-aaa", **FIRST}).encode()
        hook = subprocess.Popen([*boot, "Stop"], stdin=-1, stdout=-1, stderr=-1)
        assert hook.stdin is not None
        hook.stdin.write(said)
        hook.stdin.close()
        hook.stdin = None
        try:
            until(lambda: sockets(bells) or hook.poll() is not None)
        except NotInTime:
            hook.kill()
            raise
        assert hook.poll() is None, hook.communicate()
        return hook

    return begin
