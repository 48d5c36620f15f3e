"""How git remembers linked working trees, read from its own files.

A linked tree is two files that name each other: ``<common>/worktrees/<id>/gitdir`` and ``<tree>/.git``. They are read
here directly (gitrepository-layout(5)), because ``git worktree list`` leaves out the broken ones, and those are what
recovery is about. Only entries of trees and branches of ours are ever dropped, one at a time: ``git worktree prune``
would also drop the user's.
"""

import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from musician.protocol.errors import GitFailed, TreeNotReady
from musician.trees.branches import full_ref, partial_ref
from musician.trees.git import GIT_TIMEOUT_S, Completed, Git, git_dir_of
from musician.trees.root import Root

_PACE_S = 0.05
_PATIENCE_S = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8)
"""Between two attempts, while somebody else's tree is half made: git needs milliseconds for one."""


@contextmanager
def alone_with_trees(root: Root) -> Iterator[None]:
    """Hold the lock under which our processes make, mend or remove working trees of this repository.

    The kernel releases the lock when its holder ends. One thread must not enter twice: it would wait for
    itself, until :class:`TreeNotReady` says that it has waited for as long as a git command may take.
    """
    place = root.locks_dir / "trees"
    root.locks_dir.mkdir(parents=True, exist_ok=True)
    with place.open("a") as file:
        deadline = time.monotonic() + GIT_TIMEOUT_S
        while not takes_lock(file.fileno()):
            if time.monotonic() > deadline:
                raise TreeNotReady(
                    reason=f"another process has been making working trees for {GIT_TIMEOUT_S:.0f} s",
                    paths=(str(place),),
                    remedy=f"see which one holds that file (fuser {place}), and end it",
                )
            time.sleep(_PACE_S)
        yield


def takes_lock(descriptor: int) -> bool:
    """Take an open file's lock, unless somebody else has it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def run_patiently(root: Root, *arguments: str) -> Completed:
    """Run a git command that reads all trees' registrations, and wait for a registration that is just being
    written.

    Git fails on an entry that somebody, the user or an agent, has half written. It has failed for another
    reason only if the same entries were there, all whole, before it began and after: a look only afterwards
    would find whole what was finished meanwhile.
    """
    before: dict[Path, bool] = {}
    for pause_s in _PATIENCE_S:
        time.sleep(pause_s)
        try:
            return Git(root.path).run(*arguments)
        except GitFailed as error:
            failure = error
        after = {entry: is_whole(entry) for entry in entries(root)}
        if pause_s and after == before and all(after.values()):
            break
        before = after
    raise failure


def is_whole(entry: Path) -> bool:
    """Whether a tree's entry is complete: every file that git reads of it is written."""
    try:
        return all((entry / name).stat().st_size for name in ("commondir", "gitdir", "HEAD"))
    except OSError:
        return False


def entries(root: Root) -> list[Path]:
    """Return the folders in which git remembers linked trees, the user's too."""
    return sorted((root.git_dir / "worktrees").glob("*"))


def entry_of(root: Root, tree: Path) -> Path | None:
    """Return the folder in which git remembers ``tree``, whether the tree exists or not."""
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
    """Return the working tree (main or linked) in which ``branch`` is checked out; None if in none that
    exists.

    For a branch of ours, entries of trees that are gone are dropped on the way; so is what a copied
    repository remembers of the original's trees.
    """
    answer = run_patiently(root, "for-each-ref", "--format=%(worktreepath)", full_ref(branch)).stdout
    recorded = os.fsdecode(answer.removesuffix(b"\n"))
    if not recorded:
        return None
    tree = Path(os.path.realpath(recorded))
    if tree == root.git_dir:  # git says this of a main tree whose git folder lies elsewhere
        tree = root.path
    entry, leads_to = entry_of(root, tree), git_dir_of(tree)
    if tree == root.path or (entry is not None and leads_to == entry):
        return tree
    if tree.exists() and (leads_to is None or not leads_to.exists()):
        return tree  # a broken link: left for its owner to mend
    if entry is not None and branch.startswith("musician/"):
        drop_entry(root, entry)
    return None


def unlock_unfinished(entry: Path) -> None:
    """Remove the lock with which ``git worktree add`` guards a tree it has not finished."""
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
