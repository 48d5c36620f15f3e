"""One repository's SQLite file, opened with care.

Rules. WAL and synchronous FULL: what was committed survives a power cut. Every write transaction is IMMEDIATE and
passes the gate first, so that waiting is fair; ``busy_timeout`` stays as the backstop against writers who do not
know the gate (the ``sqlite3`` shell). The last close checkpoints, so closing passes the gate too. A file is made
by :meth:`SqliteStore.create` only: opening a wrong path is an error, never a new empty database (D25).
One store serves one thread at a time; a lock makes a mistake there wait instead of corrupting anything.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import apsw

from musician.protocol.errors import DatabaseUnusable, MusicianError, NotInitialised
from musician.store import bell
from musician.store.port import Row, Value
from musician.store.sqlite.faults import as_unusable
from musician.store.sqlite.gate import Gate, GateTimeout
from musician.store.sqlite.guards import guard_statements
from musician.store.sqlite.named import load_queries, load_schema

__all__ = ["APPLICATION_ID", "SCHEMA_VERSION", "SqliteStore"]

APPLICATION_ID = 0x4D757369
"""Written into the file's header ("Musi"), so that a foreign database is recognised."""

SCHEMA_VERSION = 1
DEFAULT_BUSY_TIMEOUT_S = 30.0


class SqliteStore:
    """An open database; use :meth:`open` or :meth:`create`."""

    def __init__(
        self, connection: apsw.Connection, path: Path, *, busy_timeout_s: float, writable: bool
    ) -> None:
        self.path = path
        self._connection = connection
        self._gate = Gate(path.with_name(path.name + "-gate"))
        self._busy_timeout_s = busy_timeout_s
        self._writable = writable
        self._lock = threading.RLock()

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        busy_timeout_s: float = DEFAULT_BUSY_TIMEOUT_S,
        named: bool = False,
        readonly: bool = False,
    ) -> "SqliteStore":
        """Open an existing database. ``named``: the user named this very path (for the error's remedy).

        Raises :class:`NotInitialised` if there is no file, :class:`DatabaseUnusable` if it cannot be used.
        """
        if not path.is_file():
            raise NotInitialised(path=str(path), named=named)
        flags = apsw.SQLITE_OPEN_READONLY if readonly else apsw.SQLITE_OPEN_READWRITE
        try:
            connection = apsw.Connection(str(path), flags=flags)
            _configure(connection, busy_timeout_s=busy_timeout_s)
            _check_ours(connection, path)
        except apsw.Error as error:
            raise as_unusable(error, path) from error
        return cls(connection, path, busy_timeout_s=busy_timeout_s, writable=not readonly)

    @classmethod
    def create(cls, path: Path, *, busy_timeout_s: float = DEFAULT_BUSY_TIMEOUT_S) -> "SqliteStore":
        """Make the database if it is not there yet, and open it. Safe when several processes do it at once."""
        try:
            connection = apsw.Connection(
                str(path), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
            )
            _configure(connection, busy_timeout_s=busy_timeout_s)
            with Gate(path.with_name(path.name + "-gate")).hold(busy_timeout_s):
                _create_schema(connection)
            connection.close()
        except apsw.Error as error:
            raise as_unusable(error, path) from error
        except (OSError, GateTimeout) as error:
            raise _gate_fault(error, path) from error
        return cls.open(path, busy_timeout_s=busy_timeout_s, named=True)

    @contextmanager
    def read(self) -> Iterator["SqliteTx"]:
        """One snapshot for the whole block."""
        with self._lock:
            try:
                self._connection.execute("BEGIN DEFERRED")
                try:
                    yield SqliteTx(self._connection)
                finally:
                    self._connection.execute("ROLLBACK")
            except apsw.Error as error:
                raise as_unusable(error, self.path) from error

    @contextmanager
    def write(self) -> Iterator["SqliteTx"]:
        """Everything or nothing; waiters are rung after the commit."""
        with self._lock:
            tx = SqliteTx(self._connection)
            try:
                with self._gate.hold(self._busy_timeout_s):
                    self._connection.execute("BEGIN IMMEDIATE")
                    try:
                        yield tx
                        self._connection.execute("COMMIT")
                    finally:
                        if self._connection.in_transaction:
                            self._connection.execute("ROLLBACK")
            except apsw.Error as error:
                raise as_unusable(error, self.path) from error
            except MusicianError:
                raise
            except (OSError, GateTimeout) as error:
                raise _gate_fault(error, self.path) from error
        if tx.rung:
            bell.ring(self.path, tx.rung)

    def change_counter(self) -> int:
        with self._lock:
            try:
                return int(cast("int", self._connection.pragma("data_version")))
            except apsw.Error as error:
                raise as_unusable(error, self.path) from error

    def close(self) -> None:
        with self._lock:
            if not self._writable:
                self._connection.close()
                return
            try:
                with self._gate.hold(self._busy_timeout_s):
                    self._connection.close()
            except (OSError, GateTimeout):  # closing must not fail; an unfair checkpoint is the lesser evil
                self._connection.close()

    @property
    def connection(self) -> apsw.Connection:
        """The bare connection, for benchmarks and checks."""
        return self._connection


