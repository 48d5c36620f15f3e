"""The life lock of a session: held while its process lives, and released the instant it dies.

Liveness on one host is a lock on ``<locks>/<task>.lock``, not a pid somebody wrote down (D2). The kernel
drops it with the process, SIGKILL included. The file is never deleted: a lock on a deleted file guards
nothing. What it says about the holder is for people to read; only the lock counts.

The lock belongs to an open file description (``F_OFD_SETLK``), so that no other opening of the file in the
same process can lose it. Children never keep it: the descriptor is closed by exec, and by fork. Asking
whether it is held only asks (``F_OFD_GETLK``) and takes nothing, so that it cannot make anybody's attempt
fail. Where the system has no such locks, flock stands in; asking then takes a shared lock for an instant, and
taking tries again for ``_RETRY_S``.
"""

import contextlib
import fcntl
import json
import os
import struct
import time
import weakref
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path

from musician.processes.identity import ProcessIdentity, identify
from musician.protocol.names import CONDUCTOR
from musician.protocol.values import dataclass

_MAX_CONTENT_BYTES = 4096
_RETRY_S = 0.2
_PACE_S = 0.005
_HAS_OFD = hasattr(fcntl, "F_OFD_GETLK")
_FLOCK = "hhqqi0q"
"""struct flock: type, whence, start, length, pid; padded to its alignment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldBy:
    """The last writer of a lock file. A field is None if it cannot be read."""

    session_id: str | None
    identity: ProcessIdentity | None


class LifeLock(AbstractContextManager["LifeLock"]):
    """A held life lock. A context manager; also released by :meth:`release` and by the process's end."""

    def __init__(self, descriptor: int, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = descriptor
        _held_here.add(self)

    def __exit__(self, *_: object) -> None:
        self.release()

    def sign(self, session_id: str) -> None:
        """Say whose lock it is from now on; it is held all the while."""
        if self._descriptor is not None:
            _sign(self._descriptor, session_id)

    def release(self) -> None:
        """Let the lock go; nothing if it was."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def lock_path(locks: Path, task_id: str) -> Path:
    """Where a task's life lock is. The id must be a valid one (D8)."""
    return locks / f"{task_id}.lock"


def person_path(locks: Path, task_id: str) -> Path:
    """Where the lock of the person is who speaks with a task's agent."""
    return locks / f"{task_id}.person"


def run_path(locks: Path) -> Path:
    """Where the life lock of the run is that conducts. The conductor's own lock is also taken for a moment, by whoever
    changes a plan.
    """
    return locks / f"{CONDUCTOR}.run"


def change_path(locks: Path) -> Path:
    """Where the lock is of who changes plans, beside a run or without one. No task's own lock ends so."""
    return locks / f"{CONDUCTOR}.change"


def hold(path: Path, *, session_id: str, identity: ProcessIdentity | None = None) -> LifeLock | HeldBy:
    """Take the lock, or say who has it. Never waits for a holder. OSError if the file cannot be had.

    It is signed with ``identity``, this process's own if there is none.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    with contextlib.ExitStack() as undo:
        undo.callback(os.close, descriptor)
        if not _take(descriptor):
            return holder(path)
        _sign(descriptor, session_id, identity)
        undo.pop_all()
    return LifeLock(descriptor, path)


def is_held(path: Path) -> bool:
    """Whether a living process (this one too) holds the lock. Disturbs neither holders nor takers."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return _is_taken(descriptor)
    finally:
        os.close(descriptor)


def held_by(path: Path) -> str:
    """Return what the living holder has signed the lock with, "" if there is none.

    For a moment after it was taken, that is the signature of the holder before.
    """
    return (holder(path).session_id or "unsigned") if is_held(path) else ""


def holder(path: Path) -> HeldBy:
    """Return what the file says about its last holder, which may be dead. It is for people; decide nothing by it."""
    try:
        with path.open("rb") as file:
            content = json.loads(file.read(_MAX_CONTENT_BYTES))
        return HeldBy(session_id=content.pop("session_id"), identity=ProcessIdentity(**content))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return HeldBy(session_id=None, identity=None)


_held_here: weakref.WeakSet[LifeLock] = weakref.WeakSet()


def _forget_in_child() -> None:
    for sign in list(_held_here):
        sign.release()


os.register_at_fork(after_in_child=_forget_in_child)


def _sign(descriptor: int, session_id: str, identity: ProcessIdentity | None = None) -> None:
    content = {"session_id": session_id, **asdict(identity or identify(os.getpid()))}
    # a full disk may keep the signature from being written; the lock holds all the same
    with contextlib.suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(content).encode() + b"\n", 0)


def _take(descriptor: int) -> bool:
    if _HAS_OFD:
        return _lock(descriptor, fcntl.F_OFD_SETLK, fcntl.F_WRLCK) is not None
    deadline = time.monotonic() + _RETRY_S
    while not _flock(descriptor, fcntl.LOCK_EX):
        if time.monotonic() > deadline:
            return False
        time.sleep(_PACE_S)
    return True


def _is_taken(descriptor: int) -> bool:
    if _HAS_OFD:
        return _lock(descriptor, fcntl.F_OFD_GETLK, fcntl.F_WRLCK) != fcntl.F_UNLCK
    return not _flock(descriptor, fcntl.LOCK_SH)


def _lock(descriptor: int, command: int, kind: int) -> int | None:
    """The answered lock type; None if the lock is another's."""
    asked = struct.pack(_FLOCK, kind, os.SEEK_SET, 0, 0, 0)
    try:
        answer = fcntl.fcntl(descriptor, command, asked)
    except (BlockingIOError, PermissionError):
        return None
    return int(struct.unpack(_FLOCK, answer)[0])


def _flock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
