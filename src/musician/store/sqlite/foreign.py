"""SQL that somebody else wrote, run within bounds: what it may name, how long it may take, how much it may answer.

Knows nothing of sessions and claims: what a statement changed is noted, row by row, for the caller to judge before
the transaction ends. Refuses to read SQL itself: a prefix or a word says nothing about what a statement does (B11),
so SQLite is asked while it compiles it (its authorizer), and nothing is decided by text. That also holds for what
comes after a first statement (B12).

A time limit is looked at between the steps of SQLite's machine, and a function is one step. So only functions may be
called that are quick with every value that may be, and values are bounded. Where a quadratic one is too useful to miss,
``query`` has one of ours that is not.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import field
from typing import Any

import apsw

from musician.protocol.errors import StatementRefused
from musician.protocol.values import dataclass
from musician.store.port import Answer, RowChange
from musician.store.query import Value
from musician.store.sqlite.functions import MOST_ASKED_BYTES, OURS, QUICK
from musician.store.sqlite.texts import read_bytes

TIME_LIMIT_S = 5.0
"""A statement that takes longer is interrupted; a changing one holds up every other writer."""

MOST_CHANGES = 100
"""Rows that one call may change, triggers not counted."""

_MOST_WRITTEN_BYTES = 1024 * 1024
"""Of one value that ``execute`` makes."""

_LOOK_EVERY_STEPS = 100
"""Of SQLite's machine: with values as long as they may be, these take a tenth of a second."""

_READING = frozenset({apsw.SQLITE_SELECT, apsw.SQLITE_READ, apsw.SQLITE_RECURSIVE})
_LISTS = frozenset(
    {"foreign_key_list", "index_info", "index_list", "index_xinfo", "table_info", "table_list", "table_xinfo"}
)
"""Pragmas that only list, whatever they are given."""
_FACTS = frozenset(
    {"application_id", "compile_options", "data_version", "journal_mode", "schema_version", "user_version"}
)
"""Pragmas that only tell as long as they are given nothing."""

_BLANK = re.compile(r"(?:\s|;|--[^\n]*(?:\n|\Z)|(?>/\*.*?\*/|/\*.*))*", re.DOTALL)
"""No statement. The atomic group ends a comment at its first end, however much more would then be one."""

_Authorizer = Callable[[int, str | None, str | None, str | None, str | None], int]


def ask(connection: apsw.Connection, sql: str, *, most_rows: int, most_bytes: int) -> Answer:
    """Run one statement that reads, on a connection opened for reading only.

    :class:`StatementRefused` if it does anything else, is several, or cannot be run.
    """
    watch = _Watch(verb="query only reads", quick=QUICK | OURS.keys(), most_bytes=MOST_ASKED_BYTES)
    for name, (function, arities) in OURS.items():
        for arity in arities:
            connection.create_scalar_function(name, function, arity, deterministic=True)
    with watch.over(connection, watch.reading):
        try:
            return _answer(connection, sql, most_rows=most_rows, most_bytes=most_bytes)
        except UnicodeDecodeError:  # not UTF-8: ask again, for the bytes (D39)
            inner = sql.strip().rstrip(";")
            first = f"SELECT * FROM ({inner}\n) LIMIT {most_rows + 1}"  # noqa: S608 - judged by the authorizer
            columns, rows = read_bytes(connection, first)
            return Answer(columns=columns, rows=tuple(rows[:most_rows]), more=len(rows) > most_rows)


def _answer(connection: apsw.Connection, sql: str, *, most_rows: int, most_bytes: int) -> Answer:
    cursor = connection.cursor()
    cursor.exec_trace = _only_one(sql)
    cursor.execute(sql, can_cache=False)
    columns = tuple(column[0] for column in _description(cursor))
    rows: list[tuple[Value, ...]] = []
    left = most_bytes
    for row in cursor:
        if len(rows) == most_rows or left < 0:
            cursor.close(True)
            return Answer(columns=columns, rows=tuple(rows), more=True)
        rows.append(tuple(row))
        left -= sum(map(_size, row))
    return Answer(columns=columns, rows=tuple(rows), more=False)


def alter(
    connection: apsw.Connection, sql: str, *, writable: Mapping[str, Set[str]]
) -> tuple[RowChange, ...]:
    """Run statements that change rows, within a transaction of the caller's; the changes, in order.

    ``writable`` are the tables that may be named, each with the columns an UPDATE may set. What triggers change is
    noted as theirs. :class:`StatementRefused` if anything else is tried; the caller rolls back.
    """
    columns = {table: _columns(connection, table) for table in _tables(connection)}
    watch = _Watch(
        verb="execute changes only what a musician may",
        writable=writable,
        quick=QUICK,
        most_bytes=_MOST_WRITTEN_BYTES,
    )
    noted: list[tuple[str, Any, Any, bool]] = []

    def note(update: apsw.PreUpdate) -> None:
        noted.append((update.table_name, update.old, update.new, update.depth > 0))
        if sum(not by_trigger for *_, by_trigger in noted) > MOST_CHANGES:
            watch.reason = f"it changes more than {MOST_CHANGES} rows"
            connection.interrupt()

    with watch.over(connection, watch.altering):
        connection.preupdate_hook(note)
        try:
            for _ in connection.execute(sql, can_cache=False):
                pass
        finally:
            connection.preupdate_hook(None)
    return tuple(
        RowChange(
            table=table,
            before=None if old is None else dict(zip(columns[table], old, strict=True)),
            after=None if new is None else dict(zip(columns[table], new, strict=True)),
            by_trigger=by_trigger,
        )
        for table, old, new, by_trigger in noted
    )


