"""Nothing that somebody has written acts on the terminal, or hides from it, on any surface that prints (B36, B40)."""

import re
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from musician.processes.output import printable
from tests.cli.test_cli_look_at_work import on_a_terminal
from tests.surroundings import Call

HOSTILE = (
    "x\x1b[2J\x1b]0;t\x07\x1b]8;;http://evil\x1b\\\x1b]52;c;cm0=\x1b\\\x9b31m\x90q\r\b\x7f"
    "\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u2069\u200b\u200d\u2060\ufeff\u3164"
)
FREE = {
    "orchestration_tasks": ("worked_by", "last_error", "title", "report_path"),
    "orchestration_messages": ("message", "message_type", "from_session"),
    "journal": ("text", "item"),
    "needs_human": ("text", "kind", "resolution"),
    "sessions": ("exit_reason", "agent"),
    "proposals": ("title", "type"),
    "plans": ("title", "path", "base_branch"),
    "phases": ("title",),
    "documents": ("body",),
    "comments": ("text", "quoted", "path"),
    "usage": ("model", "item"),
}
"""Columns in which any text may stand."""

READ = (
    ("status",),
    ("status", "task-01"),
    ("history", "task-01"),
    ("messages", "task-01"),
    ("inbox", "task-01"),
    ("timeline",),
    ("trace",),
    ("needs-me",),
    ("log", "task-01"),
    ("review", "list"),
    ("review", "show", "task-01"),
    ("review", "comments", "task-01"),
    ("proposals", "list"),
    ("proposals", "show", "1"),
    ("show", "message", "1"),
    ("show", "step", "task-01", "1"),
    ("plan", "list"),
    ("plan", "show", "greeter"),
    ("plan", "graph", "PLAN.md"),
    ("plan", "check", "PLAN.md"),
    ("validate", "task-01"),
    ("verify-temp", "task-01"),
    ("headroom", "task-01"),
    ("clean", "--dry-run"),
    ("doctor",),
    ("status", HOSTILE),
    ("review", "approve", "task-01", "--submission", "3"),
)


@pytest.fixture
def attacked(claimed: Path, call: Call) -> Path:
    """Something hostile stands wherever somebody can write."""
    plan = claimed / "PLAN.md"
    plan.write_text(plan.read_text().replace("# ", f"# {HOSTILE.replace(chr(13), '')}", 1), newline="")
    call("step", "task-01", "start", "1")
    call("deviation", "task-01", "Medium", "one file more")
    call("send", "task-01", "look here")
    call("propose", "task-01", "do it so", "--type", "PATTERN", "--title", "a way")
    call("error", "task-01", "it broke")
    with closing(apsw.Connection(str(claimed / ".musician" / "comms.db"))) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
            connection.execute(f'DROP TRIGGER "{name}"')
        for table, columns in FREE.items():
            for column in columns:
                connection.execute(f"UPDATE {table} SET {column} = coalesce({column}, '') || ?", (HOSTILE,))  # noqa: S608
    return claimed


@pytest.mark.usefixtures("attacked")
@pytest.mark.parametrize("how", [(), ("--json",)], ids=["text", "json"])
def test_what_is_written_acts_on_no_terminal(call: Call, how: tuple[str, ...]) -> None:
    """B40: plain, as JSON, and in what is said of a failure."""
    said = ""
    for command in READ:
        result = call(*command, *how, expect=None)
        for stream in (result.out, result.err):
            assert printable(stream).split() == stream.split(), (command, ascii(stream))
        said += result.out
    assert (r"\u001b[2J" if how else "␛[2J␛]0;t␇") in said
    assert r"\u202e" in said


@pytest.mark.usefixtures("attacked")
@pytest.mark.parametrize(
    "words",
    [("status",), ("messages", "task-01"), ("proposals", "list"), ("timeline", "--json"), ("plan", "list")],
)
def test_on_a_terminal_only_what_is_ours_acts(command: tuple[str, ...], words: tuple[str, ...]) -> None:
    """Of escape sequences there are only those by which a table sets its own colours."""
    said = on_a_terminal(command, *words, TERM="xterm")
    assert "2J" in said
    ours = re.sub(r"\x1b\[[0-9;]*m", "", said.replace("\r\n", "\n"))
    assert printable(ours).split() == ours.split()
