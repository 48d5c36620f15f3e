"""The conductor's fork server: everything that a musician imports is there, and a musician is a fork of it.

    python -m musician.forking

It is started by ``exec``, never forked from the conductor, which has threads, an event loop and a database. It has
none of these, opens nothing, runs nothing of the project's, and stands in no folder of anybody's: what a fork finds is
what a Python that has just imported its modules has. The fork gets a session, an environment, a folder and outputs of
its own (``processes.leash.serve``) and is then the command, as it would have been started. Random numbers are drawn
anew after a fork by whoever draws them; SQLite has drawn none before it opens a database.
"""

import ctypes
import gc
import os
import sys
import time
from importlib import import_module

from musician.__main__ import run_to_the_end
from musician.processes import leash

PRELOADED = (
    "anyio._backends._asyncio",
    "musician.cli.main",
    "musician.cli.work",
    "musician.service.conversations",
    "musician.service.endings",
    "musician.service.people",
    "musician.service.plans",
    "musician.service.submissions",
    "musician.store.sqlite.store",
)
"""What every session imports sooner or later, with what that imports."""

_NOT_RUNNABLE = 126


def main() -> int:
    """Serve until the conductor is gone; at once, where what was imported makes a fork unsafe."""
    for name in PRELOADED:
        import_module(name)
    if len(os.listdir("/proc/self/task")) > 1:  # a lock that another thread holds would stay held in the fork
        return 1
    gc.collect()
    gc.freeze()  # a collection writes to every object, and so would copy all memory into each fork
    return leash.serve(_play)


def _play(cwd: str, arguments: list[str], env: dict[bytes, bytes], heard: int) -> int:
    """In a fork: the command, as soon as who asked for it has recorded us. Its standard input is the lease."""
    os.close(heard)
    if not os.read(leash.STARTER, len(leash.GO)):
        return 0
    os.environb.clear()
    os.environb.update(env)
    time.tzset()
    try:
        os.chdir(cwd)
    except OSError as error:
        os.write(2, f"musician: cannot enter {cwd}: {error.strerror}\n".encode(errors="surrogateescape"))
        return _NOT_RUNNABLE
    sys.argv = ["musician", *arguments]
    _show_as([sys.executable, "-m", *sys.argv])
    return run_to_the_end(arguments)


def _show_as(words: list[str]) -> None:
    """What ``ps`` shows is the memory that this program's arguments were put in, and would be the server's for all."""
    with open("/proc/self/stat", "rb") as file:
        begin, end = (int(field) for field in file.read().rpartition(b")")[2].split()[45:47])
    title = b"\0".join(map(os.fsencode, words))[: end - begin - 1]
    ctypes.memset(begin, 0, end - begin)
    ctypes.memmove(begin, title, len(title))


if __name__ == "__main__":
    sys.exit(main())
