"""Text is bytes: whatever stands in the database, every command goes on and shows what can be shown (D39)."""

# ruff: noqa: S608 - raw SQL is the point
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from musician.cli.faults import INTERNAL
from tests.surroundings import Call

BROKEN = "CAST(x'ff63616680e920f09f9820eda0bd' AS TEXT)"
"""No UTF-8 in every way: a byte that is none, Latin-1, an emoji cut off, half of one."""

READ = (
    ("status",),
    ("status", "task-01"),
    ("history", "task-01"),
    ("messages", "task-01"),
    ("timeline",),
    ("review", "list"),
    ("review", "show", "task-01"),
    ("proposals", "list"),
    ("inbox", "task-01", "--ack"),
    ("validate", "task-01"),
    ("doctor",),
)
WRITE = (
    ("heartbeat", "task-01", "--session", "s1"),
    ("step", "task-01", "start", "2", "--session", "s1"),
    ("send", "task-01", "half \udcff a word"),
    ("deviation", "task-01", "Low", "another file, \ud83d too", "--session", "s1"),
)


@pytest.fixture
def lived(claimed: Path, call: Call) -> Path:
    """Something stands in nearly every table."""
    call("step", "task-01", "start", "1")
    call("deviation", "task-01", "Medium", "one file more")
    call("send", "task-01", "look here")
    call("send", "task-01", "look there", "--urgent")
    call("propose", "task-01", "do it so", "--type", "PATTERN", "--title", "a way")
    call("error", "task-01", "it broke")
    return claimed / ".musician" / "comms.db"


@pytest.fixture
def raw(lived: Path) -> Iterator[apsw.Connection]:
    """As an older program left it, which had none of today's guards."""
    with closing(apsw.Connection(str(lived))) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
            connection.execute(f'DROP TRIGGER "{name}"')
        yield connection


def texts(connection: apsw.Connection) -> list[tuple[str, str]]:
    found = connection.execute(
        "SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c"
        " WHERE t.type = 'table' AND t.name NOT GLOB 'sqlite*' AND c.type = 'TEXT'"
    )
    return [(str(table), str(column)) for table, column in found]


@pytest.mark.deep
def test_a_byte_that_is_no_text_stops_no_command(raw: apsw.Connection, call: Call) -> None:
    """AUDIT-P4, D39.1: each column in turn; where a table says itself what may stand there, it is left out."""
    crashed: list[object] = []
    poisoned = 0
    with closing(apsw.Connection(":memory:")) as whole:
        copy(raw, whole)
        for table, column in texts(raw):
            try:
                raw.execute(f"UPDATE {table} SET {column} = {BROKEN}")
            except apsw.ConstraintError:
                continue
            poisoned += raw.changes() > 0
            for command in (*READ, *WRITE) if raw.changes() else ():
                result = call(*command, expect=None)
                if result.code == INTERNAL:
                    crashed.append((table, column, command, result.err))
            copy(whole, raw)
    assert crashed == []
    assert poisoned > 40


def copy(source: apsw.Connection, to: apsw.Connection) -> None:
    with to.backup("main", source, "main") as copying:
        copying.step()
