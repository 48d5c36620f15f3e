"""What a caller does in one transaction of the database: the statements of ``queries/``, by their names."""

from collections.abc import Mapping, Set
from pathlib import Path
from typing import TypeVar

import apsw

from musician.store.port import RowChange
from musician.store.query import Command, Query, Row, Value
from musician.store.sqlite.faults import FaultsOf, spent
from musician.store.sqlite.named import load_queries
from musician.store.sqlite.texts import read_bytes, whole

R = TypeVar("R")


class SqliteTx:
    """A transaction in progress. Every method raises :class:`DatabaseUnusable`, kind "refused" for a guard's no."""

    def __init__(self, connection: apsw.Connection, path: Path, columns: dict[str, tuple[str, ...]]) -> None:
        self._connection = connection
        self._path = path
        self._faults = FaultsOf(path)
        self._queries = load_queries()
        self._columns = columns
        self.rung: set[str] = set()

    def one(self, query: Query[R], /, **parameters: Value) -> R | None:
        with self._faults:
            row = self._first(query.name, parameters)
        return None if row is None else query.read(row)

    def only(self, query: Query[R], /, **parameters: Value) -> R:
        with self._faults:
            row = self._first(query.name, parameters)
        if row is None:
            raise LookupError(f"{query.name} always has a row, and had none")
        return query.read(row)

    def all(self, query: Query[R], /, **parameters: Value) -> list[R]:
        with self._faults:
            try:
                cursor = self._execute(query.name, parameters)
                rows = [self._row(query.name, cursor, values) for values in cursor]
            except UnicodeDecodeError:
                rows = self._bytewise(query.name, parameters)
        return [query.read(row) for row in rows]

    def run(self, command: Command, /, **parameters: Value) -> int:
        with self._faults:
            self._execute(command.name, parameters)
            return self._connection.changes()  # the statement's own rows, not those its triggers changed

    def insert(self, command: Command, /, **parameters: Value) -> int:
        with self._faults:
            self._execute(command.name, parameters)
            return self._connection.last_insert_rowid()

    def version(self) -> object:
        with self._faults:  # SQLite counts the commits of all others, and apart from these our own changes
            return self._connection.pragma("data_version"), self._connection.total_changes()

    def ring(self, task_id: str) -> None:
        self.rung.add(task_id)

    def alter(self, statements: str, *, writable: Mapping[str, Set[str]]) -> tuple[RowChange, ...]:
        with self._faults:
            from musician.store.sqlite import foreign

            return foreign.alter(self._connection, statements, writable=writable)

    def move_out(self, plan_id: str, into: Path) -> None:
        with self._faults:
            from musician.store.sqlite import archiving

            archiving.move_out(self._connection, plan_id, into)

    def move_in(self, plan_id: str, out_of: Path) -> tuple[str, ...]:
        with self._faults:
            from musician.store.sqlite import archiving

            return archiving.move_in(self._connection, plan_id, out_of)

    def _first(self, query: str, parameters: Mapping[str, Value]) -> Row | None:
        try:
            cursor = self._execute(query, parameters)
            values = cursor.fetchone()
            return None if values is None else self._row(query, cursor, values)
        except UnicodeDecodeError:
            return next(iter(self._bytewise(query, parameters)), None)

    def _execute(self, query: str, parameters: Mapping[str, Value]) -> apsw.Cursor:
        sql = self._queries[query]
        try:
            return self._connection.execute(sql, parameters)
        except UnicodeEncodeError:
            return self._connection.execute(sql, whole(parameters))
        except apsw.FullError as error:
            self._blame_ids(error)
            raise

    def _blame_ids(self, error: apsw.FullError) -> None:
        table = self._connection.execute("SELECT name FROM sqlite_sequence WHERE seq = ?", (2**63 - 1,)).get
        if table is not None:
            raise spent(self._path, str(table)) from error

    def _bytewise(self, query: str, parameters: Mapping[str, Value]) -> list[Row]:
        names, rows = read_bytes(self._connection, self._queries[query], parameters)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def _row(self, query: str, cursor: apsw.Cursor, values: tuple[Value, ...]) -> Row:
        # Asking SQLite for the names costs as much as a small query, and they stay the same.
        names = self._columns.get(query)
        if names is None:
            names = self._columns[query] = tuple(column[0] for column in cursor.get_description())
        return dict(zip(names, values, strict=True))
