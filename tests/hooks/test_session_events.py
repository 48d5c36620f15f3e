"""A session begins, fails and ends: its id, its claims and its process belong together (B05)."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import pytest

from musician import service
from musician.hooks.client import client_process, met
from musician.hooks.entry import EVENTS
from musician.processes.identity import identify
from musician.protocol.claim import Claim
from musician.protocol.errors import ClaimLost
from musician.protocol.journal import Entry, EntryKind
from musician.protocol.messages.kinds import MessageType
from musician.protocol.settings import Settings
from musician.protocol.states import State
from musician.runtime.manual.manual_session import ManualSession
from musician.store.rows import ClientRow
from musician.store.sqlite.store import SqliteStore
from musician.trees.root import find_root

if TYPE_CHECKING:
    from tests.hooks.conftest import Hook

SOURCES = ["startup", "resume", "clear", "compact", "fork", "somethingnew", "", None]


def client(store: SqliteStore, session_id: str) -> ClientRow:
    found = service.client_of(store, session_id)
    assert found is not None
    return found


@pytest.fixture
def known(store: SqliteStore, claim: Claim) -> Claim:
    """Session sess-aaa holds task-03 in the client that calls the hooks."""
    service.meet_client(store, "sess-aaa", met(transcript_path=None, source="startup"))
    return claim


@pytest.mark.parametrize("source", SOURCES)
def test_b05_every_beginning_is_told_its_id(hook: "Hook", store: SqliteStore, source: str | None) -> None:
    """Unknown sources included (B05, S-HOOK-1, S-BOOT-5)."""
    answered = hook("SessionStart", session_id="sess-ccc", source=source)
    assert answered.context == "CLAUDE_SESSION_ID=sess-ccc"
    assert service.client_of(store, "sess-ccc") is None


def test_git_in_a_tree_of_ours_looks_no_further_up(
    hook: "Hook", store: SqliteStore, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AUDIT-U6, by hand: a tree whose link to its repository is gone is no part of the one around it."""
    file = tmp_path / "env"
    monkeypatch.setenv("CLAUDE_ENV_FILE", str(file))
    hook("SessionStart", source="startup")
    tree = repository / ".musician" / "trees" / "p" / "task-01"
    (tree / "sub").mkdir(parents=True)
    line = f'. "{file}"; git rev-parse --show-toplevel'
    for folder, found in ((tree, False), (tree / "sub", False), (repository, True)):
        assert (subprocess.run(["sh", "-c", line], cwd=folder, check=False).returncode == 0) is found


