"""Work that no finished step covers: kept under a ref, then taken out of the tree (D24).

After a crash the next session starts from the last finished step. Rules: nothing leaves the tree that is not in the
ref, because the same function does both and removes exactly what it saved; every call can be repeated after a kill;
ignored files and nested repositories stay where they are; no ref is ever overwritten. None is dropped while its plan is
played; of a plan that is complete each task keeps its newest.
"""

import os
import shutil
from collections import Counter
from contextlib import suppress
from pathlib import Path

from musician.protocol.errors import TreeNotReady
from musician.protocol.values import dataclass
from musician.trees.branches import PARTIAL, full_ref, move_refs, partial_ref
from musician.trees.git import Git, shown, tree_git_dir
from musician.trees.registrations import clear_stale_locks
from musician.trees.root import Root
from musician.trees.snapshot import snapshot
from musician.trees.status import Status, operation_under_way, read_status
from musician.trees.submodules import bring_back
from musician.trees.worktree import Worktree

PARTIALS_MAX = 1000
"""Refs kept for one claim epoch of one task; one more is refused rather than one lost."""

PARTIALS_KEPT = 10
"""Refs kept for each task of a plan that is complete, the newest."""

MARKS = "musician-setup-*"
"""Files in a tree's git folder that say which set-up commands have succeeded in it."""

LEAVES = "leaves files that git sees\n"
"""How such a mark begins where the command's work is in the tree like anybody's, and goes with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAside:
    """``ref`` holds what was taken out, None if there was nothing; ``left`` are nested repositories, which
    stay as they were.
    """

    ref: str | None
    left: tuple[str, ...]


def save_partial(worktree: Worktree, *, task_id: str, epoch: int) -> str | None:
    """Keep the tree as it is under ``refs/musician/partial/<plan>/<task>/<epoch>``; None if it equals its commit.

    The same state is kept once; another one of the same epoch gets ``-2``, ``-3`` and so on. HEAD, the index and the
    files are not touched.
    """
    status = read_status(worktree.path)
    return _keep(worktree, status, task_id=task_id, epoch=epoch) if status.is_dirty else None


def set_aside_partial(
    worktree: Worktree, *, task_id: str, epoch: int, to: str | None = None, folder: str = PARTIAL
) -> SetAside:
    """Save what is unfinished, then bring the tree back to ``to`` (by default the tip of its branch).

    Ends a half-done merge, rebase or bisect, and puts HEAD on the task's branch again, wherever an agent left it; its
    commits beyond ``to`` are kept by the ref too, which is in this ``folder``. To be called only while no
    process runs in the tree.
    """
    clear_stale_locks(worktree.root, worktree.path, worktree.branch)
    status = read_status(worktree.path)
    on_branch = status.branch == worktree.branch
    # On the branch, HEAD is its tip; nobody moves either in between.
    tip = status.head if on_branch and to is None else None
    target = tip or Git(worktree.path).commit_id(to or full_ref(worktree.branch))
    if target is None:
        raise TreeNotReady(
            reason=f"{to or worktree.branch!r} is no commit", paths=(), remedy="make the working tree anew"
        )
    ref = None
    if status.is_dirty or status.head != target:
        ref = _keep(worktree, status, task_id=task_id, epoch=epoch, folder=folder)
    discard_to(worktree, target, saved=ref, on_branch=on_branch)
    return SetAside(ref=ref, left=tuple(shown(path) for path in status.nested + status.submodules))


def uncommit(worktree: Worktree, *, task_id: str, epoch: int, to: str) -> str | None:
    """Turn commits that an agent made itself since ``to``, for an item that is not done, back into unfinished
    work.

    Returns the ref that keeps these commits, None if there are none. The files stay as they are.
    To be called only while no process runs in the tree.
    """
    clear_stale_locks(worktree.root, worktree.path, worktree.branch)
    git, status = Git(worktree.path), read_status(worktree.path)
    is_ahead = status.branch == worktree.branch and status.head not in (None, to)
    if not is_ahead or not git.holds(str(status.head), to):
        return None
    ref = _keep(worktree, status, task_id=task_id, epoch=epoch)
    git.run("reset", "--mixed", "--quiet", to)
    return ref


def prune_partials(root: Root, plan_id: str) -> tuple[str, ...]:
    """Drop all but each task's newest :data:`PARTIALS_KEPT`; return the refs that were dropped.

    To be called once the plan is complete: what was set aside on the way is then in the finished work, or was not
    wanted in it.
    """
    git = Git(root.path)
    listed = git.text("for-each-ref", "--format=%(refname)", partial_ref(plan_id, "")).splitlines()
    kept: Counter[str] = Counter()
    gone = []
    for ref in sorted(listed, key=_age, reverse=True):
        task = ref.rpartition("/")[0]
        kept[task] += 1
        if kept[task] > PARTIALS_KEPT:
            gone.append(ref)
    if gone:
        move_refs(git, *(f"delete {ref}" for ref in gone))
    return tuple(gone)


def discard_to(
    worktree: Worktree, target: str, *, saved: str | None, detached: bool = False, on_branch: bool = False
) -> None:
    """Make tree and index equal to commit ``target``; untracked files go only if commit ``saved`` holds them.

    HEAD is put on the worktree's branch, unless it is ``on_branch`` already, or on the commit itself if ``detached``.
    """
    git = Git(worktree.path)
    if saved is not None:
        # Then the reset below removes the files of that commit, and only those.
        git.run("read-tree", "--reset", saved)
        _forget_set_up(tree_git_dir(worktree.path))
    _end_operation(git, tree_git_dir(worktree.path))
    if detached:
        git.run("update-ref", "--no-deref", "HEAD", target)
    elif not on_branch:
        git.run("symbolic-ref", "-m", "musician: restore", "HEAD", full_ref(worktree.branch))
    git.run("reset", "--hard", "--quiet", target)
    bring_back(worktree.path)


def drop_empty_folders(tree: Path) -> None:
    """Remove untracked folders in which there is no file: no commit holds them, and they are in a fresh start's way."""
    for path in Git(tree).records("ls-files", "--others", "--directory", "--exclude-standard", "-z"):
        folders = list(os.walk(os.path.join(os.fsencode(tree), path), topdown=False))
        if not any(files for _, _, files in folders):
            for folder, _, _ in folders:
                with suppress(OSError):
                    os.rmdir(folder)


