"""A bound on the work of one judgement (D36): what takes longer than the client waits for, it would let through."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn


class OverTime(Exception):
    """The work has taken all the time it was given."""


class _Alarm(BaseException):
    """No error that the work itself may take for its own."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """:class:`OverTime` once the processor has spent so many seconds within; a busy machine spends none of them."""

    def stop(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001
        raise _Alarm

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    except _Alarm:
        raise OverTime(
            f"what this call would do cannot be determined within {seconds:g} s: write it in plainer words"
        ) from None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
