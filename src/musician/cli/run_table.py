"""Shows a run on a terminal: a table that is redrawn in place, and below it the questions for a person.

Rules. The terminal is never put into a mode that has to be undone (no alternate screen, no hidden cursor, no echo
switched off), so it is intact after any end, even a kill. A frame is one write. It never scrolls, because it has at
most one line less than the screen, and it counts the rows of the frame before anew when the window has changed. An id
that does not fit is folded, never cut.
"""

import math
import os
import re
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from rich.cells import cell_len
from rich.console import Console, ConsoleDimensions, Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from musician.cli.render import Rows
from musician.cli.run_stage import Face, write
from musician.cli.run_time import local_time
from musician.processes.output import one_line, printable
from musician.protocol.names import succession_name
from musician.protocol.states import State
from musician.reporting.asks import asked, next_command
from musician.reporting.events import Event, Reporter
from musician.reporting.standing import Standing
from musician.reporting.tally import tally_of
from musician.reporting.wording import duration, say_anomaly

_STYLES: Mapping[State, str] = MappingProxyType(
    {
        State.WATCHING: "dim",
        State.WORKING: "cyan",
        State.NEEDS_REVIEW: "yellow",
        State.REVIEW_APPROVED: "green",
        State.REVIEW_FAILED: "magenta",
        State.FIX_PROPOSED: "blue",
        State.ERROR: "bold red",
        State.EXIT_REQUESTED: "yellow",
        State.EXITED: "red",
        State.COMPLETE: "green",
    }
)
"""Colours add to the words and never replace them."""

