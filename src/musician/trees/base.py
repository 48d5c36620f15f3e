"""The user's own tree and branch: what must hold before a run, and the one move made after it (D24).

Refuses to change anything the user has not committed. Rules: a run starts from a commit, never from a dirty or
unborn HEAD; the user's branch moves only by fast-forward while its tree has no changes, and where that is not
possible the answer is the command a person can give. What git does not track is the user's too: it refuses no run, it
is not in the tasks' trees, and nothing is put in its place (D31). Reports and proposals are written by the program: a
user who has committed those of one plan is not held up by those of the next, which have the same names.
"""

import shlex
from enum import StrEnum
from pathlib import Path

from musician.protocol.errors import GitFailed, TreeNotReady
from musician.protocol.values import dataclass
from musician.trees.branches import full_ref
from musician.trees.forward import check_lock, holds_nothing_else, move_tree, settle
from musician.trees.git import Git, named, shown, tree_git_dir
from musician.trees.obstacles import changed_between, hidden_edits, obstacles
from musician.trees.registrations import checked_out_at
from musician.trees.root import Root
from musician.trees.status import operation_under_way, read_status

_NAMED_MAX = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """Where a run starts: ``branch`` is None on a detached HEAD, ``commit`` a full id."""

    branch: str | None
    commit: str


class Move(StrEnum):
    """What became of the user's branch. NOT_POSSIBLE: something of the user's prevents the move; FAILED: it
    should have moved.
    """

    MOVED = "moved"
    ALREADY = "already"
    NOT_POSSIBLE = "not_possible"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class FastForward:
    """``reason`` is set if the branch was not moved; ``command`` is set if a person can still move it by
    hand.
    """

    move: Move
    reason: str | None = None
    command: str | None = None


def check_base(root: Root) -> Base:
    """Return the branch and commit a run starts from. :class:`TreeNotReady` names every path that forbids it
    (D24).

    Uncommitted changes forbid it: the tasks would not see them, and the branch could not be moved over them.
    """
    tree = root.users_tree
    check_lock(tree)
    under_way = operation_under_way(tree_git_dir(tree))
    if under_way is not None:
        raise TreeNotReady(
            reason=f"a {under_way} is under way",
            paths=(),
            remedy=f"finish it, or end it with git {under_way} --abort",
        )
    status = read_status(tree)
    if status.head is None:
        raise TreeNotReady(
            reason=f"branch {status.branch!r} has no commit yet", paths=(), remedy="make a first commit"
        )
    found = (*status.changed, *status.deleted, *status.unmerged, *status.submodules)
    dirty = tuple(shown(path) for path in found if not path.startswith(_written_by_us(root, tree)))
    if dirty:
        raise TreeNotReady(
            reason="the working tree has changes that the tasks would not see",
            paths=dirty,
            remedy="commit them, or put them aside with git stash",
        )
    return Base(branch=status.branch, commit=status.head)


def untracked(root: Root) -> tuple[str, ...]:
    """Return the untracked paths in the user's tree, without the program's own files that are not excluded or
    committed yet.
    """
    own = _inside(root, root.musician_dir, root.temp_dir, root.reports_dir, root.proposals_dir)
    status = read_status(root.users_tree)
    found = status.untracked + status.nested + status.stray
    return tuple(shown(path) for path in found if not path.startswith(own) and path != b"temp")


