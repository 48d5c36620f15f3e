"""Raw writers: programs that know SQL and nothing of Musician (D6)."""

# ruff: noqa: S608 - raw SQL is the point
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import cast

import apsw
import pytest

from musician.store.port import Store
from musician.store.sqlite.store import SqliteStore
from musician.testing.waiting import HANG_S
from tests.needs import need

Rows = dict[str, list[tuple[object, ...]]]


class Refused(Exception):
    """What the database said."""


def with_apsw(path: Path, sql: str) -> int:
    connection = apsw.Connection(str(path))
    try:
        connection.set_busy_timeout(10_000)
        connection.execute(sql)
        return connection.changes()
    except apsw.Error as error:
        raise Refused(str(error)) from error
    finally:
        connection.close()


def with_shell(path: Path, sql: str) -> int:
    done = subprocess.run(
        [need("sqlite3"), "-batch", "-bail", "-cmd", ".timeout 10000", str(path)],
        input=f"{sql}\n;SELECT changes();",
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    if done.returncode or done.stderr:
        raise Refused(done.stderr)
    return int(done.stdout.split()[-1])


def ask_apsw(path: Path, query: str) -> list[tuple[object, ...]]:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return list(connection.execute(query))
    finally:
        connection.close()


def ask_shell(path: Path, query: str) -> list[tuple[object, ...]]:
    done = subprocess.run(
        [need("sqlite3"), "-batch", "-bail", "-json", str(path), query],
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=True,
    )
    return [tuple(row.values()) for row in json.loads(done.stdout or "[]")]


ASKING: dict[str, Callable[[Path, str], list[tuple[object, ...]]]] = {
    "apsw": ask_apsw,
    "sqlite3 shell": ask_shell,
}
TOOLS: dict[str, Callable[[Path, str], int]] = {"apsw": with_apsw, "sqlite3 shell": with_shell}


class Raw:
    """A raw writer on the database of a store. Calling it gives the number of rows the last statement changed."""

    refused = Refused

    def __init__(self, store: Store, tool: str) -> None:
        self._store = store
        self._run = TOOLS[tool]
        self._ask = ASKING[tool]

    def __call__(self, sql: str) -> int:
        return self._run(Path(self._store.name), sql)

    def ask(self, query: str) -> list[tuple[object, ...]]:
        """What a query gives to the tool itself."""
        return self._ask(Path(self._store.name), query)

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        assert isinstance(self._store, SqliteStore)
        return list(self._store.connection.execute(sql))

    def value(self, sql: str) -> object:
        return self.rows(sql)[0][0]

    def everything(self) -> Rows:
        """Every row of every table."""
        tables = self.rows("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
        return {str(name): self.rows(f"SELECT * FROM {name} ORDER BY 1, 2") for (name,) in tables}

    def last_change(self, task_id: str) -> tuple[object, ...]:
        """From, to, who, owner, message type and submission of a task's newest history row."""
        return self.rows(
            "SELECT from_state, to_state, who, session_id, message_type, submission_id FROM history"
            f" WHERE task_id = '{task_id}' ORDER BY id DESC LIMIT 1"
        )[0]


@pytest.fixture(params=TOOLS)
def raw(request: pytest.FixtureRequest, store: Store) -> Raw:
    """A raw writer on ``store``: apsw, and the shell that comes with the system."""
    return Raw(store, cast("str", request.param))
