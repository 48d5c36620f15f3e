"""Handles requests to stop: SIGTERM, SIGINT and SIGHUP mean the same, and take effect at once (B32).

The first one is an event: whoever waits in :func:`stop_requested` wakes, whatever else sleeps, and winds the
program down. Its echoes (launchers pass a signal on that the terminal or ``timeout`` has sent to all) are the
same request. One that comes later is a person who will not wait: it does what it does by default, and nothing
is lost by that, as nothing is by SIGKILL (D23).

Inside of :func:`hearing_stops` none is lost, whether or not anybody waits for it in that moment. What was heard is
heard by all who ask in there, later too.
"""

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from types import FrameType
from typing import TypeVar

import anyio

from musician.interruption import STOP_SIGNALS, heeded

_T = TypeVar("_T")

ECHO_S = 1.0
"""How long after the first one another signal counts as its echo."""
_MOST_BYTES = 4096


class _Hearing:
    """Hears the signals of this process, from its making on."""

    def __init__(self) -> None:
        self.first: signal.Signals | None = None
        self.users = 0
        self._heard_at_s = 0.0
        # Python's own handlers run between two of its instructions. Whoever sleeps is woken by what the system's
        # handler writes: a byte for each signal.
        self._awake, self._bell = socket.socketpair()
        for end in (self._awake, self._bell):
            end.setblocking(False)
        self._bell_before = signal.set_wakeup_fd(self._bell.fileno(), warn_on_full_buffer=False)
        self._before = {number: signal.signal(number, self._heed) for number in heeded(*STOP_SIGNALS)}

    def _heed(self, number: int, _frame: FrameType | None) -> None:
        if self.first is None:
            self.first, self._heard_at_s = signal.Signals(number), time.monotonic()
        elif time.monotonic() - self._heard_at_s > ECHO_S:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

    async def heard(self) -> signal.Signals:
        with self._awake.dup() as own:  # several may wait
            while self.first is None:
                await anyio.wait_readable(own)
                if self.first is None:
                    self._drain()
        return self.first

    def _drain(self) -> None:
        """Forget the bytes of other signals; what stops us sets ``first`` before anybody is woken."""
        with suppress(BlockingIOError):  # another who waits was faster
            self._awake.recv(_MOST_BYTES)

    def leave(self) -> None:
        """Hear no more if nobody else asks; but a second request goes on being told from the echo of the first."""
        self.users -= 1
        if self.users:
            return
        global _hearing
        _hearing = None
        signal.set_wakeup_fd(self._bell_before)
        if self.first is None:
            for number, handler in self._before.items():
                signal.signal(number, handler)
        self._awake.close()
        self._bell.close()


_hearing: _Hearing | None = None


@contextmanager
def _heard_together() -> Iterator[_Hearing]:
    global _hearing
    hearing = _hearing = _hearing or _Hearing()
    hearing.users += 1
    try:
        yield hearing
    finally:
        hearing.leave()


@contextmanager
def hearing_stops() -> Iterator[Callable[[], bool]]:
    """Hear requests to stop, and give what says whether there was one. May overlap with another. Main thread only."""
    with _heard_together() as hearing:
        yield lambda: hearing.first is not None


async def stop_requested() -> signal.Signals:
    """Return the signal that asks this process to stop, as soon as it comes. Main thread only."""
    with _heard_together() as hearing:
        return await hearing.heard()


@contextmanager
def raising_on_signals(
    error: Callable[[int], BaseException], opened: Callable[[], AbstractContextManager[_T]]
) -> Iterator[_T]:
    """Raise out of the block where a signal asks to stop, so that what was ``opened`` for it is left; SIGINT does by
    itself. Main thread.

    One that comes while it is being opened waits until it is: what has half begun nobody would leave.
    """

    came: list[int] = []

    def wait(number: int, _frame: FrameType | None) -> None:
        came.append(number)

    def stop(number: int, _frame: FrameType | None) -> None:
        raise error(number)

    with ExitStack() as held:
        # Not by a mask: where there are other threads one of them would be given the signal.
        before = {number: signal.signal(number, wait) for number in heeded(*STOP_SIGNALS)}
        for number, handler in before.items():
            held.callback(signal.signal, number, handler)
        found = held.enter_context(opened())
        for number, handler in before.items():
            signal.signal(number, handler if number == signal.SIGINT else stop)
        for each in came:
            signal.raise_signal(each)
        yield found
