"""What a request to stop does to a command that does not listen for one: Ctrl-C, SIGTERM and SIGHUP mean the same.

While a command is imported and once it is over it has nothing to put in order, and ends at once: an exception in the
middle of an import comes out as something else, or is swallowed. In between it is a ``KeyboardInterrupt``, which
cleans up on its way. Either way the exit code is 130 and nothing is said. Who plays or conducts listens instead
(``processes.signals``).

A signal that was ignored when the program started stays so: ``nohup`` and the background jobs of a shell ask for it.
"""

import os
import signal
from types import FrameType
from typing import NoReturn

INTERRUPTED = 130
"""The exit code that a shell reports for a program ended by Ctrl-C."""
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def heeded(*signals: signal.Signals) -> tuple[signal.Signals, ...]:
    """Those of them that are not ignored by whoever started this program."""
    return tuple(each for each in signals if signal.getsignal(each) is not signal.SIG_IGN)


def end_at_once() -> None:
    """From now on a request to stop ends this process, unless somebody else has taken it. Main thread only."""
    for number in heeded(*STOP_SIGNALS):
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler, _interrupt):
            signal.signal(number, _end)


def interrupt() -> None:
    """From now on what ended at once is interrupted. Main thread only."""
    for number in STOP_SIGNALS:
        if signal.getsignal(number) is _end:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else _interrupt)


def _end(_number: int, _frame: FrameType | None) -> NoReturn:
    os._exit(INTERRUPTED)


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt
