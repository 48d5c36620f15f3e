"""One run of a plan: a conductor, its musicians, workers beside it, and a person who answers.

It goes on until the plan is complete or nobody can go on. Real are ``conduct``, ``work_on`` and
``play_task``, the engines below them, the store and its file, life locks, bells, the files in ``temp/``.
Simulated are time, processes and their deaths, git, agents, and test results.
"""

import random
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import (
    AbstractContextManager,
    ExitStack,
    asynccontextmanager,
    closing,
    contextmanager,
    nullcontext,
    suppress,
)
from pathlib import Path
from typing import Any

import anyio
import apsw

from musician import service
from musician.agents.port import Agent, AgentSession, Piece, Stage, Tell
from musician.plans.model import Plan, TaskSpec
from musician.processes.machine import Machine
from musician.protocol.claim import Claim
from musician.protocol.errors import ClaimBlocked, ConductorRunning, MusicianError
from musician.protocol.musician.inputs import (
    ContextTold,
    DeviationTold,
    PieceEnded,
    PieceEnding,
    QuestionTold,
)
from musician.protocol.rules.deviations import Severity
from musician.protocol.settings import Settings
from musician.protocol.states import State
from musician.protocol.values import dataclass
from musician.runtime.again import retry_task, skip_task
from musician.runtime.conductor.conduct import Ending, conduct
from musician.runtime.conductor.plan_run import RunOptions
from musician.runtime.fleet import work_on
from musician.runtime.left_work import LeftWork
from musician.runtime.musician.work import play_task
from musician.runtime.plantrees import PlanTrees
from musician.runtime.tasktree import TaskTree
from musician.runtime.world import Musician, World
from musician.service import TaskView
from musician.store.port import Store
from musician.store.sqlite.store import SqliteStore
from musician.testing.simulation.clock import set_clock
from musician.testing.simulation.machine import Computer, Process
from musician.testing.simulation.trees import Repository, Tree, Trees
from musician.testing.simulation.virtual_time import run_virtually
from musician.trees.root import Root
from musician.verification.oldtree import OldTree
from musician.verification.result import CommandResult, VerificationResult

MOST_TIME_S = 12 * 3600.0
"""A run that is not over after half a day of its time goes round in circles; to find that takes a minute of ours."""

A_LONG_WHILE_S = 600.0
"""More than a heartbeat may be old, and no more: a conductor looks at everything every other second of it."""

MOST_RUNS = 60
"""How often a conductor is started until its plan is whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Troubles:
    """The troubles of a run, each with the most it may happen: in the end all goes well, and the plan must be
    completed.
    """

    deaths: int = 0
    failures: int = 0
    reds: int = 0
    conflicts: int = 0
    questions: int = 0
    orders: int = 0
    """A person's, at any moment: to play a task again, perhaps from its start, or to go on without it."""
    workers: int = 0
    """Who claim beside the conductor."""
    pauses: int = 0
    """Of the plan, by a person, at any moment and for any while."""


