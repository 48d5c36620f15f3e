"""Tells whether a session is a musician's without reading the database (D36).

One empty file a session in git's common folder, which outlives what ``git clean`` and a slip of the hand take away. It
is made with the claim and says nothing of its state: the database does, as long as there is one. Imports nothing
dear, because a hook asks here.

A session that owns nothing has a file of the other kind. It bears the time at which the database was last written, so
that it is true for exactly as long as nobody writes: whatever makes a session a musician's, plain SQL too, is a write.
A shell compares the two times (``hook.sh``) and need not start Python for a stranger.
"""

import os
import time

_SETTLED_S = 2.0
"""A write of so long ago is told from the next one by its time, whatever a shell or a disk counts in."""

_MOST_STRANGERS = 100
"""Whose clients were killed leave a file each; those of who lives are made again."""


def mark(git_dir: str, session_id: str) -> None:
    """Mark the session as a musician's. A mark that cannot be written matters only if the database is gone."""
    path = _path(git_dir, session_id)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666))
    except OSError:
        return


def forget(git_dir: str, session_id: str) -> None:
    """Remove the mark of a session that has ended all its claims; do nothing if it was not marked."""
    try:
        os.unlink(_path(git_dir, session_id))
    except OSError:
        return


def is_marked(git_dir: str, session_id: str) -> bool:
    """Whether a session claimed a task here and was not seen to be free since."""
    return os.path.isfile(_path(git_dir, session_id))


def any_marked(git_dir: str) -> bool:
    """Whether any session ever claimed a task here."""
    return os.path.isdir(_path(git_dir, ""))


def last_written_ns(database: str) -> int | None:
    """Return when the database was last written, by the time of its journal, or of the file if that is empty;
    None if it is gone.
    """
    for path in (f"{database}-wal", database):
        try:
            found = os.stat(path)
        except OSError:
            continue
        if found.st_size:  # a reader makes an empty one; only a writer fills it
            return found.st_mtime_ns
    return None


def mark_stranger(git_dir: str, session_id: str, written_ns: int) -> None:
    """Note that the session owned nothing when the database was last written, at ``written_ns``.

    Does nothing if that is too recent. The time is the database file's own, so setting the clock has no
    effect.
    """
    if time.time_ns() - written_ns < _SETTLED_S * 1e9:
        return
    path = _path(git_dir, session_id, _STRANGERS)
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, exist_ok=True)
        others = os.listdir(folder)
        for other in others if len(others) > _MOST_STRANGERS else ():
            os.unlink(os.path.join(folder, other))
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666))
        os.utime(path, ns=(written_ns, written_ns))
    except OSError:
        return


def forget_stranger(git_dir: str, session_id: str) -> None:
    """Remove the stranger's mark: the session owns something now, or has ended."""
    try:
        os.unlink(_path(git_dir, session_id, _STRANGERS))
    except OSError:
        return


_SESSIONS, _STRANGERS = "sessions", "strangers"


def _path(git_dir: str, session_id: str, kind: str = _SESSIONS) -> str:
    return os.path.join(git_dir, "musician", kind, session_id)
