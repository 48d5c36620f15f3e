"""Wake-ups on the event itself (D11): a datagram to each process that waits for exactly these tasks.

A bell is a Unix datagram socket in a folder that belongs to one database and one task; to ring a task is to send
one byte to every socket in its folder. Who waits for several tasks has one socket, linked into each one's folder. A
bell carries no news, it only says: look again.

The rule that loses no bell: **open the bell first, look at the state second, wait third.** What is committed
before the look is seen by the look; what is rung after the opening stays in the socket until it is waited for.
Whoever looks first and opens second sleeps through what happened in between. A bell may ring for nothing, so look
again, and decide by what the database says.

A bell refuses to be relied on alone: writers who do not know it (the ``sqlite3`` shell, another host) ring none,
and ringing never fails a commit that has already happened. ``listening`` looks beside it.

The folders are private: 0700, and one that somebody else owns, or can write, is neither used nor rung. Folder
names are hashes, so that a socket's path stays within the 107 bytes the system allows whatever the repository's
path and the task's id are. Waiters and ringers may have different surroundings: a ringer tries every place a
waiter could have chosen.
"""

import atexit
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import socket

_MOST_PATH_BYTES = 107
"""``sun_path`` holds 108 with its closing NUL."""

_MOST_DRAINED = 1024
"""Datagrams taken at once; what is left only wakes once more."""

_MOST_OPENING_TRIES = 16
"""A folder may be swept away by its last leaver while it is being entered."""

_SHARED_TEMPORARY = "/tmp"  # noqa: S108
"""The last resort, and there whatever the environment says; not trusted, hence the checks."""

_MOST_NAMES = 64
"""Databases whose real names one process remembers."""

_FOLDER_NAME_BYTES = 12
_SOCKET_NAME_BYTES = 6
_PRIVATE = 0o700


def ring(database: Path, task_ids: Iterable[str]) -> None:
    """Wake everyone who waits for one of ``task_ids`` in ``database``; call it after the commit.

    Never blocks and never raises. A socket whose owner has died is removed on the way.
    """
    for folder in _folders(database, set(task_ids), _bases()):
        try:
            names = os.listdir(folder)
            wanted = bool(names) and _is_private(os.path.dirname(folder))
        except OSError:
            continue
        if wanted:
            _ring_all(os.path.join(folder, name) for name in names)


class Bell(AbstractContextManager["Bell"]):
    """One waiter for one task, or for several; a context manager. :class:`OSError` if no private folder can be had.

    ``fileno`` is for an event loop to watch; ``drain`` it when it becomes readable.
    """

    __slots__ = ("_paths", "_socket")

    def __init__(self, database: Path, *task_ids: str) -> None:
        import socket  # slow to load, and a writer without waiters needs none

        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self._paths: list[str] = []
        atexit.register(self.close)  # a Ctrl-C may come before anybody has us in a ``with``
        try:
            _bind(self._socket, database, task_ids, self._paths)
        except BaseException:
            self.close()
            raise

    def fileno(self) -> int:
        return self._socket.fileno()

    def drain(self) -> bool:
        """Take every bell that was rung; whether there was one."""
        for taken in range(_MOST_DRAINED):
            try:
                self._socket.recv(1)
            except BlockingIOError:
                return taken > 0
        return True

    def strike(self) -> None:
        """Ring this one bell."""
        with suppress(OSError):  # its queue is full, so it will wake anyway
            self._socket.sendto(b"\a", self._paths[0])

    def close(self) -> None:
        """Leave, and take the folders along where nobody else waits. Closing twice is harmless."""
        self._socket.close()
        _leave(self._paths)
        atexit.unregister(self.close)

    def __exit__(self, *_: object) -> None:
        self.close()


def _bind(waiter: "socket.socket", database: Path, task_ids: Sequence[str], paths: list[str]) -> None:
    """Bind in the first place that will have us, and be found under every task there.

    ``paths`` gets each before it is made, so that whoever interrupts this can leave it.
    """
    refusal: OSError = FileNotFoundError("no folder for wake-ups: its path would be too long everywhere")
    for base in _bases():
        is_bound = False
        try:
            _make_private(base)
            for folder in _folders(database, task_ids, (base,)):
                path = os.path.join(folder, os.urandom(_SOCKET_NAME_BYTES).hex())
                paths.append(path)
                _enter(folder, partial(os.link, paths[0], path) if is_bound else partial(waiter.bind, path))
                is_bound = True
        except OSError as error:
            if is_bound:
                raise  # a bound socket cannot be bound again
            paths.clear()
            refusal = error
        else:
            return
    raise refusal


def _enter(folder: str, appear: Callable[[], object]) -> None:
    for _ in range(_MOST_OPENING_TRIES):
        with suppress(FileExistsError):
            os.mkdir(folder, _PRIVATE)
        with suppress(FileNotFoundError):
            appear()
            return
    raise FileNotFoundError(f"{folder} was swept away {_MOST_OPENING_TRIES} times while it was entered")


def _leave(paths: Iterable[str]) -> None:
    for path in paths:
        with suppress(OSError):  # it was not made yet, or a ringer has swept it away
            os.unlink(path)
        with suppress(OSError):  # another waiter uses the folder, or has removed it already
            os.rmdir(os.path.dirname(path))


def _ring_all(paths: Iterable[str]) -> None:
    import socket  # slow to load; most commits have nobody to wake

    try:
        ringer = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    except OSError:
        return
    with ringer:
        for path in paths:
            try:
                ringer.sendto(b"\a", path)
            except ConnectionRefusedError:
                with suppress(OSError):
                    os.unlink(path)
            except OSError:
                pass  # its queue is full, so it will wake anyway; or it has left


def _bases() -> list[str]:
    """Where bells may hang, the preferred place first."""
    roots = [os.environ.get("XDG_RUNTIME_DIR"), os.environ.get("TMPDIR"), _SHARED_TEMPORARY]
    longest = _MOST_PATH_BYTES - 2 * (_FOLDER_NAME_BYTES + _SOCKET_NAME_BYTES) - len("//")
    bases = [os.path.join(root, f"musician-{os.geteuid()}") for root in dict.fromkeys(roots) if root]
    return [base for base in bases if os.path.isabs(base) and len(os.fsencode(base)) <= longest]


def _folders(database: Path, task_ids: Iterable[str], bases: Sequence[str]) -> Iterator[str]:
    import hashlib

    real = _real_name(os.fspath(database))
    for task_id in task_ids:
        key = real + b"\0" + task_id.encode("utf-8", "surrogatepass")
        name = hashlib.blake2b(key, digest_size=_FOLDER_NAME_BYTES).hexdigest()
        for base in bases:
            yield os.path.join(base, name)


@lru_cache(maxsize=_MOST_NAMES)
def _real_name(database: str) -> bytes:
    """Asked of the system once: an open database stays where it is, and every commit rings."""
    return os.fsencode(os.path.realpath(database))


def _is_private(folder: str) -> bool:
    """Whether it is a real folder of this user's that nobody else can enter."""
    found = os.lstat(folder)
    return (
        stat.S_ISDIR(found.st_mode)
        and found.st_uid == os.geteuid()
        and found.st_mode & (stat.S_IRWXG | stat.S_IRWXO) == 0
    )


def _make_private(folder: str) -> None:
    with suppress(FileExistsError):
        os.mkdir(folder, _PRIVATE)
    if not _is_private(folder):
        raise PermissionError(f"{folder} is not private to this user: remove it, or set XDG_RUNTIME_DIR")
