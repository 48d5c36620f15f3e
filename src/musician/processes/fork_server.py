"""A fork server: one small process that forks another for each request, so that none has to start Python.

A convenience, not a safeguard. What was forked hangs on the pipe between it and us, which the server does not have: if
the server is killed, what runs goes on and ends as before, and the next request finds a new server. It ends by itself
when we do. Starting one takes as long as starting a process of its kind took; a fork takes a few milliseconds.

A request is the folder, the words and the whole environment, with five descriptors: the fork's end of its pipe, the
standard input, output and error of what it plays, and where it tells how that ended. The answer is its pid, given once
it leads a session of its own. Nothing is played before it is told to (D23). The other side is ``leash.serve``.

``multiprocessing.forkserver`` is no such thing: it listens on a socket that has a name, it lives as long as any of
its children, these have its folder, environment and outputs, and it brings a process besides that tracks resources.
"""

import atexit
import contextlib
import os
import socket
import subprocess
import threading
from collections.abc import Mapping, Sequence

import anyio
import psutil

from musician.processes import leash
from musician.processes.identity import ProcessIdentity, identify

_ANSWER_LIMIT_S = 20.0
"""A server that does not answer is given up for a new one."""
_END_LIMIT_S = 1.0
_KILLED = 128 + 9


class Forked:
    """A fork that waits for :meth:`go`. Close it in the end, or leak two descriptors."""

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
        """The exit code it has reported, 128 + SIGKILL if it ended without one; None before its end."""
        if self._code is None:
            with contextlib.suppress(BlockingIOError):
                said = os.read(self._status, 1)
                self._code = said[0] if said else _KILLED
        return self._code

    def go(self) -> None:
        """Let it begin; nothing if it has ended."""
        assert self._pipe is not None  # noqa: S101
        with contextlib.suppress(BrokenPipeError):
            os.write(self._pipe, leash.GO)

    def let_go(self) -> None:
        """End its lease, as our death would."""
        pipe, self._pipe = self._pipe, None
        if pipe is not None:
            os.close(pipe)

    def close(self) -> None:
        self.let_go()
        os.close(self._status)


class ForkServer:
    """Of ``command``, started when it is first asked; to be made once, by a module."""

    def __init__(self, command: Sequence[str]) -> None:
        atexit.register(self.close)
        os.register_at_fork(after_in_child=self._forget)
        self._command = command
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._line: socket.socket | None = None

    def start(
        self, words: Sequence[str], *, cwd: str, env: Mapping[str, str], pipes: tuple[int, int, int]
    ) -> Forked:
        """A fork that waits for :meth:`Forked.go` to play ``words`` in ``cwd`` with exactly ``env``.

        ``pipes`` are its standard input, output and error; no other descriptor of ours reaches it. OSError if none can
        be had.
        """
        with contextlib.ExitStack() as theirs, contextlib.ExitStack() as ours:
            lease, pipe = os.pipe()
            theirs.callback(os.close, lease)
            ours.callback(os.close, pipe)
            status, told = os.pipe()
            theirs.callback(os.close, told)
            ours.callback(os.close, status)
            os.set_blocking(status, False)
            body = leash.packed([os.fsencode(cwd), *map(os.fsencode, words)], env)
            try:
                forked = Forked(self._ask(body, (lease, *pipes, told)), pipe=pipe, status=status)
            except psutil.NoSuchProcess as error:
                raise OSError("it was killed before it could be recorded") from error
            ours.pop_all()
            return forked

    def warm(self) -> None:
        """Start it without waiting until it can be asked. OSError if it cannot be started."""
        with self._lock:
            if self._line is None:
                self._started()

    def _ask(self, body: bytes, descriptors: tuple[int, ...]) -> int:
        with self._lock:
            try:
                return self._asked(body, descriptors)
            except (OSError, EOFError):  # the server was killed, or is stuck
                self._end()
            try:
                return self._asked(body, descriptors)
            except EOFError as error:
                raise OSError("it ends before it answers") from error

    def close(self) -> None:
        """End it, if there is one; what it has forked is not touched."""
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
        with theirs, contextlib.ExitStack() as undo:
            undo.callback(line.close)
            self._process = subprocess.Popen(
                self._command,
                cwd="/",  # so that it keeps no folder in use, and imports nothing from one
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
            undo.pop_all()
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

    def _forget(self) -> None:
        """In a fork of ours: it is our parent's."""
        line, self._line, self._process = self._line, None, None
        self._lock = threading.Lock()
        if line is not None:
            line.close()
