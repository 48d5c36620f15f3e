"""What a musician's session may not do is refused before it is done, and an urgent word reaches it there (D21, D12)."""

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw
import pytest

from musician import service
from musician.hooks.client import met
from musician.mcp_server.tools import TOOLS
from musician.protocol.claim import Claim
from musician.protocol.journal import EntryKind
from musician.protocol.policy.forbidden import Act
from musician.protocol.settings import Settings
from musician.store.sqlite.store import SqliteStore
from tests.said import farewell

if TYPE_CHECKING:
    from tests.hooks.conftest import Hook

OWN = "mcp__plugin_musician_comms-link__"
OWN_TOOL = f"{OWN}inbox"


def bash(command: str, **keys: Any) -> dict[str, Any]:
    """What the client says before it runs a command."""
    return {"tool_name": "Bash", "tool_input": {"command": command}, **keys}


def test_a_push_is_denied_with_its_reason_and_stands_in_the_journal(
    hook: "Hook", claim: Claim, store: SqliteStore
) -> None:
    """D21.1: visible as a refusal, with its reason."""
    assert "does not publish" in hook("PreToolUse", **bash("cd src && git -C . push")).denies
    last = service.journal_of(store, "task-03")[-1]
    assert last.kind == EntryKind.REFUSED
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


def test_an_urgent_message_stops_every_call_but_the_inbox_until_it_is_acknowledged(
    hook: "Hook", claim: Claim, store: SqliteStore
) -> None:
    """AUDIT-C1, D35.2, D12: delivered at once, acknowledged when it is read; a pointer that was heard opens nothing."""
    note = service.send(store, "task-03", "By the way.")
    assert hook("PreToolUse", **bash("ls")).document is None
    urgent = service.send(store, "task-03", "Stop all work.", urgent=True)
    assert hook("PreToolUse", tool_name=OWN_TOOL).denies == ""
    assert hook("PreToolUse", agent_id="a1", **bash("ls")).denies
    said = hook("PreToolUse", **bash("ls")).denies
    assert f"urgent message {urgent} " in said
    assert "`inbox`" in said
    assert f"{note} (note)" in hook("PostToolBatch", tool_calls=[]).context
    for tool in (
        "Read",
        "Edit",
        "Task",
        OWN_TOOL.replace("inbox", "step"),
        OWN_TOOL.replace("inbox", "handoff"),
    ):
        assert "inbox" in hook("PreToolUse", tool_name=tool, tool_input={}).denies
    assert hook("PreToolUse", **bash("ls && musician inbox task-03")).denies
    assert hook("PreToolUse", agent_id="a1", **bash("ls")).denies
    assert hook("PreToolUse", **bash("musician inbox task-03")).document is None
    assert hook("PreToolUse", tool_name="ToolSearch", tool_input={"query": "inbox"}).document is None
    assert [message.id for message in service.unread(store, claim.task_id)][-2:] == [note, urgent]
    service.acknowledge(store, claim, urgent)
    assert hook("PreToolUse", **bash("ls")).document is None
    assert hook("PreToolUse", agent_id="a1", **bash("ls")).document is None


def test_a_session_whose_claim_was_taken_over_writes_nothing_more(
    hook: "Hook", claim: Claim, store: SqliteStore
) -> None:
    """D2.1: a zombie is told, and kept from writing."""
    service.fence(store, claim.task_id, epoch=claim.epoch)
    assert "taken over" in hook("PreToolUse", **bash("ls")).denies
    assert hook("PreToolUse", tool_name="Edit", tool_input={"file_path": "x"}).denies
    assert hook("PreToolUse", tool_name="Read", tool_input={"file_path": "x"}).document is None


def test_a_session_whose_task_nobody_has_may_claim_it_again(
    hook: "Hook", claim: Claim, store: SqliteStore
) -> None:
    """AUDIT-K9: it is told so, and not of a successor that nobody has started."""
    service.fence(store, claim.task_id, epoch=claim.epoch)
    service.take_over(store, claim.task_id, "gone", reason="died")
    refused = hook("PreToolUse", **bash("ls > x")).denies
    assert "Nobody has it now" in refused
    assert "successor" not in refused
    assert service.claim(store, claim.task_id, claim.session_id, settings=Settings()).is_new


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


