"""How long after the commit of its verdict a waiting musician acts, and what waiting costs (P3).

The clock starts when SQLite reports the COMMIT of the verdict as done, in the conductor's process, and stops when
the waiter, in a process of its own, has been told the verdict. One waiter is judged again and again, alone or with
others waiting for other tasks beside it, against one that polls the database every 20 ms; and judged by plain SQL,
which rings nobody: the slowest of these against the second that is promised. Both faces of a listener are measured: the
watcher's, in an event loop, and a thread's. For the idle cost nothing happens at all, and the CPU time of all waiters
together is read twice.
"""

import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

import apsw

from benchmarks.figures import Figure
from benchmarks.measuring import cpu_s, in_turn
from benchmarks.orchestra import claim_of, claim_task, fresh, judge, judge_raw, review, scratch, task_ids
from benchmarks.waiters import POLL_S, Waiter, crowd, listen, poll, watch
from musician import service
from musician.protocol.states import State
from musician.store.sqlite.store import SqliteStore

__all__ = ["TINY", "Size", "measure"]

CROWD_AT_MOST = 1.5
POLLER_AT_MOST = 1 / 10
IDLE_AT_MOST = 0.01
RAW_AT_MOST = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    waiting: int = 100
    rounds: int = 3
    verdicts: int = 20
    raw_verdicts: int = 8
    settle_s: float = 1.0
    idle_s: float = 10.0
    """A whole number of the watcher's slowest looks, or it would depend on their phase."""


TINY = Size(waiting=3, rounds=1, verdicts=2, raw_verdicts=1, settle_s=0.0, idle_s=0.1)


def measure(size: Size) -> tuple[Figure, ...]:
    """Wake-ups in turn, then the idle cost."""
    with scratch() as folder:
        database = folder / "waiting.db"
        tasks = task_ids(size.waiting)
        store = fresh(database, tasks)
        for task_id in tasks:
            claim_task(store, task_id)
        store.close()
        one = tasks[:1]
        ring, raw = partial(_latency_s, judge, median), partial(_latency_s, judge_raw, max)
        arms: dict[str, Callable[[], float]] = {
            "alone": partial(ring, database, one, watch, size.verdicts),
            "crowded": partial(ring, database, tasks, watch, size.verdicts),
            "thread": partial(ring, database, tasks, listen, size.verdicts),
            "polled": partial(ring, database, one, poll, size.verdicts),
            "raw": partial(raw, database, tasks, watch, size.raw_verdicts),
            "raw thread": partial(raw, database, tasks, listen, size.raw_verdicts),
        }
        found = dict(zip(arms, in_turn(size.rounds, list(arms.values())), strict=True))
        idle = {"watching": watch, "as threads": listen}
        shares = {name: _idle_share(database, tasks, waiter, size) for name, waiter in idle.items()}
        return (*_latencies(size, found), *_idle(size, shares))


def _latencies(size: Size, found: Mapping[str, float]) -> Iterator[Figure]:
    many = f"wake-up: {size.waiting} waiting"
    poller = f"a poller of {POLL_S * 1e3:g} ms"
    yield Figure(what="wake-up: 1 waiting", median=found["alone"] * 1e3, unit="ms")
    yield Figure(what=f"wake-up: {poller}", median=found["polled"] * 1e3, unit="ms")
    for what, arm, other, against, at_most in (
        (many, "crowded", found["alone"], "1 waiting", CROWD_AT_MOST),
        (many, "crowded", found["polled"], poller, POLLER_AT_MOST),
        (f"{many} as threads", "thread", found["polled"], poller, POLLER_AT_MOST),
        (f"{many}, slowest by plain SQL", "raw", 1.0, "1 s", RAW_AT_MOST),
        (f"{many} as threads, slowest by plain SQL", "raw thread", 1.0, "1 s", RAW_AT_MOST),
    ):
        yield Figure(
            what=what,
            median=found[arm] * 1e3,
            unit="ms",
            ratio=found[arm] / other,
            against=against,
            goal="P3",
            at_most=at_most,
        )


def _idle(size: Size, shares: Mapping[str, float]) -> Iterator[Figure]:
    for name, share in shares.items():
        yield Figure(
            what=f"wake-up: {size.waiting} idle {name}, CPU of all",
            median=share * 100,
            unit="%",
            ratio=share,
            against="one core",
            goal="P3",
            at_most=IDLE_AT_MOST,
        )


def _latency_s(
    judge: Callable[[SqliteStore, str], int],
    summed_up: Callable[[list[float]], float],
    database: Path,
    tasks: list[str],
    waiter: Waiter,
    verdicts: int,
) -> float:
    """The time from the commit of a verdict to the act of its waiter, over so many verdicts."""
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
    return summed_up(latencies)


class _Committed:
    """When the store's connection last finished a COMMIT, on the monotonic clock."""

    def __init__(self, store: SqliteStore) -> None:
        self.at_ns = 0
        store.connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, self._hear)

    def _hear(self, event: dict[str, object]) -> None:
        if event["sql"] == "COMMIT":
            self.at_ns = time.monotonic_ns()


def _idle_share(database: Path, tasks: list[str], waiter: Waiter, size: Size) -> float:
    """CPU time of all waiters over a while in which nothing happens, as a share of one core."""
    store = SqliteStore.open(database)
    for task_id in tasks:
        if service.task_row(store, task_id).state is State.NEEDS_REVIEW:
            judge(store, task_id)
            service.resume(store, claim_of(task_id))
    submissions = [review(store, task_id) for task_id in tasks]
    store.close()
    with crowd(database, tasks, waiter) as waiting:
        for number, message_id in enumerate(submissions):
            waiting.let_wait(number, message_id)
        time.sleep(size.settle_s)
        began = time.monotonic()
        before = sum(cpu_s(pid) for pid in waiting.pids)
        time.sleep(size.idle_s)
        used = sum(cpu_s(pid) for pid in waiting.pids) - before
        return used / (time.monotonic() - began)
