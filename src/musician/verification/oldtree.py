"""Lays a git tree out in a scratch folder to run tests in: the old code, or the present code with its old
tests.

The folder is filled from git's objects by an index of its own: nothing is registered in the repository, the task's
tree is not touched, and a kill leaves a folder in the temporary directory and nothing else. Rules:

- Virtual environments and ``node_modules`` that lie in the task's tree are linked in, and what the plan has given it;
  they are no part of the code.
- A guard in the interpreter prevents imports from the task's present tree.
"""

import os
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread

from musician.processes.scratch import ScratchFolder
from musician.protocol.values import dataclass
from musician.trees.git import Git
from musician.trees.left_out import given_to
from musician.verification.change import ChangedFile
from musician.verification.commands import CommandRunner

_IMPORT_ROOTS = ("src", "")
"""Where code is imported from that an editable install points at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OldTree:
    """``path`` is its top; ``env`` is what commands in it get in addition."""

    path: Path
    env: Mapping[str, str]


@asynccontextmanager
async def old_tree(
    tree: Path,
    base: str,
    *,
    put: bytes = b"",
    env: Mapping[str, str],
    folder: str = "",
) -> AsyncIterator[OldTree]:
    """Yield tree ``base`` with the ``put`` files in it (:func:`as_now`); ``env`` is the commands' usual
    environment.

    Commands run in its ``folder``: a virtual environment there is linked in, and code imported from there, as
    at the top. :class:`GitFailed` if ``base`` is not there.
    """
    scratch = ScratchFolder("before")
    folders = tuple(dict.fromkeys((folder, "")))
    try:
        top = Path(scratch.name).resolve() / "tree"
        await anyio.to_thread.run_sync(partial(_lay_out, tree, base, put, top, folders))
        yield OldTree(path=top, env=_environment(tree, top, env, folders))
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(scratch.cleanup)


@asynccontextmanager
async def runner_beside(
    runner: CommandRunner, base: str, *, put: bytes = b"", folder: str = "", time_limit_s: float | None = None
) -> AsyncIterator[CommandRunner]:
    """Yield a runner in such a tree, whose time is counted as ``runner``'s."""
    async with old_tree(runner.tree, base, put=put, env=runner.env, folder=folder) as old:
        limit_s = runner.time_limit_s if time_limit_s is None else min(time_limit_s, runner.time_limit_s)
        there = runner.elsewhere(old.path, env=old.env, time_limit_s=limit_s)
        yield there
        runner.spent_s += there.spent_s


def _lay_out(tree: Path, base: str, put: bytes, top: Path, folders: Iterable[str]) -> None:
    git = Git(tree, top.with_name("index"))
    git.run("read-tree", base)
    if put:
        git.run("update-index", "-z", "--index-info", stdin=put)
    top.mkdir()
    git.run("checkout-index", "--all", "--quiet", f"--prefix={top}/")
    for found in (each for folder in folders for each in _environments(tree / folder)):
        there = top / found.relative_to(tree)
        if there.parent.is_dir() and not os.path.lexists(there):
            there.symlink_to(found, target_is_directory=True)

    for given in map(os.fsdecode, given_to(tree)):  # what the plan has given the tree (`copy:`, `share:`)
        if (top / given).parent.is_dir() and not os.path.lexists(top / given):
            (top / given).symlink_to(tree / given)


def as_now(files: Iterable[ChangedFile]) -> bytes:
    """Return the index entries of files as they are now, to put into a tree; deleted files are taken out."""
    return b"".join(_entry(file, file.mode, file.new_blob) for file in files)


def as_before(files: Iterable[ChangedFile]) -> bytes:
    """Return the index entries of files as they were; files that did not exist are taken out."""
    return b"".join(_entry(file, file.old_mode, file.old_blob) for file in files)


def _entry(file: ChangedFile, mode: str, blob: str) -> bytes:
    head = f"{mode} {blob}" if blob else f"0 {'0' * len(file.old_blob or file.new_blob)}"
    return f"{head}\t{file.path}\0".encode("utf-8", "surrogateescape")


def _environments(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    with os.scandir(folder) as entries:
        return [
            Path(entry.path)
            for entry in entries
            if entry.name == "node_modules" or os.path.isfile(os.path.join(entry.path, "pyvenv.cfg"))
        ]


def _environment(tree: Path, top: Path, env: Mapping[str, str], folders: Iterable[str]) -> dict[str, str]:
    given = env.get("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    theirs = [_moved(path, tree, top) for path in given.split(os.pathsep) if path]
    possible = (top / folder / root for folder in folders for root in _IMPORT_ROOTS)
    roots = [str(root) for root in possible if root.is_dir()]
    return {
        "MUSICIAN_TREE_NOW": str(tree),
        "PYTHONPATH": os.pathsep.join([*theirs, *roots]),
    }


def _moved(path: str, tree: Path, top: Path) -> str:
    """Translate a folder of the task's tree into the same folder in the old one."""
    real, now = Path(os.path.realpath(path)), Path(os.path.realpath(tree))
    return str(top / real.relative_to(now)) if os.path.isabs(path) and real.is_relative_to(now) else path
