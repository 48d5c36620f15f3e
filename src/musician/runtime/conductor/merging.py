"""Merges finished work: on trial first, verified there, and only then accepted (D24).

Order: the branch of the plan moves before the approval is written. A crash in between leaves a branch that holds
the work and a submission that still waits; judging it again finds it merged already and approves it.

Several trials stand in a queue and are verified side by side, each in a tree of its own: one that comes while
another is undecided is merged onto that one's result. They are accepted in order, so that what the branch
gets is to the byte what was verified. If one is not accepted, those that build on it are merged and verified
again at once: its fault is never theirs.
"""

from collections.abc import Callable
from dataclasses import field
from functools import partial

import anyio
from anyio.to_thread import run_sync

from musician.plans.model import TaskSpec
from musician.processes.output import one_line
from musician.protocol.conductor.orchestra import Trial, TrialOutcome
from musician.protocol.errors import TreeNotReady
from musician.protocol.values import dataclass
from musician.runtime.baselines import Baselines
from musician.runtime.conductor.plan_run import PlanRun
from musician.runtime.preparing import noting_ignored
from musician.runtime.verifying import verify_by_hand
from musician.trees import conflicts, merge
from musician.trees.branches import integration_branch
from musician.verification.baseline import Baseline, Before
from musician.verification.result import VerificationResult
from musician.verification.select import all_commands

_MOST_DETAIL_CHARS = 2000


MOST_SIDE_BY_SIDE = 4
"""Each takes a tree, and a processor."""


@dataclass(slots=True, kw_only=True)
class _Undecided:
    """A trial whose work is ``commit``, merged in the tree of this number. ``above`` are verifications that
    build on it.
    """

    commit: str
    number: int
    decided: anyio.Event = field(default_factory=anyio.Event)
    is_taken: bool = False
    above: list[anyio.CancelScope] = field(default_factory=list)

    def carry(self, scope: anyio.CancelScope) -> None:
        self.above.append(scope)
        if self.decided.is_set():  # decided while the other was being merged
            self.decide()

    def decide(self) -> None:
        self.decided.set()
        for scope in () if self.is_taken else self.above:
            scope.cancel()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Onto:
    """Baselines on a queued trial's commit: its failures are known once it was verified, and not tried
    separately.
    """

    commit: Before
    below: _Undecided | None

    def covers(self, command: str) -> bool:
        return self.commit.covers(command)

    async def ended(self, command: str) -> Baseline:
        if self.below is not None:
            await self.below.decided.wait()
        return await self.commit.ended(command)


