"""Removes working trees and branches of plans that nobody needs any more; says of every other why it stays (D32).

Theory. A tree goes when its task is complete and merged, or its plan is archived or dropped, and it holds nothing; a
branch when its plan is complete or dropped and another branch holds it. An abandoned plan keeps its branches until it
is dropped: it may be restored. Each piece is looked at again at the moment it is removed, and no conductor works
meanwhile.
"""

import shlex
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from musician import service
from musician.processes.life_lock import is_held, lock_path
from musician.protocol.errors import MusicianError
from musician.protocol.names import NO_PLAN
from musician.protocol.states import State
from musician.protocol.values import dataclass, replace
from musician.runtime.archiving import finish_drop
from musician.runtime.conductor.conductor_lock import hold_conductor_lock
from musician.runtime.world import WORLD, World
from musician.store.port import Store
from musician.store.rows import TaskRow
from musician.trees.cleaning import (
    bytes_in,
    held_by_branch,
    held_by_scratch_tree,
    held_by_tree,
    held_by_trial_tree,
    is_held_elsewhere,
    remove_branch,
    remove_tree,
    remove_trial_tree,
)
from musician.trees.git import Git
from musician.trees.looking import checkouts, remove_scratch_tree
from musician.trees.root import Root
from musician.trees.worktree import place_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A tree or a branch; a person's scratch tree has none.

    ``by_plan`` is why its plan keeps it, whatever it holds, "" if it does not; ``in_itself`` why it stays besides.
    """

    plan_id: str
    branch: str
    tree: Path | None
    size_bytes: int
    in_itself: tuple[str, ...]
    by_plan: str = ""

    @property
    def held(self) -> tuple[str, ...]:
        """Why it stays; nothing: it goes, or is gone."""
        return ((self.by_plan,) if self.by_plan else ()) + self.in_itself

    @property
    def what(self) -> str:
        if self.tree is None:
            return f"branch {self.branch}"
        return f"working tree {self.tree}" if self.branch else f"scratch tree {self.tree}"

    @property
    def is_trial(self) -> bool:
        """Whether it is no task's: merges are tried in it, or base commits."""
        return self.branch.rpartition("/")[2].startswith("_")

    @property
    def look(self) -> str:
        """The command that shows what it holds."""
        if self.tree is None:
            return f"git log {self.branch} --not HEAD; git branch -D {self.branch} lets go of it"
        return f"git -C {shlex.quote(str(self.tree))} status --ignored"


def survey(
    root: Root, store: Store, *, plan_id: str | None = None, world: World = WORLD
) -> tuple[Piece, ...]:
    """Return every tree and branch of ours, of all plans or of one, with what keeps it. Nothing is touched. Blocks.

    Scratch trees belong to no plan.
    """
    return tuple(_Survey(root, store, plan_id, world).pieces())


def clean(root: Root, store: Store, *, plan_id: str | None = None, world: World = WORLD) -> tuple[Piece, ...]:
    """Remove what goes; return the same as :func:`survey`, with what kept a piece at the last moment. Blocks.

    :class:`ConductorRunning` while a run is at work.
    """
    with hold_conductor_lock(root, world.machine.new_id("clean"), world.machine):
        seen = _Survey(root, store, plan_id, world)
        pieces = tuple(_removed(root, seen, piece) for piece in seen.pieces())
        for dropped in service.dropped(store):
            finish_drop(root, store, dropped)
        return pieces


def clean_task(root: Root, store: Store, plan_id: str, task_id: str, *, world: World = WORLD) -> None:
    """Remove the tree of a complete task, for whoever conducts its plan. Blocks.

    One that holds something stays, untold: :func:`clean` tells.
    """
    tree = root.trees_dir / plan_id / task_id
    with suppress(MusicianError, OSError):
        if tree.is_dir():
            seen = _Survey(root, store, plan_id, world)
            _removed(root, seen, seen.tree(tree))


def disk_used(root: Root) -> dict[str, int]:
    """Return how many bytes are used by the trees, the archives, the logs, and all else of ours. Blocks."""
    parts = {"trees": root.trees_dir, "archive": root.musician_dir / "archive", "logs": root.logs_dir}
    used = {name: bytes_in(folder) for name, folder in parts.items()}
    return {**used, "database": bytes_in(root.database), "all": bytes_in(root.musician_dir)}