class SqliteTx:
    """A transaction in progress."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._queries = load_queries()
        self.rung: set[str] = set()

    def one(self, query: str, /, **parameters: Value) -> Row | None:
        for row in self._cursor(query, parameters):
            return row
        return None

    def all(self, query: str, /, **parameters: Value) -> list[Row]:
        return list(self._cursor(query, parameters))

    def run(self, query: str, /, **parameters: Value) -> int:
        before = self._connection.total_changes()
        self._connection.execute(self._queries[query], parameters)
        # changes() counts the statement's own rows, but keeps its old value after a statement that changed none
        return self._connection.changes() if self._connection.total_changes() != before else 0

    def insert(self, query: str, /, **parameters: Value) -> int:
        self._connection.execute(self._queries[query], parameters)
        return self._connection.last_insert_rowid()

    def ring(self, task_id: str) -> None:
        self.rung.add(task_id)

    def _cursor(self, query: str, parameters: dict[str, Value]) -> Iterator[Row]:
        cursor = self._connection.execute(self._queries[query], parameters)
        names: tuple[str, ...] | None = None
        for values in cursor:
            if names is None:
                names = tuple(column[0] for column in cursor.get_description())
            yield dict(zip(names, values, strict=True))


def _configure(connection: apsw.Connection, *, busy_timeout_s: float) -> None:
    connection.set_busy_timeout(int(busy_timeout_s * 1000))
    connection.pragma("synchronous", "FULL")
    connection.pragma("trusted_schema", "OFF")


def _check_ours(connection: apsw.Connection, path: Path) -> None:
    if connection.pragma("application_id") != APPLICATION_ID:
        raise DatabaseUnusable(
            path=str(path),
            kind="foreign",
            detail="this database is not Musician's",
            remedy="name another with --db",
        )
    version = cast("int", connection.pragma("user_version"))
    if version != SCHEMA_VERSION:
        raise DatabaseUnusable(
            path=str(path),
            kind="version",
            detail=f"its schema is version {version}, this program knows {SCHEMA_VERSION}",
            remedy="use the version of Musician that made it",
        )


def _create_schema(connection: apsw.Connection) -> None:
    connection.pragma("journal_mode", "WAL")
    connection.execute("BEGIN IMMEDIATE")
    try:
        if connection.pragma("application_id") != APPLICATION_ID:
            if connection.execute("SELECT count(*) FROM sqlite_schema").get:
                return  # somebody's tables: opening it will say that it is foreign
            connection.execute(load_schema())
            for statement in guard_statements():
                connection.execute(statement)
            connection.pragma("application_id", APPLICATION_ID)
            connection.pragma("user_version", SCHEMA_VERSION)
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _gate_fault(error: Exception, path: Path) -> DatabaseUnusable:
    if isinstance(error, GateTimeout):
        return DatabaseUnusable(
            path=str(path),
            kind="locked",
            detail="another writer has held the database too long",
            remedy="find it with `musician doctor`, or try again",
        )
    return DatabaseUnusable(
        path=str(path),
        kind="readonly",
        detail=f"cannot be written here ({error})",
        remedy="check the folder's rights",
    )
