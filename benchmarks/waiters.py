"""Processes that wait for verdicts: with the session's own watcher, as a thread does, or by polling every 20 ms.

Each waiter is a process with a connection, a bell and an event loop of its own, forked from this one so that a
hundred start in a second. It is the runtime's :class:`Watcher` as a session runs it; what is left out of a session
is what would play pieces. A waiter acts by writing the time down, on the clock that all processes of a machine
share. It ends when the pipe to its starter does, so that none outlives it.
"""

import os
import select
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import cast

import anyio

from benchmarks.forking import forked
from benchmarks.orchestra import SETTINGS, claim_of
from musician import service
from musician.protocol.musician import inputs as i
from musician.runtime.musician.watching import Watcher
from musician.store.sqlite.store import SqliteStore

__all__ = ["POLL_S", "Crowd", "crowd", "listen", "poll", "watch"]

POLL_S = 0.02
_ANSWER_LIMIT_S = 60.0
_REPORT = struct.Struct("=q")
_READY = 0

Waiter = Callable[[SqliteStore, str, "Ends"], None]


class Ends:
    """A waiter's ends of the pipes: it hears which submission to wait for, and reports when it acts."""

    def __init__(self, over: int, awaited: int, reports: int) -> None:
        self.over, self.awaited, self._reports = over, awaited, reports

    def next_awaited(self) -> int:
        return int(_REPORT.unpack(os.read(self.awaited, _REPORT.size))[0])

    def ready(self) -> None:
        os.write(self._reports, _REPORT.pack(_READY))

    def act(self) -> None:
        os.write(self._reports, _REPORT.pack(time.monotonic_ns()))


def watch(store: SqliteStore, task_id: str, ends: Ends) -> None:
    """Wait as a musician does."""

    async def tell(given: i.Input) -> None:
        if isinstance(given, i.VerdictArrived):
            ends.act()

    async def take_orders(watcher: Watcher) -> None:
        while True:
            await anyio.wait_readable(ends.awaited)
            watcher.wait_for(ends.next_awaited())
            ends.ready()

    async def main() -> None:
        watcher = Watcher(store=store, claim=claim_of(task_id), settings=SETTINGS, tell=tell)
        async with anyio.create_task_group() as group:
            group.start_soon(watcher.run)
            group.start_soon(take_orders, watcher)
            await anyio.wait_readable(ends.over)
            group.cancel_scope.cancel()

    anyio.run(main)


def listen(store: SqliteStore, task_id: str, ends: Ends) -> None:
    """Wait as the Stop hook and ``musician wait`` do."""
    awaited: int | None = None
    with store.listen(task_id) as ear:
        while True:
            readable, _, _ = select.select([ends.over, ends.awaited], [], [], 0)
            if ends.over in readable:
                return
            if ends.awaited in readable:
                awaited = ends.next_awaited()
                ends.ready()
            if (
                awaited is not None
                and service.observe(store, claim_of(task_id), awaiting_id=awaited).verdict is not None
            ):
                awaited = None
                ends.act()
            ear.wait(SETTINGS.waiting.pause_poll_s, besides=(ends.over, ends.awaited))


def poll(store: SqliteStore, task_id: str, ends: Ends) -> None:
    """Wait as the usual program does: look at the change counter, sleep 20 ms, look again."""
    awaited: int | None = None
    seen = -1
    while True:
        readable, _, _ = select.select([ends.over, ends.awaited], [], [], POLL_S)
        if ends.over in readable:
            return
        if ends.awaited in readable:
            awaited = ends.next_awaited()
            ends.ready()
        counter = cast("int", store.connection.pragma("data_version"))
        if counter == seen:
            continue
        seen = counter
        if service.observe(store, claim_of(task_id), awaiting_id=awaited).verdict is not None:
            awaited = None
            ends.act()


class Crowd:
    """Waiters that have begun to wait, by process id; the first is the one that verdicts are for."""

    def __init__(self, pids: list[int], orders: list[int], reports: int) -> None:
        self.pids, self._orders, self._reports = pids, orders, reports

    def let_wait(self, number: int, message_id: int) -> None:
        """Returns when that waiter awaits the verdict on this submission."""
        os.write(self._orders[number], _REPORT.pack(message_id))
        if self._report() != _READY:
            raise RuntimeError("a waiter acted without a verdict")

    def acted_at_ns(self) -> int:
        """When the waiter whose verdict was given acted, on the monotonic clock."""
        return self._report()

    def _report(self) -> int:
        if not select.select([self._reports], [], [], _ANSWER_LIMIT_S)[0]:
            raise RuntimeError(f"a waiter did not answer within {_ANSWER_LIMIT_S:g} s")
        return int(_REPORT.unpack(os.read(self._reports, _REPORT.size))[0])


@contextmanager
def crowd(database: Path, tasks: list[str], waiter: Waiter) -> Iterator[Crowd]:
    """One waiting process for each of ``tasks``. No connection to the database may be open in this process."""
    over, let_go = os.pipe()
    reports, theirs = os.pipe()
    orders = [os.pipe() for _ in tasks]
    jobs = [
        partial(_wait, database, task_id, waiter, Ends(over, awaited, theirs), let_go)
        for task_id, (awaited, _) in zip(tasks, orders, strict=True)
    ]
    try:
        with forked(jobs) as pids:
            try:
                yield Crowd(pids, [write for _, write in orders], reports)
            finally:
                os.close(let_go)
    finally:
        for fd in (over, reports, theirs, *(fd for pair in orders for fd in pair)):
            os.close(fd)


def _wait(database: Path, task_id: str, waiter: Waiter, ends: Ends, let_go: int) -> None:
    os.close(let_go)  # or it would keep the others from hearing of their starter's end
    store = SqliteStore.open(database)
    waiter(store, task_id, ends)
    store.close()
