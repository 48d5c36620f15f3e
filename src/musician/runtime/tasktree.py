"""The working tree a task is played in: an isolated one of its own, or the user's, shared (D24).

In an isolated tree each finished item is a commit, so that it is done once: what a killed session left unfinished
is set aside under a ref and the tree brought back to the last finished item. In a shared tree nothing is committed
or restored; a step that was interrupted there is simply played again.
"""

# ruff: noqa: ARG002 - a method that does nothing has its parameters all the same

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from musician.plans.model import Isolation, TaskSpec
from musician.processes.output import as_name
from musician.protocol.claim import Claim
from musician.protocol.errors import TreeNotReady
from musician.protocol.journal import RESOLVED_BY_HAND
from musician.protocol.messages.particulars import KeyOutput, OutputKind
from musician.protocol.names import NO_PLAN
from musician.protocol.rules.delegation import Extent
from musician.protocol.values import dataclass
from musician.runtime.outside import CHANGED_OUTSIDE, Outside, changed_outside, look_outside
from musician.trees.branches import (
    REPLACED,
    create_branch,
    full_ref,
    partial_ref,
    start_branch,
)
from musician.trees.conflicts import Conflict
from musician.trees.git import Git, shown, tree_of
from musician.trees.integrity import merged_tip, put_right
from musician.trees.left_out import given_to
from musician.trees.merge import ensure_integration, take_in
from musician.trees.partial import drop_empty_folders, set_aside_partial, uncommit
from musician.trees.provisioning import give
from musician.trees.resolving import Resolved, stage_resolution
from musician.trees.root import Root
from musician.trees.shared_config import since_the_lock
from musician.trees.snapshot import changed_files, changed_lines, tree_id
from musician.trees.status import read_status
from musician.trees.steps import FinishedItem, commit_step, finished_items, last_kept, revert_item
from musician.trees.worktree import Worktree, ensure_worktree, relink

_MOST_KEY_OUTPUTS = 20


class TaskTree(Protocol):
    """What a session needs of its tree; as it stands, of one in which nothing is committed. All calls block."""

    @property
    def path(self) -> Path: ...

    start: str

    def expect(self, commit: str) -> None:
        """Note a commit that the journal knows: finished work includes it, wherever the branch is."""
        return

    def moved_off(self) -> str | None:
        """Return where the task's branch is, if somebody moved it off the last finished item; else None."""
        return None

    def holds(self, commit: str) -> bool:
        """Whether the tree's history holds a finished item's commit."""
        return True

    def unfinished(self, epoch: int) -> tuple[str, ...]:
        """Return the refs that keep what a claim left unfinished."""
        return ()

    def tip(self) -> str | None:
        """Return the tree's commit; None if the tree is not the task's alone."""
        return None

    def tree_of(self, commit: str) -> str | None:
        """Return the id of a commit's tree; None if the task has no commits of its own."""
        return None

    def look_beside(self) -> None:
        """Record the state beside the tree at the start of a piece; :meth:`besides` tells what changed since."""
        return

    def set_aside(self) -> str | None:
        """Keep unfinished work under a ref and bring the tree back; return the ref, None if there was
        nothing.
        """
        return None

    def start_over(self, last: str | None, epoch: int) -> str | None:
        """Keep all the work, up to the ``last`` commit the journal knows, under the ref of claim ``epoch``; bring the
        tree to where the task would begin now. Return the ref, None if there was nothing.
        """
        return None

    def keep(self, item: str, title: str) -> str | None:
        """Commit a finished item; return the commit's id, None if nothing is committed here or nothing
        changed.
        """
        return None

    def undo(self, item: str, by: str) -> str | None:
        """Revert a finished item by a new commit, named after the correction ``by``; return the commit's id.

        :class:`TreeNotReady` if later work is in the way, or nothing was committed at all.
        """
        ...

    def take_back(self) -> str | None:
        """Undo commits made for an item that is not done; return the ref that keeps them."""
        return None

    def left_out(self) -> tuple[str, ...]:
        """Return paths in the tree that no commit may hold, without those that the program has put there
        itself.
        """
        return ()

    def take_in(self) -> tuple[str, ...]:
        """Merge the plan's merged work into the tree; return the paths left in conflict, for the musician to
        resolve.
        """
        return ()

    def take_resolution(self, item: str) -> tuple[str, str | None] | None:
        """Commit as ``item`` what somebody has resolved here by hand; None if there is nothing.

        Returns the commit's id, and the ref that keeps other unfinished work.
        """
        return None

    def besides(self, *, by_hand: bool) -> tuple[str, ...]:
        """Return changes in what all trees share: the repository's settings and hooks, the plan's branch; and
        what has changed in the main tree since work began here.

        The branch is brought back. ``by_hand``: a person was asked to merge, and may have moved it.
        """
        return ()

    def attempted(self) -> Extent:
        """Return what has changed since the last finished item; an unknown extent if that cannot be
        determined.
        """
        return Extent()

    def found_items(self) -> tuple[FinishedItem, ...]:
        return ()

    def tree_id(self) -> str: ...

    def changes(self, tree_id: str) -> tuple[tuple[str, str], ...]:
        """Return what the task has created, modified or deleted in the verified tree: (path, one of these
        words).
        """
        ...


