"""How long the unluckiest of many writers waits, with the gate and with SQLite's own waiting alone (P7).

Every process writes heartbeats of a task of its own as fast as it can, each in one transaction with synchronous
FULL. With the gate they queue; without it they wait as ``busy_timeout`` does, asking again and again. The worst wait
of all processes counts; who never got in while it lasted has waited all the time.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path
from statistics import median, quantiles

from benchmarks.figures import Figure
from benchmarks.forking import FORK, forked
from benchmarks.measuring import one_round, seconds
from benchmarks.orchestra import claim_of, claim_task, fresh, scratch, task_ids
from musician.service.rowwork import named
from musician.store.queries.tasks import Tasks
from musician.store.sqlite.named import load_queries
from musician.store.sqlite.store import SqliteStore

__all__ = ["TINY", "Size", "measure"]

AT_MOST = 0.1
_START_LIMIT_S = 60.0
_END_LIMIT_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    writers: int = 32
    rounds: int = 3
    seconds: float = 4.0


TINY = Size(writers=2, rounds=1, seconds=0.1)

Write = Callable[[SqliteStore, str], None]


def _with_gate(store: SqliteStore, task_id: str) -> None:
    with store.write() as tx:
        tx.run(Tasks.beat, **named(claim_of(task_id)))


def _without_gate(store: SqliteStore, task_id: str) -> None:
    store.connection.execute("BEGIN IMMEDIATE")
    store.connection.execute(load_queries()["beat"], named(claim_of(task_id)))
    store.connection.execute("COMMIT")


def measure(size: Size) -> tuple[Figure, ...]:
    """The worst wait in each round, and how much was written."""
    with scratch() as folder:
        database = folder / "contended.db"
        tasks = task_ids(size.writers)
        store = fresh(database, tasks)
        for task_id in tasks:
            claim_task(store, task_id)
        store.close()
        waits: list[list[list[float]]] = [[], []]

        def contend(arm: int, write: Write) -> float:
            waits[arm].append(_waits_s(database, tasks, write, size.seconds))
            return max(waits[arm][-1])

        arms = (lambda: contend(0, _with_gate), lambda: contend(1, _without_gate))
        worst = [one_round(number, arms) for number in range(size.rounds)]
    gated, plain = (median(arm) for arm in zip(*worst, strict=True))
    return (*_worst(size, gated, plain), *_beside(size, *waits))


def _worst(size: Size, gated: float, plain: float) -> tuple[Figure, ...]:
    what = f"{size.writers} writers: worst wait"
    return (
        Figure(what=f"{what}, busy_timeout", median=plain * 1e3, unit="ms"),
        Figure(
            what=f"{what}, gate",
            median=gated * 1e3,
            unit="ms",
            ratio=gated / plain,
            against="busy_timeout",
            goal="P7",
            at_most=AT_MOST,
        ),
    )


def _beside(size: Size, gated: list[list[float]], plain: list[list[float]]) -> tuple[Figure, ...]:
    """What the fairness costs, for information."""
    p99 = [median(_p99(waits) for waits in arm) for arm in (gated, plain)]
    rate = [median(len(waits) for waits in arm) / size.seconds for arm in (gated, plain)]
    return (
        Figure(
            what=f"{size.writers} writers: 99th percentile, gate",
            median=p99[0] * 1e3,
            unit="ms",
            ratio=p99[0] / p99[1],
            against="busy_timeout",
        ),
        Figure(
            what=f"{size.writers} writers: writes together, gate",
            median=rate[0],
            unit="/s",
            ratio=rate[0] / rate[1],
            against="busy_timeout",
        ),
    )


def _p99(waits: list[float]) -> float:
    return quantiles(waits, n=100)[-1]


def _waits_s(database: Path, tasks: list[str], write: Write, lasts_s: float) -> list[float]:
    """Every wait of every process, from asking to committed."""
    start = FORK.Barrier(len(tasks))
    pipes = [FORK.Pipe(duplex=False) for _ in tasks]
    jobs = [
        partial(_contend, database, task_id, write, lasts_s, start, theirs)
        for task_id, (_, theirs) in zip(tasks, pipes, strict=True)
    ]
    waits: list[float] = []
    try:
        with forked(jobs):
            for ours, _ in pipes:
                if not ours.poll(_START_LIMIT_S + lasts_s + _END_LIMIT_S):
                    raise RuntimeError("a writer did not come to an end")
                waits += ours.recv()
    finally:
        for end in (end for pipe in pipes for end in pipe):
            end.close()
    return waits


def _contend(
    database: Path, task_id: str, write: Write, lasts_s: float, start: Barrier, result: Connection
) -> None:
    store = SqliteStore.open(database)
    write(store, task_id)  # prepares the statements
    waits: list[float] = []
    start.wait(_START_LIMIT_S)
    end = time.monotonic() + lasts_s
    while time.monotonic() < end:
        waits.append(seconds(lambda: write(store, task_id)))
    result.send(waits)
    store.connection.close()
