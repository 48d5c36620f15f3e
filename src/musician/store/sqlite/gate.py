"""The gate in front of the database: writers pass one at a time and wait their turn.

SQLite's own waiting (``busy_timeout``) polls, and under load a few writers win every time while others starve for
seconds. An exclusive ``flock`` on a side file queues them instead. It knows nothing of the database: it is
courtesy between those who use it, and SQLite's lock remains what keeps the data whole, also against those who do
not.

Rules. Every hold opens the file anew, so threads exclude each other as processes do, and a holder that takes the
gate again waits for itself until its time is up: it is not re-entrant. The kernel frees the gate when its holder
dies, SIGKILL included, so no lock is ever stale, and the file stays, since to remove it would let two in. The lock
is given up by name before the file is closed, so a child that was forked meanwhile cannot keep it.

A ``flock`` cannot wait for a limited time. Whoever does not get in at once waits in a thread of its own: when its
time is up the thread is abandoned, and lets the gate go as soon as it gets it.
"""

import errno
import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["Gate", "GateTimeout"]

_MODE = 0o644


class GateTimeout(Exception):
    """The gate stayed shut; the store says it in the user's words."""

    def __init__(self, *, path: str, timeout_s: float) -> None:
        self.path, self.timeout_s = path, timeout_s
        super().__init__(f"{path} was held by others for {timeout_s:g} s")


class Gate:
    """The gate at ``path``; the file is made by the first who passes."""

    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        self._path = os.fspath(path)

    @contextmanager
    def hold(self, timeout_s: float) -> Iterator[None]:
        """Hold the gate for a ``with`` block, waiting ``timeout_s`` at most (0: not at all).

        Entering raises :class:`GateTimeout`, or :class:`OSError` where the file can be neither made nor opened.
        """
        fd = self._enter(timeout_s)
        try:
            yield
        finally:
            _release(fd)

    def _enter(self, timeout_s: float) -> int:
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _MODE)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not _Turn(fd).came_within(timeout_s):
                raise GateTimeout(path=self._path, timeout_s=timeout_s) from None
        except BaseException:
            os.close(fd)
            raise
        return fd


class _Turn:
    """A turn being waited for. It owns the descriptor until the turn has come."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._decision = threading.Lock()
        self._ended = threading.Event()
        self._abandoned = False
        self._failure: OSError | None = None

    def came_within(self, timeout_s: float) -> bool:
        """Whether the lock is the caller's now; if not, or if it raises, the descriptor is seen to."""
        if timeout_s <= 0:
            os.close(self._fd)
            return False
        try:
            threading.Thread(target=self._wait, name="gate", daemon=True).start()
        except RuntimeError as error:  # no more threads to be had
            os.close(self._fd)
            raise BlockingIOError(errno.EAGAIN, str(error)) from error
        try:
            self._ended.wait(timeout_s)
        except BaseException:
            if self._settle():
                _release(self._fd)
            raise
        if not self._settle():
            return False
        if self._failure is not None:
            os.close(self._fd)
            raise self._failure
        return True

    def _settle(self) -> bool:
        """Decide, once, who closes the descriptor: the caller if the wait has ended, else the thread."""
        with self._decision:
            self._abandoned = not self._ended.is_set()
        return not self._abandoned

    def _wait(self) -> None:
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX)
        except OSError as error:
            self._failure = error
        with self._decision:
            if not self._abandoned:
                self._ended.set()
                return
        _release(self._fd)


def _release(fd: int) -> None:
    try:
        fcntl.flock(fd, fcntl.LOCK_UN)
    finally:
        os.close(fd)