class _Survey:
    """One look at everything."""

    def __init__(self, root: Root, store: Store, plan_id: str | None, world: World) -> None:
        self._root, self._store, self._only, self._machine = root, store, plan_id, world.machine
        self._git = Git(root.path)
        self._open = {row.plan_id: row for row in service.all_plans(store)}
        self._archived = {row.plan_id: row for row in service.archives(store)}
        self._dropped = service.dropped(store)

    def pieces(self) -> Iterator[Piece]:
        """Yield trees first, then branches, a plan's own before its tasks': what holds others is decided first."""
        gone = set()
        for place in sorted(self._root.trees_dir.glob("*/*")):
            if self._only in (None, place.parent.name) and place.is_dir():
                piece = self.tree(place)
                if not piece.held:
                    gone.add(place)
                yield piece
        for branch in sorted(self._branches, key=lambda each: (not each.endswith("/_integration"), each)):
            plan_id = branch.split("/")[1]
            if self._only in (None, plan_id):
                held = tuple(self._why_branch(plan_id, branch, gone))
                kept = self._branch_kept_by_plan(plan_id)
                yield Piece(
                    plan_id=plan_id, branch=branch, tree=None, size_bytes=0, in_itself=held, by_plan=kept
                )

        if self._only is None:
            for place in sorted(checkouts(self._root)):
                yield self._scratch(place)

    def _scratch(self, place: Path) -> Piece:
        """A person's own, of ``review checkout``: it goes once its task is over, if it holds nothing."""
        row = next((row for row in service.open_tasks(self._store) if row.task_id == place.name), None)
        held = [] if row is None else [f"its task is {row.state}"]
        held.extend(self.users_of(place))
        try:
            held.extend(held_by_scratch_tree(self._root, place))
        except MusicianError as error:
            held.append(str(error))
        plan_id = (row and row.plan_id) or ""
        size_bytes = bytes_in(place)
        return Piece(plan_id=plan_id, branch="", tree=place, size_bytes=size_bytes, in_itself=tuple(held))

    def tree(self, tree: Path) -> Piece:
        plan_id, name = tree.parent.name, tree.name
        branch = f"musician/{plan_id}/{name}"
        return Piece(
            plan_id=plan_id,
            branch=branch,
            tree=tree,
            size_bytes=bytes_in(tree),
            in_itself=tuple(self._why_tree(plan_id, name, tree, branch)),
            by_plan=self._tree_kept_by_plan(plan_id, name),
        )

    def users_of(self, tree: Path) -> tuple[str, ...]:
        return tuple(f"in use by {each}" for each in self._machine.using(tree))

    @cached_property
    def _branches(self) -> list[str]:
        listed = self._git.text("for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads/musician/*/*")
        return listed.splitlines()

    def _why_tree(self, plan_id: str, name: str, tree: Path, branch: str) -> Iterator[str]:
        is_trial = name.startswith("_")
        if not self._knows(plan_id):
            yield "no plan of that name is known here"
        elif not is_trial and self._is_open(plan_id) and self._task(plan_id, name) is None:
            yield "no task of that name is known here"
        if not is_trial and is_held(lock_path(self._root.locks_dir, name)):
            yield "a session plays its task"
        yield from self.users_of(tree)
        try:
            yield from (
                held_by_trial_tree(self._root, tree) if is_trial else held_by_tree(self._root, tree, branch)
            )
        except MusicianError as error:
            yield str(error)
        if not is_trial and plan_id in self._open and not is_held_elsewhere(self._root, branch):
            yield "its branch is not merged"

    def _tree_kept_by_plan(self, plan_id: str, name: str) -> str:
        if not self._is_open(plan_id):
            return ""
        if name.startswith("_"):
            return "its plan is open"
        row = self._task(plan_id, name)
        is_due = row is not None and row.state is not State.COMPLETE
        return f"its task is {row.shown_state}, and its plan is open" if row is not None and is_due else ""

    def _branch_kept_by_plan(self, plan_id: str) -> str:
        archived = self._archived.get(plan_id)
        if archived is not None and archived.abandoned is not None:
            return (
                f"its plan was abandoned: {archived.abandoned}; `musician plan drop {plan_id}` lets go of it"
            )
        return "its plan is open" if self._is_open(plan_id) and plan_id in self._open else ""

    def _knows(self, plan_id: str) -> bool:
        return plan_id == NO_PLAN or any(
            plan_id in known for known in (self._open, self._archived, self._dropped)
        )

    def _is_open(self, plan_id: str) -> bool:
        """Whether something may still be played in it; so it may of the tasks without a plan."""
        if plan_id in self._archived or plan_id in self._dropped:
            return False
        plan = self._open.get(plan_id)
        return plan_id == NO_PLAN if plan is None else plan.finished_at is None

    def _task(self, plan_id: str, name: str) -> TaskRow | None:
        plan = self._open.get(plan_id)
        rows = service.tasks_of(self._store, None if plan is None else plan.plan_id)
        return next((row for row in rows if row.task_id == name), None)

    def _why_branch(self, plan_id: str, branch: str, gone: set[Path]) -> Iterator[str]:
        if plan_id == NO_PLAN and self._is_open(plan_id):
            yield "nobody merges it"
        elif not self._knows(plan_id):
            yield "its plan is unknown"
        tree = place_of(self._root, branch)
        held = list(held_by_branch(self._root, branch))
        if tree.is_dir() and tree not in gone:
            yield "its working tree stays"
        if tree in gone:  # its tree goes, too
            held = [
                each for each in held if not each.startswith("it is checked out in") or str(tree) not in each
            ]
        yield from held


def _removed(root: Root, seen: _Survey, piece: Piece) -> Piece:
    if piece.held:
        return piece
    try:
        held = (
            remove_branch(root, piece.branch)
            if piece.tree is None
            else _without_tree(root, seen, piece.tree, piece)
        )
    except (MusicianError, OSError) as error:
        held = (str(error),)
    return replace(piece, in_itself=held)


def _without_tree(root: Root, seen: _Survey, tree: Path, piece: Piece) -> tuple[str, ...]:
    """Remove a tree; return what keeps it at the last moment."""
    held = seen.users_of(tree)
    if held:
        return held
    if not piece.branch:
        remove_scratch_tree(root, tree.name)
        return ()
    return remove_trial_tree(root, piece.branch) if piece.is_trial else remove_tree(root, tree, piece.branch)
