"""The user's own tree and branch: what must hold before a run, and the one move made after it (D24).

Refuses to change anything the user has not committed. Rules: a run starts from a commit, never from a dirty or
unborn HEAD; the user's branch moves only by fast-forward while its tree has no changes, and where that is not
possible the answer is the command a person can give.
"""

import shlex
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from musician.protocol.errors import GitFailed, TreeNotReady
from musician.trees.branches import full_ref
from musician.trees.git import Git, shown
from musician.trees.registrations import checked_out_at
from musician.trees.root import Root
from musician.trees.status import Status, operation_under_way, read_status, tree_git_dir

__all__ = ["Base", "FastForward", "Move", "check_base", "fast_forward"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """Where a run starts: ``branch`` is None on a detached HEAD, ``commit`` a full id."""

    branch: str | None
    commit: str


class Move(StrEnum):
    """What became of the user's branch."""

    MOVED = "moved"
    ALREADY = "already"
    NOT_POSSIBLE = "not_possible"


@dataclass(frozen=True, slots=True, kw_only=True)
class FastForward:
    """``reason`` and ``command`` (what to run by hand) are set when the move was not possible."""

    move: Move
    reason: str | None = None
    command: str | None = None


def check_base(root: Root) -> Base:
    """The branch and commit a run starts from; :class:`TreeNotReady` naming every path that forbids it (D24).

    Changed and untracked files both count, because neither would be in the tasks' trees. Ignored files and the
    program's own (``.musician/``, ``temp``, reports and proposals not yet committed) do not.
    """
    tree = root.users_tree
    _check_lock(tree)
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
    dirty = _dirty_paths(root, status)
    if dirty:
        raise TreeNotReady(
            reason="the working tree has changes that the tasks would not see",
            paths=dirty,
            remedy="commit them, or put them aside with git stash -u",
        )
    return Base(branch=status.branch, commit=status.head)


def fast_forward(root: Root, base_branch: str | None, integration: str) -> FastForward:
    """Move ``base_branch`` to the tip of branch ``integration``, by fast-forward or not at all (D24).

    In the main tree, or the one the user stands in, it takes a tree without changes (an untracked file forbids it
    only if it would be overwritten); a branch checked out nowhere is moved by its old value; one checked out
    elsewhere is left alone.
    """
    git = Git(root.path)
    tip = git.commit_id(full_ref(integration))
    if tip is None:
        raise TreeNotReady(
            reason=f"there is no branch {integration!r}", paths=(), remedy="run the plan again"
        )
    if base_branch is None:
        return _not_possible("HEAD was on no branch at the start", "git merge", integration)
    old = git.commit_id(full_ref(base_branch))
    if old is None:
        return _not_possible(
            f"branch {base_branch!r} is gone", f"git branch {shlex.quote(base_branch)}", integration
        )
    if git.succeeds("merge-base", "--is-ancestor", tip, old):
        return FastForward(move=Move.ALREADY)
    if not git.succeeds("merge-base", "--is-ancestor", old, tip):
        return _not_possible(
            f"branch {base_branch!r} has got commits of its own",
            f"git checkout {shlex.quote(base_branch)} && git merge",
            integration,
        )
    place = checked_out_at(root, base_branch)
    if place is None:
        git.run("update-ref", "-m", "musician: fast-forward", full_ref(base_branch), tip, old)
        return FastForward(move=Move.MOVED)
    by_hand = f"git -C {shlex.quote(str(place))} merge --ff-only"
    if place not in (root.path, root.users_tree):
        return _not_possible(f"branch {base_branch!r} is checked out in {place}", by_hand, integration)
    return _forward_tree(place, by_hand, integration)


def _forward_tree(tree: Path, by_hand: str, integration: str) -> FastForward:
    status = read_status(tree)
    changes = status.changed + status.deleted + status.unmerged
    under_way = operation_under_way(tree_git_dir(tree))
    if under_way is not None:
        return _not_possible(f"a {under_way} is under way in the working tree", by_hand, integration)
    if changes:
        named = ", ".join(shown(path) for path in changes[:10])
        return _not_possible(
            f"the working tree has changes that are not committed ({named})", by_hand, integration
        )
    try:
        _check_lock(tree)
        Git(tree).run("merge", "--ff-only", "--quiet", integration)
    except (GitFailed, TreeNotReady) as error:
        return _not_possible(error.message, by_hand, integration)
    return FastForward(move=Move.MOVED)


def _not_possible(reason: str, command: str, integration: str) -> FastForward:
    return FastForward(move=Move.NOT_POSSIBLE, reason=reason, command=f"{command} {shlex.quote(integration)}")


def _check_lock(tree: Path) -> None:
    """In the user's tree a lock is reported, never removed: another git may be at work."""
    lock = tree_git_dir(tree) / "index.lock"
    if lock.exists():
        raise TreeNotReady(
            reason="another git command is at work in the working tree, or one was killed",
            paths=(str(lock),),
            remedy="wait for it; if none runs, remove that file",
        )


def _dirty_paths(root: Root, status: Status) -> tuple[str, ...]:
    own = tuple(
        bytes(folder.relative_to(root.path)) + b"/"
        for folder in (root.musician_dir, root.temp_dir, root.reports_dir, root.proposals_dir)
    )
    strangers = [
        path for path in status.untracked + status.nested if not path.startswith(own) and path != b"temp"
    ]
    return tuple(shown(path) for path in [*status.changed, *status.deleted, *status.unmerged, *strangers])