class Simulation:
    """One run. ``template`` is a project's folder in which ``plan`` was locked."""

    def __init__(self, seed: int, template: Path, folder: Path, plan: Plan, troubles: Troubles) -> None:
        self.dice = random.Random(seed)
        self.plan, self.settings = plan, Settings()
        shutil.copytree(template, folder, ignore=shutil.ignore_patterns(".git"), dirs_exist_ok=True)
        self.root = Root(path=folder)
        self.computer = Computer(self.dice, deaths=troubles.deaths, chance=0.004)
        self.repository = Repository(folder, plan, self.dice, conflicts=troubles.conflicts)
        self.left = Counter(failures=troubles.failures, reds=troubles.reds, questions=troubles.questions)
        self.left["orders"], self.left["pauses"] = troubles.orders, troubles.pauses
        self.workers = troubles.workers
        self.red_trees: dict[str, bool] = {}
        self.playing: Counter[str] = Counter()
        self.said: list[tuple[float, str, str]] = []
        """When which item of a task was done."""
        self.is_complete = False
        self.begun: Counter[str] | None = None
        """What was begun of each task since the plan was paused; None while it is not."""
        self._opened = ExitStack()
        self._unused: list[SqliteStore] = []
        self.musicians: anyio.abc.TaskGroup

    def happens(self, what: str, chance: float) -> bool:
        """Return whether one of the remaining troubles happens now."""
        if self.left[what] > 0 and self.dice.random() < chance:
            self.left[what] -= 1
            return True
        return False

    def duration_s(self) -> float:
        """Return a duration: mostly seconds, now and then longer than the age at which a heartbeat is stale."""
        return self.dice.uniform(0.1, 5.0) if self.dice.random() < 0.99 else A_LONG_WHILE_S

    def play(self) -> "Simulation":
        with ExitStack() as self._opened:
            run_virtually(self._to_the_end, self.dice, self.computer.call)
        return self

    @contextmanager
    def store(self) -> Iterator[Store]:
        """Yield a process's own connection. The next process reuses it, because opening one takes
        milliseconds.
        """
        store = self._unused.pop() if self._unused else self._open()
        try:
            yield store
        finally:
            self._unused.append(store)

    def _open(self) -> SqliteStore:
        store = self._opened.enter_context(closing(SqliteStore.open(self.root.database)))
        set_clock(store.connection, anyio.current_time)
        store.connection.pragma("synchronous", "OFF")
        store.connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        return store

    async def _to_the_end(self) -> None:
        with anyio.fail_after(MOST_TIME_S):
            async with anyio.create_task_group() as self.musicians:
                for _ in range(self.workers):
                    self.musicians.start_soon(self._worker, self.computer.start())
                self.musicians.start_soon(self._give_orders)
                self.musicians.start_soon(self._pause_now_and_then)
                for _ in range(MOST_RUNS):
                    if await self._conduct() is Ending.COMPLETE and not self._takes_back():
                        self.is_complete = True
                        break
                    self._answer()
                self.musicians.cancel_scope.cancel()

    async def _conduct(self) -> Ending | None:
        """Run one conductor to its end; None if it died, or another still lived."""
        process, ending = self.computer.start(), None

        async def run() -> None:
            nonlocal ending
            with self.store() as store:
                try:
                    outcome = await conduct(
                        self.root,
                        store,
                        self.plan,
                        settings=self.settings,
                        options=RunOptions(jobs=2),
                        world=Staged(self, process),
                    )
                    ending = outcome.ending
                except ConductorRunning:
                    await anyio.sleep(60)

        await process.run(run)
        return ending

    def _answer(self) -> None:
        """Act as the person between two runs: let the plan go on, approve what may be approved, and say how to go on
        with the rest.
        """
        self._resume()
        with self.store() as store:
            for ask in service.open_asks(store):
                if self.happens("orders", 0.5):
                    self._order(store, ask.task_id)
                view = service.task_view(store, ask.task_id)
                if State.REVIEW_APPROVED in view.open_verdicts:
                    service.judge_as_person(store, ask.task_id, State.REVIEW_APPROVED, "fine")
                elif view.row.state is State.EXITED:
                    service.hand_over(store, ask.task_id, "go on")
                elif State.FIX_PROPOSED in view.open_verdicts:
                    service.judge_as_person(store, ask.task_id, State.FIX_PROPOSED, "do it anew")
                elif view.row.state is not State.COMPLETE:
                    service.send(store, ask.task_id, "go on as you see fit")

    async def _give_orders(self) -> None:
        while True:
            await anyio.sleep(self.dice.uniform(0.1, 5))
            with self.store() as store:
                if self.happens("orders", 0.5):
                    self._order(store, self.dice.choice(list(self.plan.tasks)).task_id)

    async def _pause_now_and_then(self) -> None:
        while True:
            await anyio.sleep(self.dice.uniform(0.1, 5))
            if not self.happens("pauses", 0.3):
                continue
            with suppress(MusicianError):  # it is complete
                with self.store() as store:
                    service.pause_plan(store, self.plan.plan_id, who="ada", reason="lunch")
                self.begun = Counter()
            await anyio.sleep(self.dice.choice((1.0, 10.0, 2 * A_LONG_WHILE_S)) * self.dice.random())
            self._resume()

    def _resume(self) -> None:
        with self.store() as store, suppress(MusicianError):
            service.resume_plan(store, self.plan.plan_id, who="ada")
        self.begun = None

    def begin(self, task_id: str) -> None:
        """Check that a piece may begin: of a paused plan, only one whose session had looked before."""
        if self.begun is not None:
            self.begun[task_id] += 1
            assert self.begun[task_id] == 1, f"{task_id} is played on while the plan is paused"

    def _order(self, store: Store, task_id: str) -> None:
        """Stop a task, have it played again, perhaps from its start, or skip it; many moments are none for that."""
        world, order = Staged(self, self.computer.start()), self.dice.random()
        with suppress(MusicianError):
            if order < 0.5:
                service.request_exit(store, task_id, "stop", urgent=True, hold=True)
            elif order < 0.6:
                skip_task(self.root, store, task_id, "enough of it", self.settings, world=world)
            else:
                from_start = self.dice.random() < 0.7
                retry_task(self.root, store, task_id, self.settings, from_start=from_start, world=world)

    def _takes_back(self) -> bool:
        """Whether a person has what was skipped played after all: in the end all is to be whole."""
        with self.store() as store:
            skipped = [row for row in service.tasks_of(store, self.plan.plan_id) if row.skipped is not None]
            for row in skipped:
                service.retry(store, row.task_id)
        return bool(skipped)

    async def _musician(self, process: Process, task_id: str, session_id: str) -> None:
        async def run() -> None:
            with self.store() as store, suppress(ClaimBlocked):
                await play_task(
                    self.root,
                    store,
                    task_id,
                    session_id,
                    settings=self.settings,
                    quiet=True,
                    world=Staged(self, process),
                )

        await process.run(run)

    async def _worker(self, process: Process) -> None:
        async def run() -> None:
            with self.store() as store:
                await work_on(self.root, store, settings=self.settings, world=Staged(self, process))

        await process.run(run)

    def launch(self, task_id: str, session_id: str) -> Process:
        process = self.computer.start()
        self.musicians.start_soon(self._musician, process, task_id, session_id)
        return process


