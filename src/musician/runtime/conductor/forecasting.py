"""Looks ahead of the merges while tasks are played, and tells whom it concerns.

Beside the conductor, in a thread of its own: a look begins when the conductor has looked, and costs a few file reads
unless a branch has moved. What it finds is told by messages, which every surface reads (``service/foretelling.py``). It
decides nothing: whether work is merged is found out by merging it.
"""

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import anyio
from anyio.to_thread import run_sync

from musician import service
from musician.plans.model import Isolation
from musician.processes.scratch import ScratchFolder
from musician.protocol.conductor.orchestra import is_merge_trouble
from musician.protocol.errors import IllegalEvent, MusicianError, TaskIsOver
from musician.protocol.messages.forecasts import MERGED, Foreseen, Meeting, meeting
from musician.protocol.states import State
from musician.protocol.values import replace
from musician.reporting.standing import Standing
from musician.runtime.conductor.plan_run import PlanRun
from musician.runtime.plantrees import LooksAhead
from musician.trees.branches import branch_of
from musician.trees.foresight import Ahead

HeldBack = Mapping[str, tuple[Meeting, ...]]
"""Tasks that are not begun yet, each with those that are to be merged first."""


class Forecaster:
    """One run's. :meth:`run` goes on until it is cancelled, and then leaves no process behind."""

    def __init__(self, run: PlanRun) -> None:
        self._run = run
        self._looked = anyio.Event()
        self._begun: tuple[str, ...] = ()
        self._in_trial: frozenset[str] = frozenset()
        self._held: HeldBack = {}
        self._told: dict[str, Foreseen] | None = None

    @property
    def _isolated(self) -> list[str]:
        return [each.task_id for each in self._run.plan.tasks if each.isolation is Isolation.WORKTREE]

    def on_look(self, standings: Iterable[Standing], held: HeldBack) -> None:
        """Take up what the conductor sees; whatever came before and was not looked at yet is left out."""
        begun = {each.task_id: each for each in standings if each.view.sessions and not each.is_over}
        self._begun = tuple(task_id for task_id in self._isolated if task_id in begun)
        self._in_trial = frozenset(task_id for task_id, standing in begun.items() if _is_in_trial(standing))
        self._held = held
        self._looked.set()

    async def run(self) -> None:
        """Look until cancelled, or until there is no room for it."""
        with suppress(OSError):
            await self._look_on()

    async def _look_on(self) -> None:
        with ScratchFolder("forecast") as folder:
            sight = self._run.trees.foresight(Path(folder))
            async with anyio.create_task_group() as group:
                group.start_soon(_stop_when_cancelled, sight)
                while True:
                    await self._looked.wait()
                    self._looked = anyio.Event()
                    await run_sync(self._look, sight, self._begun, self._held)

    def _look(self, sight: LooksAhead, begun: tuple[str, ...], held: HeldBack) -> None:
        with suppress(MusicianError):  # a repository, or a database, that is gone: the conductor says so
            if self._told is None:
                self._told = dict(service.foreseen(self._run.store, self._run.plan.plan_id))
            ahead = sight.look(begun)
            for task_id in self._isolated:
                before = self._told.get(task_id, Foreseen())
                now = _now(task_id, before, ahead, held, is_in_trial=task_id in self._in_trial)
                if now != before:
                    self._tell(task_id, now)
                    self._told[task_id] = now

    def _tell(self, task_id: str, now: Foreseen) -> None:
        others = branch_of(self._run.plan.plan_id, task_id).removesuffix(task_id)
        look = f"See a side: `git diff HEAD...{others}TASK -- FILE`."
        with suppress(IllegalEvent, TaskIsOver):  # it is over by now, and nobody would hear it
            service.foretell(self._run.store, task_id, now, look=look)


def _is_in_trial(standing: Standing) -> bool:
    """Whether the trial itself is about to say what its work conflicts with, or has said so."""
    submissions = standing.view.submissions
    is_judged = standing.state is State.NEEDS_REVIEW and not standing.asks
    return is_judged or bool(submissions and is_merge_trouble(submissions[-1].verdict_text or ""))


def _now(
    task_id: str, before: Foreseen, ahead: Ahead | None, held: HeldBack, *, is_in_trial: bool
) -> Foreseen:
    """Return what is to be known of a task. What git could not tell stays as it was, and so does a task whose work is
    merged: it has nothing to do any more.
    """
    now = replace(before, waits_for=held.get(task_id, ()))
    if ahead is None or task_id not in ahead.tasks:
        return now
    met = ahead.of(task_id)
    if is_in_trial and met[MERGED]:
        met[MERGED] = None
    known = {each.other: each for each in before.conflicts}
    kept = {other: known[other] for other, paths in met.items() if paths is None and other in known}
    found = {other: meeting(other, paths) for other, paths in met.items() if paths}
    return replace(now, conflicts=tuple(each for _, each in sorted((found | kept).items())))


async def _stop_when_cancelled(sight: LooksAhead) -> None:
    try:
        await anyio.sleep(math.inf)
    finally:
        sight.stop()
