"""One connection that reads the database, kept by who answers many hooks: to open the file and to read its schema
costs more than the look itself.

Theory. A kept connection must never know less than a new one. What others commit it sees as any does. What it
could not see is another file in the place of its own, or one that was written over by no SQLite: so it is kept only
while the file has the same number, size and time, which also change at a checkpoint. Whatever goes wrong, it is
dropped, and the error is the caller's.
"""

import os
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    import apsw


class KeptReader:
    """Asks by the connection that it keeps. Threads that come at the same time get connections of their own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection: apsw.Connection | None = None
        self._of: tuple[object, ...] = ()

    def ask(
        self,
        path: str,
        sql: str,
        value: "str | int",
        opened: "Callable[[str], apsw.Connection]",
        asked: "Callable[[apsw.Connection, str, str | int], list[Any]]",
    ) -> "list[Any]":
        """Return the rows that ``asked`` gets by the kept connection, or by one that is ``opened`` anew."""
        if not self._lock.acquire(blocking=False):
            connection = opened(path)
            try:
                return asked(connection, sql, value)
            finally:
                connection.close()
        try:
            return asked(self._kept(path, opened), sql, value)
        except BaseException:
            self._drop()
            raise
        finally:
            self._lock.release()

    def _kept(self, path: str, opened: "Callable[[str], apsw.Connection]") -> "apsw.Connection":
        found = os.stat(path)  # before it is opened: what takes its place meanwhile is seen the next time
        now = (path, found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
        if self._connection is None or now != self._of:
            self._drop()
            self._connection, self._of = opened(path), now
        return self._connection

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
