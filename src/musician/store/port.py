"""What a store can do, whatever database is behind it.

Theory. A store gives transactions over *named queries*: each backend ships the same names in its own dialect,
described where they are written. A reader sees one snapshot. A writer holds the write lock from its first
statement (never read-then-upgrade: that is how BUSY and lost updates begin), commits once, and only then rings
those who wait. If the block raises, nothing happened and nobody is woken.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

__all__ = ["Row", "Store", "Tx", "Value"]

Value = str | int | float | bytes | None
Row = Mapping[str, Value]


class Tx(Protocol):
    """One transaction. Query names are those of the backend's ``.sql`` files."""

    def one(self, query: str, /, **parameters: Value) -> Row | None: ...
    def all(self, query: str, /, **parameters: Value) -> list[Row]: ...

    def run(self, query: str, /, **parameters: Value) -> int:
        """Execute; the number of rows changed."""
        ...

    def insert(self, query: str, /, **parameters: Value) -> int:
        """Execute one INSERT; the new row's id."""
        ...

    def ring(self, task_id: str) -> None:
        """Wake the task's waiters once the transaction is committed."""
        ...


class Store(Protocol):
    """An open database. Errors are :class:`DatabaseUnusable` with its ``kind``."""

    path: Path

    def read(self) -> AbstractContextManager[Tx]: ...
    def write(self) -> AbstractContextManager[Tx]: ...

    def change_counter(self) -> int:
        """Differs after any other connection's commit: the slow poll behind the bell."""
        ...

    def close(self) -> None: ...
