"""The guard of a musician's session fails closed, and a stranger's session is never touched (D36)."""

import contextlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from musician import service
from musician.hooks.limit import OverTime, time_limit
from musician.protocol.claim import Claim
from musician.protocol.settings import Settings
from musician.runtime.manual.takeup import take_up
from musician.store.sqlite.store import SqliteStore
from musician.trees import marks
from musician.trees.root import find_root
from tests.said import farewell

if TYPE_CHECKING:
    from tests.hooks.conftest import Hook

OWN = "mcp__plugin_musician_comms-link__"
WAY_OUT = "/clear"


def bash(command: str, **keys: Any) -> dict[str, Any]:
    return {"tool_name": "Bash", "tool_input": {"command": command}, **keys}


@pytest.fixture
def taken(store: SqliteStore, repository: Path) -> Claim:
    """Session sess-aaa has claimed task-03 as every way of claiming does."""

    async def claim() -> Claim:
        root = find_root(repository)
        return (await take_up(root, store, "task-03", "sess-aaa", settings=Settings())).claim

    return anyio.run(claim)


def gone(path: Path) -> None:
    path.unlink()


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def garbage(path: Path) -> None:
    path.write_bytes(b"no database " * 500)


def all_of_ours(path: Path) -> None:
    shutil.rmtree(path.parent)


def begun_anew(path: Path) -> None:
    path.unlink()
    SqliteStore.create(path).close()


BROKEN = [gone, a_folder, garbage, all_of_ours, begun_anew]


@pytest.mark.usefixtures("taken")
@pytest.mark.parametrize("breaks", BROKEN, ids=lambda breaks: breaks.__name__)
def test_without_its_database_a_musician_only_reads_and_is_told_the_way_out(
    hook: "Hook", store: SqliteStore, breaks: Callable[[Path], None]
) -> None:
    """AUDIT-C3, D36.1, B10: gone, a folder, garbage, cleaned away, begun anew: its session is known all the same."""
    store.close()
    breaks(store.path)
    for call in (bash("ls"), bash("git push"), {"tool_name": "Edit", "tool_input": {"file_path": "x"}}):
        denied = hook("PreToolUse", saying=str(store.path), **call).denies
        assert str(store.path) in denied
        assert WAY_OUT in denied
        assert hook("PreToolUse", saying="", agent_id="a1", **call).denies
    assert hook("PreToolUse", saying="", tool_name="Read", tool_input={}).document is None
    allowed = hook("PreToolUse", saying="", tool_name=f"{OWN}inbox", tool_input={}).document or {}
    assert allowed["hookSpecificOutput"]["permissionDecision"] == "allow"
    assert str(store.path) in hook("Stop", saying="").notice, "it may stop, and the person hears why"


@pytest.mark.usefixtures("taken")
@pytest.mark.parametrize("breaks", BROKEN, ids=lambda breaks: breaks.__name__)
def test_without_a_database_a_strangers_session_is_never_touched(
    hook: "Hook", store: SqliteStore, breaks: Callable[[Path], None]
) -> None:
    """AUDIT-C3, D36.2"""
    store.close()
    breaks(store.path)
    for call in (
        bash("ls"),
        bash("git push --force"),
        {"tool_name": "Edit", "tool_input": {"file_path": "CLAUDE.md"}},
    ):
        assert hook("PreToolUse", session_id="sess-zzz", saying="", **call).document is None
    assert hook("PostToolBatch", session_id="sess-zzz", saying="").document is None


def deep() -> bytes:
    return b'{"session_id": "sess-aaa", "tool_name": "Bash", "tool_input": {"a": ' + b"[" * 200_000


def long_number() -> bytes:
    return (
        b'{"session_id": "sess-aaa", "tool_name": "Bash", "tool_input": {"command": "git push", "n": '
        + b"7" * 5000
        + b"}}"
    )


UNREADABLE = [deep(), long_number(), b"", b"{", b"[]", b"\xff\xfe"]


