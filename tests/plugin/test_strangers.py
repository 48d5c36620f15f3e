"""A session that owns nothing is known to a shell for as long as nobody writes to the database."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from musician import service
from musician.hooks.entry import EVENTS
from musician.plugin.rendering import render, this_program
from musician.plugin.scopes import Installation, for_user
from musician.protocol.settings import Settings
from musician.store.sqlite.store import SqliteStore
from musician.testing.waiting import HANG_S
from musician.trees import marks
from tests.surroundings import git

if TYPE_CHECKING:
    from tests.surroundings import Call

STRANGER = "sess-zzz"
PLAN = """\
---
plan: greeter
test: "true"
---
# Greeter

## Phase 1: Foundations

### task-03: Add the greeting
#### Step 1: Write it
Write it.
"""
LONG_AGO_S = 3600
TRACE = "open({trace!r}, 'a').write('asked ')\n"
BY_ITSELF = ("SessionStart", "UserPromptExpansion")
"""By these a session may become a musician's."""


@dataclass(frozen=True)
class Client:
    """Calls the installed hook as the client does, and sees whether Python was asked."""

    place: Installation
    repository: Path
    trace: Path

    @property
    def database(self) -> Path:
        return self.repository / ".musician" / "comms.db"

    @property
    def mark(self) -> Path:
        return self.repository / ".git" / "musician" / "strangers" / STRANGER

    def says(self, event: str, *, session: str = STRANGER, env: str | None = None, **keys: Any) -> str:
        """What the hook says, after ``asked: `` if Python was."""
        self.trace.write_text("")
        opened = session if env is None else env
        surroundings = {
            **{name: value for name, value in os.environ.items() if not name.startswith("MUSICIAN_")},
            "CLAUDE_CODE_SESSION_ID": opened,
            "CLAUDE_PROJECT_DIR": str(self.repository),
        }
        done = subprocess.run(
            ["/bin/sh", str(self.place.plugin / "hooks" / "hook.sh"), event],
            input=json.dumps({"session_id": session, **keys}, separators=(",", ":")).encode(),
            cwd=self.repository,
            env=surroundings,
            capture_output=True,
            timeout=HANG_S,
            check=True,
        )
        return f"{self.trace.read_text()}{done.stdout.decode()}"

    def settle(self) -> None:
        """Nobody has written for an hour."""
        then = time.time() - LONG_AGO_S
        for path in (self.database, self.database.with_name("comms.db-wal")):
            if path.exists():
                os.utime(path, (then, then))


@pytest.fixture
def client(repository: Path, call: "Call", home: Path) -> Client:
    call("init")
    (repository / "PLAN.md").write_text(PLAN, encoding="utf-8")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "plan")
    assert call("plan", "lock", "PLAN.md").code == 0
    place = for_user({"HOME": str(home)})
    render(place, this_program())
    trace = home / "trace"
    boot = place.plugin / "boot.py"
    boot.write_text(TRACE.format(trace=str(trace)) + boot.read_text(encoding="utf-8"), encoding="utf-8")
    made = Client(place=place, repository=repository, trace=trace)
    made.settle()
    return made


@pytest.fixture
def known(client: Client) -> Client:
    """One that has been looked for once."""
    assert client.says("PostToolBatch", tool_calls=[]) == "asked "
    assert client.mark.exists()
    return client


def bash(command: str) -> dict[str, Any]:
    return {"tool_name": "Bash", "tool_input": {"command": command}}


def sqlite3(database: Path, statement: str) -> None:
    """By the system's own SQLite, in a process of its own."""
    code = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.executescript(sys.argv[2]); c.close()"
    subprocess.run([sys.executable, "-c", code, str(database), statement], check=True, timeout=HANG_S)


@pytest.mark.parametrize("event", [event for event in EVENTS if event not in BY_ITSELF])
def test_python_is_not_asked_again_about_who_owns_nothing(known: Client, event: str) -> None:
    assert known.says(event, **bash("git push")) == ""
    assert known.says(event, session="sess-new", **bash("git push")) == "asked "


@pytest.mark.parametrize("event", BY_ITSELF)
def test_where_a_session_may_become_a_musician_python_is_asked(known: Client, event: str) -> None:
    assert known.says(event, source="startup", command_name="other").startswith("asked ")


def test_a_tool_of_ours_is_always_asked_about(known: Client) -> None:
    tool = "mcp__plugin_musician_comms-link__claim"
    assert known.says("PreToolUse", tool_name=tool, tool_input={}).startswith("asked ")


