"""Waits for what gives no event by polling, up to a bound that only something broken reaches."""

import time
from collections.abc import Callable
from typing import TypeVar

HANG_S = 240.0
"""The usual bound; nothing that works waits this long, not even on a machine that is busy fifteen-fold."""

_PACE_S = 0.05

_T = TypeVar("_T")


class NotInTime(AssertionError):
    """The awaited condition did not come true in time."""


def until(look: Callable[[], _T], *, within_s: float = HANG_S, told: Callable[[], str] = lambda: "") -> _T:
    """Return the first true answer of ``look``; :class:`NotInTime`, with the text of ``told``, if none comes."""
    deadline = time.monotonic() + within_s
    while not (found := look()):
        if time.monotonic() > deadline:
            raise NotInTime(f"it did not happen within {within_s:g} s. {told()}")
        time.sleep(_PACE_S)
    return found
