"""A store whose statements can be watched one by one: to record them, or to make one of them fail.

Theory. The watcher is called with the name of each statement of a writing transaction before it is run, and
with :data:`COMMIT` before that. An error it raises acts like an error of the database there: the transaction
is rolled back by the real store, and nobody is woken. So a test can go through a verb fault by fault, and the
state it finds afterwards was left by the production code.
"""

from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar, cast

from musician.protocol.errors import DatabaseUnusable
from musician.store.port import RowChange, Store, Tx
from musician.store.query import Command, Query, Value

COMMIT = "COMMIT"

R = TypeVar("R")
Watcher = Callable[[str], object]


def observed(store: Store, watcher: Watcher) -> Store:
    """Return the same store, watched: ``observed(store, names.append)`` records."""
    return cast("Store", _ObservedStore(store, watcher))


def failing_at(number: int) -> Watcher:
    """Return a watcher for which the statement with this number, from 0, finds the disk full."""
    seen = 0

    def watch(name: str) -> None:
        nonlocal seen
        if seen == number:
            raise DatabaseUnusable(
                path="the database", kind="full", detail=f"no room for {name}", remedy="make some"
            )
        seen += 1

    return watch


class _ObservedStore:
    def __init__(self, store: Store, watcher: Watcher) -> None:
        self._store, self._watcher = store, watcher

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    @contextmanager
    def write(self) -> Iterator[Tx]:
        with self._store.write() as tx:
            yield _ObservedTx(tx, self._watcher)
            self._watcher(COMMIT)


class _ObservedTx:
    def __init__(self, tx: Tx, watcher: Watcher) -> None:
        self._tx, self._watcher = tx, watcher

    def one(self, query: Query[R], /, **parameters: Value) -> R | None:
        self._watcher(query.name)
        return self._tx.one(query, **parameters)

    def only(self, query: Query[R], /, **parameters: Value) -> R:
        self._watcher(query.name)
        return self._tx.only(query, **parameters)

    def all(self, query: Query[R], /, **parameters: Value) -> list[R]:
        self._watcher(query.name)
        return self._tx.all(query, **parameters)

    def run(self, command: Command, /, **parameters: Value) -> int:
        self._watcher(command.name)
        return self._tx.run(command, **parameters)

    def insert(self, command: Command, /, **parameters: Value) -> int:
        self._watcher(command.name)
        return self._tx.insert(command, **parameters)

    def version(self) -> object:
        return self._tx.version()

    def ring(self, task_id: str) -> None:
        self._tx.ring(task_id)

    def move_out(self, plan_id: str, into: Path) -> None:
        self._watcher("move_out")
        self._tx.move_out(plan_id, into)

    def move_in(self, plan_id: str, out_of: Path) -> tuple[str, ...]:
        self._watcher("move_in")
        return self._tx.move_in(plan_id, out_of)

    def alter(self, statements: str, *, writable: Mapping[str, Set[str]]) -> tuple[RowChange, ...]:
        self._watcher("alter")
        return self._tx.alter(statements, writable=writable)
