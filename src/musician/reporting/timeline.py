"""Lists everything that happened, in the order it was written: who did what to which task."""

from collections.abc import Iterable, Iterator
from typing import assert_never

from musician.protocol.journal import JUDGED_BY_PERSON, status_line
from musician.protocol.names import CONDUCTOR
from musician.protocol.states import VERDICTS
from musician.protocol.values import dataclass, replace
from musician.reporting.asks import JUDGED
from musician.reporting.spending import say_usage
from musician.service.following import PlanChange, Source, newest_changes
from musician.service.work import as_entry
from musician.store.port import Store
from musician.store.rows import HistoryRow, HumanRow, JournalRow, MessageRow, UsageRow

MOST_HAPPENINGS = 1000
"""How many of the newest are listed by default."""
_MOST_LOOKED_THROUGH = 5000
"""Of the newest, for the decisions among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """One row of history, messages, journal or questions.

    ``at`` is UTC by the database's clock, ``id`` the row's own in its table. ``text`` may have several lines.
    """

    seq: int
    at: str
    source: Source
    id: int
    task_id: str
    who: str
    what: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """``happenings`` are sorted, oldest first; ``left_out`` counts the older ones that are not among them."""

    happenings: tuple[Happening, ...]
    left_out: int


def happenings(store: Store, *, most: int = MOST_HAPPENINGS) -> Timeline:
    """Return the newest ``most`` happenings."""
    changes, left_out = newest_changes(store, most=most)
    return Timeline(happenings=tuple(map(_happening, changes)), left_out=left_out)


def decisions(store: Store) -> Timeline:
    """Return what was decided of what happened last: each verdict and by whom, and how each question was settled."""
    changes, left_out = newest_changes(store, most=_MOST_LOOKED_THROUGH)
    return Timeline(happenings=tuple(_decided(changes)), left_out=left_out)


def _decided(changes: Iterable[PlanChange]) -> Iterator[Happening]:
    by_person: set[str] = set()
    for change in changes:
        match change.row:
            case JournalRow(text=text) if (
                text == JUDGED_BY_PERSON
            ):  # written in one transaction with the verdict
                by_person.add(change.task_id)
            case HistoryRow(to_state=to_state) if to_state in VERDICTS:
                who = "a person" if change.task_id in by_person else "a rule or an agent"
                by_person.discard(change.task_id)
                what = str(to_state).replace("_", " ")
                yield replace(_happening(change), who=who, what=what, text=change.said)
            case HumanRow(kind=kind, resolution=text) if (
                change.source is Source.SETTLED and kind not in JUDGED
            ):
                yield replace(_happening(change), who="", what=f"{kind} settled", text=text or "")
            case _:
                pass


def _happening(change: PlanChange) -> Happening:
    match change.row:
        case MessageRow() as row:
            at, who, what, text = row.timestamp, row.from_session, row.message_type, row.message
        case HistoryRow() as row:
            at, who, what = row.at, row.who, f"{row.from_state or 'new'} → {row.to_state}"
            text = "" if row.message_id is None else f"message {row.message_id}"
        case JournalRow() as row:
            at, who, what, text = row.at, row.session_id, row.kind, status_line(as_entry(row))
        case UsageRow() as row:
            at, who, what, text = row.at, row.session_id, "used", f"{row.item}: {say_usage((row,))}"
        case HumanRow() as row if change.source is Source.ASKED:
            at, who, what, text = row.at, CONDUCTOR, "needs a person", f"{row.kind}: {row.text}"
        case HumanRow() as row:
            at, who, what, text = row.resolved_at or row.at, CONDUCTOR, "settled", row.resolution or ""
        case _:
            assert_never(change.row)
    return Happening(
        seq=change.seq,
        at=at,
        source=change.source,
        id=change.row.id,
        task_id=change.task_id,
        who=who,
        what=what,
        text=text,
    )
