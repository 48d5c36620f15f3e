"""Conducting a plan: look at everything, do what is missing, wait for the next event (D13).

It is level-triggered: its acts follow from the present state alone, so that killing and restarting it at any
moment is safe. Its own row is claimed by epoch and beats; a second conductor is refused. It wakes on what
others write, on the end of a musician's process and on its own acts, and looks by itself now and then.
"""

import signal
from contextlib import nullcontext
from enum import StrEnum
from functools import partial

import anyio
from anyio.to_thread import run_sync

from musician import service
from musician.plans.model import Plan, Require
from musician.processes.identity import own_program
from musician.protocol.conductor import engine as c
from musician.protocol.conductor.acts import Finish, Standstill
from musician.protocol.conductor.launching import held_back
from musician.protocol.conductor.orchestra import Orchestra
from musician.protocol.errors import DatabaseUnusable, PlanChanged
from musician.protocol.names import CONDUCTOR
from musician.protocol.settings import Settings
from musician.protocol.states import State
from musician.protocol.values import dataclass, replace
from musician.reporting.standing import standings_of
from musician.runtime.conductor.conductor_lock import conducting_run
from musician.runtime.conductor.facts import Gatherer, Memory, accounts_of
from musician.runtime.conductor.forecasting import Forecaster
from musician.runtime.conductor.merging import Merger
from musician.runtime.conductor.performing import Performer
from musician.runtime.conductor.plan_run import Audience, PlanRun, RunOptions
from musician.runtime.conductor.plan_tests import PlanTest, try_all
from musician.runtime.conductor.ticks import Ticks
from musician.runtime.in_force import settings_of_plan
from musician.runtime.players import check_players
from musician.runtime.program import locked_plan
from musician.runtime.tasks import raising_one
from musician.runtime.world import WORLD, World
from musician.service import Conducting
from musician.store.port import Store
from musician.store.rows import HumanRow
from musician.trees.base import FastForward, Move
from musician.trees.branches import integration_branch
from musician.trees.root import Root
from musician.verification.baseline import Baseline

LOOK_EVERY_S = 2.0
"""At the latest: who has died, for one, stands in no row."""


_NOBODY = Audience()


