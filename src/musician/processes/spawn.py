"""Running a program that cannot outlive us.

Every program an agent or a verification executes goes through here: on a leash, in a session of its own, its
identity recorded before its first instruction (D23), its output streamed as it comes, its time limited.
However the call ends (the program's end, the time limit, cancellation, an error in a callback, our own
SIGKILL), nothing that came out of the program runs on; see ``leash`` for how.
"""

import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.lowlevel
import anyio.to_thread

from musician.processes import leash
from musician.processes.ending import end_tree
from musician.processes.identity import ProcessIdentity
from musician.processes.kennel import Leashed, start_on_leash
from musician.processes.lease import LEASE_VARIABLE
from musician.protocol.values import dataclass

CHUNK_BYTES = 64 * 1024
"""The most that one call of ``on_output`` gets."""

CEILING = "GIT_CEILING_DIRECTORIES"

NOT_HANDED_ON = frozenset(
    {
        LEASE_VARIABLE,
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_DIR",
        "GIT_INDEX_FILE",
        "GIT_NAMESPACE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_WORK_TREE",
    }
)
"""The mark of a lease, and what a git hook has in its environment: it would aim a program's git at the repository of
the hook, and not at the tree it works in."""

_END_LIMIT_S = leash.GRACE_S + 0.7
"""How long the leash gets to end the tree before we do it ourselves; both together stay under 2 s."""
_DRAIN_LIMIT_S = 1.0
"""How long the last output of a program that ran out of time is read."""
_SIGNALLED = 128
_KILLED = _SIGNALLED + signal.SIGKILL
_LOOK_S = 1.0
"""How often a silent program is looked at: an escaped heir may hold its output open after its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """``returncode`` is the program's, or 128 + N if signal N ended it; if timed out, it means nothing."""

    returncode: int
    timed_out: bool


async def run_program(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    on_output: Callable[[bytes], Awaitable[None]],
    time_limit_s: float,
    on_process: Callable[[ProcessIdentity], Awaitable[None]],
) -> Ended:
    """Run ``argv`` in ``cwd`` with exactly ``env`` (but ``NOT_HANDED_ON``) and an empty standard input.

    ``cwd`` is the top of the tree it works in: git called there looks no further up. A tree whose ``.git`` is gone is
    no repository then, where it would else be a part of the one around it (D31).
    ``on_process`` is awaited before anything of the program is executed; the identity is that of the leash,
    whose session holds the program, and ending it (``ending.end_tree``) ends all. ``on_output`` gets both
    outputs as they were written, in order, in raw chunks of at most ``CHUNK_BYTES``; while it is slow the
    program waits, and the time limit, which counts from the program's start, goes on. A program or folder
    that is not there ends with 127 and a line in the output, one that cannot be executed with 126. Background
    processes a program leaves are ended with it. Cancelled, or out of time, all of it is gone within 2 s.
    """
    kept = {name: value for name, value in env.items() if name not in NOT_HANDED_ON}
    ceilings = [kept.get(CEILING, ""), os.fspath(cwd.resolve().parent)]
    kept[CEILING] = os.pathsep.join(filter(None, ceilings))
    async with _on_leash(argv, os.fspath(cwd), kept) as (running, output):
        await on_process(running.identity)
        running.go()
        with anyio.move_on_after(time_limit_s):
            await _stream(output, running, on_output)
            return Ended(returncode=await running.wait(), timed_out=False)
        await _end(running)
        with anyio.move_on_after(_DRAIN_LIMIT_S):
            await _stream(output, running, on_output)
        return Ended(returncode=running.returncode or _KILLED, timed_out=True)


@asynccontextmanager
async def _on_leash(
    argv: Sequence[str], cwd: str, env: Mapping[str, str]
) -> AsyncIterator[tuple[Leashed, int]]:
    output, theirs = os.pipe()
    try:
        os.set_blocking(output, False)
        try:
            running = start_on_leash(argv, cwd=cwd, env=env, output=theirs)
        finally:
            os.close(theirs)
        try:
            yield running, output
        finally:
            await _end(running)
            running.close()
    finally:
        os.close(output)


async def _stream(output: int, running: Leashed, on_output: Callable[[bytes], Awaitable[None]]) -> None:
    """Until the output ends; or until the leash has, and nothing is left to read."""
    ended = False
    while True:
        await anyio.lowlevel.checkpoint()
        try:
            chunk = os.read(output, CHUNK_BYTES)
        except BlockingIOError:
            if ended:
                return
            with anyio.move_on_after(_LOOK_S):
                await anyio.wait_readable(output)
            ended = running.returncode is not None
            continue
        if not chunk:
            return
        await on_output(chunk)


async def _end(running: Leashed) -> None:
    """Let the leash end the tree; do it ourselves if it does not, or was killed."""
    with anyio.CancelScope(shield=True):
        running.let_go()
        with anyio.move_on_after(_END_LIMIT_S):
            await running.wait()
        if running.returncode is None or running.returncode >= _SIGNALLED:
            await anyio.to_thread.run_sync(lambda: end_tree(running.identity, grace_s=0))
            with anyio.move_on_after(_END_LIMIT_S):
                await running.wait()
