"""Draws a task's life as plain SVG: when its sessions lived, what they played, and how full their context was.

A picture is text from the server, so it needs no script, prints, and can be read out: every mark has a title. Colours
are classes of the style sheet.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from markupsafe import Markup, escape

from musician.protocol.journal import EntryKind
from musician.protocol.settings import Settings
from musician.protocol.values import dataclass
from musician.reporting.overview import Lane, PlanLines
from musician.reporting.spans import stored_s
from musician.service import TaskView
from musician.store.rows import JournalRow, SessionRow

WIDTH, ROW, GAP = 1000, 26, 6
_LEFT = 34
"""Where a picture's ground begins; its rows are named before it."""
_AXIS = 18
"""Of height, for the times under a picture."""
_CURVE_HEIGHT = 160
_LEAST_BAR = 3
_CHAR_WIDTH = 7
"""Of a bar's name, about; a bar that is too short for its name goes without."""

_BEGINS = frozenset({EntryKind.STARTED, EntryKind.LAUNCHED})
_ENDS = frozenset({EntryKind.COMPLETED, EntryKind.RETURNED, EntryKind.SKIPPED})

_BY_PROGRESS = (
    Lane.DONE,
    Lane.RUNNING,
    Lane.NEEDS_YOU,
    Lane.UNKNOWN,
    Lane.STANDS_STILL,
    Lane.LATER,
)
"""What was withdrawn is no part of a plan's way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """Something that lasted, in seconds since 1970. ``kind`` is a class of the style sheet."""

    begin_s: float
    end_s: float
    title: str
    kind: str


def life_of(view: TaskView) -> Markup:
    """Return the picture of a task's sessions, a row each: its length, its pieces and its verifications."""
    rows = [list(_bars(view, session)) for session in view.sessions]
    if not any(rows):
        return Markup()
    time = _axis_of(rows)
    parts = []
    for index, (session, row) in enumerate(zip(view.sessions, rows, strict=True)):
        top = index * (ROW + GAP)
        parts.append(_text(f"S{session.number}", left=0, top=top + ROW / 2 + 4))
        parts.extend(_bar(bar, time, top=top) for bar in row)
    height = len(rows) * (ROW + GAP)
    parts.extend(time.marks(height + _AXIS - GAP))
    return _picture(parts, height=height + _AXIS, label="Sessions, their pieces and verifications")


