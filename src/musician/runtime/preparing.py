"""Runs a plan's set-up command once in each working tree, before anything is played or verified there (DESIGN
7).

Tasks that share the user's tree may need it at the same time: one sets it up, the others wait. What the
command leaves and git does not ignore is treated as work in the tree: kept with the next step, or set aside
with an unfinished one, and then the command runs again.
"""

import hashlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import anyio
from anyio.to_thread import run_sync

from musician.processes.identity import ProcessIdentity
from musician.processes.output import one_line
from musician.processes.sandbox import confining
from musician.processes.spawn import run_program
from musician.trees.cleaning import ignored_in, note_start
from musician.trees.git import tree_git_dir
from musician.trees.partial import LEAVES, MARKS
from musician.trees.registrations import takes_lock
from musician.trees.status import read_status

_MOST_OUTPUT_BYTES = 4096
_MOST_QUOTED_CHARS = 300
_LOOK_EVERY_S = 0.2
"""The kernel tells nobody that a file's lock is free, short of a thread that cannot be cancelled."""


async def prepare_tree(
    command: str | None,
    *,
    tree: Path,
    env: Mapping[str, str],
    time_limit_s: float,
    on_process: Callable[[ProcessIdentity], Awaitable[None]],
    on_begin: Callable[[str], Awaitable[None]] | None = None,
) -> str:
    """Run ``command`` unless it has succeeded in this tree before; return what went wrong, "" if nothing.

    ``on_begin`` is called with the command if it is run: it may take minutes.
    """
    if command is None:
        return ""
    mark = _mark(tree, command)
    if mark.exists():
        return ""
    mark.parent.mkdir(parents=True, exist_ok=True)
    async with alone_with(mark.with_name(mark.name + "-lock")):
        if mark.exists():
            return ""
        if on_begin is not None:
            await on_begin(command)
        async with noting_ignored(tree):
            problem = await _run(
                command, tree=tree, env=env, time_limit_s=time_limit_s, on_process=on_process
            )
        if not problem:
            leaves = LEAVES if await run_sync(_is_dirty, tree) else ""
            mark.write_text(leaves + command, encoding="utf-8")
        return problem


@asynccontextmanager
async def noting_ignored(tree: Path) -> AsyncIterator[None]:
    """Note that what the block leaves in a tree of ours, and git ignores, is nobody's work: cleaning asks."""
    is_own = (tree / ".git").is_file()  # of the user's own tree nothing is ever removed
    before = await run_sync(ignored_in, tree) if is_own else {}
    try:
        yield
    finally:
        if is_own:
            with anyio.CancelScope(shield=True):
                await run_sync(note_start, tree, before)


def _mark(tree: Path, command: str) -> Path:
    """Return the file that marks this command's success in this tree; it is removed with the tree."""
    digest = hashlib.sha256(command.encode()).hexdigest()[:32]
    return tree_git_dir(tree) / MARKS.replace("*", digest)


def _is_dirty(tree: Path) -> bool:
    return read_status(tree).is_dirty


@asynccontextmanager
async def alone_with(lock: Path) -> AsyncIterator[None]:
    """Wait for a file's lock, and hold it."""
    with lock.open("w") as file:  # closing the file releases the lock, and so does our end
        while not takes_lock(file.fileno()):
            await anyio.sleep(_LOOK_EVERY_S)
        yield


@contextmanager
def locked_now(lock: Path) -> Iterator[bool]:
    """Hold a file's lock if nobody else does; yield whether it is ours."""
    with lock.open("w") as file:
        yield takes_lock(file.fileno())


async def _run(
    command: str,
    *,
    tree: Path,
    env: Mapping[str, str],
    time_limit_s: float,
    on_process: Callable[[ProcessIdentity], Awaitable[None]],
) -> str:
    heard = bytearray()

    async def keep(chunk: bytes) -> None:
        heard.extend(chunk)
        del heard[:-_MOST_OUTPUT_BYTES]

    with confining(None):
        ended = await run_program(
            ["bash", "-c", command],
            cwd=tree,
            env={**os.environ, **env},
            on_output=keep,
            time_limit_s=time_limit_s,
            on_process=on_process,
        )
    if ended.timed_out or ended.returncode != 0:
        last = heard.decode("utf-8", "replace").strip().splitlines() or [command]
        return f"set-up ended with exit code {ended.returncode}: {one_line(last[-1], _MOST_QUOTED_CHARS)}"
    return ""
