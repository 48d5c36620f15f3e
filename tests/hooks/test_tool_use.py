"""What a musician's session may not do is refused before it is done, and an urgent word reaches it there (D21, D12)."""

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw
import pytest

from musician import service
from musician.protocol.claim import Claim
from musician.protocol.journal import Kind
from musician.protocol.policy.forbidden import Act
from musician.store.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from tests.hooks.conftest import Hook

OWN_TOOL = "mcp__plugin_musician_comms-link__inbox"


def bash(command: str, **keys: Any) -> dict[str, Any]:
    """What the client says before it runs a command."""
    return {"tool_name": "Bash", "tool_input": {"command": command}, **keys}


def test_a_push_is_denied_with_its_reason_and_stands_in_the_journal(
    hook: "Hook", claim: Claim, store: SqliteStore
) -> None:
    """D21.1: visible as a refusal, with its reason."""
    assert "does not publish" in hook("PreToolUse", **bash("cd src && git -C . push")).denies
    last = service.journal_of(store, "task-03")[-1]
    assert last.kind == Kind.REFUSED
    assert last.text.startswith("git -C . push (push: ")
    assert last.session_id == claim.session_id


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("AskUserQuestion", {"questions": []}),
        ("mcp__local-rag__ingest_data", {"content": "x"}),
        ("Write", {"file_path": "CLAUDE.md", "content": ""}),
    ],
)
def test_other_forbidden_acts_are_denied_in_a_subagent_too(
    hook: "Hook", claim: Claim, tool: str, given: dict[str, Any]
) -> None:
    """D21.2, D21.3: a subagent is under its session's policy."""
    assert hook("PreToolUse", tool_name=tool, tool_input=given, agent_id="a1", agent_type="x").denies


@pytest.mark.usefixtures("claim")
def test_work_goes_on_without_a_word(hook: "Hook") -> None:
    for command in ("python3 -m unittest -q", "git commit -am 'git push'", "echo x > greeter.py"):
        assert hook("PreToolUse", **bash(command)).document is None
    assert hook("PreToolUse", tool_name="Read", tool_input={"file_path": "CLAUDE.md"}).document is None
    assert hook("PreToolUse", tool_name="Bash", tool_input="garbage").document is None
    assert hook("PreToolUse", tool_name=3).document is None


@pytest.mark.usefixtures("claim")
def test_a_configured_alias_is_seen_through(hook: "Hook", repository: Path) -> None:
    subprocess.run(["git", "config", "alias.publish", "push --all"], cwd=repository, check=True)
    assert hook("PreToolUse", **bash("git publish", cwd=str(repository))).denies


@pytest.mark.usefixtures("claim")
def test_a_session_without_a_claim_is_left_alone(hook: "Hook") -> None:
    assert hook("PreToolUse", session_id="sess-zzz", **bash("git push")).document is None
    assert hook("PreToolUse", session_id="sess-zzz", tool_name=OWN_TOOL).document is None


@pytest.mark.usefixtures("claim")
@pytest.mark.parametrize(
    ("tool", "is_let_through"),
    [
        (OWN_TOOL, True),
        ("mcp__comms-link__inbox", False),
        ("mcp__plugin_musician_comms-link_2__inbox", False),
        ("Bash", False),
    ],
)
def test_where_nobody_can_be_asked_a_stranger_may_claim_by_the_plugins_tool(
    hook: "Hook", monkeypatch: pytest.MonkeyPatch, tool: str, is_let_through: bool
) -> None:
    """A server of the user's that happens to have the same name is none of ours."""
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ATTENDED", "0")
    answered = hook("PreToolUse", session_id="sess-zzz", tool_name=tool, tool_input={"command": OWN_TOOL})
    specific = (answered.document or {}).get("hookSpecificOutput", {})
    assert (specific.get("permissionDecision") == "allow") is is_let_through
    assert not answered.denies


@pytest.mark.usefixtures("claim")
def test_the_protocols_own_tools_are_let_through(hook: "Hook") -> None:
    answered = hook("PreToolUse", tool_name=OWN_TOOL, tool_input={})
    assert (answered.document or {})["hookSpecificOutput"]["permissionDecision"] == "allow"


@pytest.mark.usefixtures("claim")
def test_what_the_conductor_grants_is_let_through_until_it_is_revoked(
    hook: "Hook", store: SqliteStore
) -> None:
    """D21.1: unless the conductor granted that act in a message."""
    service.send(store, "task-03", "Push it to the mirror.", grants=[Act.PUSH])
    assert hook("PreToolUse", **bash("git push mirror")).document is None
    assert hook("PreToolUse", **bash("git push mirror; git reset --hard")).denies
    service.send(store, "task-03", "Enough.", revokes=[Act.PUSH])
    assert hook("PreToolUse", **bash("git push mirror")).denies


