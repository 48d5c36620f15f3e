"""Draws a task's life as plain SVG: its states, when its sessions lived, what they played, how full their context was.

A picture is text, so it needs no script, prints, and can be read out: every mark has a title. Colours are classes of
the dashboard's style sheet. The page and the file that one shares have the same pictures. What stands in a title was
written by others: whoever asks for the picture hands in how it is said, and it is escaped.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import wraps
from html import escape
from typing import ParamSpec

from musician.processes.output import printable
from musician.protocol.journal import EntryKind
from musician.protocol.settings import Settings
from musician.protocol.values import dataclass
from musician.reporting.overview import Lane, PlanLines
from musician.reporting.spans import shown_s, stored_s
from musician.service import TaskView
from musician.store.rows import JournalRow, SessionRow

WIDTH, ROW, GAP = 1000, 26, 6
_LEFT = 34
"""Where a picture's ground begins; its rows are named before it."""
_LEFT_OF_PLAN = 150
_MOST_NAME_CHARS = 20
"""Of a task's id beside its row; the whole of it is in the row's titles."""
_AXIS = 18
"""Of height, for the times under a picture."""
_CURVE_HEIGHT = 160
_LEAST_BAR = 3
_CHAR_WIDTH = 8
"""Of a bar's name, about, where a page has its letters larger; a bar that is too short for its name goes without."""
_DAY_S = 24 * 3600

_BEGINS = frozenset({EntryKind.STARTED, EntryKind.LAUNCHED})
_ENDS = frozenset({EntryKind.COMPLETED, EntryKind.RETURNED, EntryKind.SKIPPED})
_NAMED = frozenset({"piece", "open", "state"})

_BY_PROGRESS = (
    Lane.DONE,
    Lane.RUNNING,
    Lane.NEEDS_YOU,
    Lane.UNKNOWN,
    Lane.STANDS_STILL,
    Lane.LATER,
)
"""What was withdrawn is no part of a plan's way."""

_Asked = ParamSpec("_Asked")

Say = Callable[[str], str]
"""Makes others' words what may be shown: printable at least."""


class Drawing(str):
    """A picture, which templates take as it is: everything in it is escaped."""

    __slots__ = ()

    def __html__(self) -> str:
        return str(self)


def _if_readable(draw: Callable[_Asked, Drawing]) -> Callable[_Asked, Drawing]:
    """A time that a raw writer has made unreadable leaves out the picture, and not the page that it stands on (D39)."""

    @wraps(draw)
    def drawn(*args: _Asked.args, **kwargs: _Asked.kwargs) -> Drawing:
        try:
            return draw(*args, **kwargs)
        except ValueError:
            return Drawing()

    return drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """Something that lasted, in seconds since 1970. ``kind`` is the first of its classes in the style sheet."""

    begin_s: float
    end_s: float
    title: str
    kind: str
    more: str = ""


@_if_readable
def life_of(view: TaskView, *, say: Say = printable) -> Drawing:
    """Return the picture of a task: a row of its states, and one of each session, its pieces and its verifications."""
    sessions = [list(_bars(view, session)) for session in view.sessions]
    time = _axis_of([view])
    if time is None:
        return Drawing()
    states = [each for each in _states(view) if each.end_s >= time.begin_s and each.begin_s <= time.end_s]
    rows = [("", states), *zip([f"S{each.number}" for each in view.sessions], sessions, strict=True)]
    return _rows(rows, time, say=say, label="States, sessions, their pieces and verifications")


@_if_readable
def lives_of(views: Sequence[TaskView], *, say: Say = printable) -> Drawing:
    """Return the picture of several tasks side by side in time: a row each, with its sessions and verifications."""
    time = _axis_of(views, left=_LEFT_OF_PLAN)
    if time is None:
        return Drawing()
    rows = []
    for view in views:
        task_id = view.row.task_id
        bars = [
            bar
            for session in view.sessions
            for bar in _bars(view, session)
            if bar.kind in ("session", "check")
        ]
        name = task_id if len(task_id) <= _MOST_NAME_CHARS else task_id[: _MOST_NAME_CHARS - 1] + "…"
        rows.append((name, [_of_task(bar, task_id) for bar in bars]))
    return _rows(rows, time, say=say, label="Tasks, their sessions and verifications")