def test_commands_find_the_id_in_their_environment(
    hook: "Hook", store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "it's an env file"
    monkeypatch.setenv("CLAUDE_ENV_FILE", str(file))
    hook("SessionStart", source="startup")
    shown = subprocess.run(
        ["sh", "-c", f'. "{file}"; echo "$MUSICIAN_SESSION"'], capture_output=True, text=True, check=True
    )
    assert shown.stdout == "sess-aaa\n"


def test_b05_a_cleared_conversation_keeps_its_task(hook: "Hook", store: SqliteStore, known: Claim) -> None:
    """The new id holds it with a new epoch, the old one is shut out, and the session is told (B05)."""
    service.send(store, "task-03", "mind the accents")
    assert hook("SessionEnd", reason="clear").document is None
    assert client(store, "sess-aaa").end_reason == "clear"
    answered = hook("SessionStart", session_id="sess-bbb", source="clear")
    (moved,) = service.claims_of(store, "sess-bbb")
    assert (moved.task_id, moved.epoch) == ("task-03", 2)
    with pytest.raises(ClaimLost):
        service.beat(store, known)
    assert answered.context.startswith("CLAUDE_SESSION_ID=sess-bbb\n")
    assert "You are musician-task-03-S2, claim 2 of task-03" in answered.context
    assert "task-03 is working" in answered.context
    assert "(instruction)" in answered.context
    assert len(answered.context) < 600
    assert hook("SessionStart", session_id="sess-bbb", source="clear").context != answered.context
    assert service.claims_of(store, "sess-bbb") == (moved,), "registered twice, it counts once"
    assert service.current_session(store, "sess-aaa") == "sess-bbb"
    late = hook("SessionStart", session_id="sess-aaa", source="resume").context
    assert "claim on task-03 has ended" in late


def test_what_is_done_is_not_named_as_begun(hook: "Hook", store: SqliteStore, known: Claim) -> None:
    """B05: neither to the session nor to the conductor, whichever way its conversation begins anew."""
    service.record(
        store,
        known,
        *(Entry(kind=kind, item="step 1") for kind in (EntryKind.STARTED, EntryKind.COMPLETED)),
    )
    assert "step 1" not in hook("SessionStart", source="compact").context
    hook("SessionEnd", reason="clear")
    assert "step 1" not in hook("SessionStart", session_id="sess-bbb", source="clear").context
    assert "Resuming from: step 1" not in service.task_view(store, "task-03").journal[-1].text


def test_a_step_that_is_under_way_is_ended_after_a_clear(
    hook: "Hook", store: SqliteStore, known: Claim, repository: Path
) -> None:
    """B05: twice cleared, too. What a subagent was given has ended with its conversation."""
    service.record(
        store,
        known,
        Entry(kind=EntryKind.STARTED, item="step 1"),
        Entry(kind=EntryKind.LAUNCHED, item="step 1 agent 1"),
    )
    for before, after in (("sess-aaa", "sess-bbb"), ("sess-bbb", "sess-ccc")):
        hook("SessionEnd", session_id=before, reason="clear")
        told = hook("SessionStart", session_id=after, source="clear").context
        assert "Begun, and not done: step 1." in told
    (claim,) = service.claims_of(store, "sess-ccc")
    assert service.duty_of(store, claim).item == "step 1"
    session = ManualSession(root=find_root(repository), store=store, claim=claim, settings=Settings())
    session.finish_item("step 1", commit=True)
    assert service.duty_of(store, claim).item == ""


def test_the_person_at_a_resumed_musician_is_told_how_it_is_woken_again(
    hook: "Hook", known: Claim, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only they can start its monitor (D11)."""
    assert hook("SessionStart", source="resume").notice == ""
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ATTENDED", "1")
    assert "type /musician" in hook("SessionStart", source="resume").notice
    assert hook("SessionStart", source="clear").notice == ""
    assert hook("SessionStart", session_id="sess-zzz", source="resume").notice == ""


def test_a_fork_in_a_process_of_its_own_is_told_that_it_owns_nothing(
    hook: "Hook", store: SqliteStore, claim: Claim
) -> None:
    """AUDIT-C12: its conversation says that it plays a task."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as other:
        owner = service.Met(identity=identify(other.pid), attended=True, hosted=False)
        service.meet_client(store, "sess-aaa", owner)
        said = hook("SessionStart", session_id="sess-bbb", source="fork").context
    assert "It owns none" in said


def test_b05_another_process_gets_nothing_by_clearing(hook: "Hook", store: SqliteStore, claim: Claim) -> None:
    """The claim was made in a client that this one is not (B05)."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as other:
        here = met(transcript_path=None, source=None)
        owner = service.Met(identity=identify(other.pid), attended=True, hosted=False)
        assert owner.identity != here.identity
        service.meet_client(store, "sess-aaa", owner)
        service.end_client(store, "sess-aaa", reason="clear")
        before = service.task_row(store, "task-03")
        answered = hook("SessionStart", session_id="sess-bbb", source="clear")
        after = service.task_row(store, "task-03")
    assert answered.context == "CLAUDE_SESSION_ID=sess-bbb"
    assert (after.session_id, after.claim_epoch, after.last_heartbeat) == (
        before.session_id,
        before.claim_epoch,
        before.last_heartbeat,
    )


@pytest.mark.parametrize("source", ["fork", "somethingnew", "resume"])
def test_b05_a_fork_or_an_unknown_beginning_owns_nothing_and_is_told_whose_it_is(
    hook: "Hook", store: SqliteStore, known: Claim, source: str
) -> None:
    """Neither orphaned in silence nor stolen (B05)."""
    answered = hook("SessionStart", session_id="sess-bbb", source=source)
    assert "task-03 stays with session sess-aaa: this one owns nothing" in answered.context
    assert ("is a fork" in answered.context) is (source == "fork"), "AUDIT-C12"
    assert service.claims_of(store, "sess-aaa") == (known,)
    assert service.claims_of(store, "sess-bbb") == ()


@pytest.mark.parametrize("source", ["resume", "compact", "startup", "somethingnew"])
def test_b05_a_musician_that_comes_back_is_told_who_it_is(
    hook: "Hook", store: SqliteStore, claim: Claim, source: str, backdate: Callable[[int], None]
) -> None:
    """In whatever process it is now; its heartbeat is fresh again (B05)."""
    backdate(900)
    service.end_client(store, "sess-aaa", reason="other")
    answered = hook("SessionStart", source=source)
    assert "You are musician-task-03, claim 1 of task-03" in answered.context
    assert client(store, "sess-aaa").ended_at is None
    age_s = service.task_row(store, "task-03").heartbeat_age_s
    assert age_s is not None
    assert age_s < 60


def test_an_interactive_conductor_is_told_that_it_is(hook: "Hook", store: SqliteStore) -> None:
    service.start_conducting(store, "sess-aaa", settings=Settings())
    assert "You conduct here" in hook("SessionStart", source="compact").context
    assert hook("PreCompact", trigger="auto").document is None


def test_an_end_makes_the_owner_known_dead_and_is_told(
    hook: "Hook", store: SqliteStore, claim: Claim
) -> None:
    """Claimed by whatever way, the client is met at the latest here."""
    assert hook("SessionEnd", reason="prompt_input_exit").document is None
    ended = client(store, "sess-aaa")
    assert (ended.end_reason, ended.pid) == ("prompt_input_exit", client_process(None).pid)
    said = service.messages_of(store, "task-03")[-1]
    assert (said.from_session, said.message_type) == ("sess-aaa", MessageType.SYSTEM)


def test_a_failed_turn_is_recorded(hook: "Hook", store: SqliteStore, known: Claim) -> None:
    assert hook("StopFailure", error="rate_limit", last_assistant_message="Too many").document is None
    assert "rate_limit: Too many" in service.messages_of(store, "task-03")[-1].message
    hook("StopFailure")
    assert service.messages_of(store, "task-03")[-1].message.endswith("failed: unknown")


def test_a_subagent_is_noted_and_nothing_of_its_parent_is_touched(
    hook: "Hook", store: SqliteStore, known: Claim, repository: Path
) -> None:
    """AUDIT-C4, D34.1: the client names the parent's session there. The log is the task's file."""
    before = service.task_view(store, "task-03")
    hook("SubagentStart", agent_id="a72", agent_type="general-purpose")
    assert [each.agent_id for each in service.running_subagents(store, known)] == ["a72"]
    hook("SubagentStop", agent_id="a72", agent_type="general-purpose")
    assert service.running_subagents(store, known) == ()
    assert hook("SubagentStop", agent_id="a73", agent_type="").document is None
    log = (repository / "temp" / "task-03-status").read_text(encoding="utf-8")
    assert log.splitlines() == [f"subagent a72 (general-purpose) {act}" for act in ("started", "stopped")]
    after = service.task_view(store, "task-03")
    assert (after.row.state, after.row.last_heartbeat, after.journal, after.client, after.unread) == (
        before.row.state,
        before.row.last_heartbeat,
        before.journal,
        before.client,
        before.unread,
    )


@pytest.mark.parametrize("event", sorted(EVENTS))
def test_what_happens_in_a_subagent_leaves_its_parent_as_it_is(
    hook: "Hook", store: SqliteStore, known: Claim, backdate: Callable[[int], None], event: str
) -> None:
    """AUDIT-C4, D34.1: row, journal, counters, gate, messages and claim, whatever the client fires in it."""
    backdate(500)
    before = service.task_view(store, "task-03")
    keys = {
        "agent_id": "a72",
        "agent_type": "general-purpose",
        "reason": "other",
        "trigger": "auto",
        "error": "x",
    }
    answered = hook(
        event, tool_name="Read", tool_input={}, command_name="musician", command_args="task-04", **keys
    )
    assert answered.document is None
    after = service.task_view(store, "task-03")
    assert (after.row.state, after.row.last_heartbeat, after.row.claim_epoch) == (
        before.row.state,
        before.row.last_heartbeat,
        before.row.claim_epoch,
    )
    assert (after.journal, after.client, after.unread) == (before.journal, before.client, before.unread)
    assert service.task_row(store, "task-04").session_id is None


def said_last(repository: Path, words: str, used: int) -> str:
    """A transcript whose last answer is this; its path."""
    usage = {"input_tokens": used, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    block = [{"type": "tool_use", "input": {}}, {"type": "text", "text": words}]
    message = {"model": "claude-opus-5-5", "content": block, "usage": usage}
    noise = [{"type": "user", "message": {"content": '"assistant"'}}, "torn"]
    lines = [{"type": "assistant", "isSidechain": False, "message": message}, *noise]
    path = repository.parent / "transcript.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return str(path)


def test_what_the_person_compacts_is_refused_with_a_way_out_that_works(
    hook: "Hook", store: SqliteStore, known: Claim
) -> None:
    """AUDIT-K3, D42.2: `/clear` keeps the task, and needs no model."""
    assert "`/clear`" in hook("PreCompact", trigger="manual").blocks
    assert service.claims_of(store, "sess-aaa") == (known,)
    service.fence(store, "task-03", epoch=1)
    for trigger in ("manual", "auto"):
        assert hook("PreCompact", trigger=trigger).document is None
        assert hook("PreCompact", session_id="sess-foreign", trigger=trigger).document is None


def test_a_full_window_is_a_handoff_by_the_program(
    hook: "Hook", store: SqliteStore, known: Claim, repository: Path
) -> None:
    """AUDIT-K3, D42.1: nobody asks the model; its last words are in the HANDOFF, and the client compacts."""
    path = said_last(repository, "x" * 3000 + " and the parser is half done", 985_000)
    assert hook("PreCompact", trigger="auto", transcript_path=path).document is None
    row = service.task_row(store, "task-03")
    text = (repository / "temp" / "task-03-HANDOFF").read_text(encoding="utf-8")
    assert (row.state, service.claims_of(store, "sess-aaa")) == (State.EXITED, ())
    assert "and the parser is half done" in text
    assert "x" * 2500 not in text
    assert "98" in text
    begun_anew = hook("SessionStart", source="compact")
    assert "claim on task-03 has ended" in begun_anew.context
    assert "/clear, then /musician task-03" in begun_anew.notice


@pytest.mark.parametrize(
    ("error", "used", "leaves"),
    [
        ("rate_limit", 100_000, False),
        ("rate_limit", 940_000, False),
        ("rate_limit", 950_000, True),
        ("API Error: 400 prompt is too long: 1000001 tokens > 1000000 maximum", 100_000, True),
    ],
)
def test_a_turn_that_failed_for_a_full_window_hands_off(
    hook: "Hook", store: SqliteStore, known: Claim, repository: Path, error: str, used: int, *, leaves: bool
) -> None:
    """AUDIT-K3, D42.1"""
    path = said_last(repository, "so far", used)
    assert bool(hook("StopFailure", error=error, transcript_path=path).notice) is leaves
    assert (service.task_row(store, "task-03").state is State.EXITED) is leaves


def test_a_handoff_that_fails_keeps_the_task_and_names_the_way_out(
    hook: "Hook", store: SqliteStore, known: Claim, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D42.2: the conversation is not compacted under a musician."""
    monkeypatch.setattr("musician.hooks.hook_context.PATIENCE_S", 0.2)
    holder = apsw.Connection(str(store.path))
    holder.execute("BEGIN IMMEDIATE")
    try:
        assert "`/clear`" in hook("PreCompact", trigger="auto", saying="").blocks
    finally:
        holder.execute("ROLLBACK")
        holder.close()


def test_the_client_is_the_nearest_process_without_the_sessions_id(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell or a launcher between it and the hook carries the id as the hook does, and is gone with it."""
    show = (
        "import os, sys; from musician.hooks.client import client_process;"
        " print(os.getppid(), client_process(os.environ.get('CLAUDE_CODE_SESSION_ID')).pid)"
    )
    env = {**os.environ, "CLAUDE_CODE_SESSION_ID": "sess-aaa"}
    python = [os.sys.executable, "-c", show]  # type: ignore[attr-defined]
    between = ["sh", "-c", '"$0" "$@"; true', *python]
    done = subprocess.run(between, env=env, capture_output=True, text=True, check=True)
    parent, found = map(int, done.stdout.split())
    assert found == os.getpid()
    assert parent != found
    assert client_process(None).pid == os.getppid()
