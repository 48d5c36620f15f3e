"""Which branches of a plan will conflict when they are merged, found by merging them in memory.

Theory. A task is merged onto the plan's branch as it is then. So each branch is merged with the plan's branch, and each
pair as trials are made: the second onto what the first would leave, in either order, because nobody knows which will be
first, and attributes, or a file that holds both sides, may make a difference. Of a pair, the paths in which one side
conflicts with what is merged already are that side's own matter.

While a branch conflicts with what is merged, nothing is known of what its merge will leave: its pairs are made from the
branch as it is. What was found is kept for as long as both heads stand; once the plan's branch has moved, all is
found anew, because renames and attributes that are merged change what the others meet.
"""

import shutil
from collections.abc import Collection, Mapping
from contextlib import suppress
from functools import lru_cache
from itertools import combinations
from pathlib import Path

from musician.protocol.errors import GitFailed, TreeNotReady
from musician.protocol.messages.forecasts import MERGED
from musician.protocol.values import dataclass
from musician.trees.branches import branch_of, full_ref, integration_branch, trial_name
from musician.trees.git import Git, git_version, shown
from musician.trees.in_memory import OLDEST, Clash, Clean, InMemory
from musician.trees.obstacles import changed_between
from musician.trees.root import Root
from musician.trees.worktree import place_of

MOST_BRANCHES = 64
"""So many are looked at, in the plan's order: 2,016 pairs."""

Paths = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """What lies ahead of ``tasks``, which have work that is not merged yet.

    ``meetings`` has each pair of them, and each with :data:`MERGED`: the paths in which they conflict, None where git
    could not tell.
    """

    tasks: tuple[str, ...] = ()
    meetings: Mapping[tuple[str, str], Paths | None]

    def of(self, task_id: str) -> dict[str, Paths | None]:
        """Return what one task meets, by the other."""
        return {
            one if other == task_id else other: paths
            for (one, other), paths in self.meetings.items()
            if task_id in (one, other)
        }


NOTHING_AHEAD = Ahead(meetings={})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Alone:
    """How a head merges: where it conflicts, None if that cannot be told; others are merged ``onto`` that then."""

    onto: str
    paths: Paths | None


class Foresight:
    """Looks ahead again and again, by one thread at a time. ``folder`` is for nothing else."""

    def __init__(self, root: Root, plan_id: str, base: str, folder: Path) -> None:
        self._root, self._plan_id, self._base, self._folder = root, plan_id, base, folder
        self._can = git_version() >= OLDEST
        self._is_stopped = False
        self._tip = ""
        self._memory: InMemory | None = None
        self._heads: dict[str, str] = {}
        self._unmerged: dict[str, bool] = {}
        """Whether a head has something that is not merged."""
        self._single: dict[str, _Alone] = {}
        self._both: dict[tuple[str, str], Paths | None] = {}
        """Where two heads conflict, None if that cannot be told."""
        self._ahead = NOTHING_AHEAD

    def stop(self) -> None:
        """End a look that is under way, from another thread; the folder is the caller's."""
        self._is_stopped = True
        if self._memory is not None:
            self._memory.stop()

    def look(self, task_ids: Collection[str]) -> Ahead | None:
        """Return what lies ahead of these tasks, in the plan's order. Quick where no head has moved.

        None if it was stopped, or if git is too old to tell.
        """
        if not self._can or self._is_stopped:
            return None
        git = Git(self._root.path)
        tip = git.commit_id(full_ref(integration_branch(self._plan_id))) or self._base
        refs = {task_id: full_ref(branch_of(self._plan_id, task_id)) for task_id in task_ids}
        commits = git.commit_ids(refs.values())
        heads = {task_id: commits[ref] for task_id, ref in refs.items() if ref in commits}
        if (tip, heads) == (self._tip, self._heads):
            return self._ahead
        if tip != self._tip:
            self._begin_anew()
        self._tip, self._heads = tip, heads  # what fails is tried again once a head has moved
        try:
            self._ahead = self._look(git, tip, heads)
        except GitFailed:  # a branch that is gone by now, with its commits
            self._ahead = NOTHING_AHEAD
        return None if self._is_stopped else self._ahead

    def _begin_anew(self) -> None:
        self._memory = None
        for found in (self._unmerged, self._single, self._both):
            found.clear()
        shutil.rmtree(self._folder / "memory", ignore_errors=True)

    def _look(self, git: Git, tip: str, heads: Mapping[str, str]) -> Ahead:
        new = {task_id: head for task_id, head in heads.items() if self._is_unmerged(git, tip, head)}
        ours = dict(list(new.items())[:MOST_BRANCHES])
        for head in ours.values():
            if head not in self._single:
                self._single[head] = self._alone(git, tip, head)
        pairs = list(combinations(ours.items(), 2))
        for (_, one), (_, other) in pairs:
            if (one, other) not in self._both and not self._is_stopped:
                self._both[one, other] = self._together(one, other)
        self._forget(set(ours.values()))
        meetings = {(one[0], other[0]): self._both.get((one[1], other[1])) for one, other in pairs}
        meetings |= {(task_id, MERGED): self._single[head].paths for task_id, head in ours.items()}
        return Ahead(tasks=tuple(ours), meetings=meetings)

    def _is_unmerged(self, git: Git, tip: str, head: str) -> bool:
        if head not in self._unmerged:
            self._unmerged[head] = not git.holds(tip, head)
        return self._unmerged[head]

    def _alone(self, git: Git, tip: str, head: str) -> _Alone:
        if git.holds(head, tip):  # it has all that is merged: the merge is what it is
            return _Alone(onto=head, paths=())
        merge = self._merge(tip, head)
        if isinstance(merge, Clean) and self._memory is not None:
            with suppress(GitFailed):
                return _Alone(onto=self._memory.commit(merge, tip, head), paths=())
        return _Alone(onto=head, paths=_paths(merge) if isinstance(merge, Clash) else None)

    def _together(self, one: str, other: str) -> Paths | None:
        found: set[str] = set()
        for first, second in ((one, other), (other, one)):
            merge = self._merge(self._single[first].onto, second)
            if merge is None:
                return None
            if isinstance(merge, Clash):
                found.update(_paths(merge))
        return tuple(sorted(found.difference(*(self._single[head].paths or () for head in (one, other)))))

    def _merge(self, onto: str, head: str) -> Clean | Clash | None:
        try:
            if self._memory is None:
                folder = self._folder / "memory"
                folder.mkdir()
                tree = place_of(self._root, trial_name(self._plan_id, 1))
                self._memory = InMemory(self._root, tree, folder)
            return self._memory.merge(onto, head)
        except (GitFailed, TreeNotReady, OSError):
            return None

    def _forget(self, heads: set[str]) -> None:
        """Drop what was found of heads that are none any more."""
        self._unmerged = {head: found for head, found in self._unmerged.items() if head in heads or not found}
        self._single = {head: found for head, found in self._single.items() if head in heads}
        self._both = {pair: found for pair, found in self._both.items() if heads.issuperset(pair)}


def _paths(clash: Clash) -> Paths:
    return tuple(sorted(map(shown, clash.paths)))


@lru_cache(maxsize=256)
def changed_apart(folder: Path, tip: str, head: str) -> frozenset[str]:
    """Return the paths that ``head`` has changed since it went its own way. Commits are full ids, so it is cached."""
    git = Git(folder)
    begun = git.run("merge-base", tip, head, accept=(0, 1)).stdout.decode("ascii").strip()
    return frozenset(shown(each.path) for each in changed_between(git, begun, head)) if begun else frozenset()
