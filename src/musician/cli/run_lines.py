"""Shows a run as lines, one for each event: plain ones without escape sequences (B36), or JSON objects for programs.

Of a longer text a plain line has the first line only; `musician messages` and `musician review show` have all of it.
"""

import json

from musician.cli.render import fields
from musician.cli.run_stage import Face, write
from musician.cli.run_time import local_date, local_time, today
from musician.processes.output import headline
from musician.protocol.states import State
from musician.reporting.events import Event, Reporter
from musician.reporting.standing import Standing

_STATE_WIDTH = max(map(len, State))
_MOST_ID_WIDTH = 24
"""The widest column for ids. A longer id is not cut but exceeds the column."""


class Lines(Face):
    """The face for pipes, dumb terminals and users who want no colour."""

    def __init__(self, reporter: Reporter, *, head: str, id_width: int) -> None:
        self._reporter, self._head = reporter, head
        self._id_width = min(id_width, _MOST_ID_WIDTH)
        self._date = today()

    def show(self, standings: tuple[Standing, ...]) -> None:
        if self._head:
            write(f"{self._head}\n")
            self._head = ""
        for event in self._reporter.news(standings):
            date = local_date(event.at)
            if date != self._date:
                write(f"{date}\n")
                self._date = date
            write(line_of(event, self._id_width) + "\n")


class JsonLines(Face):
    """The face of ``--events``: each event as an object on a line. Its keys are stable; times are UTC."""

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter

    def show(self, standings: tuple[Standing, ...]) -> None:
        for event in self._reporter.news(standings):
            write(object_line({"event": "news", **fields(event)}))


def object_line(document: dict[str, object]) -> str:
    return json.dumps(document, allow_nan=False) + "\n"


def line_of(event: Event, id_width: int) -> str:
    """Return an event as ``22:31:05  task-01  working          musician-task-01 claimed it``."""
    head = f"{local_time(event.at)}  {event.task_id:<{id_width}}  {event.state:<{_STATE_WIDTH}}"
    return f"{head}  {headline(event.text)}"
