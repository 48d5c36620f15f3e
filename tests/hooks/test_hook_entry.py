"""What every hook does before it does anything: whose event is it, and is there anything to do?"""

import json
import subprocess
import sys
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from musician import service
from musician.hooks.entry import EVENTS, main
from musician.hooks.event import as_event, session_of
from musician.hooks.hook_context import HookContext
from musician.protocol.claim import Claim
from musician.protocol.errors import MusicianError
from musician.protocol.names import check_session_id
from musician.protocol.settings import Settings
from musician.protocol.states import ACTIVE, State
from musician.store.sqlite.store import SqliteStore
from musician.store.sqlite.versions import APPLICATION_ID
from musician.testing.waiting import HANG_S

if TYPE_CHECKING:
    from tests.hooks.conftest import Hook

DEAR = {"dataclasses", "enum", "inspect", "json", "pathlib", "re", "subprocess", "typing"}
"""Modules that cost a hook more than its work."""

NO_SESSIONS = (
    *("", " ", "null", "NULL", "None", "undefined", "é", "٣", ".", "-rf", "task 03", "task-03\\n", "task-0%"),
    *("zzz' OR task_id='task-03", "task-03' --", "../../outside", "%2e%2e%2fx", "x" * 65),
)
"""Of these B18 and B43 have some."""


@pytest.mark.parametrize("event", EVENTS)
def test_a_repository_without_a_database_is_none_of_ours(hook: "Hook", repository: Path, event: str) -> None:
    before = sorted(repository.rglob("*"))
    assert hook(event, prompt="hello", command_name="commit").document is None
    assert sorted(repository.rglob("*")) == before


def test_no_repository_at_all_is_none_of_ours(
    hook: "Hook", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert hook("SessionStart", source="startup").document is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("event", sorted(EVENTS.keys() - {"SessionStart", "UserPromptExpansion"}))
def test_a_session_that_owns_nothing_gets_no_answer(hook: "Hook", claim: Claim, event: str) -> None:
    assert hook(event, session_id="sess-foreign").document is None


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("session_id", [None, "", "null", 7, "zzz' OR task_id='task-03", "../../outside"])
def test_b18_a_session_that_is_none_owns_nothing(
    hook: "Hook", claim: Claim, event: str, session_id: object
) -> None:
    """Empty, null and malformed ids match no row (B18)."""
    assert hook(event, session_id=session_id, source="startup").document is None


@pytest.mark.parametrize("session_id", NO_SESSIONS)
def test_b43_what_is_no_id_owns_nothing(session_id: str) -> None:
    """As the protocol says, but cheaper (B18)."""
    assert session_of(session_id) is None
    with pytest.raises(MusicianError):
        check_session_id(session_id)


@pytest.mark.parametrize("session_id", ["sess-aaa", "a", "7.x_y", "x" * 64])
def test_what_is_an_id_may_own_something(session_id: str) -> None:
    assert session_of(session_id) == check_session_id(session_id)


@pytest.mark.parametrize(
    "document", [b"", b"{", b"[]", b'"text"', b"\xff\xfe", b"null", b'{"a": ' * 3000, b"7 8"]
)
@pytest.mark.parametrize("event", EVENTS)
def test_garbage_is_nobodys_event(hook: "Hook", claim: Claim, event: str, document: bytes) -> None:
    assert hook(event, document=document).document is None


@pytest.mark.parametrize("argv", [[], [""], ["Nonsense"], ["stop"]])
def test_an_unknown_event_is_let_pass(
    argv: list[str], claim: Claim, capsys: pytest.CaptureFixture[str]
) -> None:
    out = BytesIO()
    assert main(argv, BytesIO(b"{}"), out) == 0
    assert out.getvalue() == b""
    assert "not one of SessionStart" in capsys.readouterr().err


def test_the_look_knows_a_live_claim_from_a_lost_one(store: SqliteStore, claim: Claim) -> None:
    """A claim that was taken over is still known to have been one."""
    context = HookContext(None, str(store.path))
    context.look("sess-aaa")
    (held,) = context.live
    assert (held.task_id, held.epoch, held.state, held.undelivered) == ("task-03", 1, "working", 1)
    assert held.heartbeat_age_s is not None
    assert 0 <= held.heartbeat_age_s < 60
    service.fence(store, "task-03", epoch=1)
    context.look("sess-aaa")
    assert (context.live, [each.task_id for each in context.held]) == ((), ["task-03"])
    context.look("sess-bbb")
    assert context.held == ()


def test_the_look_counts_what_has_not_been_delivered_to_this_claim(store: SqliteStore, claim: Claim) -> None:
    """Delivered once, a message is not delivered again before it is acknowledged (D12.2)."""
    context = HookContext(None, str(store.path))
    message = service.send(store, "task-03", "mind the accents")
    service.deliver(store, claim, (message,))
    context.look("sess-aaa")
    assert context.held[0].undelivered == 1
    service.deliver(store, claim, tuple(each.id for each in service.unread(store, "task-03")))
    context.look("sess-aaa")
    assert context.held[0].undelivered == 0


def test_the_conductors_own_row_counts_as_a_claim(store: SqliteStore) -> None:
    context = HookContext(None, str(store.path))
    service.start_conducting(store, "sess-aaa", settings=Settings())
    context.look("sess-aaa")
    assert [(each.task_id, each.is_live) for each in context.held] == [("task-00", True)]


def test_the_look_has_the_protocols_states_and_the_stores_id() -> None:
    """They are written out where importing them would be too dear."""
    here = Path(str(sys.modules["musician.hooks.hook_context"].__file__))
    inactive = "('watching', 'exited', 'complete')"
    assert here.with_name("look.sql").read_text(encoding="utf-8").count(inactive) == 2
    assert {each.strip("'") for each in inactive.strip("()").split(", ")} == set(State) - ACTIVE
    assert hex(APPLICATION_ID) in here.read_text(encoding="utf-8").lower()


def test_a_stranger_is_let_go_before_anything_dear_is_imported(
    loaded_by: Callable[..., set[str]], claim: Claim
) -> None:
    """One read decides, without what a command needs to start (P4)."""
    loaded = loaded_by("PostToolBatch", session_id="sess-foreign")
    assert "apsw" in loaded
    assert not loaded & DEAR
    assert {name for name in loaded if name.startswith("musician.")} == {
        "musician.hooks",
        "musician.hooks.asking",
        "musician.hooks.entry",
        "musician.hooks.event",
        "musician.hooks.hook_context",
        "musician.processes",
        "musician.processes.client_line",
        "musician.project",
        "musician.trees",
        "musician.trees.finding",
        "musician.trees.marks",
        "musician.trees.sharing",
    }


def test_an_event_is_never_changed() -> None:
    event = as_event("Stop", b'{"session_id": "sess-aaa", "cwd": 7, "agent_id": "", "prompt": "x"}')
    assert (event.session_id, event.cwd, event.agent_id, event.text("prompt")) == (
        "sess-aaa",
        None,
        None,
        "x",
    )
    with pytest.raises(AttributeError, match="never changed"):
        event.session_id = "sess-bbb"


def test_the_command_answers_as_the_boot_file_does(claim: Claim) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "musician", "hook", "SessionStart"],
        input=b'{"session_id": "sess-new", "source": "startup"}',
        capture_output=True,
        check=True,
        timeout=HANG_S,
    )
    assert "sess-new" in json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
