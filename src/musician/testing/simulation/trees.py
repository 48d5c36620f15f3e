"""A simulated repository: for each task what is finished, what is begun, and what the plan's branch holds of
it.
"""

import random
from collections.abc import Collection
from dataclasses import field
from pathlib import Path

from musician.plans.model import Isolation, Plan, TaskSpec
from musician.protocol.claim import Claim
from musician.protocol.errors import TreeNotReady
from musician.protocol.values import dataclass
from musician.runtime.tasktree import TaskTree
from musician.trees.base import FastForward, Move
from musician.trees.conflicts import Conflict
from musician.trees.foresight import Ahead
from musician.trees.merge import AlreadyMerged, Merged
from musician.trees.steps import FinishedItem

BASE = "base"


@dataclass(slots=True)
class Branch:
    """One task's branch. ``finished`` are items with their commits; ``work`` counts all writes ever made."""

    finished: list[FinishedItem] = field(default_factory=list)
    work: int = 0
    is_dirty: bool = False
    saved: list[tuple[int, str]] = field(default_factory=list)
    """What was set aside: by which claim, under which ref."""
    replaced: list[tuple[FinishedItem, ...]] = field(default_factory=list)
    """What was finished before each start over."""

    @property
    def tip(self) -> str:
        return self.finished[-1].commit if self.finished else BASE


class Repository:
    """All of a plan's branches. ``conflicts`` is how many merges may still conflict."""

    def __init__(self, folder: Path, plan: Plan, dice: random.Random, *, conflicts: int) -> None:
        self.folder, self.plan, self._dice, self._conflicts = folder, plan, dice, conflicts
        self.branches: dict[str, Branch] = {}
        self.merged: dict[str, str] = {}
        """What the plan's branch holds, by task."""
        self.accepted: list[str] = []
        self.forwarded = False

    def conflicts_now(self) -> bool:
        if self._conflicts and self._dice.random() < 0.3:  # a third of the merges
            self._conflicts -= 1
            return True
        return False

    def place(self, task_id: str) -> Path:
        place = self.folder / ".musician" / "trees" / task_id
        place.mkdir(parents=True, exist_ok=True)
        return place


@dataclass(slots=True, kw_only=True)
class Tree(TaskTree):
    """One session's view of its task's branch."""

    repository: Repository
    claim: Claim
    start: str = BASE

    @property
    def branch(self) -> Branch:
        return self.repository.branches.setdefault(self.claim.task_id, Branch())

    @property
    def path(self) -> Path:
        return self.repository.place(self.claim.task_id)

    def expect(self, commit: str) -> None:
        assert self.holds(commit), f"the journal knows {commit}, and the branch has lost it"

    def holds(self, commit: str) -> bool:
        return any(each.commit == commit for each in self.branch.finished)

    def unfinished(self, epoch: int) -> tuple[str, ...]:
        return tuple(ref for by, ref in self.branch.saved if by == epoch)

    def tip(self) -> str | None:
        return self.branch.tip

    def tree_of(self, commit: str) -> str | None:
        return f"tree-of-{commit}"

    def set_aside(self) -> str | None:
        if not self.branch.is_dirty:
            return None
        self.branch.is_dirty = False
        ref = f"refs/musician/partial/{self.claim.task_id}/{len(self.branch.saved)}"
        self.branch.saved.append((self.claim.epoch, ref))
        return ref

    def start_over(self, last: str | None, epoch: int) -> str | None:
        self.set_aside()
        if self.branch.finished:
            self.branch.replaced.append(tuple(self.branch.finished))
            self.branch.finished.clear()
        return f"refs/musician/replaced/{self.claim.task_id}/{epoch}"

    def keep(self, item: str, title: str) -> str | None:
        if not self.branch.is_dirty:
            return None
        self.branch.is_dirty = False
        before = sum(map(len, self.branch.replaced))
        commit = f"{self.claim.task_id}-{before + len(self.branch.finished) + 1}"
        self.branch.finished.append(FinishedItem(item=item, commit=commit))
        return commit

    def undo(self, item: str, by: str) -> str | None:
        raise TreeNotReady(reason=f"{item} is not undone here, by {by}", paths=(), remedy="")

    def take_in(self) -> tuple[str, ...]:
        self.branch.is_dirty = True
        return ()

    def found_items(self) -> tuple[FinishedItem, ...]:
        return tuple(self.branch.finished)

    def tree_id(self) -> str:
        dirt = f"-and-{self.branch.work}" if self.branch.is_dirty else ""
        return f"tree-of-{self.branch.tip}{dirt}"

    def changes(self, tree_id: str) -> tuple[tuple[str, str], ...]:
        return (("work.txt", "created"),) if self.branch.finished else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Trees:
    """The conductor's view of the repository."""

    repository: Repository

    def has_branch(self, task_id: str) -> bool:
        return task_id in self.repository.branches

    def is_merged(self, task_id: str, commit: str | None) -> bool:
        held = self.repository.merged.get(task_id)
        return held is not None and (commit is None or held == commit)

    def tip(self) -> str | None:
        return None

    def work_of(self, task: TaskSpec) -> tuple[Path, str]:
        return self.repository.place(task.task_id), BASE

    def changed(self, tree: Path) -> int:
        return len(self.repository.branches[tree.name].finished)

    def open(self, task: TaskSpec, claim: Claim) -> Path:
        self.repository.branches.setdefault(task.task_id, Branch())
        return Tree(repository=self.repository, claim=claim).path

    def lay_out(self, task_id: str, tree_id: str | None, *, at: Path) -> str:  # the port's shape
        return BASE

    def try_merge(
        self, task: TaskSpec, commit: str | None, *, onto: str | None, number: int
    ) -> Merged | AlreadyMerged | Conflict:
        theirs = commit or self.repository.branches[task.task_id].tip
        if self.is_merged(task.task_id, theirs):
            return AlreadyMerged(commit=theirs, tree_path=self.repository.folder)
        if self.repository.conflicts_now():
            return Conflict(paths=("work.txt",), ours="others", theirs=task.task_id)
        return Merged(
            commit=f"{task.task_id} {theirs}",
            onto=onto or "",
            tree_path=self.repository.place(f"_merge-{theirs}"),
        )

    def accept(self, trial: Merged) -> bool:
        task_id, commit = trial.commit.split()
        self.repository.merged[task_id] = commit
        self.repository.accepted.append(task_id)
        return True

    def drop_trial(self, number: int) -> None:
        pass

    def without_work(self) -> tuple[str, ...]:
        return tuple(
            task.task_id
            for task in self.repository.plan.tasks
            if task.isolation is Isolation.WORKTREE and task.task_id not in self.repository.merged
        )

    def put_right(self) -> tuple[str, ...]:
        return ()

    def forward(self, branch: str | None) -> FastForward:
        self.repository.forwarded = True
        return FastForward(move=Move.MOVED)

    def foresight(self, folder: Path) -> "Trees":
        return self

    def look(self, task_ids: Collection[str]) -> Ahead | None:
        return None

    def stop(self) -> None:
        pass

    def touched(self, task_id: str) -> frozenset[str]:
        return frozenset()

    def prune(self) -> tuple[str, ...]:
        return ()