@pytest.mark.usefixtures("claim")
@pytest.mark.parametrize(
    "document", UNREADABLE, ids=["deep", "long number", "empty", "cut", "list", "no text"]
)
def test_an_event_that_cannot_be_read_is_refused_to_a_musician_and_to_nobody_else(
    hook: "Hook", document: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AUDIT-C3, D36.1: the environment says whose it is where the event does not."""
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "sess-aaa")
    assert "cannot be read" in hook("PreToolUse", document=document).denies
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "sess-zzz")
    assert hook("PreToolUse", document=document.replace(b"sess-aaa", b"sess-zzz")).document is None


@pytest.mark.usefixtures("claim")
def test_a_crash_of_whoever_judges_is_a_refusal(hook: "Hook", monkeypatch: pytest.MonkeyPatch) -> None:
    """AUDIT-C3, D36.1"""

    def crash(*_: object) -> None:
        raise RecursionError("too deep")

    monkeypatch.setattr("musician.protocol.policy.tool_calls.judge", crash)
    assert "too deep" in hook("PreToolUse", saying="too deep", **bash("git status")).denies
    assert hook("PreToolUse", session_id="sess-zzz", **bash("git status")).document is None


def test_a_judgement_that_takes_too_long_is_a_refusal(
    hook: "Hook", claim: Claim, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AUDIT-C3, D36.1: measured in work, whatever the judge does with errors."""

    def never(*_: object) -> None:
        while True:
            with contextlib.suppress(Exception):
                sum(range(1000))

    monkeypatch.setattr("musician.protocol.policy.tool_calls.judge", never)
    monkeypatch.setattr("musician.hooks.tool_use.JUDGED_WITHIN_S", 0.05)
    assert "plainer words" in hook("PreToolUse", saying="plainer words", **bash("git status")).denies
    with pytest.raises(OverTime), time_limit(0.02):
        never()


def test_700_wrappers_around_a_push_are_refused(hook: "Hook", claim: Claim) -> None:
    """AUDIT-C3: what broke the reader of commands let it through."""
    assert hook("PreToolUse", saying="", **bash("env " * 700 + "git push")).denies


def test_a_folder_that_is_gone_under_the_session_opens_nothing(
    hook: "Hook", claim: Claim, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AUDIT-C3: the client still says which project it is in."""
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(repository))
    lost = repository / "lost"
    lost.mkdir()
    monkeypatch.chdir(lost)
    lost.rmdir()
    assert hook("PreToolUse", saying="", **bash("git push", cwd=str(lost))).denies


def test_the_mark_goes_with_the_claim(
    hook: "Hook", taken: Claim, store: SqliteStore, repository: Path
) -> None:
    """AUDIT-C3: a session that ended its claim is a stranger again, with a database or without."""
    git_dir = str(repository / ".git")
    assert marks.is_marked(git_dir, "sess-aaa")
    marks.forget(git_dir, "sess-aaa")
    hook("PreToolUse", **bash("ls"))
    assert marks.is_marked(git_dir, "sess-aaa"), "claimed by whatever way, the next event makes it"
    service.exit_task(store, taken, farewell("released", path="temp/task-03-HANDOFF"), handoff="nothing yet")
    hook("PostToolBatch", tool_calls=[])
    assert not marks.is_marked(git_dir, "sess-aaa")
    store.close()
    store.path.unlink()
    assert hook("PreToolUse", **bash("git push")).document is None


def test_a_mark_that_cannot_be_written_stops_no_claim(repository: Path) -> None:
    blocked = repository / "file"
    blocked.write_text("x", encoding="utf-8")
    marks.mark(str(blocked), "sess-aaa")
    marks.forget(str(blocked), "sess-aaa")
    assert not marks.any_marked(str(blocked))


def test_the_hook_refuses_as_the_client_calls_it(
    hook_process: "Hook", taken: Claim, store: SqliteStore
) -> None:
    """AUDIT-C3: one process, one answer, exit 0."""
    store.close()
    store.path.unlink()
    assert WAY_OUT in hook_process("PreToolUse", **bash("ls")).denies
    assert json.dumps(hook_process("PreToolUse", session_id="sess-zzz", **bash("ls")).document) == "null"
