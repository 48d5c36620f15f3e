"""Measuring several things in turn, and how much of a core other processes used."""

import time
from collections.abc import Callable, Iterable, Sequence
from statistics import median

__all__ = ["cpu_s", "in_turn", "medians", "one_round", "seconds"]

Arm = Callable[[], float]


def seconds(call: Callable[[], object]) -> float:
    """How long one call takes."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def one_round(number: int, arms: Sequence[Arm]) -> list[float]:
    """What each arm measured; every other round in reverse, so that none is always first."""
    order = range(len(arms)) if number % 2 == 0 else reversed(range(len(arms)))
    measured = {arm: arms[arm]() for arm in order}
    return [measured[arm] for arm in range(len(arms))]


def in_turn(rounds: int, arms: Sequence[Arm]) -> list[float]:
    """Each arm's median over so many rounds."""
    return medians(one_round(number, arms) for number in range(rounds))


def medians(rounds: Iterable[Sequence[float]]) -> list[float]:
    """Over rounds, arm by arm."""
    return [median(values) for values in zip(*rounds, strict=True)]


def cpu_s(pid: int) -> float:
    """CPU time a living process has used, all its threads, to the nanosecond.

    ``/proc`` counts in hundredths of a second, which is more than an idle waiter uses in ten. The clock's number
    is what the C library's ``clock_getcpuclockid`` computes on Linux.
    """
    return time.clock_gettime((~pid << 3) | 2)
