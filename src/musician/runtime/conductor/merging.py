"""Bringing finished work together: merged on trial, verified there, and only then taken (D24).

Order: the branch of the plan moves before the approval is written. A crash in between leaves a branch that holds
the work and a submission that still waits; judging it again finds it merged already and approves it.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import anyio
from anyio.to_thread import run_sync

from musician.plans.model import Plan, TaskSpec
from musician.processes.output import one_line
from musician.protocol.conductor.orchestra import Trial, TrialOutcome
from musician.protocol.errors import TreeNotReady
from musician.protocol.settings import Settings
from musician.protocol.values import dataclass
from musician.runtime.baselines import Baselines
from musician.runtime.plantrees import PlanTrees
from musician.runtime.preparing import prepare_tree
from musician.runtime.verifying import nobody_records, python_environment, verify_by_hand
from musician.runtime.world import World
from musician.store.port import Store
from musician.trees import conflicts, merge
from musician.trees.branches import integration_branch
from musician.trees.root import Root
from musician.verification.result import VerificationResult
from musician.verification.select import all_commands

_MOST_DETAIL_CHARS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Merger:
    """Merges of one plan's tasks; one at a time, for they share a tree."""

    root: Root
    store: Store
    plan: Plan
    trees: PlanTrees
    settings: Settings
    lock: anyio.Lock
    world: World

    async def try_merge(
        self,
        task: TaskSpec,
        *,
        commit: str | None,
        earlier: int,
        still_due: Callable[[], None] = lambda: None,
    ) -> Trial:
        """Merge what was submitted, verify with the task's own commands and the plan's, and take it if it is green.

        ``commit`` is the submission's, None where nobody named one: the branch as it is.
        ``still_due`` raises where that is no longer wanted: a person may have judged while the tests ran.
        """
        async with self.lock:
            found = await run_sync(self.trees.try_merge, task, commit)
            if isinstance(found, merge.AlreadyMerged):
                return Trial(outcome=TrialOutcome.GREEN)
            if isinstance(found, conflicts.Conflict):
                return Trial(
                    outcome=TrialOutcome.CONFLICT,
                    detail=_both_sides(found, self.plan.plan_id),
                    earlier=earlier,
                )
            result = await self._verify(task, found)
            if not result.passed:
                await run_sync(self.trees.drop_trial)
                return Trial(outcome=TrialOutcome.RED, detail=_told(result), earlier=earlier)
            await run_sync(still_due)
            await run_sync(self.trees.accept, found)
            await run_sync(partial(self.baselines(task).keep, found.commit, result.commands))
            return Trial(outcome=TrialOutcome.GREEN)

    async def _verify(self, task: TaskSpec, trial: merge.Merged) -> VerificationResult:
        await self._set_up(task, trial.tree_path)
        return await verify_by_hand(
            self.root,
            task,
            all_commands(task),
            tree=trial.tree_path,
            log=self.root.logs_dir / "merges.log",
            checkpoint=len(task.checkpoints),
            settings=self.settings,
            since=trial.onto,
            before=self.baselines(task).at(trial.onto),
            world=self.world,
        )

    def baselines(self, task: TaskSpec) -> Baselines:
        return Baselines(
            root=self.root, store=self.store, settings=self.settings, task=task, plan_id=self.plan.plan_id
        )

    async def _set_up(self, task: TaskSpec, tree: Path) -> None:
        problem = await prepare_tree(
            task.setup,
            tree=tree,
            env=python_environment(),
            time_limit_s=self.settings.time.step_limit_s,
            on_process=nobody_records,
        )
        if problem:
            raise TreeNotReady(reason=problem, paths=(str(tree),), remedy="mend the plan's setup command")


def _both_sides(found: conflicts.Conflict, plan_id: str) -> str:
    """What is in conflict, what the other side did there, and how it is resolved in the task's own tree."""
    return (
        f"{', '.join(found.paths)}\n  already merged: {found.ours}\n  this task: {found.theirs}\n"
        f"In the task's tree: `git merge {integration_branch(plan_id)}`, resolve, `git add`, `git commit --no-edit`; or"
        f" write there what holds both sides. What is merged already has changed:\n{found.hunk}"
    )


def _told(result: VerificationResult) -> str:
    tail = result.commands[-1].tail if result.commands else ""
    return one_line(f"{result.tests_line()} {tail}", _MOST_DETAIL_CHARS)