def fast_forward(
    root: Root,
    base_branch: str | None,
    integration: str,
    *,
    tip: str | None = None,
    begun_at: str | None = None,
) -> FastForward:
    """Move ``base_branch`` to the tip of branch ``integration``, by fast-forward or not at all (D24).

    ``tip`` is the commit instead, where somebody else has moved that branch. ``begun_at`` is the commit that the plan
    began at: a branch that no longer has it was set back, and to move it would undo that.

    In the main tree, or the one the user stands in, it takes a tree without changes, and nothing untracked or ignored
    where the plan has something; a branch checked out nowhere is moved by its old value; one checked out elsewhere is
    left alone.
    """
    git = Git(root.path)
    tip = tip or git.commit_id(full_ref(integration))
    if tip is None:
        raise TreeNotReady(
            reason=f"there is no branch {integration!r}", paths=(), remedy="run the plan again"
        )
    if base_branch is None:
        return _not_possible("HEAD was on no branch at the start", "git merge", integration)
    place = checked_out_at(root, base_branch)
    mine = place in (root.path, root.users_tree)
    by_hand = f"git -C {shlex.quote(str(place or root.path))} merge --ff-only --no-overwrite-ignore"
    try:
        if place is not None and mine:
            settle(place)
        old = git.commit_id(full_ref(base_branch))
        if old is None:
            return _not_possible(
                f"branch {base_branch!r} is gone", f"git branch {shlex.quote(base_branch)}", integration
            )
        if git.holds(old, tip):
            return FastForward(move=Move.ALREADY)
        if begun_at is not None and not git.holds(old, begun_at):
            return _not_possible(
                f"branch {base_branch!r} no longer has the commit that the plan began at ({begun_at:.12}): it was set"
                " back, amended or rebased meanwhile, and a merge brings what it had back beside what it has",
                f"git checkout {shlex.quote(base_branch)} && git merge",
                integration,
            )
        if not git.holds(tip, old):
            return _not_possible(
                f"branch {base_branch!r} has got commits of its own",
                f"git checkout {shlex.quote(base_branch)} && git merge",
                integration,
            )
        if place is None:
            _move_ref(git, base_branch, old, tip)
        elif not mine:
            return _not_possible(f"branch {base_branch!r} is checked out in {place}", by_hand, integration)
        elif holds_nothing_else(place, tip):
            _move_ref(git, base_branch, old, tip)
        else:
            kept_back = _held_back(place, old, tip, ours=_written_by_us(root, place))
            if kept_back:
                return _not_possible(kept_back, by_hand, integration)
            move_tree(place, base_branch, old, tip)
    except (GitFailed, TreeNotReady, OSError) as error:
        reason = error.message if isinstance(error, GitFailed | TreeNotReady) else str(error)
        return FastForward(move=Move.FAILED, reason=reason, command=f"{by_hand} {shlex.quote(integration)}")
    return FastForward(move=Move.MOVED)


def _written_by_us(root: Root, tree: Path) -> tuple[bytes, ...]:
    """Return how the paths of reports and proposals begin, in the tree where the program writes them."""
    if tree != root.path:
        return ()
    return _inside(root, root.reports_dir, root.proposals_dir)


def _inside(root: Root, *folders: Path) -> tuple[bytes, ...]:
    """Return how git's paths of what lies in these folders begin."""
    return tuple(bytes(folder.relative_to(root.path)) + b"/" for folder in folders)


def _held_back(tree: Path, old: str, tip: str, *, ours: tuple[bytes, ...]) -> str:
    """Return the reason why the user's files forbid a move of this tree; "" if there is none.

    What is ``ours`` forbids it only where the plan has changed the same file.
    """
    under_way = operation_under_way(tree_git_dir(tree))
    if under_way is not None:
        return f"a {under_way} is under way in the working tree"
    status = read_status(tree)
    planned = changed_between(Git(tree), old, tip)
    touched = {each.path for each in planned}
    changes = tuple(
        path
        for path in status.changed + status.deleted + status.unmerged + hidden_edits(tree, planned)
        if path in touched or not path.startswith(ours)
    )
    if changes:
        return f"the working tree has changes that are not committed ({named(changes, _NAMED_MAX)})"
    in_the_way = obstacles(tree, planned)
    if in_the_way:
        return (
            "what git does not track in your tree would be overwritten, for the plan has made something of that name"
            f" ({named(in_the_way, _NAMED_MAX)}): move it away first"
        )
    return ""


def _move_ref(git: Git, branch: str, old: str, tip: str) -> None:
    git.run("update-ref", "-m", "musician: fast-forward", full_ref(branch), tip, old)


def _not_possible(reason: str, command: str, integration: str) -> FastForward:
    return FastForward(move=Move.NOT_POSSIBLE, reason=reason, command=f"{command} {shlex.quote(integration)}")