_WIDE = 124
"""On terminals at least this wide, each row shows its task's last event; on others the newest are listed below."""
_BAR_WIDTHS = ((92, 12), (80, 8))
"""(Width of the terminal, width of the progress bar). Narrower terminals have no bar."""
_STATE_WIDTH = max(map(len, State))
_STEP_WIDTH = len("checkpoint 1 of 1")
_STEADY_WHO = 24
_HINTS = ("Ctrl-C stops; the same command goes on", "Ctrl-C stops, run again goes on", "Ctrl-C stops")
_MOST_LAST = 500
_MOST_LATEST = 5
_MOST_ASKS = 4
_MOST_ANOMALIES = 3
_USUAL_SIZE = (80, 24)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class LiveTable(Face):
    """The face for terminals."""

    def __init__(self, reporter: Reporter, *, plan_id: str, title: str) -> None:
        self._reporter, self._plan_id, self._title = reporter, plan_id, title
        self._began_s = time.monotonic()
        self._standings: tuple[Standing, ...] = ()
        self._last: dict[str, Event] = {}
        self._latest: deque[Event] = deque(maxlen=_MOST_LATEST)
        self._drawn: list[str] = []
        self._kept: tuple[tuple[int, int], list[str]] | None = None
        self._console = Console(
            file=sys.stdout, force_terminal=True, highlight=False, markup=False, emoji=False
        )

    def show(self, standings: tuple[Standing, ...]) -> None:
        news = self._reporter.news(standings)
        self._last |= {event.task_id: event for event in news}
        self._latest.extend(news)
        self._standings = standings
        self._kept = None
        self._draw()

    def tick(self) -> None:
        if self._standings:
            self._draw()

    def close(self) -> None:
        """Clear the table, row by row: some terminals keep in their history what is cleared at once."""
        write("\r" + "\x1b[1A\x1b[2K" * self._rows(_terminal_size()[0]))
        self._drawn = []

    def _draw(self) -> None:
        width, height = _terminal_size()
        frame = self.frame(width, height - 1)
        if frame != self._drawn:
            rows = self._rows(width)
            up = f"\x1b[{rows}A" if rows else ""
            write(f"\r{up}" + "".join(f"{line}\x1b[K\n" for line in frame) + "\x1b[J")
            self._drawn = frame

    def _rows(self, width: int) -> int:
        """Return how many rows the last frame takes at the terminal's present width."""
        return sum(max(1, math.ceil(cell_len(_COLOUR.sub("", line)) / width)) for line in self._drawn)

    def frame(self, width: int, height: int) -> list[str]:
        """Return at most ``height`` lines: as many tasks as fit, then as many of the newest events as there is room."""
        footer = self._lines(width, ["", _fitting(Text(self._footer(width), style="dim"))])
        room = max(1, height - len(footer))
        if self._kept is None or self._kept[0] != (width, room):
            self._kept = ((width, room), self._above(width, room))
        return [*self._kept[1], *footer][:height]

    def _above(self, width: int, room: int) -> list[str]:
        """Return everything but the footer, the only part that changes without news."""
        least = self._lines(width, self._body(width, 1))
        rows = max(1, min(len(self._standings), room - len(least) + 1))
        body = self._lines(width, self._body(width, rows))
        while len(body) > room and rows > 1:  # folded rows take more than one line
            rows -= max(1, (len(body) - room) // 2)
            body = self._lines(width, self._body(width, max(1, rows)))
        latest = [] if width >= _WIDE else self._lines(width, self._newest(room - len(body) - 1, width))
        return [*body[:room], *latest]

    def _lines(self, width: int, parts: Iterable[RenderableType]) -> list[str]:
        self._console.size = ConsoleDimensions(width, _USUAL_SIZE[1])
        with self._console.capture() as captured:
            self._console.print(Group(*parts))
        return [line.rstrip() for line in captured.get().splitlines()]

    def _body(self, width: int, rows: int) -> Iterator[RenderableType]:
        shown = _most_interesting(self._standings, rows)
        yield _fitting(Text.assemble((self._plan_id, "bold"), "  ", (self._title, "dim")))
        yield ""
        yield _standings_table(shown, width=width, last=self._last if width >= _WIDE else None)
        if len(shown) < len(self._standings):
            rest = [each for each in self._standings if each not in shown]
            yield Text(f"and {_counted(rest)}", style="dim")
        yield from self._pause()
        yield from self._asks()
        yield from self._anomalies()

    def _newest(self, most: int, width: int) -> Iterator[RenderableType]:
        events = list(self._latest)[-most:] if most > 0 else []
        if events:
            yield ""
        for event in events:
            text = one_line(event.text, width)
            yield _fitting(Text(f"{local_time(event.at)}  {event.task_id}  {text}", style="dim"))

    def _pause(self) -> Iterator[RenderableType]:
        pause = next((each.view.plan_pause for each in self._standings), None)
        if pause is not None:
            yield ""
            yield _fitting(Text(printable(pause.text), style="bold yellow"))
            yield Text(printable(f"    musician plan resume {pause.plan_id}"), style="bold", overflow="fold")

    def _asks(self) -> Iterator[RenderableType]:
        asks = [ask for standing in self._standings for ask in standing.asks]
        if asks:
            yield ""
            yield Text("needs you", style="bold yellow")
        for ask in asks[:_MOST_ASKS]:
            yield _fitting(Text.assemble(f"{ask.task_id}  ", (asked(ask), "yellow")))
            yield Text(
                printable(f"    {next_command(ask, plan_id=self._plan_id)}"), style="bold", overflow="fold"
            )
        if len(asks) > _MOST_ASKS:
            yield Text(f"and {len(asks) - _MOST_ASKS} more: musician review list", style="yellow")

    def _anomalies(self) -> Iterator[RenderableType]:
        """Yield the newest anomaly of each task that is not over."""
        found = [
            (each.task_id, say_anomaly(each.anomalies[-1]))
            for each in self._standings
            if each.anomalies and not each.is_over
        ]
        if found:
            yield ""
        for task_id, text in found[:_MOST_ANOMALIES]:
            yield _fitting(Text.assemble(f"{task_id}  ", (one_line(text, 200), "magenta")))

    def _footer(self, width: int) -> str:
        """Return the footer with the longest hint that fits."""
        open_phases = [each.phase or 0 for each in self._standings if not each.is_over]
        phases = max((each.phase or 0 for each in self._standings), default=0)
        phase = f"phase {min(open_phases)} of {phases} · " if open_phases and phases > 1 else ""
        age = duration(time.monotonic() - self._began_s)
        footer = f"{phase}{tally_of(each.view.row for each in self._standings).said} · {age}"
        hinted = (f"{footer} · {hint}" for hint in _HINTS)
        return next((each for each in hinted if cell_len(each) <= width), footer)


def final_table(standings: Sequence[Standing]) -> Rows:
    """Return the table that is printed at the end, with one row for each task of the plan."""
    rows = [
        (
            each.task_id,
            Text(each.shown_state, style=_STYLES[each.state]),
            each.who,
            len(each.view.sessions),
            each.title,
        )
        for each in standings
        if not each.is_withdrawn
    ]
    return Rows(headings=("TASK", "STATE", "MUSICIAN", "SESSIONS", "TITLE"), rows=rows)


def _standings_table(
    standings: Sequence[Standing], *, width: int, last: Mapping[str, Event] | None = None
) -> Table:
    """Return one row for each task, with its last event if ``last`` is given. Wide terminals have fixed columns."""
    bar = next((size for least, size in _BAR_WIDTHS if width >= least), 0)
    who = max((len(succession_name(each.task_id, 2)) for each in standings), default=0)
    steady = bool(bar) and who <= _STEADY_WHO
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("TASK", overflow="fold")
    table.add_column("STATE", overflow="fold", min_width=_STATE_WIDTH if steady else None)
    table.add_column("MUSICIAN", overflow="fold", min_width=who if steady else None)
    if bar:
        table.add_column("PROGRESS", width=bar)
    table.add_column("STEP", overflow="fold", min_width=_STEP_WIDTH if steady else None)
    table.add_column("CTX", justify="right", no_wrap=True)
    if last is not None:
        table.add_column("LAST", no_wrap=True, overflow="ellipsis", ratio=1)
        table.expand = True
    for each in standings:
        table.add_row(*_row(each, last=last, bar=bar))
    return table


def _row(each: Standing, *, last: Mapping[str, Event] | None, bar: int) -> Iterator[RenderableType]:
    yield Text(each.task_id, style="dim" if each.state is State.WATCHING else "")
    yield Text(each.shown_state, style=_STYLES[each.state])
    yield Text(printable(each.who or ""), style="dim" if each.is_over else "")
    if bar:
        yield ProgressBar(
            total=max(each.total, 1),
            completed=each.done,
            width=bar,
            complete_style="cyan",
            finished_style="green",
        )
    yield Text(printable(each.item))
    yield Text("" if each.context_pct is None else f"{each.context_pct:.0f}%", style="dim")
    if last is not None:
        event = last.get(each.task_id)
        yield Text("" if event is None else one_line(event.text, _MOST_LAST), style="dim")


def _most_interesting(standings: tuple[Standing, ...], most: int) -> tuple[Standing, ...]:
    """Choose at most ``most`` tasks, and keep the plan's order.

    Tasks that need a person come first, then those in work, then those to come, then those that are over.
    """

    def rank(each: Standing) -> int:
        if each.asks:
            return 0
        return 3 if each.is_over else 2 if each.state is State.WATCHING else 1

    chosen = {each.task_id for each in sorted(standings, key=rank)[:most]}
    return tuple(each for each in standings if each.task_id in chosen)


def _counted(standings: Iterable[Standing]) -> str:
    """Count the states, as ``12 more: 8 complete, 4 watching``."""
    states = [each.state for each in standings]
    return f"{len(states)} more: " + ", ".join(
        f"{states.count(state)} {state}" for state in State if state in states
    )


def _fitting(text: Text) -> Text:
    text.no_wrap, text.overflow = True, "ellipsis"
    return text


def _terminal_size() -> tuple[int, int]:
    """Return the terminal's columns and rows, or the usual ones if it does not say."""
    try:
        size = os.get_terminal_size(sys.stdout.fileno())
    except OSError:
        return _USUAL_SIZE
    return size.columns or _USUAL_SIZE[0], size.lines or _USUAL_SIZE[1]
