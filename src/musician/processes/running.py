"""A program we started and hold: its identity, its end, its lease.

The lease is a pipe on the program's standard input that we alone hold the other end of. Nothing needs to be
sent: when we die, in whatever way, the program reads the end of it (``lease`` is the program's side). Waiting
for the end never takes another's exit status, and dropping a :class:`Running` never kills the program.
"""

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio

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

    def kill(self) -> None:
        """SIGKILL, to the program alone; nothing if it has ended."""
        self._popen.send_signal(signal.SIGKILL)

    def let_go(self) -> None:
        """End the lease, as our death would."""
        if self._popen.stdin is not None:
            self._popen.stdin.close()

    def write(self, data: bytes) -> None:
        """Into the lease; nothing if the program has ended."""
        assert self._popen.stdin is not None  # noqa: S101
        with contextlib.suppress(BrokenPipeError):
            self._popen.stdin.write(data)


def start_leased(argv: Sequence[str], *, cwd: Path | None, env: Mapping[str, str], output: int) -> Running:
    """Start ``argv`` in its own session with a lease on standard input and both outputs to one descriptor.

    OSError if it cannot be started. No other descriptor of ours reaches it.
    """
    popen = subprocess.Popen(
        argv,
        bufsize=0,
        cwd=cwd,
        env=env,
        stdin=subprocess.PIPE,
        stdout=output,
        stderr=output,
        start_new_session=True,
    )
    return Running(popen)


def start_program(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], log: Path) -> Running:
    """Launch a musician: a process that outlives nobody but is killed by nobody either.

    ``env`` is its whole environment (the mark of the lease is added); its output is appended to ``log``,
    which is made with its folder. When we let go or die it notices by ``lease.lease_lost()`` and winds down
    by itself. OSError if it cannot be started or the log cannot be opened.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab", buffering=0) as output:
        return start_leased(argv, cwd=cwd, env={**env, LEASE_VARIABLE: "1"}, output=output.fileno())


async def _may_have_ended(pid: int) -> None:
    """Return once a child of ours, not yet reaped, has ended; or soon, where the system reports no ends."""
    try:
        descriptor = os.pidfd_open(pid)
    except (AttributeError, OSError):
        await anyio.sleep(_POLL_S)
        return
    try:
        await anyio.wait_readable(descriptor)
    finally:
        os.close(descriptor)
