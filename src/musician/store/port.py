"""The port of a store, for any database.

Theory. A store gives transactions over *named queries*: a typed constant each (``queries/``), which every backend
brings in its own dialect, described where it is written. A reader sees one snapshot. A writer holds the write lock
from its first statement (never read-then-upgrade: that is how BUSY and lost updates begin), commits once, and only
then rings those who wait. If the block raises, nothing happened and nobody is woken.

A statement that somebody else wrote is run within bounds and never with a writer's rights: it can be asked, or it may
alter rows of a transaction whose caller then judges what it changed.
"""

from collections.abc import Mapping, Set
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from musician.protocol.values import dataclass
from musician.store.query import Command, Query, Row, Value

if TYPE_CHECKING:
    from musician.store.listening import Listener

R = TypeVar("R")

ONLOOKERS = "*"
"""Who is rung for what concerns none but a task itself; no task has this id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The result of a foreign statement. ``more`` is true if there are more rows than the caller wanted."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    more: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChange:
    """One row that a statement of somebody else's changed; ``before`` is None for a new row, ``after`` for one gone."""

    table: str
    before: Row | None
    after: Row | None
    by_trigger: bool


class Tx(Protocol):
    """One transaction."""

    def one(self, query: Query[R], /, **parameters: Value) -> R | None:
        """The first row, None if there is none."""
        ...

    def only(self, query: Query[R], /, **parameters: Value) -> R:
        """The row of a query that always has one: a count, a clock."""
        ...

    def all(self, query: Query[R], /, **parameters: Value) -> list[R]: ...

    def run(self, command: Command, /, **parameters: Value) -> int:
        """Execute; the number of rows changed."""
        ...

    def insert(self, command: Command, /, **parameters: Value) -> int:
        """Execute one INSERT; the new row's id."""
        ...

    def version(self) -> object:
        """Of what this transaction sees. Equal to another's of this store: nothing was committed in between."""
        ...

    def ring(self, task_id: str) -> None:
        """Wake the task's waiters once the transaction is committed."""
        ...

    def alter(self, statements: str, *, writable: Mapping[str, Set[str]]) -> tuple[RowChange, ...]:
        """Run somebody else's statements: what they changed, in order, for the caller to judge before it commits.

        ``writable`` are the tables they may name, each with the columns an UPDATE may set.
        :class:`StatementRefused` for anything else.
        """
        ...

    def move_out(self, plan_id: str, into: Path) -> None:
        """Move a plan's rows into a database of their own, which is whole before this transaction is committed."""
        ...

    def move_in(self, plan_id: str, out_of: Path) -> tuple[str, ...]:
        """Take them back. The archive stays, for whoever commits to delete.

        Returns the ids of its tasks that others have here by now: then nothing was taken.
        """
        ...


class Store(Protocol):
    """An open database. Errors are :class:`DatabaseUnusable` with its ``kind``."""

    @property
    def name(self) -> str:
        """The name that is shown to people and that the database's own shell opens; for a file, its path."""
        ...

    @property
    def url(self) -> str:
        """By which every other process opens the same one."""
        ...

    def is_there(self) -> bool:
        """Whether whoever opens it by its name now gets this one: an open file goes on after it was deleted."""
        ...

    def read(self) -> AbstractContextManager[Tx]: ...
    def write(self) -> AbstractContextManager[Tx]: ...

    def ask(self, statement: str, *, most_rows: int, most_bytes: int) -> Answer:
        """Run one statement of somebody else's that only reads; :class:`StatementRefused` for any other (B11)."""
        ...

    def check(self) -> None:
        """:class:`DatabaseUnusable` if what it keeps is damaged, by whatever its database can find out."""
        ...

    def broken(self) -> tuple[str, ...]:
        """Return the rows that the guards would not have allowed, and guards that are wrong themselves, a line each."""
        ...

    def mend(self) -> tuple[str, ...]:
        """Put that right, in one transaction; the lines of what was."""
        ...

    def holder(self) -> tuple[bool, int | None]:
        """Whether somebody keeps every writer out now, and the process if it is known; waits for nobody."""
        ...

    def listen(self, *task_ids: str, journals: bool = False) -> "Listener":
        """Hear of what others commit for these tasks, for all where none is named. Open it first, look second.

        What a session notes of its own work counts only with ``journals``; who wants these of all tasks is rung for
        them, as for what is said to a task and whether it has heard it (:data:`ONLOOKERS`).
        """
        ...

    def close(self) -> None: ...
