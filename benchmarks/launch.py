"""What a conductor's launch costs until the musician stands in its first step: forked, against started by itself.

CPU is the musician's own process (its server has paid the imports once, its leashes and git are processes of their
own), memory the share that is counted to it alone where several share a page.
"""

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

import anyio

from benchmarks.figures import Figure
from benchmarks.measuring import cpu_s
from benchmarks.orchestra import scratch
from benchmarks.task import prepare, surroundings
from musician.runtime import launching
from musician.store.sqlite.store import SqliteStore
from musician.trees.root import find_root

__all__ = ["TINY", "Size", "measure"]

_PACE_S = 0.005
_LIMIT_S = 60.0

_PLAN_HEAD = """\
---
plan: benchmark
test: "true"
---
# A benchmark's plan

## Overview
Musicians that stand in their first step.

## Phase 1: All of it
"""
_TASK = """
### task-{number:02d}: Stand
#### Step 1: Stand
```bash run
touch "{folder}/here-$MUSICIAN_TASK"
sleep 300
```
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    pairs: int = 8


TINY = Size(pairs=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Launched:
    wall_s: float
    cpu_s: float
    own_kb: float


def measure(size: Size) -> tuple[Figure, ...]:
    """Pairs of musicians that stand side by side, one of each kind, in turn."""
    forked: list[_Launched] = []
    alone: list[_Launched] = []
    with scratch() as folder, _environment(surroundings(folder)), contextlib.ExitStack() as ending:
        project, count = folder / "project", 2 * (size.pairs + 1)
        plan = "".join(_TASK.format(number=number, folder=folder) for number in range(1, count + 1))
        prepare(project, steps=0, plan=_PLAN_HEAD + plan)
        ending.enter_context(launching.fork_server_at_hand())
        launch = partial(_launch, project, ending)
        tasks = iter(f"task-{number:02d}" for number in range(1, count + 1))
        for can_fork in (True, False):  # the server, and byte code
            launch(next(tasks), can_fork=can_fork)
        for number in range(size.pairs):
            for can_fork in (True, False) if number % 2 else (False, True):
                (forked if can_fork else alone).append(launch(next(tasks), can_fork=can_fork))
    return (
        _figure("CPU", "ms", 1e3, lambda each: each.cpu_s, forked, alone),
        _figure("time", "ms", 1e3, lambda each: each.wall_s, forked, alone),
        _figure("memory", "MiB", 1 / 1024, lambda each: each.own_kb, forked, alone),
    )


def _figure(
    what: str,
    unit: str,
    factor: float,
    of: Callable[[_Launched], float],
    forked: list[_Launched],
    alone: list[_Launched],
) -> Figure:
    found, against = median(map(of, forked)), median(map(of, alone))
    return Figure(
        what=f"launch: {what} until it stands in a step, forked",
        median=found * factor,
        unit=unit,
        ratio=found / against,
        against="started by itself",
    )


def _launch(project: Path, ending: contextlib.ExitStack, task_id: str, *, can_fork: bool) -> _Launched:
    launching._CAN_FORK = can_fork
    root = find_root(project)
    store = SqliteStore.open(root.database)
    began = time.perf_counter()
    running = launching.start_musician(root, store, task_id, f"session-{task_id}", None)
    store.close()
    ending.callback(lambda: anyio.run(running.wait))
    ending.callback(running.terminate)
    pid = running.identity.pid
    while not (project.parent / f"here-{task_id}").exists():
        if time.perf_counter() - began > _LIMIT_S:
            raise RuntimeError(f"{task_id} was not begun: {root.logs_dir / task_id}.musician.log")
        time.sleep(_PACE_S)
    wall_s = time.perf_counter() - began
    told = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:])
    return _Launched(wall_s=wall_s, cpu_s=cpu_s(pid), own_kb=float(told["Pss"].split()[0]))


@contextlib.contextmanager
def _environment(wanted: dict[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(wanted)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
