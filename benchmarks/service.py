"""What the service costs above the bare driver with the same SQL (P1).

The verbs are played once with every statement recorded. Then they are played by the service in one database, and
the very same statements by the driver in another, opened the same way, with the same triggers and the same
prepared statements; both begin alike, so the statements fit, and both must end alike. What differs is the service
itself: its rules, its rows as values, the gate, the bell.

Because the same SQL includes whatever the service asks before it writes, the writes alone are measured too. And
because a slow disk flatters every program that waits for it, all is measured again with nobody waiting for the
disk. Both are information.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import apsw

from benchmarks.figures import Figure
from benchmarks.measuring import medians, one_round, seconds
from benchmarks.orchestra import claim_of, claim_task, fresh, judge, review, scratch, task_ids
from musician import service
from musician.store.sqlite.store import SqliteStore

__all__ = ["TINY", "Size", "measure"]

AT_MOST = 2.0
"""For now; 1.5 is where it should come to."""

_COMPARED = (
    "SELECT task_id, state, session_id, claim_epoch FROM orchestration_tasks ORDER BY task_id",
    "SELECT task_id, from_state, to_state, who, claim_epoch, message_id, submission_id FROM history ORDER BY id",
    "SELECT id, task_id, from_session, message_type, message FROM orchestration_messages ORDER BY id",
    "SELECT task_id, checkpoint, outcome, submission_id FROM verifications ORDER BY id",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    tasks: int = 300


TINY = Size(tasks=3)

Verb = Callable[[SqliteStore, str], object]
VERBS: dict[str, Verb] = {
    "claim": claim_task,
    "heartbeat": lambda store, task_id: service.beat(store, claim_of(task_id)),
    "review": review,
    "verdict": judge,
}


@dataclass(frozen=True, slots=True)
class _Statement:
    sql: str
    values: "apsw.Bindings | None"
    only_reads: bool


Script = dict[tuple[str, str], list[_Statement]]


def measure(size: Size) -> tuple[Figure, ...]:
    """Every verb on every task, each on a fresh database of its own."""
    tasks = task_ids(size.tasks)
    with scratch() as folder:
        script = _record(folder / "recorded.db", tasks)
        synced = _compare(folder / "full", script, tasks, synchronous="FULL")
        unsynced = _compare(folder / "off", script, tasks, synchronous="OFF")
    figures: list[Figure] = []
    for verb, (ours, bare, writes) in synced.items():
        figures += [
            _figure(verb, ours, bare, "bare driver, same SQL", goal="P1", at_most=AT_MOST),
            _figure(verb, ours, writes, "bare driver, writes alone"),
        ]
    for verb, (ours, bare, _) in unsynced.items():
        figures.append(_figure(f"{verb}, no wait for the disk", ours, bare, "bare driver, same SQL"))
    return tuple(figures)


def _figure(
    verb: str, ours: float, other: float, against: str, *, goal: str = "", at_most: float | None = None
) -> Figure:
    return Figure(
        what=f"service: {verb}",
        median=ours * 1e3,
        unit="ms",
        ratio=ours / other,
        against=against,
        goal=goal,
        at_most=at_most,
    )


def _record(path: Path, tasks: list[str]) -> Script:
    store = fresh(path, tasks)
    heard: list[_Statement] = []

    def hear(cursor: apsw.Cursor, sql: str, values: "apsw.Bindings | None") -> bool:
        heard.append(_Statement(sql, values, cursor.is_readonly and sql != "COMMIT"))
        return True

    store.connection.exec_trace = hear
    script: Script = {}
    for task_id in tasks:
        for name, verb in VERBS.items():
            heard.clear()
            verb(store, task_id)
            script[name, task_id] = list(heard)
    store.close()
    return script


def _compare(folder: Path, script: Script, tasks: list[str], *, synchronous: str) -> dict[str, list[float]]:
    """For each verb the medians of the service, of the same statements, and of the writes among them."""
    folder.mkdir()
    ours, bare, writes = stores = [fresh(folder / f"{name}.db", tasks) for name in ("ours", "bare", "writes")]
    for store in stores:
        store.connection.pragma("synchronous", synchronous)
    rounds: dict[str, list[list[float]]] = {name: [] for name in VERBS}
    for number, task_id in enumerate(tasks):
        for name, verb in VERBS.items():
            statements = script[name, task_id]
            arms = (
                partial(verb, ours, task_id),
                partial(_replay, bare.connection, statements),
                partial(_replay, writes.connection, [each for each in statements if not each.only_reads]),
            )
            rounds[name].append(one_round(number, [partial(seconds, arm) for arm in arms]))
    _check_alike(stores)
    for store in stores:
        store.close()
    return {name: medians(each) for name, each in rounds.items()}


def _replay(connection: apsw.Connection, statements: list[_Statement]) -> None:
    for each in statements:
        connection.execute(each.sql, each.values).fetchall()


def _check_alike(stores: list[SqliteStore]) -> None:
    for query in _COMPARED:
        ends = [store.connection.execute(query).fetchall() for store in stores]
        if any(end != ends[0] for end in ends):
            raise RuntimeError(f"not the same was measured, these differ: {query}")
