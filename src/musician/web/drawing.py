"""Draws a task's life as plain SVG: when its sessions lived, what they played, and how full their context was.

A picture is text from the server, so it needs no script, prints, and can be read out: every mark has a title. Colours
are classes of the style sheet.
"""

from collections.abc import Iterator, Sequence

from markupsafe import Markup, escape

from musician.protocol.journal import EntryKind
from musician.protocol.settings import Settings
from musician.protocol.values import dataclass
from musician.reporting.spans import stored_s
from musician.service import TaskView
from musician.store.rows import JournalRow

WIDTH, ROW, GAP = 1000, 22, 6
_CURVE_HEIGHT = 120
_LEAST_BAR = 3

_BEGINS = frozenset({EntryKind.STARTED, EntryKind.LAUNCHED})
_ENDS = frozenset({EntryKind.COMPLETED, EntryKind.RETURNED, EntryKind.SKIPPED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """Something that lasted, in seconds since 1970. ``kind`` is a class of the style sheet."""

    begin_s: float
    end_s: float
    title: str
    kind: str


def life_of(view: TaskView) -> Markup:
    """Return the picture of a task's sessions, a row each: its length, its pieces and its verifications."""
    rows = [list(_bars(view, session.claim_epoch)) for session in view.sessions]
    if not any(rows):
        return Markup()
    begin_s = min(bar.begin_s for row in rows for bar in row)
    length_s = max(max(bar.end_s for row in rows for bar in row) - begin_s, 1.0)
    parts = [
        _rectangle(bar, begin_s=begin_s, length_s=length_s, top=index * (ROW + GAP))
        for index, row in enumerate(rows)
        for bar in row
    ]
    return _picture(parts, height=len(rows) * (ROW + GAP), label="Sessions, their pieces and verifications")


def _bars(view: TaskView, epoch: int) -> Iterator[Bar]:
    for session in view.sessions:
        if session.claim_epoch == epoch:
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
        if row.claim_epoch != epoch:
            continue
        if row.kind in _BEGINS:
            begun[row.item] = row
        elif row.kind in _ENDS and row.item in begun:
            yield Bar(
                begin_s=stored_s(begun.pop(row.item).at), end_s=stored_s(row.at), title=row.item, kind="piece"
            )
    for row in begun.values():
        yield Bar(begin_s=stored_s(row.at), end_s=stored_s(view.at), title=f"{row.item}, open", kind="open")
    for each in view.verifications:
        if each.claim_epoch == epoch:
            at_s = stored_s(each.at)
            title = f"verification of checkpoint {each.checkpoint}: {each.outcome}"
            yield Bar(begin_s=at_s, end_s=at_s, title=title, kind=f"check {each.outcome}")


def _rectangle(bar: Bar, *, begin_s: float, length_s: float, top: int) -> Markup:
    left = (bar.begin_s - begin_s) / length_s * (WIDTH - _LEAST_BAR)
    width = max((bar.end_s - bar.begin_s) / length_s * (WIDTH - _LEAST_BAR), _LEAST_BAR)
    inset = 0 if bar.kind == "session" else 4
    return Markup(
        '<rect class="{}" x="{:.1f}" y="{}" width="{:.1f}" height="{}" rx="2"><title>{}</title></rect>'
    ).format(bar.kind, left, top + inset, width, ROW - 2 * inset, bar.title)


def context_of(view: TaskView, settings: Settings) -> Markup:
    """Return the curve of the context, in percent, with the thresholds at which something happens."""
    points = [(stored_s(row.at), row.context_pct, row) for row in view.journal if row.context_pct is not None]
    if len(points) < 2:
        return Markup()
    begin_s, length_s = points[0][0], max(points[-1][0] - points[0][0], 1.0)
    parts = [_threshold(pct) for pct in thresholds(settings)]
    for session in view.sessions:
        own = [
            f"{(at_s - begin_s) / length_s * WIDTH:.1f},{_height(pct):.1f}"
            for at_s, pct, row in points
            if row.claim_epoch == session.claim_epoch
        ]
        parts.append(
            Markup('<polyline class="context" points="{}"><title>session {}</title></polyline>').format(
                " ".join(own), session.number
            )
        )
    return _picture(parts, height=_CURVE_HEIGHT, label="Context used, in percent")


def thresholds(settings: Settings) -> tuple[float, ...]:
    context = settings.context
    return (context.economy_from_pct, context.handoff_from_pct, context.exit_from_pct)


def _threshold(pct: float) -> Markup:
    return Markup(
        '<line class="threshold" x1="0" x2="{}" y1="{:.1f}" y2="{:.1f}"/><text x="2" y="{:.1f}">{:g} %</text>'
    ).format(WIDTH, _height(pct), _height(pct), _height(pct) - 2, pct)


def _height(pct: float) -> float:
    return _CURVE_HEIGHT * (1 - min(max(pct, 0.0), 100.0) / 100)


def _picture(parts: Sequence[Markup], *, height: int, label: str) -> Markup:
    head = Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="{}">').format(WIDTH, height, escape(label))
    return head + Markup().join(parts) + Markup("</svg>")