@dataclass(slots=True, kw_only=True)
class _Watch:
    """The limits while a foreign statement is compiled and run; ``reason`` says why it was stopped."""

    verb: str
    quick: Set[str]
    most_bytes: int
    writable: Mapping[str, Set[str]] = field(default_factory=dict)
    reason: str = ""

    def reading(
        self, act: int, one: str | None, two: str | None, _database: str | None, _within: str | None
    ) -> int:
        name = (one or "").lower()
        if act in _READING:
            return apsw.SQLITE_OK
        if act == apsw.SQLITE_FUNCTION:
            if (two or "").lower() in self.quick:
                return apsw.SQLITE_OK
            self.reason = self.reason or f"the function {two} is none of those that always end in time"
            return apsw.SQLITE_DENY
        if act == apsw.SQLITE_PRAGMA and (name in _LISTS or (name in _FACTS and two is None)):
            return apsw.SQLITE_OK
        act_name = str(apsw.mapping_authorizer_function[act]).removeprefix("SQLITE_").replace("_", " ")
        what = [act_name, one, two]
        self.reason = self.reason or f"{self.verb}, and this is {' '.join(filter(None, what))}"
        return apsw.SQLITE_DENY

    def altering(
        self, act: int, one: str | None, two: str | None, database: str | None, within: str | None
    ) -> int:
        table = self.writable.get(one or "")
        if within is not None or (act == apsw.SQLITE_INSERT and table is not None):
            return apsw.SQLITE_OK
        if act == apsw.SQLITE_UPDATE and table is not None and two in table:
            return apsw.SQLITE_OK
        if act == apsw.SQLITE_PRAGMA:
            two = two or "without a value"
        return self.reading(act, one, two, database, within)

    @contextmanager
    def over(self, connection: apsw.Connection, authorizer: _Authorizer) -> Iterator[None]:
        """The bounds around a block that runs a statement; what SQLite refuses becomes :class:`StatementRefused`."""
        deadline = time.monotonic() + TIME_LIMIT_S
        connection.authorizer = authorizer
        connection.set_progress_handler(lambda: time.monotonic() > deadline, _LOOK_EVERY_STEPS)
        longest = connection.limit(apsw.SQLITE_LIMIT_LENGTH, self.most_bytes)
        try:
            yield
        except (
            apsw.AuthError,
            apsw.SQLError,
            apsw.BindingsError,
            apsw.TooBigError,
            apsw.MismatchError,
        ) as error:
            raise StatementRefused(reason=self.reason or str(error)) from error
        except apsw.InterruptError as error:
            raise StatementRefused(reason=self.reason or f"it took longer than {TIME_LIMIT_S:g} s") from error
        except UnicodeDecodeError as error:
            raise StatementRefused(
                reason="a text in a row it changes is not UTF-8: `musician init` mends it"
            ) from error
        finally:
            connection.limit(apsw.SQLITE_LIMIT_LENGTH, longest)
            connection.set_progress_handler(None)
            connection.authorizer = None


def _only_one(sql: str) -> Callable[[apsw.Cursor, str, object], bool]:
    """Look at what follows before the first statement is run."""

    def look(_cursor: apsw.Cursor, statement: str, _bindings: object) -> bool:
        if not (_is_blank(statement) or _is_blank(sql[len(statement) :])):
            raise StatementRefused(reason="these are several statements, query runs one")
        return True

    if _is_blank(sql):
        raise StatementRefused(reason="there is no statement")
    return look


def _is_blank(sql: str) -> bool:
    return _BLANK.fullmatch(sql) is not None


def _description(cursor: apsw.Cursor) -> tuple[tuple[Any, ...], ...]:
    try:
        return cursor.get_description()
    except apsw.ExecutionCompleteError:  # the statement gave no row
        return ()


def _size(value: Value) -> int:
    return len(value) if isinstance(value, str | bytes) else 1


def _tables(connection: apsw.Connection) -> list[str]:
    return [
        str(name) for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
    ]


def _columns(connection: apsw.Connection, table: str) -> tuple[str, ...]:
    found = connection.execute("SELECT name FROM pragma_table_info(?) ORDER BY cid", (table,))
    return tuple(str(name) for (name,) in found)
