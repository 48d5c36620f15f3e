"""Runs programs that cannot outlive us.

Every program an agent or a verification executes goes through here: on a leash, in a session of its own, its
identity recorded before its first instruction (D23), its output streamed as it comes. :func:`run_program` plays
one to its end within a time limit; :func:`speak_with` is for what is spoken with meanwhile, such as JSON-RPC. However
either ends (the program's end, the time limit, cancellation, an error in a callback, our own SIGKILL), nothing that
came out of the program runs on; see ``leash`` for how.
"""

import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import anyio
import anyio.lowlevel
import anyio.to_thread

from musician.processes import leash
from musician.processes.ending import end_tree
from musician.processes.fork_server import Forked
from musician.processes.identity import ProcessIdentity
from musician.processes.kennel import start_on_leash
from musician.processes.lease import LEASE_VARIABLE
from musician.processes.sandbox import Own, confined
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
    """Run ``argv`` in ``cwd`` with exactly ``env`` (but ``NOT_HANDED_ON``) and an empty standard input, to its end.

    ``cwd`` is the top of the tree it works in: git called there looks no further up. A tree whose ``.git`` is gone is
    no repository then, where it would else be a part of the one around it (D31).
    ``on_process`` is awaited before anything of the program is executed; the identity is that of the leash,
    whose session holds the program, and ending it (``ending.end_tree``) ends all. ``on_output`` gets both
    outputs as they were written, in order, in raw chunks of at most ``CHUNK_BYTES``; while it is slow the
    program waits, and the time limit, which counts from the program's start, goes on. A program or folder
    that is not there ends with 127 and a line in the output, one that cannot be executed with 126. Background
    processes a program leaves are ended with it. Cancelled, or out of time, all of it is gone within 2 s.
    """
    nothing = os.open(os.devnull, os.O_RDONLY)
    async with _on_leash(argv, cwd, env, heard=nothing) as (running, output, _):
        await on_process(running.identity)
        running.go()
        with anyio.move_on_after(time_limit_s):
            await _stream(output, running, on_output)
            return Ended(returncode=await running.wait(), timed_out=False)
        await _end(running)
        with anyio.move_on_after(_DRAIN_LIMIT_S):
            await _stream(output, running, on_output)
        return Ended(returncode=running.returncode or _KILLED, timed_out=True)


class Spoken:
    """A program that is spoken with: what it hears, says and complains of are three pipes.

    One at a time reads each; any number write, and each of their texts arrives whole.
    """

    def __init__(self, running: Forked, heard: int, output: int, errors: int, closing: ExitStack) -> None:
        self._running, self._heard, self._output, self._errors = running, heard, output, errors
        self._closing = closing
        self._writing = anyio.Lock()

    @property
    def identity(self) -> ProcessIdentity:
        """Of its leash."""
        return self._running.identity

    async def write(self, data: bytes) -> None:
        """Onto its standard input; BrokenPipeError if it listens no more."""
        async with self._writing:
            rest = memoryview(data)
            while rest:
                await anyio.lowlevel.checkpoint()
                try:
                    rest = rest[os.write(self._heard, rest) :]
                except BlockingIOError:
                    await anyio.wait_writable(self._heard)

    def end_input(self) -> None:
        """Nothing more is said to it; to be called once, when nobody writes."""
        self._closing.close()
        self._heard = -1

    async def read(self) -> bytes:
        """What it said next, at most ``CHUNK_BYTES``; nothing once it has ended and all is read."""
        return await _next_chunk(self._output, self._running)

    async def read_error(self) -> bytes:
        """As :meth:`read`, of its standard error. A program whose complaints nobody reads comes to a stop."""
        return await _next_chunk(self._errors, self._running)

    async def wait(self) -> int:
        """Its exit code, or 128 + N if signal N ended it; to be awaited by one at a time."""
        return await self._running.wait()


@asynccontextmanager
async def speak_with(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    on_process: Callable[[ProcessIdentity], Awaitable[None]],
    keeps: Own | None = None,
) -> AsyncIterator[Spoken]:
    """Run ``argv`` as :func:`run_program` does, and speak with it; leaving ends it and all that came out of it.

    ``keeps`` is what a sandbox leaves it of its own.
    """
    heard, ours = os.pipe()
    with ExitStack() as closing:
        closing.callback(os.close, ours)
        os.set_blocking(ours, False)
        async with _on_leash(argv, cwd, env, heard=heard, apart=True, keeps=keeps) as (
            running,
            output,
            errors,
        ):
            await on_process(running.identity)
            running.go()
            yield Spoken(running, ours, output, errors, closing)


@asynccontextmanager
async def _on_leash(
    argv: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    *,
    heard: int,
    apart: bool = False,
    keeps: Own | None = None,
) -> AsyncIterator[tuple[Forked, int, int]]:
    """A leash that waits for its go, with the pipes of the program's output and errors: one, if not ``apart``.

    ``heard`` is the program's from here on.
    """
    with ExitStack() as ours, ExitStack() as theirs:
        theirs.callback(os.close, heard)
        output, said = _pipe_to_us(ours, theirs)
        errors, complained = _pipe_to_us(ours, theirs) if apart else (output, said)
        kept = {name: value for name, value in env.items() if name not in NOT_HANDED_ON}
        ceilings = [kept.get(CEILING, ""), os.fspath(cwd.resolve().parent)]
        kept[CEILING] = os.pathsep.join(filter(None, ceilings))
        walled = confined(argv, cwd=os.fspath(cwd), env=kept, keeps=keeps)
        running = start_on_leash(walled, cwd=os.fspath(cwd), env=kept, pipes=(heard, said, complained))
        theirs.close()
        try:
            yield running, output, errors
        finally:
            await _end(running)
            running.close()


def _pipe_to_us(ours: ExitStack, theirs: ExitStack) -> tuple[int, int]:
    end, other = os.pipe()
    ours.callback(os.close, end)
    theirs.callback(os.close, other)
    os.set_blocking(end, False)
    return end, other


async def _stream(output: int, running: Forked, on_output: Callable[[bytes], Awaitable[None]]) -> None:
    while chunk := await _next_chunk(output, running):
        await on_output(chunk)


async def _next_chunk(pipe: int, running: Forked) -> bytes:
    """Nothing once the pipe has ended; or once the leash has, and nothing is left to read."""
    ended = False
    while True:
        await anyio.lowlevel.checkpoint()
        try:
            return os.read(pipe, CHUNK_BYTES)
        except BlockingIOError:
            if ended:
                return b""
            with anyio.move_on_after(_LOOK_S):
                await anyio.wait_readable(pipe)
            ended = running.returncode is not None


async def _end(running: Forked) -> None:
    """Let the leash end the tree; do it ourselves if it does not, or was killed."""
    with anyio.CancelScope(shield=True):
        running.let_go()
        with anyio.move_on_after(_END_LIMIT_S):
            await running.wait()
        if running.returncode is None or running.returncode >= _SIGNALLED:
            await anyio.to_thread.run_sync(lambda: end_tree(running.identity, grace_s=0))
            with anyio.move_on_after(_END_LIMIT_S):
                await running.wait()