def test_a_locked_database_is_not_waited_for(
    hook: "Hook", claim: Claim, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B10: a lock held for a minute delays no tool call; what is read is not locked, what is written is left out."""
    monkeypatch.setattr("musician.hooks.hook_context.PATIENCE_S", 0.2)
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


@pytest.mark.parametrize("tool", [f"{OWN}{verb}" for verb in TOOLS] + ["mcp__comms-link__handoff"])
def test_a_subagent_is_refused_the_protocols_acts(hook: "Hook", claim: Claim, tool: str) -> None:
    """AUDIT-C2, D34.2: it may read."""
    may = tool.removeprefix(OWN) in {"siblings", "conductor_health", "query"}
    answered = hook("PreToolUse", tool_name=tool, tool_input={}, agent_id="a1", agent_type="x")
    assert bool(answered.denies) is not may
    assert "musician's own act" in answered.denies or may
    assert not hook("PreToolUse", tool_name=tool, tool_input={}).denies


@pytest.mark.parametrize("kind", [None, "", "general-purpose", "claude", "Explore", "fork", "reviewer"])
def test_an_all_round_subagent_is_begun_as_ours(
    hook: "Hook", claim: Claim, monkeypatch: pytest.MonkeyPatch, kind: str | None
) -> None:
    """AUDIT-C2, D34.3: ours is offered none of the tools. Another kind, or who is no musician, keeps its own."""
    given = {"prompt": "x"} | ({} if kind is None else {"subagent_type": kind})
    agent = {"tool_name": "Agent", "tool_input": given}
    assert hook("PreToolUse", **agent).document is None  # no plugin, no agent of ours
    monkeypatch.setenv("CLAUDE_PLUGIN_ROOT", "/plugin")
    ours = hook("PreToolUse", **agent).document
    if kind in ("Explore", "fork", "reviewer"):
        assert ours is None
    else:
        assert ours is not None
        assert ours["hookSpecificOutput"]["updatedInput"] == {**given, "subagent_type": "musician:subagent"}
        assert "permissionDecision" not in ours["hookSpecificOutput"]
    assert hook("PreToolUse", session_id="sess-zzz", **agent).document is None
    isolated = {"tool_name": "Agent", "tool_input": {**given, "isolation": "worktree"}}
    assert hook("PreToolUse", **isolated).denies


@pytest.mark.parametrize(("named", "played"), [("", None), ("haiku", "haiku"), ("claude-haiku-4-5", None)])
def test_a_subagents_model_is_not_its_musicians_choice(
    hook: "Hook", claim: Claim, monkeypatch: pytest.MonkeyPatch, named: str, played: str | None
) -> None:
    """S-TIER-4: the settings', or the one in its own file; another kind of agent keeps what it was given."""
    monkeypatch.setenv("CLAUDE_PLUGIN_ROOT", "/plugin")
    Path(".musician", "config.toml").write_text(f'[prompts]\nsubagent_model = "{named}"\n', encoding="utf-8")
    given = {"prompt": "x", "subagent_type": "musician:subagent", "model": "sonnet"}
    ours = hook("PreToolUse", tool_name="Agent", tool_input=given).document
    assert ours is not None
    assert ours["hookSpecificOutput"]["updatedInput"].get("model") == played
    explore = {**given, "subagent_type": "Explore"}
    assert hook("PreToolUse", tool_name="Agent", tool_input=explore).document is None


def test_a_strangers_subagent_claims_nothing(
    hook: "Hook", claim: Claim, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AUDIT-C2"""
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ATTENDED", "0")
    asked = {"tool_name": f"{OWN}claim", "tool_input": {"task": "task-04"}, "session_id": "sess-zzz"}
    assert hook("PreToolUse", agent_id="a1", agent_type="x", **asked).denies


def test_a_subagent_that_outlives_its_claim_writes_nothing_more(
    hook: "Hook", claim: Claim, store: SqliteStore
) -> None:
    """AUDIT-K1, D41.4: bound for its life; the next claim of its session is none of its own."""
    subagent = {"agent_id": "a1", "agent_type": "x"}
    hook("SubagentStart", **subagent)
    assert hook("PreToolUse", **bash("ls"), **subagent).document is None
    leave(store, claim)
    for command in ("git push", "ls", "echo x > greeter.py"):
        assert "has ended" in hook("PreToolUse", **bash(command), **subagent).denies
    assert hook("PreToolUse", tool_name="Read", tool_input={}, **subagent).document is None
    assert hook("PreToolUse", **bash("git push"), agent_id="a2", agent_type="x").document is None, (
        "begun free"
    )
    service.claim(store, "task-04", "sess-aaa", settings=Settings())
    assert "has ended" in hook("PreToolUse", **bash("ls"), **subagent).denies
    assert hook("PreToolUse", **bash("ls")).document is None


def test_a_subagent_that_is_spoken_to_again_runs_again(
    hook: "Hook", claim: Claim, store: SqliteStore
) -> None:
    """AUDIT-K6: the client fires no second start."""
    subagent = {"agent_id": "a1", "agent_type": "x"}
    hook("SubagentStart", **subagent)
    hook("SubagentStop", **subagent)
    assert service.running_subagents(store, claim) == ()
    assert hook("PreToolUse", **bash("ls"), **subagent).document is None
    assert [each.agent_id for each in service.running_subagents(store, claim)] == ["a1"]


def test_a_spent_context_leaves_the_way_out_and_reading(
    hook: "Hook", claim: Claim, store: SqliteStore
) -> None:
    """AUDIT-C6, D35.1: as long as it is measured so."""
    service.measure_context(store, claim, 74.9)
    assert hook("PreToolUse", **bash("ls")).document is None
    service.measure_context(store, claim, 75.0)
    for call in (
        bash("ls"),
        bash("musician status; rm x"),
        {"tool_name": "Edit", "tool_input": {}},
        {"tool_name": "Task"},
    ):
        assert "handoff" in hook("PreToolUse", **call).denies
    for tool in (f"{OWN}handoff", f"{OWN}inbox", "Read", "Grep"):
        assert not hook("PreToolUse", tool_name=tool, tool_input={}).denies
    assert not hook("PreToolUse", **bash("musician exit task-03 --reason context")).denies
    service.measure_context(store, claim, 12.0)
    assert hook("PreToolUse", **bash("ls")).document is None


def test_what_is_said_of_a_spent_context_is_what_was_measured(
    hook: "Hook", claim: Claim, store: SqliteStore
) -> None:
    """D15.1: a threshold that was reached is no reading, and an impossible reading forces nothing (B28)."""
    service.meet_client(store, "sess-aaa", met(transcript_path=None, source="startup"))
    service.warn_client(store, "sess-aaa", 75.0)
    assert "75 % of your context is used" not in hook("PreToolUse", **bash("ls")).denies
    service.measure_context(store, claim, 81.0)
    assert "81 % of your context is used" in hook("PreToolUse", **bash("ls")).denies
    service.warn_client(store, "sess-aaa", 0.0)
    store.connection.execute("UPDATE sessions SET context_pct = 130 WHERE task_id = 'task-03'")
    assert hook("PreToolUse", **bash("ls")).document is None


@pytest.mark.parametrize("mode", ["plan", "default"])
def test_nothing_is_claimed_in_plan_mode(
    hook: "Hook", claim: Claim, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    """AUDIT-C7: every tool would be refused to it there."""
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ATTENDED", "0")
    asked = {"tool_name": f"{OWN}claim", "tool_input": {"task": "task-04"}, "session_id": "sess-zzz"}
    assert ("plan mode" in hook("PreToolUse", permission_mode=mode, **asked).denies) is (mode == "plan")
    assert not hook("PreToolUse", permission_mode="plan", tool_name=f"{OWN}claim").denies, (
        "it has claimed before"
    )


def leave(store: SqliteStore, claim: Claim) -> None:
    """The session ends its claim by its own terminal write."""
    service.exit_task(store, claim, farewell("released", path="temp/task-03-HANDOFF"), handoff="nothing yet")
