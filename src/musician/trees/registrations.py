"""How git remembers linked working trees, read from its own files.

A linked tree is two files that name each other: ``<common>/worktrees/<id>/gitdir`` and ``<tree>/.git``. They are read
here directly (gitrepository-layout(5)), because ``git worktree list`` leaves out the broken ones, and those are what
recovery is about. Only entries of trees and branches of ours are ever dropped, one at a time: ``git worktree prune``
would also drop the user's.
"""

import os
import shutil
from pathlib import Path

from musician.protocol.errors import TreeNotReady
from musician.trees.branches import full_ref, partial_ref
from musician.trees.git import Git, git_dir_of
from musician.trees.root import Root

__all__ = ["checked_out_at", "clear_stale_locks", "drop_entry", "entry_of", "unlock_unfinished"]


def entry_of(root: Root, tree: Path) -> Path | None:
    """The folder in which git remembers ``tree``, whether the tree exists or not."""
    wanted = os.path.realpath(tree)
    for entry in sorted((root.git_dir / "worktrees").glob("*/gitdir")):
        recorded = _recorded_tree(entry.parent)
        if recorded is not None and os.path.realpath(recorded) == wanted:
            return entry.parent
    return None


def drop_entry(root: Root, entry: Path) -> None:
    """Forget one linked tree that no longer exists. Its branch and commits stay."""
    if entry.parent != root.git_dir / "worktrees":
        raise ValueError(f"{entry} is no entry of {root.git_dir}")
    shutil.rmtree(entry)


def checked_out_at(root: Root, branch: str) -> Path | None:
    """The working tree (main or linked) in which ``branch`` is checked out; None if in none that exists.

    For a branch of ours, what git remembers of a tree that is gone is dropped on the way; so is what a copied
    repository remembers of the original's trees.
    """
    answer = Git(root.path).run("for-each-ref", "--format=%(worktreepath)", full_ref(branch)).stdout
    recorded = os.fsdecode(answer.removesuffix(b"\n"))
    if not recorded:
        return None
    tree = Path(os.path.realpath(recorded))
    entry, leads_to = entry_of(root, tree), git_dir_of(tree)
    if tree == root.path or (entry is not None and leads_to == entry):
        return tree
    if tree.exists() and (leads_to is None or not leads_to.exists()):
        return tree  # a broken link is its owner's to mend
    if entry is not None and branch.startswith("musician/"):
        drop_entry(root, entry)
    return None


def unlock_unfinished(entry: Path) -> None:
    """End the lock with which ``git worktree add`` guards a tree it has not finished."""
    lock = entry / "locked"
    if lock.is_file() and lock.read_bytes().strip() == b"initializing":
        lock.unlink()


def clear_stale_locks(root: Root, tree: Path, branch: str) -> None:
    """Remove the locks that a killed git left in a tree of ours and on its branch.

    To be called only while no process of ours runs there. :class:`TreeNotReady` if the tree is not one of ours: there
    a lock may be held by a git that lives.
    """
    git_dir = git_dir_of(tree)
    if (
        git_dir is None
        or git_dir.parent != root.git_dir / "worktrees"
        or not _is_inside(tree, root.trees_dir)
    ):
        raise TreeNotReady(
            reason="not one of the program's own working trees",
            paths=(str(tree),),
            remedy="leave it to its owner",
        )
    partials = (root.git_dir / partial_ref(branch, "any")).parent
    for lock in [
        *git_dir.glob("*.lock"),
        *partials.glob("*.lock"),
        root.git_dir / (full_ref(branch) + ".lock"),
    ]:
        lock.unlink(missing_ok=True)


def _recorded_tree(entry: Path) -> Path | None:
    try:
        recorded = os.fsdecode((entry / "gitdir").read_bytes().removesuffix(b"\n"))
    except OSError:
        return None
    return (entry / recorded).parent if recorded else None


def _is_inside(path: Path, folder: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))
