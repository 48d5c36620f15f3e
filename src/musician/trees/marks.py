"""Whose session is a musician's, told without the database (D36).

One empty file a session in git's common folder, which outlives what ``git clean`` and a slip of the hand take away. It
is made with the claim and says nothing of its state: the database does, as long as there is one. Imports nothing
dear, because a hook asks here.
"""

import os


def mark(git_dir: str, session_id: str) -> None:
    """The session is a musician's from now on. What cannot be written is missed only once the database is."""
    path = _path(git_dir, session_id)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666))
    except OSError:
        return


def forget(git_dir: str, session_id: str) -> None:
    """The session has ended all its claims; nothing if it was not marked."""
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


def _path(git_dir: str, session_id: str) -> str:
    return os.path.join(git_dir, "musician", "sessions", session_id)
