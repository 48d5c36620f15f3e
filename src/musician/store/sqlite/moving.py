"""Whether others have committed anything that concerns some tasks: asked often, so it costs next to nothing.

SQLite counts for each connection the commits of all others (``data_version``); where that stands still nothing is read.
Where it has moved, one narrow statement says whether what has come into the one order is of these tasks.
"""

import json
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

import apsw

from musician.protocol.errors import DatabaseUnusable
from musician.store.port import Tx
from musician.store.queries.changes import Changes


class Moves:
    """Call it: True for news, None where nobody can tell just now. It waits for nobody, in this process or another."""

    def __init__(
        self,
        connection: apsw.Connection,
        lock: threading.RLock,
        read: Callable[[], AbstractContextManager[Tx]],
        task_ids: Sequence[str],
        *,
        journals: bool,
        busy_timeout_s: float,
    ) -> None:
        self._connection, self._lock, self._read = connection, lock, read
        self._task_ids = json.dumps(task_ids) if task_ids else None
        self._journals = journals
        self._busy_timeout_s = busy_timeout_s
        self._counter: object = None
        self._seq: int | None = None

    def __call__(self) -> bool | None:
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