def progress_of(plan: PlanLines) -> Drawing:
    """Return a bar in which each task of a plan has a part, those that stand alike side by side."""
    counted = [(lane, plan.count(lane)) for lane in _BY_PROGRESS]
    shown = [(lane, count) for lane, count in counted if count]
    parts, left = [], 0
    for lane, count in shown:
        parts.append(f'<rect class="{lane.replace(" ", "-")}" x="{left}" y="0" width="{count}" height="1"/>')
        left += count
    label = ", ".join(f"{count} {lane}" for lane, count in shown)
    size = f'viewBox="0 0 {max(left, 1)} 1" preserveAspectRatio="none"'
    return Drawing(f'<svg class="progress" {size} role="img" aria-label="{label}">{"".join(parts)}</svg>')


def _of_task(bar: Bar, task_id: str) -> Bar:
    title = f"{task_id}, {bar.title}"
    return Bar(begin_s=bar.begin_s, end_s=bar.end_s, title=title, kind=bar.kind, more=bar.more)


def _states(view: TaskView) -> Iterator[Bar]:
    """Yield a bar for each state that the task was in, but for the time in which nobody had begun or it was over."""
    for change, after in zip(view.history, (*view.history[1:], None), strict=True):
        if change.from_state is None or (after is None and not view.row.session_id):
            continue
        state = change.to_state.replace("_", " ")
        end_s = stored_s(view.at if after is None else after.at)
        yield Bar(begin_s=stored_s(change.at), end_s=end_s, title=state, kind="state", more=change.to_state)


def _bars(view: TaskView, session: SessionRow) -> Iterator[Bar]:
    """Yield the bar of a session and those in it; what it left open ended with it."""
    end_s = stored_s(session.ended_at or view.at)
    reason = f", {session.exit_reason}" if session.exit_reason else ""
    yield Bar(
        begin_s=stored_s(session.started_at),
        end_s=end_s,
        title=f"session {session.number}{reason}",
        kind="session",
    )
    begun: dict[str, JournalRow] = {}
    for row in view.journal:
        if row.claim_epoch != session.claim_epoch:
            continue
        if row.kind in _BEGINS:
            begun[row.item] = row
        elif row.kind in _ENDS and row.item in begun:
            yield Bar(
                begin_s=stored_s(begun.pop(row.item).at), end_s=stored_s(row.at), title=row.item, kind="piece"
            )
    for row in begun.values():
        yield Bar(begin_s=stored_s(row.at), end_s=end_s, title=f"{row.item}, open", kind="open")
    for each in view.verifications:
        if each.claim_epoch == session.claim_epoch:
            at_s = stored_s(each.at)
            title = f"verification of checkpoint {each.checkpoint}: {each.outcome.replace('_', ' ')}"
            yield Bar(begin_s=at_s, end_s=at_s, title=title, kind="check", more=each.outcome)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Axis:
    """The time from left to right, in seconds since 1970."""

    begin_s: float
    end_s: float
    left: int = _LEFT

    def at(self, time_s: float) -> float:
        length_s = max(self.end_s - self.begin_s, 1.0)
        return self.left + (time_s - self.begin_s) / length_s * (WIDTH - self.left - _LEAST_BAR)

    def marks(self, top: float) -> tuple[str, ...]:
        """Name both ends."""
        of_one_day = self.end_s - self.begin_s < _DAY_S
        begin, end = (
            text[11:] if of_one_day else text[:16] for text in map(shown_s, (self.begin_s, self.end_s))
        )
        return (_text(begin, left=self.left, top=top), _text(end, left=WIDTH, top=top, anchor="end"))


def _axis_of(views: Iterable[TaskView], *, left: int = _LEFT) -> _Axis | None:
    """Return the time in which sessions lived, and what they left went on; None without any."""
    bars = [bar for view in views for session in view.sessions for bar in _bars(view, session)]
    if not bars:
        return None
    return _Axis(begin_s=min(bar.begin_s for bar in bars), end_s=max(bar.end_s for bar in bars), left=left)


def _rows(rows: Sequence[tuple[str, Sequence[Bar]]], time: _Axis, *, say: Say, label: str) -> Drawing:
    parts = []
    for index, (name, bars) in enumerate(rows):
        top = index * (ROW + GAP)
        parts.append(_text(name, left=0, top=top + ROW / 2 + 4))
        parts.extend(_bar(bar, time, top=top, say=say) for bar in bars)
    height = len(rows) * (ROW + GAP)
    parts.extend(time.marks(height + _AXIS - GAP))
    return _picture(parts, height=height + _AXIS, label=label)