class Staged(World):
    """The world as one process of a simulation sees it."""

    def __init__(self, simulation: Simulation, machine: Machine) -> None:
        self.simulation = simulation
        self.machine = machine
        self.verify = self.verify_checkpoint = self._verify

    def agent(self, spec: str) -> Agent:
        return Player(simulation=self.simulation)

    def save_work(self, root: Root, store: Store, view: TaskView, epoch: int) -> LeftWork:
        tree = Tree(
            repository=self.simulation.repository,
            claim=Claim(task_id=view.row.task_id, session_id="gone", epoch=epoch),
        )
        return LeftWork(ref=tree.set_aside(), commit=tree.tip())

    @asynccontextmanager
    async def old_tree(self, tree: Path, base: str, **_: Any) -> AsyncIterator[OldTree]:
        yield OldTree(path=tree, env={})

    def launching(self) -> AbstractContextManager[None]:
        return nullcontext()

    async def launch(
        self, root: Root, store: Store, task_id: str, session_id: str, agent: str | None
    ) -> Musician:
        return self.simulation.launch(task_id, session_id)

    def plan_trees(self, root: Root, plan: Plan, base: str) -> PlanTrees:
        return Trees(repository=self.simulation.repository)

    def tree_id(self, tree: Path) -> str:
        return f"{tree.name} of {' '.join(self.simulation.repository.accepted)}"

    def open_tree(
        self,
        root: Root,
        task: TaskSpec,
        claim: Claim,
        *,
        plan_id: str | None,
        base: str | None,
    ) -> TaskTree:
        return Tree(repository=self.simulation.repository, claim=claim)

    async def _verify(self, commands: Any, *, tree_id: str, checkpoint: int, **_: Any) -> VerificationResult:
        """Return a test result, always the same one for the same tree."""
        simulation = self.simulation
        await anyio.sleep(simulation.duration_s())
        is_red = simulation.red_trees.setdefault(tree_id, simulation.happens("reds", 0.2))
        result = CommandResult(
            command="the tests",
            exit_code=int(is_red),
            timed_out=False,
            counts=None,
            failed_tests=(),
            tail="",
            duration_s=1.0,
        )
        return VerificationResult(
            passed=not is_red,
            commands=(result,),
            tree_id=tree_id,
            full=True,
            checkpoint=checkpoint,
            note=result.why,
        )


@dataclass(slots=True, kw_only=True)
class Player:
    """An agent and its only session: takes its time, leaves something in the tree, and now and then fails or asks."""

    simulation: Simulation
    token: str = ""
    tells_price: bool = True
    used_pct: float = 5.0

    @asynccontextmanager
    async def open(self, stage: Stage) -> AsyncIterator[AgentSession]:
        yield self

    async def steer(self, text: str) -> bool:
        return False

    async def interrupt(self) -> None:
        """Ignore the interrupt, so that the agent must be killed."""

    async def play(self, piece: Piece, tell: Tell) -> PieceEnded:
        playing, task_id = self.simulation.playing, piece.task_id
        playing[task_id] += 1
        assert playing[task_id] == 1, f"two agents play {task_id} at the same time"
        self.simulation.begin(task_id)
        try:
            return await self._play(piece, tell)
        finally:
            playing[task_id] -= 1

    async def _play(self, piece: Piece, tell: Tell) -> PieceEnded:
        simulation, task_id = self.simulation, piece.task_id
        branch = simulation.repository.branches[task_id]
        branch.work += 1
        branch.is_dirty = True
        await anyio.sleep(simulation.duration_s())
        self.used_pct += simulation.dice.uniform(0, 9)
        await tell(ContextTold(used_pct=self.used_pct))
        if simulation.happens("questions", 0.2):
            await tell(QuestionTold(text="this way or that?"))
        if simulation.happens("failures", 0.2):
            return PieceEnded(item=piece.item, ending=PieceEnding.FAILED, detail="it did not work")
        await tell(DeviationTold(severity=Severity.LOW, text="another name"))
        simulation.said.append((anyio.current_time(), task_id, piece.item))
        return PieceEnded(item=piece.item, ending=PieceEnding.DONE)
