"""Decides what a repeated failure means (D16): real, flaky, or neither.

A failing command is run again up to three times on the same tree. Passes all: flaky, reported, and the
verification goes on. Fails all: real. Mixed: flaky and escalated, and not green.
"""

from collections.abc import Sequence
from enum import StrEnum

RERUNS = 3


class Repeat(StrEnum):
    UNDECIDED = "undecided"
    REAL = "real"
    FLAKY = "flaky"
    MIXED = "mixed"


def judge(reruns: Sequence[bool]) -> Repeat:
    """Return what the re-runs so far say about a failure; each is True if it passed. Run again while
    UNDECIDED.
    """
    if any(reruns) and not all(reruns):
        return Repeat.MIXED
    if len(reruns) < RERUNS:
        return Repeat.UNDECIDED
    return Repeat.FLAKY if all(reruns) else Repeat.REAL