@dataclass(slots=True, kw_only=True)
class IsolatedTree(TaskTree):
    """A worktree of the task's own. ``kept`` is the last commit known of the task: no step may take it away again."""

    worktree: Worktree
    claim: Claim
    plan_id: str
    start: str
    kept: str
    _outside: Outside | None = None
    """The main tree when a piece began here (D43)."""
    _left_out: tuple[bytes, ...] | None = None
    """What was seen when the last piece was kept, until it is told."""

    @property
    def path(self) -> Path:
        return self.worktree.path

    def expect(self, commit: str) -> None:
        git = Git(self.worktree.root.path)
        if git.commit_id(commit) is not None and not git.holds(self.kept, commit):
            self.kept = commit

    def moved_off(self) -> str | None:
        git, branch = Git(self.worktree.root.path), full_ref(self.worktree.branch)
        return None if git.holds(branch, self.kept) else git.commit_id(branch)

    def holds(self, commit: str) -> bool:
        git = Git(self.path)
        return git.commit_id(commit) is not None and git.holds("HEAD", commit)

    def unfinished(self, epoch: int) -> tuple[str, ...]:
        refs = [partial_ref(self.worktree.branch, label) for label in (str(epoch), f"{epoch}-*")]
        found = Git(self.path).text("for-each-ref", "--format=%(refname)", *refs)
        return tuple(found.splitlines())

    def tip(self) -> str | None:
        return Git(self.path).commit_id("HEAD")

    def tree_of(self, commit: str) -> str | None:
        return tree_of(self.path, commit)

    def look_beside(self) -> None:
        self._outside = look_outside(self.worktree.root)

    def set_aside(self) -> str | None:
        relink(self.worktree)
        to = None if self.moved_off() is None else self.kept
        return set_aside_partial(self.worktree, task_id=self.claim.task_id, epoch=self.claim.epoch, to=to).ref

    def start_over(self, last: str | None, epoch: int) -> str | None:
        if last is not None:
            self.expect(last)
        self.set_aside()
        begin = (
            Git(self.path).text("rev-parse", full_ref(start_branch(NO_PLAN, self.claim.task_id)))
            if self.plan_id == NO_PLAN
            else str(merged_tip(self.worktree.root, self.plan_id))
        )
        self.start = self.kept = begin
        kept = set_aside_partial(
            self.worktree, task_id=self.claim.task_id, epoch=epoch, to=begin, folder=REPLACED
        )
        drop_empty_folders(self.path)
        return kept.ref

    def keep(self, item: str, title: str) -> str | None:
        relink(self.worktree)
        before = self.kept
        kept = commit_step(
            self.worktree,
            task_id=self.claim.task_id,
            item=item,
            title=title,
            session_id=self.claim.session_id,
            epoch=self.claim.epoch,
            after=self.kept,
        )
        self.kept, self._left_out = kept.commit, kept.left_out
        return None if self.kept == before else self.kept

    def undo(self, item: str, by: str) -> str | None:
        revert_item(self.worktree, self.start, task_id=self.claim.task_id, item=item)
        return self.keep(by, f"revert {item}")

    def take_back(self) -> str | None:
        return uncommit(self.worktree, task_id=self.claim.task_id, epoch=self.claim.epoch, to=self.kept)

    def left_out(self) -> tuple[str, ...]:
        given = {b"temp", *given_to(self.path)}
        found = read_status(self.path).left_out if self._left_out is None else self._left_out
        self._left_out = None
        return tuple(shown(path) for path in found if path not in given)

    def take_in(self) -> tuple[str, ...]:
        found = take_in(self.worktree, self.plan_id)
        if not isinstance(found, Conflict):
            self.kept = found.commit
        # What came in is no work of this task.
        self.start = merged_tip(self.worktree.root, self.plan_id) or self.start
        return found.paths if isinstance(found, Conflict) else ()

    def take_resolution(self, item: str) -> tuple[str, str | None] | None:
        relink(self.worktree)
        found = stage_resolution(self.worktree, self.kept)
        if found is None:
            return None
        beside = self.set_aside() if found is Resolved.COMMITTED else None
        commit = self.keep(item, RESOLVED_BY_HAND)
        if commit is None:
            return None
        merged = merged_tip(self.worktree.root, self.plan_id)
        self.start = Git(self.path).text("merge-base", "HEAD", str(merged))
        return commit, beside

    def besides(self, *, by_hand: bool) -> tuple[str, ...]:
        root, plan_id = self.worktree.root, None if self.plan_id == NO_PLAN else self.plan_id
        changed = "" if self._outside is None else changed_outside(root, plan_id, self._outside)
        told = [f"{CHANGED_OUTSIDE}: {changed}"] if changed else []
        return (*_besides(root, self.plan_id, by_hand=by_hand), *told)

    def attempted(self) -> Extent:
        relink(self.worktree)
        lines = changed_lines(self.path, self.kept)
        return Extent(lines=sum(lines.values()), files=frozenset(lines)) if lines else Extent()

    def found_items(self) -> tuple[FinishedItem, ...]:
        return finished_items(self.worktree, self.start, self.claim.task_id)

    def tree_id(self) -> str:
        return tree_id(self.path)

    def changes(self, tree_id: str) -> tuple[tuple[str, str], ...]:
        return changed_files(self.path, self.start, tree_id)


