"""How long after the commit of its verdict a waiting musician acts, and what waiting costs (P3).

The clock starts when SQLite reports the COMMIT of the verdict as done, in the conductor's process, and stops when
the waiter, in a process of its own, has been told the verdict. One waiter is judged again and again, alone or with
others waiting for other tasks beside it, against one that polls the database every 20 ms. For the idle cost nothing
happens at all, and the CPU time of all waiters together is read twice.
"""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

import apsw

from benchmarks.figures import Figure
from benchmarks.measuring import cpu_s, in_turn
from benchmarks.orchestra import claim_of, claim_task, fresh, judge, review, scratch, task_ids
from benchmarks.waiters import POLL_S, Waiter, crowd, poll, watch
from musician import service
from musician.store.sqlite.store import SqliteStore

__all__ = ["TINY", "Size", "measure"]

CROWD_AT_MOST = 1.5
POLLER_AT_MOST = 1 / 15
IDLE_AT_MOST = 0.03


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    waiting: int = 100
    rounds: int = 3
    verdicts: int = 20
    settle_s: float = 1.0
    idle_s: float = 10.0
    """A whole number of the watcher's slowest looks, or it would depend on their phase."""


TINY = Size(waiting=3, rounds=1, verdicts=2, settle_s=0.0, idle_s=0.1)


def measure(size: Size) -> tuple[Figure, ...]:
    """Wake-ups in turn, then the idle cost."""
    with scratch() as folder:
        database = folder / "waiting.db"
        tasks = task_ids(size.waiting)
        store = fresh(database, tasks)
        for task_id in tasks:
            claim_task(store, task_id)
        store.close()
        arms: list[tuple[list[str], Waiter]] = [(tasks[:1], watch), (tasks, watch), (tasks[:1], poll)]
        latencies: list[Callable[[], float]] = [
            partial(_latency_s, database, some, waiter, size.verdicts) for some, waiter in arms
        ]
        alone, crowded, polled = in_turn(size.rounds, latencies)
        idle = _idle_share(database, tasks, size)
    return _figures(size, alone, crowded, polled, idle)


def _figures(size: Size, alone: float, crowded: float, polled: float, idle: float) -> tuple[Figure, ...]:
    many = f"wake-up: {size.waiting} waiting"
    poller = f"a poller of {POLL_S * 1e3:g} ms"

    def against(what: str, other: float, name: str, at_most: float | None) -> Figure:
        goal = "" if at_most is None else "P3"
        return Figure(
            what=what,
            median=crowded * 1e3,
            unit="ms",
            ratio=crowded / other,
            against=name,
            goal=goal,
            at_most=at_most,
        )

    return (
        Figure(what="wake-up: 1 waiting", median=alone * 1e3, unit="ms"),
        Figure(what=f"wake-up: {poller}", median=polled * 1e3, unit="ms"),
        against(many, alone, "1 waiting", CROWD_AT_MOST),
        against(many, polled, poller, POLLER_AT_MOST),
        Figure(
            what=f"wake-up: {size.waiting} idle, CPU of all",
            median=idle * 100,
            unit="%",
            ratio=idle,
            against="one core",
            goal="P3",
            at_most=IDLE_AT_MOST,
        ),
    )


def _latency_s(database: Path, tasks: list[str], waiter: Waiter, verdicts: int) -> float:
    """The median time from the commit of a verdict to the act of its waiter."""
    with crowd(database, tasks, waiter) as waiting:
        store = SqliteStore.open(database)
        committed = _Committed(store)
        latencies: list[float] = []
        for _ in range(verdicts):
            waiting.let_wait(0, review(store, tasks[0]))
            time.sleep(random.uniform(POLL_S, 2 * POLL_S))  # at no fixed point between two polls
            verdict_id = judge(store, tasks[0])
            committed_at_ns = committed.at_ns
            latencies.append((waiting.acted_at_ns() - committed_at_ns) / 1e9)
            # As a session would, and so that no look finds more than the one before.
            service.resume(store, claim_of(tasks[0]))
            service.acknowledge(store, claim_of(tasks[0]), verdict_id)
        store.close()
    return median(latencies)


class _Committed:
    """When the store's connection last finished a COMMIT, on the monotonic clock."""

    def __init__(self, store: SqliteStore) -> None:
        self.at_ns = 0
        store.connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, self._hear)

    def _hear(self, event: dict[str, object]) -> None:
        if event["sql"] == "COMMIT":
            self.at_ns = time.monotonic_ns()


def _idle_share(database: Path, tasks: list[str], size: Size) -> float:
    """CPU time of all waiters over a while in which nothing happens, as a share of one core."""
    store = SqliteStore.open(database)
    submissions = [review(store, task_id) for task_id in tasks]
    store.close()
    with crowd(database, tasks, watch) as waiting:
        for number, message_id in enumerate(submissions):
            waiting.let_wait(number, message_id)
        time.sleep(size.settle_s)
        began = time.monotonic()
        before = sum(cpu_s(pid) for pid in waiting.pids)
        time.sleep(size.idle_s)
        used = sum(cpu_s(pid) for pid in waiting.pids) - before
        return used / (time.monotonic() - began)
