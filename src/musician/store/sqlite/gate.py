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

Whoever can open the file can hold it, for reading too. So it opens for those alone who can write the database, and a
wait that grows long is reported, with the process that is in the way.
"""

import errno
import fcntl
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

TOLD_AFTER_S = 2.0
"""A wait as long as this is reported."""

_READERS_FROM_WRITERS = 1
"""How far a mode's bit for writing lies from the one for reading."""


class GateTimeout(Exception):
    """The gate stayed shut; the store says it in the user's words. ``holder`` is a process's id, None if unknown."""

    def __init__(self, *, path: str, timeout_s: float, holder: int | None = None) -> None:
        self.path, self.timeout_s, self.holder = path, timeout_s, holder
        super().__init__(f"{path} was held by others for {timeout_s:g} s")


class Gate:
    """The gate at ``path``, of the file ``before`` which it stands; made by the first who passes."""

    __slots__ = ("_before", "_path")

    def __init__(self, path: Path, *, before: Path | None = None) -> None:
        self._path = os.fspath(path)
        self._before = before

    @contextmanager
    def hold(
        self, timeout_s: float, *, on_long_wait: Callable[[int | None], None] | None = None
    ) -> Iterator[None]:
        """Hold the gate for a ``with`` block, waiting ``timeout_s`` at most (0: not at all).

        ``on_long_wait`` is called once, with the holder's id if known, when the wait grows long. Entering raises
        :class:`GateTimeout`, or :class:`OSError` where the file can be neither made nor opened.
        """
        fd = self._enter(timeout_s, on_long_wait)
        try:
            yield
        finally:
            _release(fd)

    def holder(self) -> int | None:
        """The process that holds it, None if that cannot be known or there is none."""
        try:
            inode = os.stat(self._path).st_ino
            with open("/proc/locks", encoding="ascii", errors="replace") as locks:
                for line in locks:
                    # 1: FLOCK  ADVISORY  WRITE 4711 08:01:131090 0 EOF; one that waits has an arrow before its kind
                    _, kind, *rest = line.split()
                    if kind == "FLOCK" and rest[3].rpartition(":")[2] == str(inode):
                        return int(rest[2]) if int(rest[2]) > 0 else None
        except (OSError, ValueError, IndexError):
            pass
        return None

    @property
    def is_held(self) -> bool:
        """Whether somebody holds it now; nothing is made, and nobody is made to wait."""
        try:
            fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(fd)
        return False

    def _enter(self, timeout_s: float, on_long_wait: Callable[[int | None], None] | None) -> int:
        fd = self._open()
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not _Turn(fd).came_within(
                timeout_s, on_long_wait=on_long_wait and (lambda: on_long_wait(self.holder()))
            ):
                raise GateTimeout(path=self._path, timeout_s=timeout_s, holder=self.holder()) from None
        except BaseException:
            os.close(fd)
            raise
        return fd

    def _open(self) -> int:
        try:
            return os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if self._before is not None:
            # Whatever the umask: whoever can write the database must be able to pass its gate.
            writers = os.stat(self._before).st_mode & 0o222
            os.fchmod(fd, 0o600 | writers | writers << _READERS_FROM_WRITERS)
        return fd


class _Turn:
    """A turn being waited for. It owns the descriptor until the turn has come."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._decision = threading.Lock()
        self._ended = threading.Event()
        self._abandoned = False
        self._failure: OSError | None = None

    def came_within(self, timeout_s: float, *, on_long_wait: Callable[[], None] | None) -> bool:
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
            if on_long_wait is not None and timeout_s > TOLD_AFTER_S and not self._ended.wait(TOLD_AFTER_S):
                on_long_wait()
                timeout_s -= TOLD_AFTER_S
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
