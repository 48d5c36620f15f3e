"""Shows a run without delaying it: a thread draws, and the conductor only hands it the newest snapshot.

The reader of the output may be slow (a pager, a terminal stopped with Ctrl-S) or gone, and neither may stop, delay or
end the run. So only the newest snapshot is kept, and a face must cope with missing some. An output that fails is given
up silently; the exit code and the database still have everything.
"""

import os
import select
import sys
import threading

from musician.protocol.errors import MusicianError
from musician.reporting.standing import Standing

TICK_S = 1.0
"""How often a face may redraw without news, for durations that grow."""

Standings = tuple[Standing, ...]


class Face:
    """A way to show a run; this one shows nothing. It is called from one thread at a time."""

    def show(self, standings: Standings) -> None:
        """Show a new snapshot."""

    def tick(self) -> None:
        """Redraw what grows without news."""

    def close(self) -> None:
        """Clear what must not stay on the screen."""


class Stage:
    """The thread that draws. :meth:`finish` shows the last snapshot and ends it."""

    def __init__(self, face: Face) -> None:
        self._face = face
        self._news = threading.Condition()
        self._latest: Standings | None = None
        self._is_over = False
        self._fault: BaseException | None = None
        self._thread = threading.Thread(target=self._play, name="stage", daemon=True)
        self._thread.start()

    def on_look(self, standings: Standings) -> None:
        """Take the newest snapshot. Never waits and never raises."""
        with self._news:
            self._latest = standings
            self._news.notify()

    def finish(self, patience_s: float | None = None) -> bool:
        """Draw the last snapshot and end. Return False if the reader took longer than ``patience_s``.

        Raises the exception of a face that failed through a defect.
        """
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
        except BaseException as fault:  # a defect in drawing must not end the run; it is raised at the end
            self._fault = fault

    def _next(self) -> bool:
        """Draw once; return False at the end."""
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
    """Write ``text`` completely, or raise OSError.

    Bypasses Python's buffer: a blocked writer would hold its lock, and the interpreter could not exit.
    """
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
        except BlockingIOError:  # another program has made the descriptor non-blocking
            select.select([], [descriptor], [])


def give_up_output() -> None:
    """Discard all further output, and what is still buffered."""
    descriptor = _descriptor()
    if descriptor is not None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, descriptor)
        os.close(nowhere)


def _descriptor() -> int | None:
    """Return standard output's descriptor; None if it is closed or replaced by an object of this process."""
    try:
        return None if sys.stdout is None else sys.stdout.fileno()
    except OSError:
        return None