def progress_of(plan: PlanLines) -> Markup:
    """Return a bar in which each task of a plan has a part, those that stand alike side by side."""
    counted = [(lane, plan.count(lane)) for lane in _BY_PROGRESS]
    shown = [(lane, count) for lane, count in counted if count]
    parts, left = [], 0
    for lane, count in shown:
        parts.append(
            Markup('<rect class="{}" x="{}" y="0" width="{}" height="1"/>').format(
                lane.replace(" ", "-"), left, count
            )
        )
        left += count
    label = ", ".join(f"{count} {lane}" for lane, count in shown)
    head = Markup(
        '<svg class="progress" viewBox="0 0 {} 1" preserveAspectRatio="none" role="img" aria-label="{}">'
    ).format(max(left, 1), label)
    return head + Markup().join(parts) + Markup("</svg>")


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
            title = f"verification of checkpoint {each.checkpoint}: {each.outcome}"
            yield Bar(begin_s=at_s, end_s=at_s, title=title, kind=f"check {each.outcome}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Axis:
    """The time from left to right, in seconds since 1970."""

    begin_s: float
    end_s: float

    def at(self, time_s: float) -> float:
        length_s = max(self.end_s - self.begin_s, 1.0)
        return _LEFT + (time_s - self.begin_s) / length_s * (WIDTH - _LEFT - _LEAST_BAR)

    def marks(self, top: float) -> tuple[Markup, ...]:
        """Name both ends."""
        begin, end = (
            datetime.fromtimestamp(each, UTC).strftime("%H:%M:%S") for each in (self.begin_s, self.end_s)
        )
        return (_text(begin, left=_LEFT, top=top), _text(end, left=WIDTH, top=top, anchor="end"))


def _axis_of(rows: Sequence[Sequence[Bar]]) -> _Axis:
    """Return a task's time, from its first bar to its last. Its pictures stand one above the other, on one axis."""
    return _Axis(
        begin_s=min(bar.begin_s for row in rows for bar in row),
        end_s=max(bar.end_s for row in rows for bar in row),
    )


def _bar(bar: Bar, time: _Axis, *, top: int) -> Markup:
    left = time.at(bar.begin_s)
    width = max(time.at(bar.end_s) - left, _LEAST_BAR)
    inset = 0 if bar.kind == "session" else 4
    drawn = Markup(
        '<rect class="{}" x="{:.1f}" y="{}" width="{:.1f}" height="{}" rx="3"><title>{}</title></rect>'
    ).format(bar.kind, left, top + inset, width, ROW - 2 * inset, bar.title)
    if bar.kind != "piece" or len(bar.title) * _CHAR_WIDTH > width:
        return drawn
    return drawn + _text(bar.title, left=left + 6, top=top + ROW / 2 + 4, kind="named")


def _text(words: str, *, left: float, top: float, anchor: str = "start", kind: str = "") -> Markup:
    return Markup('<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>').format(
        kind, left, top, anchor, words
    )


def context_of(view: TaskView, settings: Settings) -> Markup:
    """Return the curve of the context, in percent, with the thresholds at which something happens."""
    points = [(stored_s(row.at), row.context_pct, row) for row in view.journal if row.context_pct is not None]
    if len(points) < 2 or not view.sessions:
        return Markup()
    time = _axis_of([list(_bars(view, session)) for session in view.sessions])
    ground = Markup('<rect class="ground" x="{}" y="0" width="{}" height="{}" rx="3"/>')
    parts = [ground.format(_LEFT, WIDTH - _LEFT, _CURVE_HEIGHT), *map(_threshold, thresholds(settings))]
    for session in view.sessions:
        own = [
            (time.at(at_s), _height(pct))
            for at_s, pct, row in points
            if row.claim_epoch == session.claim_epoch
        ]
        parts.append(
            Markup('<polyline class="context" points="{}"><title>session {}</title></polyline>').format(
                " ".join(f"{left:.1f},{top:.1f}" for left, top in own), session.number
            )
        )
        parts.extend(_reading(left, top) for left, top in own)
    last_s, last_pct, _ = points[-1]
    parts.append(
        _text(f"{last_pct:.0f} %", left=time.at(last_s) - 4, top=_height(last_pct) - 6, anchor="end")
    )
    parts.extend(time.marks(_CURVE_HEIGHT + _AXIS - 4))
    parts.extend(_handoff(time, each) for each in view.sessions[:-1] if each.ended_at)
    return _picture(parts, height=_CURVE_HEIGHT + _AXIS, label="Context used, in percent")


def _reading(left: float, top: float) -> Markup:
    """A session that was measured once has a point and no line."""
    return Markup('<circle class="context" cx="{:.1f}" cy="{:.1f}" r="2.5"/>').format(left, top)


def _handoff(time: _Axis, session: SessionRow) -> Markup:
    left = time.at(stored_s(session.ended_at or session.started_at))
    title = f"session {session.number} ends: {session.exit_reason or 'nobody knows why'}"
    return Markup(
        '<line class="handoff" x1="{0:.1f}" x2="{0:.1f}" y1="0" y2="{1}"><title>{2}</title></line>'
    ).format(left, _CURVE_HEIGHT, title)


def thresholds(settings: Settings) -> tuple[float, ...]:
    context = settings.context
    return (context.economy_from_pct, context.handoff_from_pct, context.exit_from_pct)


def _threshold(pct: float) -> Markup:
    line = Markup('<line class="threshold" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>')
    height = _height(pct)
    return line.format(_LEFT, WIDTH, height, height) + _text(f"{pct:g} %", left=0, top=height + 4)


def _height(pct: float) -> float:
    return _CURVE_HEIGHT * (1 - min(max(pct, 0.0), 100.0) / 100)


def _picture(parts: Sequence[Markup], *, height: int, label: str) -> Markup:
    head = Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="{}">').format(WIDTH, height, escape(label))
    return head + Markup().join(parts) + Markup("</svg>")
