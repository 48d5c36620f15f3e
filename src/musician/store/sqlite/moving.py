"""Whether others have committed anything that concerns some tasks: asked often, so it costs next to nothing.

Theory. Three questions, each asked only where the one before found something. Has the log been written to since
(a ``stat``, without SQLite)? Has anybody committed (``data_version``, SQLite's own count of the commits of all others)?
And is anything that has come into the one order of these tasks (one narrow statement)?

A file's time is as coarse as the system's tick, so that a second commit within one looks like none. The first question
is therefore believed only of a log that had been still for :data:`STILL_S` when it was seen.
"""

import json
import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

import apsw

from musician.protocol.errors import DatabaseUnusable
from musician.store.port import Tx
from musician.store.queries.changes import Changes

STILL_S = 0.1
"""More than any system's tick."""


class Moves:
    """Call it: True for news, None where nobody can tell just now. It waits for nobody, in this process or another."""

    def __init__(
        self,
        connection: apsw.Connection,
        path: str,
        lock: threading.RLock,
        read: Callable[[], AbstractContextManager[Tx]],
        task_ids: Sequence[str],
        *,
        journals: bool,
        busy_timeout_s: float,
    ) -> None:
        self._connection, self._lock, self._read = connection, lock, read
        self._log_path = os.path.realpath(path) + "-wal"
        self._log: tuple[int, int, int] | None = None
        self._task_ids = json.dumps(task_ids) if task_ids else None
        self._journals = journals
        self._busy_timeout_s = busy_timeout_s
        self._counter: object = None
        self._seq: int | None = None

    def __call__(self) -> bool | None:
        began_ns = time.time_ns()
        log = self._log_now()
        if log is not None and log == self._log:
            return False
        moved = self._ask()
        if moved is not None:
            is_still = log is not None and began_ns - log[0] > STILL_S * 1e9
            self._log = log if is_still else None
        return moved

    def _log_now(self) -> tuple[int, int, int] | None:
        try:
            found = os.stat(self._log_path)
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _ask(self) -> bool | None:
        if not self._lock.acquire(blocking=False):
            return None
        try:
            self._connection.set_busy_timeout(0)
            try:
                return self._has_moved()
            finally:
                self._connection.set_busy_timeout(int(self._busy_timeout_s * 1000))
        except (apsw.Error, DatabaseUnusable):
            return None
        finally:
            self._lock.release()

    def _has_moved(self) -> bool:
        counter = self._connection.pragma("data_version")
        if counter == self._counter:
            return False
        is_news = self._read_on()
        self._counter = counter
        return is_news

    def _read_on(self) -> bool:
        with self._read() as tx:
            if self._seq is None:
                self._seq = tx.only(Changes.newest_seq)
                return True
            self._seq, has_moved = tx.only(
                Changes.news_of, seq=self._seq, task_ids=self._task_ids, journals=self._journals
            )
        return bool(has_moved)
