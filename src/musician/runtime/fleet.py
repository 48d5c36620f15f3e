"""A worker: a process that keeps claiming tasks, one after the other, beside a conductor (a fleet of them: D9).

It does not decide which tasks may be played: it asks the conductor's engine, and takes what that would launch. Another
may have decided at the same moment, so whether its ceilings still fit in is asked again as a task is claimed, where one
claim comes after the other. Claims are quiet, because a worker that comes too late is not worth reporting. It wakes on
what wakes the conductor, looks by itself now and then, and ends when every task of every plan is complete.
"""

import math
from collections.abc import Awaitable, Callable, Iterator
from enum import StrEnum
from functools import partial

import anyio
from anyio.to_thread import run_sync

from musician import service
from musician.processes.machine import Machine
from musician.protocol.conductor.acts import Launch
from musician.protocol.conductor.engine import decide
from musician.protocol.errors import ClaimBlocked
from musician.protocol.musician.ready import End
from musician.protocol.settings import Settings
from musician.protocol.states import State
from musician.reporting.standing import standings_of
from musician.runtime.conductor.facts import Gatherer, Memory, accounts_of
from musician.runtime.conductor.plan_run import PlanRun, RunOptions
from musician.runtime.conductor.ticks import Ticks
from musician.runtime.in_force import settings_of_plan
from musician.runtime.musician.work import play_task
from musician.runtime.program import locked_plan
from musician.runtime.tasks import raising_one
from musician.runtime.world import WORLD, World
from musician.store.listening import Listener
from musician.store.port import Store
from musician.store.rows import PlanRow
from musician.trees.root import Root

LOOK_EVERY_S = 5.0
"""At the latest: who has died, for one, stands in no row."""

INTERRUPTED = "interrupted"
"""How the reason of a session begins that a signal ended."""


class Parting(StrEnum):
    """Why a worker ended."""

    ALL_COMPLETE = "all complete"
    NOTHING_TO_CLAIM = "nothing to claim"
    INTERRUPTED = "interrupted"


async def work_on(
    root: Root,
    store: Store,
    *,
    settings: Settings,
    agent: str | None = None,
    idle_limit_s: float | None = None,
    owns_process: bool = False,
    world: World = WORLD,
) -> tuple[Parting, tuple[tuple[str, End], ...]]:
    """Play one task after the other; return why it ended, and each task it played with its end.

    ``idle_limit_s``: end when there was nothing to claim for so long, instead of waiting for more. ``owns_process``
    as in :func:`~musician.runtime.musician.work.play_task`.
    """
    played: list[tuple[str, End]] = []
    play = partial(
        play_task,
        root,
        store,
        settings=settings,
        agent=agent,
        quiet=True,
        owns_process=owns_process,
        world=world,
    )
    idle_since_s = anyio.current_time()
    with store.listen() as ear:
        while True:
            candidates = await run_sync(claimable, root, store, settings, world, agent)
            found = await _play_first(candidates, play, world.machine)
            if found is not None:
                played.append(found)
                if found[1].reason.startswith(INTERRUPTED):
                    return Parting.INTERRUPTED, tuple(played)
                idle_since_s = anyio.current_time()
                continue
            left_s = math.inf if idle_limit_s is None else idle_since_s + idle_limit_s - anyio.current_time()
            if await run_sync(_is_all_complete, store):
                return Parting.ALL_COMPLETE, tuple(played)
            if left_s <= 0:
                return Parting.NOTHING_TO_CLAIM, tuple(played)
            if await _is_stopped_while_waiting(ear, min(left_s, LOOK_EVERY_S), world.machine):
                return Parting.INTERRUPTED, tuple(played)


def claimable(
    root: Root, store: Store, settings: Settings, world: World, agent: str | None = None
) -> tuple[str, ...]:
    """Return the tasks that a session may claim now, those of plans first. Blocks."""
    found = [
        task_id
        for plan in service.current_plans(store)
        if plan.finished_at is None
        for task_id in _of_plan(root, store, plan, settings, world, agent)
    ]
    open_states = (State.WATCHING, State.FIX_PROPOSED)
    alone = [
        row.task_id
        for row in service.open_tasks(store)
        if row.plan_id is None and row.state in open_states and row.session_id is None
    ]
    free = (
        task_id for task_id in alone if service.limited_for_s(store, service.account_of(store, task_id)) <= 0
    )
    return (*found, *free)


def _of_plan(
    root: Root, store: Store, row: PlanRow, settings: Settings, world: World, agent: str | None
) -> Iterator[str]:
    plan = locked_plan(root, row.path, row.text, row.sha256)
    settings = settings_of_plan(store, row.plan_id, settings)
    views = service.everything(store, row.plan_id)
    run = PlanRun(root, store, plan, row, settings, RunOptions(jobs=len(views), agent=agent), world)
    ticks = Ticks(settings=settings, own_clock_s=world.machine.clock_s)
    gatherer = Gatherer(run=run, memory=Memory(ticks=ticks))
    closed = service.givings(service.closed_accounts(store))
    accounts = accounts_of(store, plan, settings)
    for act in decide(gatherer.gather(standings_of(views, run.programs), closed, accounts)):
        if isinstance(act, Launch):
            yield act.task_id


async def _play_first(
    candidates: tuple[str, ...], play: Callable[[str, str], Awaitable[End]], machine: Machine
) -> tuple[str, End] | None:
    """Play the first task that can be claimed; return its id and how the session ended."""
    for task_id in candidates:
        session_id = machine.new_id("worker")
        try:
            with raising_one():
                end = await play(task_id, session_id)
        except ClaimBlocked:
            continue
        return task_id, end
    return None


def _is_all_complete(store: Store) -> bool:
    """Whether there were tasks and none is left; withdrawn tasks do not count."""
    return service.has_tasks(store) and not service.open_tasks(store)


async def _is_stopped_while_waiting(ear: Listener, pace_s: float, machine: Machine) -> bool:
    """Wait for news, the next look, or a signal; return whether it was a signal."""
    stopped = False

    async with anyio.create_task_group() as group:

        async def heed() -> None:
            nonlocal stopped
            await machine.stop_requested()
            stopped = True
            group.cancel_scope.cancel()

        group.start_soon(heed)
        await ear.heard(pace_s)
        group.cancel_scope.cancel()
    return stopped