def _bar(bar: Bar, time: _Axis, *, top: int, say: Say) -> str:
    left = time.at(max(bar.begin_s, time.begin_s))
    width = max(time.at(min(bar.end_s, time.end_s)) - left, _LEAST_BAR)
    inset = 0 if bar.kind in ("session", "state") else 4
    title = say(bar.title)
    place = f'x="{left:.1f}" y="{top + inset}" width="{width:.1f}" height="{ROW - 2 * inset}" rx="3"'
    drawn = f'<rect class="{escape(f"{bar.kind} {bar.more}".strip())}" {place}><title>{escape(title)}</title></rect>'
    if bar.kind not in _NAMED or len(title) * _CHAR_WIDTH > width:
        return drawn
    return drawn + _text(title, left=left + 6, top=top + ROW / 2 + 4, kind=f"named {bar.kind}")


def _text(words: str, *, left: float, top: float, anchor: str = "start", kind: str = "") -> str:
    place = f'x="{left:.1f}" y="{top:.1f}" text-anchor="{anchor}"'
    return f'<text class="{escape(kind)}" {place}>{escape(words)}</text>'


@_if_readable
def context_of(view: TaskView, settings: Settings, *, say: Say = printable) -> Drawing:
    """Return the curve of the context, in percent, below the task's life: the same time, with the thresholds at which
    something happens.
    """
    points = [(stored_s(row.at), row.context_pct, row) for row in view.journal if row.context_pct is not None]
    time = _axis_of([view])
    if len(points) < 2 or time is None:
        return Drawing()
    place = f'x="{_LEFT}" y="0" width="{WIDTH - _LEFT}" height="{_CURVE_HEIGHT}" rx="3"'
    parts = [f'<rect class="ground" {place}/>', *map(_threshold, thresholds(settings))]
    for session in view.sessions:
        own = [
            (time.at(at_s), _height(pct))
            for at_s, pct, row in points
            if row.claim_epoch == session.claim_epoch
        ]
        title = f"session {session.number}"
        line = " ".join(f"{left:.1f},{top:.1f}" for left, top in own)
        parts.append(f'<polyline class="context" points="{line}"><title>{title}</title></polyline>')
        parts.extend(_reading(left, top) for left, top in own)
    last_s, last_pct, _ = points[-1]
    parts.append(_last_reading(f"{last_pct:.0f} %", left=time.at(last_s), top=_height(last_pct) - 6))
    parts.extend(time.marks(_CURVE_HEIGHT + _AXIS - 4))
    parts.extend(_handoff(time, each, say) for each in view.sessions[:-1] if each.ended_at)
    return _picture(parts, height=_CURVE_HEIGHT + _AXIS, label="Context used, in percent")


def _reading(left: float, top: float) -> str:
    """A session that was measured once has a point and no line."""
    return f'<circle class="context" cx="{left:.1f}" cy="{top:.1f}" r="2.5"/>'


def _last_reading(words: str, *, left: float, top: float) -> str:
    """Before the point, or after one that is at the picture's left end, where the thresholds have their names."""
    if left - _LEFT < len(words) * _CHAR_WIDTH:
        return _text(words, left=left + 6, top=top)
    return _text(words, left=left - 4, top=top, anchor="end")


def _handoff(time: _Axis, session: SessionRow, say: Say) -> str:
    left = f"{time.at(stored_s(session.ended_at or session.started_at)):.1f}"
    title = say(f"session {session.number} ends: {session.exit_reason or 'nobody knows why'}")
    place = f'x1="{left}" x2="{left}" y1="0" y2="{_CURVE_HEIGHT}"'
    return f'<line class="handoff" {place}><title>{escape(title)}</title></line>'


def thresholds(settings: Settings) -> tuple[float, ...]:
    context = settings.context
    return (context.economy_from_pct, context.handoff_from_pct, context.exit_from_pct)


def _threshold(pct: float) -> str:
    height = _height(pct)
    line = f'<line class="threshold" x1="{_LEFT}" x2="{WIDTH}" y1="{height:.1f}" y2="{height:.1f}"/>'
    return line + _text(f"{pct:g} %", left=0, top=height + 4)


def _height(pct: float) -> float:
    return _CURVE_HEIGHT * (1 - min(max(pct, 0.0), 100.0) / 100)


def _picture(parts: Sequence[str], *, height: int, label: str) -> Drawing:
    head = f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(label)}">'
    return Drawing(head + "".join(parts) + "</svg>")