class Ending(StrEnum):
    COMPLETE = "complete"
    NEEDS_HUMAN = "needs human"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a run ended; ``asks`` waits for a person, ``moved`` says what became of the user's branch.

    A complete plan that could not move the branch still has that to do. ``pruned`` are the refs of set-aside
    work that were dropped.
    """

    ending: Ending
    asks: tuple[HumanRow, ...] = ()
    moved: FastForward | None = None
    pruned: tuple[str, ...] = ()
    unmerged: tuple[str, ...] = ()
    """Tasks that are complete, and whose branches have brought nothing."""
    plan_tests: tuple[PlanTest, ...] = ()
    """How what verifies the tasks ended on the base and ends on all that is merged; of a plan that was played."""
    paused: str = ""
    """That and why a person has paused the plan, if that is why nothing goes on."""


async def conduct(
    root: Root,
    store: Store,
    plan: Plan,
    *,
    settings: Settings,
    options: RunOptions,
    audience: Audience = _NOBODY,
    world: World = WORLD,
) -> Outcome:
    """Conduct a locked plan to its end, or to where a person is needed, or until this process is asked to stop.

    Raises :class:`ConductorRunning`, :class:`AgentUnavailable`, :class:`PriceUnknown`, :class:`InvalidPlan` for an
    agent that lacks what it needs, before anything is started, and :class:`PlanChanged` if ``plan`` is no longer what
    is locked.
    """
    check_players(plan, settings, world, options.agent, plays=options.jobs > 0)
    machine = world.machine
    session_id = machine.new_id("conductor")
    with (
        conducting_run(root, session_id, machine),
        machine.adopting_orphans(settings.time.shutdown_grace_s),
        world.launching() if options.jobs else nullcontext(),
    ):
        await run_sync(machine.sweep_scratch)
        row = await run_sync(service.plan_row, store, plan.plan_id)
        assert row is not None, "a plan is locked before it is conducted"  # noqa: S101
        if row.sha256 != plan.sha256:  # amended after it was read and before we had the lock
            raise PlanChanged(plan_id=row.plan_id, path=row.path, difference="")
        claim = partial(service.start_conducting, store, session_id, settings=settings)
        conducting = await run_sync(claim)
        await run_sync(service.register_program, store, CONDUCTOR, conducting.epoch, own_program())
        run = PlanRun(root, store, plan, row, settings, options, world)
        with raising_one():
            return await _Conductor(run, audience, conducting).to_the_end()


class _Conductor:
    """The one who conducts a run."""

    def __init__(self, run: PlanRun, audience: Audience, conducting: Conducting) -> None:
        self._run, self._audience, self._conducting = run, audience, conducting
        self._ticks = Ticks(settings=run.settings, own_clock_s=run.world.machine.clock_s)
        self._views = service.PlanViews(run.store, run.plan.plan_id)
        self._memory = Memory(ticks=self._ticks)
        self._gatherer = Gatherer(run=run, memory=self._memory)
        self._over: set[str] = set()
        """Tasks that ``on_complete`` has got."""
        self._forecaster = Forecaster(run)
        self._base: tuple[Baseline, ...] = ()
        self._base_tried = anyio.Event()
        self._trying_base = anyio.Lock()
        self._trying = anyio.CancelScope()
        """What nobody who wants to stop waits for."""
        self._stopping = False
        self._stopped_by = signal.SIGTERM
        """What its musicians are ended by: that a person pressed Ctrl-C is reported as that."""
        self._last_beat_s = self._ticks.now_s()
        self._paused = ""
        self._waits_out_pauses = False
        """Once it was not paused, or somebody at work: who has paused the plan since knows of this run."""

    async def to_the_end(self) -> Outcome:
        await run_sync(service.retry_troubles, self._run.store, self._run.plan.plan_id)
        merger = Merger(run=self._run, on_note=self._audience.on_note)
        with self._run.store.listen() as self._ear:
            async with anyio.create_task_group() as group:
                performer = Performer(
                    run=self._run, memory=self._memory, merger=merger, group=group, wake=self.wake
                )
                group.start_soon(self._heed_signals)
                group.start_soon(self._try_the_base)
                group.start_soon(self._forecaster.run)
                self._group = group
                while True:
                    ending = await self._loop(performer)
                    if ending is Ending.COMPLETE:
                        await merger.put_right()
                    plan_tests = await self._try_plan_tests() if ending is Ending.COMPLETE else ()
                    if ending is not Ending.COMPLETE or plan_tests is None or await self._is_still_whole():
                        break
                if plan_tests is None:
                    ending = Ending.INTERRUPTED
                await performer.stop_all(self._stopped_by)
                group.cancel_scope.cancel()
        if not self._run.store.is_there():
            raise DatabaseUnusable(
                path=self._run.store.name,
                kind="gone",
                detail="the database was removed or replaced while the run was at work (git clean -ffdx does that)",
                remedy="put it back, or `musician init` and run the plan again: it goes on from what is merged and"
                f" committed under {integration_branch(self._run.plan.plan_id).rpartition('/')[0]}/",
            )
        return await self._leave(ending, plan_tests or ())

    async def _loop(self, performer: Performer) -> Ending:
        while True:
            orchestra = await self._look()
            if self._stopping or not self._run.store.is_there():
                return Ending.INTERRUPTED
            for task in orchestra.tasks:
                if task.state is State.COMPLETE and not task.is_running and task.task_id not in self._over:
                    self._over.add(task.task_id)
                    performer.group.start_soon(self._tell_complete, task.task_id)
            acts = c.decide(orchestra)
            if Finish() in acts:
                return Ending.COMPLETE
            if self._has_found_paused(orchestra) and not acts and not self._memory.busy:
                return Ending.NEEDS_HUMAN
            if Standstill() in acts and not self._memory.busy:
                return Ending.NEEDS_HUMAN
            for act in acts:
                await performer.perform(act)
            await self._wait()

    def _has_found_paused(self, orchestra: Orchestra) -> bool:
        """Whether the plan was paused before this run began, and nobody has been at work on it since."""
        if orchestra.paused != self._paused:
            self._paused = orchestra.paused
            self._audience.on_note(
                f"{orchestra.paused}. Nothing is begun until `musician plan resume {self._run.plan.plan_id}`"
                if orchestra.paused
                else f"plan {self._run.plan.plan_id} goes on"
            )
        owners = (each.owner for each in orchestra.tasks)
        is_at_work = any(each.is_running for each in orchestra.tasks) or any(
            own and own.lives for own in owners
        )
        self._waits_out_pauses |= is_at_work or not orchestra.paused
        return not self._waits_out_pauses

    async def _tell_complete(self, task_id: str) -> None:
        with anyio.CancelScope(shield=True):
            await run_sync(self._audience.on_complete, task_id)

    async def _is_still_whole(self) -> bool:
        """Whether nothing was added, or is to be played again, while the plan's tests ran."""
        return Finish() in c.decide(await self._look())

    async def _take_up(self) -> None:
        """Go on with the plan as it was amended, if it was. Who plays a task of it is not concerned."""
        store, plan = self._run.store, self._run.plan
        if await run_sync(service.locked_hash, store, plan.plan_id) in (None, plan.sha256):
            return
        row = await run_sync(service.plan_row, store, plan.plan_id)
        if row is None:
            return
        plan = await run_sync(locked_plan, self._run.root, row.path, row.text, row.sha256)
        if plan.sha256 != row.sha256:  # an instruction file was changed once more since
            raise PlanChanged(plan_id=row.plan_id, path=row.path, difference="")
        kept = await run_sync(settings_of_plan, self._run.store, row.plan_id, self._run.settings)
        await run_sync(self._run.take_up, plan, row, kept)
        self._base_tried = anyio.Event()
        self._group.start_soon(self._try_the_base)

    async def _try_the_base(self) -> None:
        """Try the base in the background; whoever needs the result earlier waits for it."""
        tried, told = self._base_tried, self._base
        async with self._trying_base:
            base = await self._try_all(self._run.row.base_commit)
        if tried is not self._base_tried:
            return  # the plan was amended meanwhile, which has it tried anew
        self._base = base
        for baseline in base:
            if baseline not in told:
                self._audience.on_base(baseline)
        tried.set()
        self.wake()

    async def _try_plan_tests(self) -> tuple[PlanTest, ...] | None:
        """Try the base and the merged whole; None if the run is asked to stop."""
        with self._trying:
            await self._base_tried.wait()
            tip = await run_sync(self._run.trees.tip)
            now = await self._try_all(tip or self._run.row.base_commit, is_end=True)
            return tuple(
                PlanTest(before=before, now=after) for before, after in zip(self._base, now, strict=False)
            )
        return None

    async def _try_all(self, commit: str, *, is_end: bool = False) -> tuple[Baseline, ...]:
        return await try_all(
            self._run.root,
            self._run.store,
            self._run.plan,
            commit,
            settings=self._run.settings,
            world=self._run.world,
            is_end=is_end,
        )

    async def _look(self) -> Orchestra:
        await self._take_up()
        views = await run_sync(self._views.now)
        standings = standings_of(views, self._run.programs)
        self._audience.on_look(standings)
        self._ticks.looked(await run_sync(service.clock_s, self._run.store))
        closed = service.givings(await run_sync(service.closed_accounts, self._run.store))
        accounts = await run_sync(accounts_of, self._run.store, self._run.plan, self._run.settings)
        orchestra = await run_sync(self._gatherer.gather, standings, closed, accounts)
        self._forecaster.on_look(standings, held_back(orchestra))
        return orchestra

    async def _wait(self) -> None:
        before_s = self._ticks.now_s()
        await self._ear.heard(LOOK_EVERY_S)
        self._ticks.waited(before_s, at_most_s=LOOK_EVERY_S)
        now_s = self._ticks.now_s()
        if now_s - self._last_beat_s >= self._run.settings.conductor.beat_every_s:
            self._last_beat_s = now_s
            if not await run_sync(service.beat_conductor, self._run.store, self._conducting):
                self._stopping = True  # another conductor has taken our row

    def wake(self) -> None:
        self._ear.nudge()

    async def _heed_signals(self) -> None:
        self._stopped_by = await self._run.world.machine.stop_requested()
        self._stopping = True
        self._trying.cancel()
        self.wake()

    async def _leave(self, ending: Ending, plan_tests: tuple[PlanTest, ...]) -> Outcome:
        if self._run.plan.require is Require.GREEN and not all(each.is_green for each in plan_tests):
            return replace(await self._interrupted(Ending.NEEDS_HUMAN), plan_tests=plan_tests)
        if ending is Ending.COMPLETE:
            moved = None
            if any(task.isolation.value == "worktree" for task in self._run.plan.tasks):
                moved = await run_sync(self._run.trees.forward, self._run.row.base_branch)
            if moved is not None and moved.move is Move.FAILED:
                return await self._interrupted(ending, moved)
            pruned = await run_sync(self._run.trees.prune)
            finish = partial(
                service.finish_conducting, self._run.store, self._conducting, self._run.plan.plan_id
            )
            if not await run_sync(finish):
                ending = Ending.INTERRUPTED  # a task was added in the last moment
            rows = await run_sync(service.tasks_of, self._run.store, self._run.plan.plan_id)
            skipped = {row.task_id for row in rows if row.skipped is not None}
            unmerged = tuple(
                each for each in await run_sync(self._run.trees.without_work) if each not in skipped
            )
            return Outcome(
                ending=ending, moved=moved, pruned=pruned, unmerged=unmerged, plan_tests=plan_tests
            )
        return await self._interrupted(ending)

    async def _interrupted(self, ending: Ending, moved: FastForward | None = None) -> Outcome:
        """Return the outcome of a run that leaves something for the next."""
        await run_sync(service.interrupt_conducting, self._run.store, self._conducting)
        asks = await run_sync(service.open_asks, self._run.store)
        paused = self._paused if ending is Ending.NEEDS_HUMAN else ""
        return Outcome(ending=ending, asks=asks, moved=moved, paused=paused)
