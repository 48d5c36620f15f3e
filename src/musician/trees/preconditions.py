"""Checks what a repository must fulfil before any session begins in it, with git's own remedy if it does not
(D31).

Changes nothing. Problems are found here once, before anything is made, and not by each session again.
"""

import os
import shlex
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from musician.protocol.errors import GitFailed, TreeNotReady
from musician.trees.branches import check_names
from musician.trees.filters import check_filters
from musician.trees.git import Git, prove, tree_git_dir
from musician.trees.registrations import entries, is_whole
from musician.trees.root import Root

_LEAST_FREE_BYTES = 1024 * 1024
"""Below it nothing is begun: git needs some for a commit, and the database for a page of its log."""


def check_repository(root: Root, branches: Iterable[str]) -> None:
    """Raise :class:`TreeNotReady` if our working trees cannot be made and used in this repository.
    ``branches`` will be made.
    """
    check_layout(root)
    check_names(Git(root.path), branches)
    check_filters(root)
    stuck = tuple(_unwritable(root))
    if stuck:
        raise TreeNotReady(
            reason="what a run writes cannot be written",
            paths=stuck,
            remedy="make it writable for you and free space, or run it as its owner",
        )


def check_layout(root: Root) -> None:
    """Check that we are in a working tree, and that git in a linked tree would work on that tree."""
    git, config = Git(root.path, finds=True), ("config", "--file", str(root.git_dir / "config"))
    shared = git.run(*config, "--get", "core.worktree", accept=(0, 1))
    extension = ("--type=bool", "--get", "extensions.worktreeConfig")
    if shared.returncode == 0 and git.run(*config, *extension, accept=(0, 1)).stdout.strip() == b"true":
        value = shlex.quote(os.fsdecode(shared.stdout.removesuffix(b"\n")))
        here = f"git -C {shlex.quote(str(root.path))} config"
        raise TreeNotReady(
            reason="core.worktree is in the configuration that all working trees share, with extensions.worktreeConfig:"
            " git in any of them would work on the main one",
            paths=(str(root.git_dir / "config"),),
            remedy=f"move it to the main tree's own, as git asks for: {here} --worktree core.worktree {value}"
            f" && {here} --local --unset core.worktree",
        )
    if Git(root.users_tree, finds=True).run("rev-parse", "--is-inside-work-tree").stdout.strip() != b"true":
        linked = [
            entry.read_text().strip().removesuffix("/.git")
            for entry in root.git_dir.glob("worktrees/*/gitdir")
        ]
        raise TreeNotReady(
            reason="there is no working tree here: the repository is bare, and its trees are linked ones",
            paths=tuple(linked),
            remedy="go into one of them, or make one with `git worktree add`",
        )


def broken_trees(root: Root) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the working trees and is not repaired automatically: the problem, and the
    command that repairs it.

    A tree of ours that is gone, or has lost its link, is not reported: the next session repairs it.
    """
    for entry in entries(root):
        if not is_whole(entry):
            yield (
                f"a working tree was begun and not registered whole ({entry}): git stops at it",
                f"if nobody is making one just now: rm -r {shlex.quote(str(entry))}",
            )
    for place in sorted(root.trees_dir.glob("*/*")):
        if not os.path.lexists(place / ".git"):
            continue
        try:
            prove(place)
            why = "" if tree_git_dir(place) in entries(root) else "its .git is another repository"
        except (TreeNotReady, GitFailed) as error:
            why = error.message
        if why:
            move = f"mv {shlex.quote(str(place))} {shlex.quote(f'{place}.moved')}"
            yield f"{place} is no working tree of this repository ({why})", f"keep what is in it: {move}"


def written(root: Root) -> Iterator[Path]:
    """Yield the folders and files that a run writes. Missing ones are left out: they are made later."""
    git_dir, own, database = root.git_dir, root.musician_dir, root.database
    git = [git_dir, *(git_dir / name for name in ("objects", "refs", "refs/heads", "worktrees"))]
    folders = [own, root.locks_dir, root.trees_dir, root.logs_dir, own / "scratch", root.temp_dir]
    files = [database.with_name(database.name + end) for end in ("", "-wal", "-shm", "-gate")]
    reports = [root.reports_dir, root.proposals_dir]
    yield from (path for path in (*folders, *files, *reports, *git) if path.exists())


def _unwritable(root: Root) -> Iterator[str]:
    """Yield what a run writes and this user cannot."""
    yield from (str(path) for path in written(root) if not os.access(path, os.W_OK))
    for path in (root.git_dir, root.musician_dir):
        if path.exists() and shutil.disk_usage(path).free < _LEAST_FREE_BYTES:
            yield f"{path}: no space left on its disk"
