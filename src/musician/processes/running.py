"""A musician we launched and hold: its identity, its end, its lease.

The lease is a pipe on the program's standard input that we alone hold the other end of. Nothing needs to be
sent: when we die, in whatever way, the program reads the end of it (``lease`` is the program's side). Waiting
for the end never takes another's exit status, and dropping a :class:`Running` never kills the program.
"""

import contextlib
import io
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio

from musician.processes.fork_server import Forked, ForkServer
from musician.processes.identity import ProcessIdentity, identify
from musician.processes.lease import LEASE_VARIABLE

_POLL_S = 0.05
"""Between two looks at a program where the system cannot report its end."""


class Running:
    """A started program in a session of its own. Await :meth:`wait` in the end, or leak a zombie."""

    def __init__(self, popen: "subprocess.Popen[bytes]") -> None:
        self._popen = popen
        self.identity: ProcessIdentity = identify(popen.pid)

    async def wait(self) -> int:
        """Its exit code, or 128 + N if signal N ended it. May be awaited by several, and again."""
        while self.returncode is None:
            await _may_have_ended(self._popen.pid)
        self.let_go()
        return self.returncode

    @property
    def returncode(self) -> int | None:
        """As :meth:`wait`; None while it runs."""
        code = self._popen.poll()
        return code if code is None or code >= 0 else 128 - code

    def terminate(self, by: signal.Signals = signal.SIGTERM) -> None:
        """A signal that asks it to end, to the program alone; nothing if it has ended."""
        self._popen.send_signal(by)

    def let_go(self) -> None:
        """End the lease, as our death would."""
        if self._popen.stdin is not None:
            self._popen.stdin.close()


class RunningFork:
    """As :class:`Running`, of a fork: what waits for it is its server, or nobody."""

    def __init__(self, forked: Forked) -> None:
        self.identity: ProcessIdentity = forked.identity
        self._forked = forked
        self._process: int | None = os.pidfd_open(forked.identity.pid)
        self._code = 0

    async def wait(self) -> int:
        """Its exit code, or 128 + SIGKILL if a signal ended it. May be awaited by several, and again."""
        if self._process is not None:
            await _ended(os.dup(self._process))
            self._let_end()
        return self._code

    def terminate(self, by: signal.Signals = signal.SIGTERM) -> None:
        """A signal that asks it to end, to the program alone; nothing if it has ended."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._process, by)

    def _let_end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ChildProcessError):  # it becomes our child only if its server was killed
            os.waitid(os.P_PIDFD, process, os.WEXITED | os.WNOHANG)
        os.close(process)
        self._code = self._forked.returncode or 0
        self._forked.close()


def fork_program(
    server: ForkServer, words: Sequence[str], *, cwd: Path, env: Mapping[str, str], log: Path
) -> RunningFork:
    """As :func:`start_program`, with words that the server makes a program of."""
    with _appending(log) as output, open(os.devnull, "rb") as nothing:
        pipes = (nothing.fileno(), output.fileno(), output.fileno())
        forked = server.start(words, cwd=os.fspath(cwd), env={**env, LEASE_VARIABLE: "1"}, pipes=pipes)
    with contextlib.ExitStack() as undo:
        undo.callback(forked.close)
        running = RunningFork(forked)
        undo.pop_all()
    forked.go()
    return running


def start_program(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], log: Path) -> Running:
    """Launch a musician: a process that outlives nobody but is killed by nobody either.

    ``env`` is its whole environment (the mark of the lease is added); its output is appended to ``log``,
    which is made with its folder. When we let go or die it notices by ``lease.lease_lost()`` and winds down
    by itself. No other descriptor of ours reaches it. OSError if it cannot be started or the log cannot be opened.
    """
    with _appending(log) as output:
        popen = subprocess.Popen(
            argv,
            bufsize=0,
            cwd=cwd,
            env={**env, LEASE_VARIABLE: "1"},
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        return Running(popen)


def _appending(log: Path) -> io.FileIO:
    log.parent.mkdir(parents=True, exist_ok=True)
    return io.FileIO(log, "ab")


async def _may_have_ended(pid: int) -> None:
    """Return once a child of ours, not yet reaped, has ended; or soon, where the system reports no ends."""
    try:
        descriptor = os.pidfd_open(pid)
    except (AttributeError, OSError):
        await anyio.sleep(_POLL_S)
        return
    await _ended(descriptor)


async def _ended(process: int) -> None:
    """Of a descriptor that is nobody else's: two cannot wait for the same one."""
    try:
        await anyio.wait_readable(process)
    finally:
        os.close(process)
