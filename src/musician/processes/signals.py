"""Being asked to stop: SIGTERM, SIGINT and SIGHUP mean the same, and are honoured at once (B32).

The first one is an event: whoever waits in :func:`stop_requested` wakes, whatever else sleeps, and winds the
program down. Its echoes (launchers pass a signal on that the terminal or ``timeout`` has sent to all) are the
same request. One that comes later is a person who will not wait: it does what it does by default, and nothing
is lost by that, as nothing is by SIGKILL (D23).
"""

import os
import signal
import time
from types import FrameType

import anyio

__all__ = ["ECHO_S", "STOP_SIGNALS", "stop_requested"]

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

ECHO_S = 1.0
"""How long after the first one another signal counts as its echo."""


async def stop_requested() -> signal.Signals:
    """Return the signal that asks this process to stop, as soon as it comes. Main thread only."""
    with anyio.open_signal_receiver(*STOP_SIGNALS) as received:
        first = await anext(aiter(received))
    heard_at = time.monotonic()

    def heed(number: int, _frame: FrameType | None) -> None:
        if time.monotonic() - heard_at > ECHO_S:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

    for number in STOP_SIGNALS:
        signal.signal(number, heed)
    return first