def by_the_service(client: Client) -> None:
    store = SqliteStore.open(client.database)
    service.claim(store, "task-03", STRANGER, settings=Settings())
    store.close()


def by_plain_sql(client: Client) -> None:
    sqlite3(
        client.database,
        "UPDATE orchestration_tasks SET state = 'working', session_id = 'sess-zzz',"
        " claim_epoch = claim_epoch + 1, last_heartbeat = datetime('now') WHERE task_id = 'task-03';",
    )


@pytest.mark.parametrize("claim", [by_the_service, by_plain_sql])
def test_whoever_claims_by_whatever_way_is_guarded_at_once(
    known: Client, claim: Callable[[Client], None]
) -> None:
    """D36.3: what makes it a musician's is a write, and the mark is worth nothing after any."""
    assert known.says("PreToolUse", **bash("git push")) == ""
    claim(known)
    assert '"deny"' in known.says("PreToolUse", **bash("git push"))
    assert not known.mark.exists()
    assert marks.is_marked(str(known.repository / ".git"), STRANGER)
    known.settle()
    assert '"deny"' in known.says("PreToolUse", **bash("git push")), "the musician's mark outweighs"


def test_a_clock_that_was_set_back_hides_no_write(known: Client) -> None:
    """Times are compared for being the same, not for being later."""
    by_plain_sql(known)
    long_before = time.time() - 10 * LONG_AGO_S
    for path in known.database.parent.glob("comms.db*"):
        os.utime(path, (long_before, long_before))
    assert '"deny"' in known.says("PreToolUse", **bash("git push"))


def test_what_was_written_just_now_or_in_the_future_makes_no_mark(client: Client, tmp_path: Path) -> None:
    """A write in the same moment could not be told from it."""
    then = time.time() + LONG_AGO_S
    for path in client.database.parent.glob("comms.db*"):
        os.utime(path, (then, then))
    for _ in range(2):
        assert client.says("PostToolBatch", tool_calls=[]) == "asked "
        assert not client.mark.exists()
    marks.mark_stranger(str(tmp_path), STRANGER, time.time_ns())
    assert not (tmp_path / "musician").exists()


@pytest.mark.parametrize("opened", ["", "../sessions", ".", STRANGER + "/", "sess zzz", "*"])
def test_an_environment_that_names_no_session_is_no_strangers(known: Client, opened: str) -> None:
    assert known.says("PostToolBatch", env=opened, tool_calls=[]) == "asked "


def test_an_event_of_another_session_than_the_environments_is_asked_about(known: Client) -> None:
    """As of one that owns a task: the document counts."""
    store = SqliteStore.open(known.database)
    service.claim(store, "task-03", "sess-aaa", settings=Settings())
    store.close()
    known.settle()
    assert known.says("PostToolBatch", tool_calls=[]) == "asked "
    assert known.says("PostToolBatch", tool_calls=[]) == ""
    assert '"deny"' in known.says("PreToolUse", session="sess-aaa", env=STRANGER, **bash("git push"))
    big = {
        "tool_name": "Bash",
        "tool_input": {"command": "git push", "description": "x\\n$HOME `id` %s" * 9000},
    }
    assert '"deny"' in known.says("PreToolUse", session="sess-aaa", env=STRANGER, **big)


def test_without_the_database_python_is_asked(known: Client) -> None:
    marks.mark(str(known.repository / ".git"), "sess-aaa")
    for path in known.database.parent.glob("comms.db*"):
        path.unlink()
    assert known.says("PreToolUse", **bash("ls")) == "asked "
    assert '"deny"' in known.says("PreToolUse", session="sess-aaa", **bash("git push"))


def test_marks_are_not_kept_for_ever(tmp_path: Path) -> None:
    for number in range(150):
        marks.mark_stranger(str(tmp_path), f"sess-{number}", 1)
    folder = tmp_path / "musician" / "strangers"
    assert 0 < len(list(folder.iterdir())) <= 101
    assert (folder / "sess-149").stat().st_mtime_ns == 1


def test_a_mark_that_cannot_be_written_is_none(tmp_path: Path) -> None:
    (tmp_path / "musician").write_text("a file")
    marks.mark_stranger(str(tmp_path), STRANGER, 1)
    marks.forget_stranger(str(tmp_path), STRANGER)
    assert marks.last_written_ns(str(tmp_path / "none.db")) is None
