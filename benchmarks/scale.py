"""What a look costs in a database with a long past, against the same look in one that has only this plan (P5).

The past is plans that were played to their end and finished, one like the other; the plan that is looked at is the same
in both. Who reads no more than what is current pays for the size of an index, and for nothing else.
"""

import io
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.measuring import in_turn, seconds
from benchmarks.orchestra import claim_task, play_task, scratch
from musician import service
from musician.__main__ import run_command
from musician.plans.plan import parse_plan
from musician.reporting.timeline import happenings
from musician.store.queries.plans import Plans
from musician.store.sqlite.store import SqliteStore

__all__ = ["TINY", "Size", "measure"]

AT_MOST = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    past: int = 100
    tasks: int = 100
    rounds: int = 15


TINY = Size(past=1, tasks=2, rounds=1)

Look = Callable[[SqliteStore], object]


def measure(size: Size) -> tuple[Figure, ...]:
    with scratch() as folder:
        young, old = (
            _database(folder / "young.db", size, past=0),
            _database(folder / "old.db", size, past=size.past),
        )
        figures = [_figure(name, look, size, young, old) for name, look in LOOKS.items()]
        young.close()
        old.close()
    return tuple(figures)


def _figure(name: str, look: Look, size: Size, young: SqliteStore, old: SqliteStore) -> Figure:
    few, many = in_turn(size.rounds, [partial(seconds, partial(look, store)) for store in (young, old)])
    against = f"without {size.past * size.tasks} tasks of the past"
    return Figure(
        what=f"scale: {name}",
        median=many * 1e3,
        unit="ms",
        ratio=many / few,
        against=against,
        goal="P5",
        at_most=AT_MOST,
    )


def _status(store: SqliteStore) -> None:
    with redirect_stdout(io.StringIO()):
        run_command(["status", "--json", "--db", str(store.path)])


LOOKS: dict[str, Look] = {
    "status": _status,
    "the newest 200 of the timeline": partial(happenings, most=200),
    "everything of a plan": lambda store: service.everything(store, "current"),
    "siblings": lambda store: service.siblings(store, "current-1"),
    "open tasks": service.open_tasks,
}


def _database(path: Path, size: Size, *, past: int) -> SqliteStore:
    store = SqliteStore.create(path)
    store.connection.pragma("synchronous", "OFF")
    for number in range(past):
        _lock(store, f"past{number}", size.tasks)
        for task in range(1, size.tasks + 1):
            play_task(store, f"past{number}-{task}")
        with store.write() as tx:
            tx.run(Plans.finish_plan, plan_id=f"past{number}")
    _lock(store, "current", size.tasks)
    for task in range(1, size.tasks + 1):
        claim_task(store, f"current-{task}")
    return store


def _lock(store: SqliteStore, plan_id: str, tasks: int) -> None:
    text = f"---\nplan: {plan_id}\n---\n# A plan\n\n## Phase 1: All\n" + "".join(
        f"\n### {plan_id}-{number}: Do it\n#### Step 1: Do it\n```bash run\ntrue\n```\n"
        for number in range(1, tasks + 1)
    )
    plan = parse_plan(text, path=f"{plan_id}.md", read_file=lambda _: None)
    papers = {task.task_id: f"docs/{task.task_id}.md" for task in plan.tasks}
    service.lock_plan(store, plan, base_branch="main", base_commit="0" * 40, instructions=papers)