def test_a_grant_is_for_its_task_alone(hook: "Hook", claim: Claim, store: SqliteStore) -> None:
    service.send(store, "task-04", "You may.", grants=[Act.PUSH])
    assert service.grants_of(store, "task-04") == {Act.PUSH}
    assert service.grants_of(store, claim.task_id) == frozenset()
    assert hook("PreToolUse", **bash("git push")).denies


def test_an_urgent_message_stops_the_next_call_once(hook: "Hook", claim: Claim, store: SqliteStore) -> None:
    """D12: delivered at once, acknowledged when it is read."""
    note = service.send(store, "task-03", "By the way.")
    assert hook("PreToolUse", **bash("ls")).document is None
    urgent = service.send(store, "task-03", "Stop all work.", urgent=True)
    assert hook("PreToolUse", tool_name=OWN_TOOL).denies == ""
    assert hook("PreToolUse", agent_id="a1", **bash("ls")).denies
    said = hook("PreToolUse", **bash("ls")).denies
    assert f"urgent message {urgent} " in said
    assert "`inbox`" in said
    assert hook("PreToolUse", **bash("ls")).document is None
    assert hook("PreToolUse", agent_id="a1", **bash("ls")).document is None
    assert [message.id for message in service.unread(store, claim.task_id)][-2:] == [note, urgent]


def test_a_session_whose_claim_was_taken_over_writes_nothing_more(
    hook: "Hook", claim: Claim, store: SqliteStore
) -> None:
    """D2.1: a zombie is told, and kept from writing."""
    service.fence(store, claim.task_id, epoch=claim.epoch)
    assert "taken over" in hook("PreToolUse", **bash("ls")).denies
    assert hook("PreToolUse", tool_name="Edit", tool_input={"file_path": "x"}).denies
    assert hook("PreToolUse", tool_name="Read", tool_input={"file_path": "x"}).document is None


def test_a_session_that_ended_its_claim_itself_is_free(
    hook: "Hook", claim: Claim, store: SqliteStore
) -> None:
    leave(store, claim)
    assert hook("PreToolUse", **bash("git push")).document is None


@pytest.mark.usefixtures("claim")
def test_a_refusal_that_cannot_be_written_down_is_one_all_the_same(hook: "Hook", store: SqliteStore) -> None:
    """B10: the answer does not wait for the database."""
    raw = apsw.Connection(str(store.path))
    raw.execute("CREATE TRIGGER no_notes BEFORE INSERT ON journal BEGIN SELECT raise(ABORT, 'full'); END")
    raw.close()
    assert hook("PreToolUse", saying="not in the journal", **bash("git push")).denies


@pytest.mark.usefixtures("claim")
def test_an_unreadable_database_has_forbidden_acts_asked_about_and_nothing_else(
    hook: "Hook", store: SqliteStore
) -> None:
    """B10: nobody can tell whose session it is, so the person at the client is asked; the database is named."""
    path = store.path
    store.close()
    path.write_bytes(b"no database " * 500)
    answered = hook("PreToolUse", saying=str(path), **bash("git push"))
    specific = (answered.document or {})["hookSpecificOutput"]
    assert specific["permissionDecision"] == "ask"
    assert str(path) in specific["permissionDecisionReason"]
    for harmless in (bash("ls"), {"tool_name": "Read"}):
        assert hook("PreToolUse", saying=str(path), **harmless).document is None
    allowed = hook("PreToolUse", saying=str(path), tool_name=OWN_TOOL).document or {}
    assert allowed["hookSpecificOutput"]["permissionDecision"] == "allow"


def test_a_locked_database_is_not_waited_for(
    hook: "Hook", claim: Claim, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B10: a lock held for a minute delays no tool call; what is read is not locked, what is written is left out."""
    monkeypatch.setattr("musician.hooks.place.PATIENCE_S", 0.2)
    holder = apsw.Connection(str(store.path))
    holder.execute("BEGIN IMMEDIATE")
    try:
        assert hook("PreToolUse", saying="not in the journal", **bash("git push")).denies
        assert hook("PreToolUse", **bash("ls")).document is None
    finally:
        holder.execute("ROLLBACK")
        holder.close()
    assert service.current_claim(store, claim.task_id, claim.session_id) == claim


@pytest.mark.usefixtures("claim")
def test_the_hook_answers_as_the_client_calls_it(hook_process: "Hook", repository: Path) -> None:
    """B06: one process, one JSON object."""
    assert hook_process("PreToolUse", **bash("sh -c 'git push'", cwd=str(repository))).denies
    assert hook_process("PreToolUse", **bash("ls")).document is None


def leave(store: SqliteStore, claim: Claim) -> None:
    """The session ends its claim by its own terminal write."""
    service.exit_task(
        store,
        claim,
        reason="released",
        notice="EXITED: released",
        handoff_path="temp/task-03-HANDOFF",
        handoff="nothing yet",
        context_pct=None,
        written_by="program",
        entries=(),
    )
