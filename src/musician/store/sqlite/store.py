"""One repository's SQLite file, opened with care.

Rules. WAL and synchronous FULL: what was committed survives a power cut. Every write transaction is IMMEDIATE and
passes the gate first, so that waiting is fair; ``busy_timeout`` stays as the backstop against writers who do not
know the gate (the ``sqlite3`` shell). Readers never wait for the gate, nor does whoever closes. A file is made
by :meth:`SqliteStore.create` only: opening a wrong path is an error, never a new empty database (D25).
One store serves one thread at a time; a lock makes the others wait. A transaction within a transaction of the same
store is a mistake and raises at once.

Only what the database and the gate themselves do wrong becomes :class:`DatabaseUnusable`: whatever else the
caller's block raises passes through untouched.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from musician.protocol.errors import DatabaseUnusable, NotInitialised
from musician.store import bell
from musician.store.naming import url_of
from musician.store.port import Answer
from musician.store.sqlite.faults import FaultsOf, damaged, gate_fault, unreachable
from musician.store.sqlite.gate import TOLD_AFTER_S, Gate, GateTimeout
from musician.store.sqlite.transaction import SqliteTx
from musician.store.sqlite.versions import APPLICATION_ID, check_ours

if TYPE_CHECKING:
    from musician.store.listening import Listener

DEFAULT_BUSY_TIMEOUT_S = 30.0
OnLongWait = Callable[[int | None], None]
"""Hears of a wait that grows long: the process in the way, None if it is not known."""


class SqliteStore:
    """An open database; use :meth:`open` or :meth:`create`."""

    def __init__(
        self,
        connection: apsw.Connection,
        path: Path,
        *,
        busy_timeout_s: float,
        is_newer: bool,
        on_long_wait: OnLongWait | None,
    ) -> None:
        self.path = path
        self._connection = connection
        self._gate = _gate_of(path)
        self._busy_timeout_s = busy_timeout_s
        self._is_newer = is_newer
        self._on_long_wait = on_long_wait
        self._lock = threading.RLock()
        self._columns: dict[str, tuple[str, ...]] = {}
        self._identity = self._identity_now()

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        busy_timeout_s: float = DEFAULT_BUSY_TIMEOUT_S,
        named: bool = False,
        on_long_wait: OnLongWait | None = None,
    ) -> "SqliteStore":
        """Open an existing database. ``named``: the user named this very path (for the error's remedy).

        ``on_long_wait`` hears of every wait that grows long, and who is in the way.

        Raises :class:`NotInitialised` if there is no file, :class:`DatabaseUnusable` if it cannot be used.
        """
        try:
            is_there = path.is_file()
        except OSError as error:
            raise unreachable(error, path) from error
        if not is_there:
            raise NotInitialised(path=str(path), named=named)
        with ExitStack() as undo, FaultsOf(path):
            connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
            undo.callback(connection.close)
            _configure(connection, busy_timeout_s=busy_timeout_s)
            standing = check_ours(connection, path)
            if not (standing.is_current or standing.is_newer):
                from musician.store.sqlite.migrating import take_up  # dear to load, and seldom needed

                with ExitStack() as held:
                    _enter(held, _gate_of(path), busy_timeout_s, path, on_long_wait)
                    take_up(connection)
            undo.pop_all()
        return cls(
            connection,
            path,
            busy_timeout_s=busy_timeout_s,
            is_newer=standing.is_newer,
            on_long_wait=on_long_wait,
        )

    @classmethod
    def create(cls, path: Path, *, busy_timeout_s: float = DEFAULT_BUSY_TIMEOUT_S) -> "SqliteStore":
        """Make the database if it is not there yet, and open it. Safe when several processes do it at once.

        A file that is there and not Musician's is left as it is: :class:`DatabaseUnusable`.
        """
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        with FaultsOf(path), ExitStack() as done:
            # SQLite reports errors better, but would make the file writable for its owner only
            with suppress(OSError):
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666))
            connection = apsw.Connection(str(path), flags=flags)
            done.callback(connection.close)
            _configure(connection, busy_timeout_s=busy_timeout_s)
            if not _is_somebodys(connection):
                from musician.store.sqlite.migrating import create_schema

                with ExitStack() as held:
                    _enter(held, _gate_of(path), busy_timeout_s, path)
                    create_schema(connection)
                    connection.close()
        return cls.open(path, busy_timeout_s=busy_timeout_s, named=True)

    @contextmanager
    def read(self) -> Iterator["SqliteTx"]:
        """One snapshot for the whole block."""
        with self._lock:
            self._begin("BEGIN DEFERRED")
            try:
                yield SqliteTx(self._connection, self.path, self._columns)
            finally:
                self._roll_back()

    @contextmanager
    def write(self) -> Iterator["SqliteTx"]:
        """Everything or nothing; waiters are rung after the commit."""
        if self._is_newer:
            raise DatabaseUnusable(
                path=str(self.path),
                kind="version",
                detail="a newer Musician has made it anew; this one only reads it",
                remedy="use the newer one",
            )
        with self._lock:
            self._check_free()
            tx = SqliteTx(self._connection, self.path, self._columns)
            with ExitStack() as held:
                _enter(held, self._gate, self._busy_timeout_s, self.path, self._on_long_wait)
                self._begin_writing()
                try:
                    yield tx
                    with FaultsOf(self.path):
                        self._connection.execute("COMMIT")
                finally:
                    self._roll_back()
        if tx.rung:
            bell.ring(self.path, tx.rung)

    def ask(self, statement: str, *, most_rows: int, most_bytes: int) -> Answer:
        """By a connection of its own, which could not write if it were let."""
        with ExitStack() as opened, FaultsOf(self.path):
            connection = apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READONLY)
            opened.callback(connection.close)
            _configure(connection, busy_timeout_s=self._busy_timeout_s)
            connection.pragma("query_only", True)
            from musician.store.sqlite import foreign

            return foreign.ask(connection, statement, most_rows=most_rows, most_bytes=most_bytes)

    def check(self) -> None:
        with self.read(), FaultsOf(self.path):
            found = self._connection.execute("PRAGMA quick_check(1)").get
        if found != "ok":
            raise damaged(self.path, str(found))

    def broken(self) -> tuple[str, ...]:
        from musician.store.sqlite.mending import broken

        with self.read(), FaultsOf(self.path):
            return broken(self._connection)

    def mend(self) -> tuple[str, ...]:
        from musician.store.sqlite.mending import mend

        with self._lock, ExitStack() as held, FaultsOf(self.path):
            self._check_free()
            _enter(held, self._gate, self._busy_timeout_s, self.path, self._on_long_wait)
            return mend(self._connection)

    def holder(self) -> tuple[bool, int | None]:
        with FaultsOf(self.path):
            return self._gate.is_held, self._gate.holder()

    @property
    def name(self) -> str:
        return os.fspath(self.path)

    @property
    def url(self) -> str:
        return url_of(self.name)

    def is_there(self) -> bool:
        return self._identity_now() == self._identity

    def listen(self, *task_ids: str, journals: bool = False) -> "Listener":
        # slow to import, and a hook that does not wait needs neither
        from musician.store.listening import Listener
        from musician.store.sqlite.moving import Moves

        moved = Moves(
            self._connection,
            os.fspath(self.path),
            self._lock,
            self.read,
            task_ids,
            journals=journals,
            busy_timeout_s=self._busy_timeout_s,
        )
        return Listener(self.path, task_ids, moved, looks_on=journals)

    def close(self) -> None:
        """Close; closing twice is harmless. Never waits: while somebody is in the gate, the checkpoint is his."""
        with self._lock, ExitStack() as held:
            try:
                held.enter_context(self._gate.hold(0))
            except (OSError, GateTimeout):
                # the connection may be closed, and the folder gone
                with suppress(apsw.ConnectionClosedError):
                    self._connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            self._connection.close()

    @property
    def connection(self) -> apsw.Connection:
        """The bare connection, for benchmarks and checks."""
        return self._connection

    def _identity_now(self) -> tuple[int, int] | None:
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _begin(self, statement: str) -> None:
        self._check_free()
        with FaultsOf(self.path):
            self._connection.execute(statement)

    def _begin_writing(self) -> None:
        if self._on_long_wait is None or self._busy_timeout_s <= TOLD_AFTER_S:
            self._begin("BEGIN IMMEDIATE")
            return
        self._connection.set_busy_timeout(int(TOLD_AFTER_S * 1000))
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except apsw.BusyError:  # a writer that does not use the gate
            self._on_long_wait(None)
            self._connection.set_busy_timeout(int((self._busy_timeout_s - TOLD_AFTER_S) * 1000))
            self._begin("BEGIN IMMEDIATE")
        finally:
            self._connection.set_busy_timeout(int(self._busy_timeout_s * 1000))

    def _check_free(self) -> None:
        if self._connection.in_transaction:
            raise RuntimeError("a transaction of this store is open already in this thread")

    def _roll_back(self) -> None:
        # SQLite itself has rolled back after some errors (a full disk); after a commit there is nothing to undo.
        if self._connection.in_transaction:
            with FaultsOf(self.path):
                self._connection.execute("ROLLBACK")


def _gate_of(path: Path) -> Gate:
    real = path.resolve()  # one gate for the database, whatever link leads to it
    return Gate(real.with_name(real.name + "-gate"), before=real)


def _enter(
    held: ExitStack, gate: Gate, timeout_s: float, path: Path, on_long_wait: OnLongWait | None = None
) -> None:
    try:
        held.enter_context(gate.hold(timeout_s, on_long_wait=on_long_wait))
    except (OSError, GateTimeout) as error:
        raise gate_fault(error, path) from error


def _configure(connection: apsw.Connection, *, busy_timeout_s: float) -> None:
    connection.set_busy_timeout(int(busy_timeout_s * 1000))
    connection.pragma("synchronous", "FULL")
    connection.pragma("trusted_schema", "OFF")
    # Otherwise SQLite prepares a statement anew for every call, to see whether these values would suit another plan.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)


def _is_somebodys(connection: apsw.Connection) -> bool:
    """Whether there is something in it that is not ours; opening it will say that it is foreign."""
    if connection.pragma("application_id") == APPLICATION_ID:
        return False
    return bool(connection.execute("SELECT count(*) FROM sqlite_schema").get)
