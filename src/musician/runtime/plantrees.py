"""The conductor's only access to git for one plan: the plan's branch, its tasks' branches and trees.

The conductor reaches git through nothing else, so that a simulation can hand in trees of its own. It caches
nothing: each answer is what the repository says at that moment. All calls block.
"""

import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from musician.plans.model import Changes, Isolation, Plan, TaskSpec
from musician.protocol.claim import Claim
from musician.protocol.errors import MusicianError
from musician.protocol.values import dataclass
from musician.runtime.tasktree import open_tree
from musician.trees import merge
from musician.trees.base import FastForward, fast_forward
from musician.trees.branches import branch_of, full_ref, integration_branch
from musician.trees.foresight import Ahead, Foresight, changed_apart
from musician.trees.git import Git, tree_of
from musician.trees.integrity import merged_tip, put_right, strangers
from musician.trees.partial import prune_partials
from musician.trees.provisioning import give
from musician.trees.root import Root
from musician.trees.snapshot import changed_files
from musician.trees.worktree import place_of


class LooksAhead(Protocol):
    """As :class:`musician.trees.foresight.Foresight`."""

    def look(self, task_ids: Collection[str]) -> Ahead | None: ...

    def stop(self) -> None: ...


class PlanTrees(Protocol):
    """A plan's trees. A task's work is the submitted ``commit``; None, if the submission names none, means
    its branch.
    """

    def has_branch(self, task_id: str) -> bool: ...

    def is_merged(self, task_id: str, commit: str | None) -> bool:
        """Whether the plan's branch holds the work, or there is nothing left to merge."""
        ...

    def tip(self) -> str | None:
        """Return the commit of all merged work; None before anything is merged."""
        ...

    def put_right(self) -> tuple[str, ...]:
        """Bring the plan's branch back if somebody moved it; return a sentence for each time that was found, ever."""
        ...

    def work_of(self, task: TaskSpec) -> tuple[Path, str]:
        """Return the tree a task is played in, and the commit that its work is compared with."""
        ...

    def changed(self, tree: Path) -> int:
        """Return how many files in a task's tree differ from the commit the plan began at."""
        ...

    def open(self, task: TaskSpec, claim: Claim) -> Path:
        """Return the tree a claim works in, made if it does not exist."""
        ...

    def try_merge(self, task: TaskSpec, commit: str | None, *, onto: str | None, number: int) -> merge.Trial:
        """Merge without moving the plan's branch; the result is in a tree with everything the plan gives to
        trees.

        ``onto`` is another trial's commit, by default the merged work. There is one tree for each ``number``.
        """
        ...

    def accept(self, trial: merge.Merged) -> bool:
        """Move the plan's branch to the trial's commit; False if it has gone on from where the trial began."""
        ...

    def drop_trial(self, number: int) -> None: ...

    def lay_out(self, task_id: str, tree_id: str | None, *, at: Path) -> str:
        """Check the submitted commit out in a folder apart from the task's tree; return the commit that its
        work began at.

        None: what is committed so far.
        """
        ...

    def without_work(self) -> tuple[str, ...]:
        """Return the tasks with trees of their own that changed nothing although they should have."""
        ...

    def forward(self, branch: str | None) -> FastForward:
        """Move the branch that the user was on to the merged work, the plan's own files included."""
        ...

    def foresight(self, folder: Path) -> LooksAhead:
        """Return what looks for conflicts ahead, with a folder of its own."""
        ...

    def touched(self, task_id: str) -> frozenset[str]:
        """Return the paths that a task's branch has changed and the merged work has not."""
        ...

    def prune(self) -> tuple[str, ...]:
        """Drop what a finished plan no longer needs; return the refs of set-aside work that were dropped."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class GitPlanTrees:
    """In the user's repository. ``base`` is the commit that the plan began at."""

    root: Root
    plan: Plan
    base: str

    def __post_init__(self) -> None:
        # Cleaning takes away the branch of a complete plan, which may be run again, or amended.
        put_right(self.root, self.plan.plan_id, by_hand=True)

    @property
    def _git(self) -> Git:
        return Git(self.root.path)

    @property
    def _merged(self) -> str:
        return self.tip() or full_ref(integration_branch(self.plan.plan_id))

    def _branch(self, task_id: str) -> str:
        return full_ref(branch_of(self.plan.plan_id, task_id))

    def has_branch(self, task_id: str) -> bool:
        return self._git.commit_id(self._branch(task_id)) is not None

    def is_merged(self, task_id: str, commit: str | None) -> bool:
        work = commit or self._branch(task_id)
        # A branch that somebody has tidied away has nothing left to merge.
        return self._git.commit_id(work) is None or self._git.holds(self._merged, work)

    def tip(self) -> str | None:
        return merged_tip(self.root, self.plan.plan_id)

    def put_right(self) -> tuple[str, ...]:
        found = put_right(self.root, self.plan.plan_id, by_hand=True)
        return tuple(dict.fromkeys((*found, *strangers(self.root, self.plan.plan_id))))

    def work_of(self, task: TaskSpec) -> tuple[Path, str]:
        place = place_of(self.root, branch_of(self.plan.plan_id, task.task_id))
        tree = place if place.exists() else self.root.path
        if task.isolation is Isolation.SHARED or tree == self.root.path:
            return tree, self.base
        return tree, Git(tree).text("merge-base", "HEAD", self._merged)

    def changed(self, tree: Path) -> int:
        return len(changed_files(tree, self.base))

    def open(self, task: TaskSpec, claim: Claim) -> Path:
        return open_tree(self.root, task, claim, plan_id=self.plan.plan_id, base=self.base).path

    def try_merge(self, task: TaskSpec, commit: str | None, *, onto: str | None, number: int) -> merge.Trial:
        trial = merge.trial_merge(
            self.root,
            plan_id=self.plan.plan_id,
            task_id=task.task_id,
            title=task.title,
            base=self.base,
            commit=commit,
            onto=onto,
            number=number,
        )
        if isinstance(trial, merge.Merged):
            give(self.root, trial.tree_path, copy=task.copy, share=task.share)
        return trial

    def accept(self, trial: merge.Merged) -> bool:
        return merge.accept_merge(self.root, self.plan.plan_id, trial.commit, trial.onto)

    def drop_trial(self, number: int) -> None:
        merge.drop_trial(self.root, self.plan.plan_id, number)

    def lay_out(self, task_id: str, tree_id: str | None, *, at: Path) -> str:
        tip = self._git.commit_id(self._branch(task_id)) or self._git.head()
        Git(at.parent, finds=True).run(
            "clone", "--quiet", "--shared", "--no-checkout", str(self.root.path), str(at)
        )
        git, commit = Git(at), tip
        if tree_id is not None and tree_of(self.root.path, tip) != tree_id:
            # Not committed (an isolation that is shared), or moved on.
            commit = git.text("commit-tree", tree_id, "-p", tip, "-m", "As submitted")
        git.run("checkout", "--quiet", "--detach", commit)
        return git.text("merge-base", commit, self.tip() or commit)

    def without_work(self) -> tuple[str, ...]:
        isolated = [task for task in self.plan.tasks if task.isolation is Isolation.WORKTREE]
        if not isolated:
            return ()
        said = self._git.text(
            "log", "--format=%(trailers:key=Musician-Task,valueonly)", f"{self.base}..{self._merged}", "--"
        )
        brought = set(said.split())
        return tuple(
            task.task_id
            for task in isolated
            if task.changes is not Changes.NONE and task.task_id not in brought
        )

    def forward(self, branch: str | None) -> FastForward:
        plan = self.plan
        if branch is not None:
            files = (plan.path, *(path for path, _ in plan.instruction_files))
            own = frozenset(map(self._in_the_tree, files))
            with suppress(MusicianError):  # then the branch has commits of its own, which is reported
                merge.take_up_plan_files(self.root, plan.plan_id, branch, own)
        return fast_forward(
            self.root, branch, integration_branch(plan.plan_id), tip=self.tip(), begun_at=self.base
        )

    def _in_the_tree(self, path: str) -> bytes:
        """Return how git names a file of the plan, which may lie in a linked tree of the user's."""
        place, tree = self.root.path / path, self.root.users_tree
        return os.fsencode(place.relative_to(tree) if place.is_relative_to(tree) else path)

    def foresight(self, folder: Path) -> LooksAhead:
        return Foresight(self.root, self.plan.plan_id, self.base, folder)

    def touched(self, task_id: str) -> frozenset[str]:
        tip, head = self.tip(), self._git.commit_id(self._branch(task_id))
        return frozenset() if tip is None or head is None else changed_apart(self.root.path, tip, head)

    def prune(self) -> tuple[str, ...]:
        merge.drop_further_trials(self.root, self.plan.plan_id)
        return prune_partials(self.root, self.plan.plan_id)