@dataclass(slots=True, kw_only=True)
class SharedTree(TaskTree):
    """The user's own working tree."""

    root: Root
    start: str
    plan_id: str | None

    @property
    def path(self) -> Path:
        return self.root.path

    def undo(self, item: str, by: str) -> str | None:
        raise TreeNotReady(
            reason=f"{item} cannot be reverted: in a shared tree no step is committed",
            paths=(str(self.path),),
            remedy="undo it by hand, then answer without that correction",
        )

    def besides(self, *, by_hand: bool) -> tuple[str, ...]:
        return _besides(self.root, self.plan_id, by_hand=by_hand)

    def tree_id(self) -> str:
        return tree_id(self.path)

    def changes(self, tree_id: str) -> tuple[tuple[str, str], ...]:
        return changed_files(self.path, self.start, tree_id)


def _besides(root: Root, plan_id: str | None, *, by_hand: bool) -> tuple[str, ...]:
    moved = () if plan_id in (None, NO_PLAN) else put_right(root, plan_id, by_hand=by_hand)
    return (*since_the_lock(root), *moved)


def open_tree(root: Root, task: TaskSpec, claim: Claim, *, plan_id: str | None, base: str | None) -> TaskTree:
    """Return the task's tree, made from the plan's branch if it does not exist, so that later tasks see
    earlier work.

    ``base`` is the commit the plan started from; None means the user's present HEAD.
    """
    commit = base or Git(root.users_tree).head()
    if task.isolation is Isolation.SHARED:
        return SharedTree(root=root, start=commit, plan_id=plan_id)
    if plan_id is None:  # nobody merges these: each starts where the user's tree is when it is first claimed
        tip = create_branch(Git(root.path), start_branch(NO_PLAN, task.task_id), commit)
    else:
        tip = ensure_integration(root, plan_id, commit)
    worktree = ensure_worktree(root, plan_id or NO_PLAN, task.task_id, tip)
    give(root, worktree.path, copy=task.copy, share=task.share)
    git = Git(worktree.path)
    start = tip if git.head() == tip else git.text("merge-base", "HEAD", tip)
    kept = last_kept(git, start, full_ref(worktree.branch))
    return IsolatedTree(worktree=worktree, claim=claim, plan_id=plan_id or NO_PLAN, start=start, kept=kept)


def key_outputs(changes: Iterable[tuple[str, str]]) -> tuple[KeyOutput, ...]:
    """Return the first of a task's changes, deletions before all others, because nothing else shows them."""
    chosen = sorted(changes, key=lambda change: change[1] != OutputKind.DELETED)[:_MOST_KEY_OUTPUTS]
    return tuple(KeyOutput(path=_in_a_line(path), kind=OutputKind(kind)) for path, kind in chosen)


def _in_a_line(path: str) -> str:
    """A name as a line of a message can hold it: ``a\\nb`` for one with a line end, ``\\x20`` for a blank at an end."""
    said = as_name(path)
    said = "\\x20" * (len(said) - len(said.lstrip())) + said.lstrip()
    said = said.rstrip() + "\\x20" * (len(said) - len(said.rstrip()))
    if "\\.." in said or "..\\" in said:  # on other systems this leads to another folder
        said = said.replace("..", ".\\x2e")
    return f"./{said}" if said.startswith(("\\", "~")) or said[1:2] == ":" else said
