"""What a hook writes into the journal stands in the status file, too: no end of a session is a mismatch (D25)."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest

from musician import service
from musician.protocol.settings import Settings
from musician.protocol.states import State
from musician.runtime.manual.takeup import TakenUp, take_up
from musician.store.sqlite.store import SqliteStore
from musician.trees.root import find_root

if TYPE_CHECKING:
    from tests.hooks.conftest import Hook

FIRST = {"stop_hook_active": False}
AGAIN = {"stop_hook_active": True}


def taken_up(store: SqliteStore, repository: Path, session_id: str) -> TakenUp:
    async def claim() -> TakenUp:
        return await take_up(find_root(repository), store, "task-03", session_id, settings=Settings())

    return anyio.run(claim)


def nothing(hook: "Hook", transcript: str) -> None:
    """Only its end."""


def a_failed_turn(hook: "Hook", transcript: str) -> None:
    hook("StopFailure", error="rate_limit", last_assistant_message="Too\nmany")


def a_full_window(hook: "Hook", transcript: str) -> None:
    assert hook("StopFailure", error="prompt is too long", transcript_path=transcript).notice


def a_compaction(hook: "Hook", transcript: str) -> None:
    hook("PreCompact", trigger="auto", transcript_path=transcript)


def a_spent_context(hook: "Hook", transcript: str) -> None:
    assert "Context: 98 % used" in hook("PostToolBatch", tool_calls=[], transcript_path=transcript).context


def a_refused_act(hook: "Hook", transcript: str) -> None:
    assert hook("PreToolUse", tool_name="Bash", tool_input={"command": "git push"}).denies


def a_cleared_conversation(hook: "Hook", transcript: str) -> None:
    hook("SessionEnd", reason="clear")
    assert "its claims are yours" in hook("SessionStart", session_id="sess-ccc", source="clear").context
    hook("SessionEnd", session_id="sess-ccc", reason="other")


def a_stop_too_many(hook: "Hook", transcript: str) -> None:
    stops = [hook("Stop", **each) for each in (FIRST, *[AGAIN] * 8)]
    assert "let stop" in stops[-1].notice


ENDS = [
    nothing,
    a_failed_turn,
    a_full_window,
    a_compaction,
    a_spent_context,
    a_refused_act,
    a_cleared_conversation,
    a_stop_too_many,
]


@pytest.mark.parametrize("happens", ENDS, ids=lambda happens: happens.__name__)
def test_after_each_kind_of_end_a_successor_finds_no_mismatch(
    hook_process: "Hook",
    store: SqliteStore,
    repository: Path,
    happens: Callable[["Hook", str], None],
) -> None:
    """D25.4: journal and file are written by one act, whatever the hook."""
    usage = {"input_tokens": 985_000, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    message = {"model": "claude-opus-5-5", "content": [], "usage": usage}
    transcript = repository.parent / "transcript.jsonl"
    transcript.write_text(json.dumps({"type": "assistant", "isSidechain": False, "message": message}))
    claim = taken_up(store, repository, "sess-aaa").claim
    service.deliver(store, claim, tuple(message.id for message in service.unread(store, "task-03")))
    hook_process("UserPromptSubmit", prompt="go on")
    happens(hook_process, str(transcript))
    hook_process("SessionEnd", reason="other")
    if service.task_row(store, "task-03").state is State.EXITED:
        service.reopen(store, "task-03", "Go on.")
    resumption = taken_up(store, repository, "sess-bbb").resumption
    assert resumption is not None
    assert resumption.mismatches.count == 0, resumption.mismatches.remark
