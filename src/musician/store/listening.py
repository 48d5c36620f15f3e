"""Waiting for what others write, one way for everybody (D11): by rings, and within a second without them.

Theory. Who waits has opened a :class:`Listener`, looks, and waits for the next reason to look again; in this order,
and nothing that is committed is slept through. A reason is a ring, which our own writers give after their commit to
exactly those who listen for the task, or a commit by somebody who rings nobody (the ``sqlite3`` shell, another host).
For these the database is asked every :data:`TICK_S`, in steps that cost as little as they can: whether anybody has
committed at all, and only then whether anything that has a place in the one order (``changes``) is of these tasks. So
what wakes is news, and a wide look follows news only, or the time that its caller gives it at most: there are things
no row says, an owner who died, a heartbeat that grew old.

The two faces, :meth:`~Listener.wait` and :meth:`~Listener.heard`, differ in what sleeps: the thread or the task. Both
ask in the thread they are called in. That neither waits there: where the store is just busy for another thread, or
somebody keeps everybody out, it is asked again after :data:`BUSY_S`; what is wrong with a database, the look finds.
Where no bell can be hung the ticks alone remain, and a ring is as late as anything.
"""

import select
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from musician.protocol.names import CONDUCTOR
from musician.store.bell import Bell
from musician.store.port import ONLOOKERS

if TYPE_CHECKING:
    import asyncio

TICK_S = 0.9
"""How often it is asked: within a second, all told, whoever rang nobody is noticed."""

BUSY_S = 0.05
"""When a database that could not be asked is asked again."""

Moved = Callable[[], bool | None]
"""Whether anything was committed since it was asked last that is news here; None if nobody can tell just now."""


class Listener(AbstractContextManager["Listener"]):
    """Hears of what is committed for ``task_ids``; without any, of whatever concerns the conductor: everything.

    ``looks_on``: and of what concerns only the tasks themselves.

    A context manager. What this very store has committed is no news to its own listener, but a ring always is.
    """

    def __init__(
        self, database: Path, task_ids: Iterable[str], moved: Moved, *, looks_on: bool = False
    ) -> None:
        self._moved = moved
        try:
            everything = (CONDUCTOR, ONLOOKERS) if looks_on else (CONDUCTOR,)
            self._bell: Bell | None = Bell(database, *(tuple(task_ids) or everything))
        except OSError:
            self._bell = None
        self._is_nudged = self._is_news = False
        self._is_sure = moved() is not None

    def wait(self, at_most_s: float, *, besides: Iterable[int] = ()) -> bool:
        """Sleep until there is news: True. False when the time is up, or a descriptor of ``besides`` is readable."""
        poll = select.poll()
        bells = {self._bell.fileno()} if self._bell else set()
        for descriptor in {*besides, *bells}:
            poll.register(descriptor, select.POLLIN)
        for pause_s in self._pauses(at_most_s, time.monotonic):
            if {descriptor for descriptor, _ in poll.poll(pause_s * 1000)} - bells:
                return False
        return self._is_news

    async def heard(self, at_most_s: float) -> bool:
        """As :meth:`wait`, for a task of an event loop."""
        import asyncio

        import anyio  # slow to import, and a hook has no event loop

        if self._bell is None:
            for pause_s in self._pauses(at_most_s, anyio.current_time):
                await anyio.sleep(pause_s)
        elif not self._has_news():
            self._ask_again(asyncio.get_running_loop())
            try:
                with anyio.move_on_after(at_most_s):
                    await anyio.wait_readable(self._bell)
            finally:
                self._timer.cancel()
            self._has_news()
        return self._is_news

    def _ask_again(self, loop: "asyncio.AbstractEventLoop") -> None:
        """By a timer, beside the sleeper: to wake a task for each tick takes three times as long."""
        self._timer = loop.call_later(TICK_S if self._is_sure else BUSY_S, self._tick, loop)

    def _tick(self, loop: "asyncio.AbstractEventLoop") -> None:
        moved = self._moved()
        self._is_sure = moved is not None
        if moved:
            self.nudge()
        else:
            self._ask_again(loop)

    def nudge(self) -> None:
        """Have it wake as for news: its owner knows a reason to look. From the thread that waits, or its event loop."""
        self._is_nudged = True
        if self._bell is not None:
            self._bell.strike()

    def close(self) -> None:
        """Closing twice is harmless."""
        if self._bell is not None:
            self._bell.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _pauses(self, at_most_s: float, clock_s: Callable[[], float]) -> Iterator[float]:
        """How long to sleep, again and again, until there is news or the time is up."""
        until_s = clock_s() + at_most_s
        while not self._has_news() and (left_s := until_s - clock_s()) > 0:
            yield min(TICK_S if self._is_sure else BUSY_S, left_s)

    def _has_news(self) -> bool:
        has_rung = self._bell is not None and self._bell.drain()
        moved = self._moved()
        self._is_sure = moved is not None
        self._is_news, self._is_nudged = has_rung or self._is_nudged or bool(moved), False
        return self._is_news
