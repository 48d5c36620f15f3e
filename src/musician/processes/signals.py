"""Handles requests to stop: SIGTERM, SIGINT and SIGHUP mean the same, and take effect at once (B32).

The first one is an event: whoever waits in :func:`stop_requested` wakes, whatever else sleeps, and winds the
program down. Its echoes (launchers pass a signal on that the terminal or ``timeout`` has sent to all) are the
same request. One that comes later is a person who will not wait: it does what it does by default, and nothing
is lost by that, as nothing is by SIGKILL (D23).

A signal that was ignored when the program started stays so: ``nohup`` and the background jobs of a shell ask for it.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from types import FrameType
from typing import TypeVar

import anyio

_T = TypeVar("_T")

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

ECHO_S = 1.0
"""How long after the first one another signal counts as its echo."""


async def stop_requested() -> signal.Signals:
    """Return the signal that asks this process to stop, as soon as it comes. Main thread only."""
    signals = heeded(*STOP_SIGNALS)
    if not signals:
        await anyio.sleep_forever()
    with anyio.open_signal_receiver(*signals) as received:
        first = await anext(aiter(received))
    heard_at = time.monotonic()

    def heed(number: int, _frame: FrameType | None) -> None:
        if time.monotonic() - heard_at > ECHO_S:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

    for number in signals:
        signal.signal(number, heed)
    return first


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


def heeded(*signals: signal.Signals) -> tuple[signal.Signals, ...]:
    """Those of them that are not ignored by whoever started this program."""
    return tuple(each for each in signals if signal.getsignal(each) is not signal.SIG_IGN)