def _keep(worktree: Worktree, status: Status, *, task_id: str, epoch: int, folder: str = PARTIAL) -> str:
    git = Git(worktree.path)
    tree = snapshot(worktree.path, status)
    parents = () if status.head is None else ("-p", status.head)
    message = f"{task_id}: unfinished work of claim {epoch}\n"
    commit = git.text("commit-tree", tree, *parents, "-F", "-", stdin=message.encode())
    for number in range(1, PARTIALS_MAX + 1):
        ref = partial_ref(worktree.branch, str(epoch) if number == 1 else f"{epoch}-{number}", folder=folder)
        there = git.commit_id(ref)
        if there is None:
            git.run("update-ref", ref, commit, "0" * len(commit))
            return ref
        if _content(git, there) == _content(git, commit):
            return ref
    raise TreeNotReady(
        reason=f"{PARTIALS_MAX} unfinished states of claim {epoch} of {task_id} are kept already",
        paths=(str(worktree.path),),
        remedy="look at what keeps failing there, then delete refs under refs/musician/partial",
    )


def _age(ref: str) -> tuple[int, ...]:
    """Return a sort key that grows with the time of keeping: ``…/3-2`` is the second state of claim 3."""
    label = ref.rpartition("/")[2]
    return tuple(int(part) for part in label.split("-") if part.isdecimal())


def _forget_set_up(git_dir: Path) -> None:
    """Note that the set-up must run again: what it left was taken out with everything else."""
    for mark in git_dir.glob(MARKS):
        if mark.read_bytes().startswith(LEAVES.encode()):
            mark.unlink()


def _content(git: Git, commit: str) -> str:
    """Return tree and parents of a commit, which identify a kept state apart from its time."""
    return git.text("log", "-1", "--format=%T %P", commit)


def _end_operation(git: Git, git_dir: Path) -> None:
    under_way = operation_under_way(git_dir)
    if under_way == "bisect":
        # By hand: `git bisect` does not hear core.hooksPath and would run the user's hooks.
        for ref in git.text("for-each-ref", "--format=%(refname)", "refs/bisect").splitlines():
            git.run("update-ref", "-d", ref)
        for left in git_dir.glob("BISECT_*"):
            left.unlink()
    if under_way == "rebase":
        # It puts what the rebase itself had stashed on the stash list; a broken one it cannot end.
        git.run("rebase", "--quit", accept=(0, 1, 128))
    for name in ("rebase-merge", "rebase-apply", "sequencer"):
        shutil.rmtree(git_dir / name, ignore_errors=True)
