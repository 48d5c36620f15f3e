"""Loaded by every Python program a test starts with this folder on PYTHONPATH: it can die at any chosen moment.

MUSICIAN_TEST_KILL is ``ROLE WHERE K MARK``. ROLE is ``run`` or ``work``, the command that is to die. WHERE is
``any`` (after the K-th event: a committed write, a git command, a program started, a file put in its place) or
``before:MODULE:NAME`` or ``after:MODULE:NAME``, a function's K-th call. MARK is a path: it is made by the one
process that dies, so that no other does. With MUSICIAN_TEST_STOP=1 that one is stopped instead (SIGSTOP).

MUSICIAN_TEST_CLOCK is a file: by the seconds in it the wall clock of every database is off, from the moment it is
written.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any


class Killer:
    """Counts, and kills this process."""

    def __init__(self, at: int, mark: str) -> None:
        self._at, self._mark = at, mark
        self._count = 0
        self._lock = threading.Lock()

    def happened(self, what: str) -> None:
        with self._lock:
            self._count += 1
            if self._count == self._at:
                self._die(what)

    def _die(self, what: str) -> None:
        try:
            with open(self._mark, "x", encoding="utf-8") as file:
                file.write(what)
        except FileExistsError:
            return
        stops = os.environ.get("MUSICIAN_TEST_STOP") == "1"
        # To this thread: one sent to the process may be another thread's to take, while this one goes on for a moment.
        signal.pthread_kill(threading.get_ident(), signal.SIGSTOP if stops else signal.SIGKILL)


def wrap(owner: Any, name: str, killer: Killer, *, before: bool = False, what: str = "") -> None:
    original: Callable[..., Any] = getattr(owner, name)

    def wrapped(*arguments: Any, **options: Any) -> Any:
        if before:
            killer.happened(f"before {name}")
        done = original(*arguments, **options)
        if not before:
            killer.happened(what or f"after {name}")
        return done

    setattr(owner, name, wrapped)


def count_everything(killer: Killer) -> None:
    import subprocess

    from musician.store import bell
    from musician.store.sqlite.store import SqliteStore
    from musician.trees.git import Git

    original_write = SqliteStore.write
    original_run = Git.run

    @contextmanager
    def write(store: SqliteStore) -> Iterator[Any]:
        with original_write(store) as tx:
            yield tx
        killer.happened("write")

    def run(git: Git, *arguments: str, **options: Any) -> Any:
        done = original_run(git, *arguments, **options)
        killer.happened(f"git {arguments[0]}")
        return done

    SqliteStore.write = write  # type: ignore[method-assign,assignment]
    Git.run = run  # type: ignore[method-assign,assignment]
    wrap(bell, "ring", killer, before=True)
    wrap(os, "replace", killer)
    wrap(subprocess.Popen, "__init__", killer, what="start")


def set_clock() -> None:
    """SQLite asks its file system for the time, and this one answers in the real one's place."""
    place = os.environ.get("MUSICIAN_TEST_CLOCK", "")
    if not place:
        return
    import time

    import apsw

    class Clock(apsw.VFS):
        def __init__(self) -> None:
            super().__init__("clock", "", makedefault=True)

        def xCurrentTimeInt64(self) -> int:  # noqa: N802 - apsw's name
            with open(place, encoding="utf-8") as file:
                off_s = float(file.read() or 0)
            return int((time.time() + off_s) * 1000) + 210_866_760_000_000

    clocks.append(Clock())


clocks: list[Any] = []
"""Kept as long as the process lives."""


def begin() -> None:
    wanted = os.environ.get("MUSICIAN_TEST_KILL")
    if not wanted:
        return
    role, where, number, mark = wanted.split(" ", 3)
    is_fork_server = "musician.forking" in sys.orig_argv
    if not is_fork_server and "musician" not in sys.orig_argv:
        return
    # What our programs start reads no PYTHONPATH, and would not come by here.
    own_python = import_module("musician.own_python")
    setattr(own_python, "_OPTIONS", ("-P", "-X", "utf8"))  # noqa: B010
    if role != "work" if is_fork_server else role not in sys.orig_argv:
        return
    killer = Killer(int(number), mark)
    if where == "any":
        count_everything(killer)
        return
    moment, module, name = where.split(":")
    owner: Any = import_module(module)
    *path, last = name.split(".")
    for part in path:
        owner = getattr(owner, part)
    wrap(owner, last, killer, before=moment == "before")


set_clock()
begin()
