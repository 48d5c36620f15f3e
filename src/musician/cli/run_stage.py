"""Showing what happens without holding it up: a thread of its own draws, the conductor only leaves the newest look.

A reader may be slow (a pager, a terminal stopped with Ctrl-S) or gone; neither may stop, delay or end what it looks
at. So there is room for one look, the newest, and a face must be able to miss looks. An output that fails is given up
silently: the exit code and the database still tell everything.
"""

import os
import select
import sys
import threading
from typing import Protocol

from musician.protocol.errors import MusicianError
from musician.reporting.standing import Standing

TICK_S = 1.0
"""How often a face may redraw without news, for what ages by itself."""

Standings = tuple[Standing, ...]


class Face(Protocol):
    """What a run looks like. Called from one thread at a time."""

    def show(self, standings: Standings) -> None: ...

    def tick(self) -> None: ...

    def close(self) -> None: ...


class Stage:
    """Use as a context manager; its end shows the last look, waiting for a slow reader at most ``patience_s``."""

    def __init__(self, face: Face) -> None:
        self._face = face
        self._news = threading.Condition()
        self._latest: Standings | None = None
        self._is_over = False
        self._fault: BaseException | None = None
        self._thread = threading.Thread(target=self._play, name="stage", daemon=True)
        self._thread.start()

    def on_look(self, standings: Standings) -> None:
        """Never waits and never raises."""
        with self._news:
            self._latest = standings
            self._news.notify()

    def finish(self, patience_s: float | None = None) -> bool:
        """Draw what is left and end; False if the reader was too slow for ``patience_s``. A defect is raised here."""
        with self._news:
            self._is_over = True
            self._news.notify()
        self._thread.join(patience_s)
        if self._fault is not None:
            raise self._fault
        return not self._thread.is_alive()

    def _play(self) -> None:
        try:
            while self._next():
                pass
            self._face.close()
        except (OSError, MusicianError):
            give_up_output()
        except BaseException as fault:  # a defect of ours must not pass for a run's failure: told at the end
            self._fault = fault

    def _next(self) -> bool:
        """Draw once; False at the end."""
        with self._news:
            if self._latest is None and not self._is_over:
                self._news.wait(TICK_S)
            standings, self._latest = self._latest, None
            is_over = self._is_over
        if standings is not None:
            self._face.show(standings)
        elif not is_over:
            self._face.tick()
        return standings is not None or not is_over


def write(text: str) -> None:
    """Whole and at once, or OSError. Past Python's buffer, whose lock a blocked writer would keep at the end."""
    if sys.stdout is None:
        return
    sys.stdout.flush()
    descriptor = _descriptor()
    if descriptor is None:
        sys.stdout.write(text)
        return
    rest = memoryview(text.encode(errors="surrogateescape"))
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:  # somebody else made it so
            select.select([], [descriptor], [])


def give_up_output() -> None:
    """Whatever else is printed goes nowhere, what is still buffered included."""
    descriptor = _descriptor()
    if descriptor is not None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, descriptor)
        os.close(nowhere)


def _descriptor() -> int | None:
    """Standard output's, None where there is none or something in this process stands in for it."""
    try:
        return None if sys.stdout is None else sys.stdout.fileno()
    except OSError:
        return None