@dataclass(frozen=True, slots=True, kw_only=True)
class Merger:
    """Merges of one plan's tasks."""

    run: PlanRun
    lock: anyio.Lock = field(default_factory=anyio.Lock)
    """For git's part, which is quick; not for the tests."""
    queue: list[_Undecided] = field(default_factory=list)
    on_note: Callable[[str], None] = lambda _: None
    told: set[str] = field(default_factory=set)
    """What ``on_note`` has got."""

    async def try_merge(
        self,
        task: TaskSpec,
        *,
        commit: str | None,
        earlier: int,
        still_due: Callable[[], None] = lambda: None,
    ) -> Trial:
        """Merge what was submitted, verify it with the task's own commands and the plan's, and accept it if
        it is green.

        ``commit`` is the submission's; None, if it names none, means the branch as it is.
        ``still_due`` raises if the merge is no longer wanted: a person may have judged while the tests ran.
        """
        await self.put_right()
        while True:
            trial = await self._try_once(task, commit, earlier, still_due)
            if trial is not None:
                return trial

    async def put_right(self) -> None:
        """Bring the plan's branch back if somebody moved it, and tell that."""
        for text in await run_sync(self.run.trees.put_right):
            if text not in self.told:
                self.told.add(text)
                self.on_note(text)

    async def _try_once(
        self, task: TaskSpec, commit: str | None, earlier: int, still_due: Callable[[], None]
    ) -> Trial | None:
        """Try once; None if the trial it builds on was not accepted, or the branch has gone on without it."""
        async with self.lock:
            below, first = (self.queue[-1], self.queue[0]) if self.queue else (None, None)
            free = set(range(1, MOST_SIDE_BY_SIDE + 1)) - {each.number for each in self.queue}
            if free:
                number, onto = min(free), None if below is None else below.commit
                found = await run_sync(
                    partial(self.run.trees.try_merge, task, commit, onto=onto, number=number)
                )
                if isinstance(found, merge.Merged):
                    own = _Undecided(commit=found.commit, number=number)
                    self.queue.append(own)
        if first is not None and not free:
            await first.decided.wait()
            return None
        if not isinstance(found, merge.Merged):
            if below is not None:
                await below.decided.wait()
                if not below.is_taken:
                    return None
            return self._without_merge(found, earlier)
        try:
            with anyio.CancelScope() as scope:
                if below is not None:
                    below.carry(scope)
                result = await self._verify(task, found, below)
                if below is not None:
                    await below.decided.wait()
            if below is not None and not below.is_taken:
                return None
            async with self.lock:
                if not result.passed:
                    await run_sync(self.run.trees.drop_trial, number)
                    return Trial(outcome=TrialOutcome.RED, detail=_told(result), earlier=earlier)
                await run_sync(still_due)
                if not await run_sync(self.run.trees.accept, found):
                    return None
                await run_sync(self.baselines(task).keep, found.commit, result.commands)
                own.is_taken = True
        finally:
            self.queue.remove(own)
            own.decide()
        return Trial(outcome=TrialOutcome.GREEN)

    def _without_merge(self, found: merge.AlreadyMerged | conflicts.Conflict, earlier: int) -> Trial:
        if isinstance(found, merge.AlreadyMerged):
            return Trial(outcome=TrialOutcome.GREEN)
        detail = _both_sides(found, self.run.plan.plan_id)
        return Trial(outcome=TrialOutcome.CONFLICT, detail=detail, earlier=earlier)

    async def _verify(
        self, task: TaskSpec, trial: merge.Merged, below: _Undecided | None
    ) -> VerificationResult:
        if problem := await self.baselines(task).set_up(trial.tree_path):
            raise TreeNotReady(
                reason=problem, paths=(str(trial.tree_path),), remedy="mend the plan's setup command"
            )
        async with noting_ignored(trial.tree_path):
            return await verify_by_hand(
                self.run.root,
                task,
                all_commands(task),
                tree=trial.tree_path,
                log=self.run.root.logs_dir / "merges.log",
                checkpoint=len(task.checkpoints),
                settings=self.run.settings,
                since=trial.onto,
                before=_Onto(commit=self.baselines(task).at(trial.onto), below=below),
                world=self.run.world,
            )

    def baselines(self, task: TaskSpec) -> Baselines:
        return Baselines(
            root=self.run.root,
            store=self.run.store,
            settings=self.run.settings,
            task=task,
            plan_id=self.run.plan.plan_id,
            world=self.run.world,
        )


def _both_sides(found: conflicts.Conflict, plan_id: str) -> str:
    """Describe the conflict: the paths, what the other side did there, and how to resolve it in the task's
    own tree.
    """
    return (
        f"{', '.join(found.paths)}\n"
        f"  already merged: {found.ours}\n    all of it: `{found.see[0]}`\n"
        f"  this task: {found.theirs}\n    all of it: `{found.see[1]}`\n"
        f"In the task's tree: `git merge --no-commit {integration_branch(plan_id)}` unless that is begun, resolve,"
        " `git add`; or write there what holds both sides. The program commits. What is merged already has"
        f" changed:\n{found.hunk}"
    )


def _told(result: VerificationResult) -> str:
    tail = result.commands[-1].tail if result.commands else ""
    return one_line(f"{result.tests_line()} {tail}", _MOST_DETAIL_CHARS)
