"""Where leashes come from: one small process that forks one for each program, so that none has to start Python.

The kennel is a convenience, not a safeguard. A leash hangs on the pipe between it and us, which the kennel does not
have: if the kennel is killed, what runs goes on and ends as before, and the next program finds a new kennel. It ends
by itself when we do. Starting one takes as long as starting a leash took; a fork takes a few milliseconds.

A request is the folder, the program and its whole environment, with five descriptors: the leash's end of its pipe,
the program's standard input, output and error, and where the leash writes how it ended. The answer is the leash's
pid, given once it leads a session of its own.
"""

import atexit
import contextlib
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence

import anyio

from musician.processes import leash
from musician.processes.identity import ProcessIdentity, identify

_ANSWER_LIMIT_S = 20.0
"""A kennel that does not answer is given up for a new one."""
_END_LIMIT_S = 1.0
_KILLED = 128 + 9


class Leashed:
    """A leash with its program. Close it in the end, or leak two descriptors."""

    def __init__(self, pid: int, *, pipe: int, status: int) -> None:
        self.identity: ProcessIdentity = identify(pid)
        self._pipe: int | None = pipe
        self._status = status
        self._code: int | None = None

    async def wait(self) -> int:
        """As :attr:`returncode`, once it is known; to be awaited by one at a time."""
        while self.returncode is None:
            await anyio.wait_readable(self._status)
        self.let_go()
        return self.returncode

    @property
    def returncode(self) -> int | None:
        """The program's exit code, 128 + N if signal N ended it or its leash; None while it runs."""
        if self._code is None:
            with contextlib.suppress(BlockingIOError):
                said = os.read(self._status, 1)
                self._code = said[0] if said else _KILLED
        return self._code

    def go(self) -> None:
        """Let the program begin; nothing if the leash has ended."""
        assert self._pipe is not None  # noqa: S101
        with contextlib.suppress(BrokenPipeError):
            os.write(self._pipe, leash.GO)

    def let_go(self) -> None:
        """Have the leash end all it holds, as our death would."""
        pipe, self._pipe = self._pipe, None
        if pipe is not None:
            os.close(pipe)

    def close(self) -> None:
        self.let_go()
        os.close(self._status)


def start_on_leash(
    argv: Sequence[str], *, cwd: str, env: Mapping[str, str], pipes: tuple[int, int, int]
) -> Leashed:
    """A leash that waits for :meth:`Leashed.go` to play ``argv`` in ``cwd`` with exactly ``env``.

    ``pipes`` are its standard input, output and error; no other descriptor of ours reaches it. OSError if no leash can
    be started.
    """
    with contextlib.ExitStack() as theirs, contextlib.ExitStack() as ours:
        lease, pipe = os.pipe()
        theirs.callback(os.close, lease)
        ours.callback(os.close, pipe)
        status, told = os.pipe()
        theirs.callback(os.close, told)
        ours.callback(os.close, status)
        os.set_blocking(status, False)
        body = leash.packed([os.fsencode(cwd), *map(os.fsencode, argv)], env)
        pid = _kennel.ask(body, (lease, *pipes, told))
        leashed = Leashed(pid, pipe=pipe, status=status)
        ours.pop_all()
        return leashed


def close_kennel() -> None:
    """End the kennel, if there is one; leashes that still hold something are not touched."""
    _kennel.close()


class _Kennel:
    """This process's; started when it is first asked."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._line: socket.socket | None = None

    def ask(self, body: bytes, descriptors: tuple[int, ...]) -> int:
        with self._lock:
            try:
                return self._asked(body, descriptors)
            except (OSError, EOFError):  # it was killed, or is stuck
                self._end()
            try:
                return self._asked(body, descriptors)
            except EOFError as error:
                raise OSError("no leash can be had") from error

    def close(self) -> None:
        with self._lock:
            self._end()

    def _asked(self, body: bytes, descriptors: tuple[int, ...]) -> int:
        line = self._line or self._started()
        head = len(body).to_bytes(leash.HEAD_BYTES, "big")
        socket.send_fds(line, [head], descriptors)
        line.sendall(body)
        answer = b""
        while len(answer) < leash.HEAD_BYTES:
            part = line.recv(leash.HEAD_BYTES - len(answer))
            if not part:
                raise EOFError
            answer += part
        return int.from_bytes(answer, "big")

    def _started(self) -> socket.socket:
        line, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, "-I", "-S", leash.__file__, leash.KENNEL]
            self._process = subprocess.Popen(
                command, stdin=theirs.fileno(), stdout=subprocess.DEVNULL, start_new_session=True
            )
        line.settimeout(_ANSWER_LIMIT_S)
        self._line = line
        return line

    def _end(self) -> None:
        process, self._process = self._process, None
        line, self._line = self._line, None
        if line is not None:
            line.close()
        if process is not None:
            try:
                process.wait(_END_LIMIT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def forget(self) -> None:
        """In a fork of ours: the kennel is our parent's."""
        line, self._line, self._process = self._line, None, None
        self._lock = threading.Lock()
        if line is not None:
            line.close()


_kennel = _Kennel()
atexit.register(close_kennel)
os.register_at_fork(after_in_child=_kennel.forget)
