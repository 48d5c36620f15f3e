"""A working tree per task, made once and found again after anything (D24, B34).

Knows the places ``.musician/trees/<plan>/<task>`` and what can be wrong with them. Refuses to take or to remove what
it did not make. Rules:

- A tree that is there is used as it is, with whatever an agent left in it; setting that aside is another's duty.
- A tree deleted by hand, moved with its repository, or left half made by a kill is mended without asking.
- A folder that is something else is named and left alone. Nothing that somebody worked in is removed by force.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from musician.protocol.errors import TreeNotReady
from musician.protocol.values import dataclass
from musician.trees.branches import branch_of, create_branch, full_ref
from musician.trees.git import Git, git_dir_of, prove, tree_git_dir
from musician.trees.registrations import (
    alone_with_trees,
    checked_out_at,
    clear_stale_locks,
    drop_entry,
    entry_of,
    is_whole,
    run_patiently,
    unlock_unfinished,
)
from musician.trees.root import Root


@dataclass(frozen=True, slots=True, kw_only=True)
class Worktree:
    """A tree of ours that exists; ``branch`` is without ``refs/heads/``."""

    root: Root
    path: Path
    branch: str


def place_of(root: Root, branch: str) -> Path:
    """Return where the tree of a branch of ours is."""
    return root.trees_dir / branch.removeprefix("musician/")


def ensure_worktree(root: Root, plan_id: str, task_id: str, start: str) -> Worktree:
    """Return the working tree of a task, on its branch; both are created from ``start`` if they are missing.

    Called only while no process runs in that tree. :class:`TreeNotReady` when something else stands in the place, or
    the branch is checked out elsewhere; :class:`BadId` before anything is touched.
    """
    branch = branch_of(plan_id, task_id)
    with _reporting(root.locks_dir), alone_with_trees(root):
        return _ensure(root, branch, start)


def _ensure(root: Root, branch: str, start: str) -> Worktree:
    git = Git(root.path)
    path = place_of(root, branch)
    if not _mend(root, path):
        create_branch(git, branch, start)
        elsewhere = checked_out_at(root, branch)
        if elsewhere is not None:
            raise TreeNotReady(
                reason=f"branch {branch!r} is checked out elsewhere",
                paths=(str(elsewhere),),
                remedy="check out another branch there",
            )
        _add(root, path, branch)
    elif git.commit_id(full_ref(branch)) is None:
        create_branch(git, branch, start)
    return _finish(root, path, branch)


def ensure_detached_tree(root: Root, branch: str, commit: str) -> Worktree:
    """Return a tree for trial merges; its HEAD is detached, so that a trial moves no branch."""
    path = place_of(root, branch)
    with _reporting(root.locks_dir), alone_with_trees(root):
        if not _mend(root, path):
            _add(root, path, "--detach", commit)
        return _finish(root, path, branch)


def remove_detached_tree(root: Root, branch: str) -> None:
    """Remove a tree for trial merges with all that is in it: nobody works there. Nothing to do if there is
    none.
    """
    path = place_of(root, branch)
    with _reporting(root.locks_dir), alone_with_trees(root):
        if os.path.lexists(path) and _mend(root, path):
            clear_stale_locks(root, path, branch)
            run_patiently(root, "worktree", "remove", "--force", str(path))
        if path.parent.is_dir() and not any(path.parent.iterdir()):
            path.parent.rmdir()


def _mend(root: Root, path: Path) -> bool:
    """Return whether a usable tree of ours is at ``path``; if not, the place is free afterwards."""
    leads_to = git_dir_of(path)
    entry = entry_of(root, path)
    if leads_to is None and entry is not None and _holds_files(path):
        # Its .git file was deleted, by hand or by a removal that was killed; the files are still its own.
        _relink(path, entry)
        leads_to = entry
    elif leads_to is not None and not leads_to.exists() and entry is None:
        # The repository was moved. Never where the link leads somewhere: it may be to the repository copied from.
        Git(root.path).run("worktree", "repair", str(path), accept=(0, 1, 128))
        leads_to, entry = git_dir_of(path), entry_of(root, path)
    if entry is not None and leads_to == entry and is_whole(entry):
        unlock_unfinished(entry)
        prove(path)
        return True
    _vacate(root, path, leads_to, entry)
    return False


def relink(worktree: Worktree) -> None:
    """Restore a tree's link to its repository that somebody removed or changed while working there. Its files
    are untouched.

    :class:`TreeNotReady` if somebody has made a repository in its place.
    """
    dot_git = worktree.path / ".git"
    entry = entry_of(worktree.root, worktree.path)
    if entry is None or git_dir_of(worktree.path) == entry:
        return
    if dot_git.is_dir() and not dot_git.is_symlink():
        raise TreeNotReady(
            reason="a repository was begun in the working tree, in the place of its link to yours",
            paths=(str(dot_git),),
            remedy="move it away",
        )
    with _reporting(worktree.path):
        dot_git.unlink(missing_ok=True)
    _relink(worktree.path, entry)


def _vacate(root: Root, path: Path, leads_to: Path | None, entry: Path | None) -> None:
    """Free a place that holds nothing but a broken link; :class:`TreeNotReady` for anything else."""
    broken = leads_to is not None and (not leads_to.exists() or leads_to == entry)
    if _holds_files(path) or path.is_symlink() or (leads_to is not None and not broken):
        raise TreeNotReady(
            reason="something that is not this task's working tree stands in its place",
            paths=(str(path),),
            remedy="move it away",
        )
    with _reporting(path):
        if broken:
            (path / ".git").unlink()
        if entry is not None:
            drop_entry(root, entry)


def _holds_files(path: Path) -> bool:
    """Whether anything is there besides a ``.git`` file."""
    if path.is_dir():
        return any(child.name != ".git" or child.is_dir() for child in path.iterdir())
    return os.path.lexists(path)


def _relink(path: Path, entry: Path) -> None:
    with _reporting(path):
        (path / ".git").write_bytes(b"gitdir: " + bytes(entry) + b"\n")


def _add(root: Root, path: Path, *what: str) -> None:
    """Register the tree; its files come in :func:`_finish`, so that a kill between the two is seen."""
    with _reporting(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    options = [part for part in what if part.startswith("-")]
    revisions = [part for part in what if not part.startswith("-")]
    run_patiently(root, "worktree", "add", "--no-checkout", *options, str(path), *revisions)
    try:
        prove(path)
    except TreeNotReady:
        entry = tree_git_dir(path)
        (path / ".git").unlink()
        path.rmdir()
        drop_entry(root, entry)
        raise
    # Git hands the user's sparse patterns on; a task may have to work where they leave nothing.
    (tree_git_dir(path) / "info" / "sparse-checkout").unlink(missing_ok=True)


def _finish(root: Root, path: Path, branch: str) -> Worktree:
    """Check the files out if that was never completed, and put the link to ``temp`` in place."""
    clear_stale_locks(root, path, branch)
    # Git writes the index last: without one, no checkout ever ended here and no agent ever ran here.
    if not (tree_git_dir(path) / "index").exists():
        Git(path).run("reset", "--hard", "--quiet")
    _link_temp(root, path)
    return Worktree(root=root, path=path, branch=branch)


def _link_temp(root: Root, path: Path) -> None:
    """``temp`` of a tree is the main tree's (D25), unless the repository has something of its own there."""
    link = path / "temp"
    with _reporting(link):
        Path(os.path.realpath(root.temp_dir)).mkdir(parents=True, exist_ok=True)
        if _is_own_link(root, link):
            return
        if link.is_symlink() and not link.exists() and not _is_tracked(path, "temp"):
            link.unlink()  # left behind by a repository that was moved
        if not os.path.lexists(link) and not _is_tracked(path, "temp"):
            link.symlink_to(root.temp_dir, target_is_directory=True)


def _is_own_link(root: Root, link: Path) -> bool:
    return link.is_symlink() and os.readlink(link) == str(root.temp_dir)


def _is_tracked(path: Path, name: str) -> bool:
    return bool(Git(path).records("ls-files", "-z", "--", name))


@contextmanager
def _reporting(path: Path) -> Iterator[None]:
    """Turn errors of the file system into one clear line."""
    try:
        yield
    except OSError as error:
        raise TreeNotReady(
            reason=f"the working tree cannot be set up: {error.strerror}",
            paths=(str(path),),
            remedy="make the place writable, or free space, and run it again",
        ) from error
