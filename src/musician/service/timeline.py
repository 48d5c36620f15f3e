"""Everything that happened, in one line of time: messages, state changes, journal."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from musician.protocol.journal import Entry, Kind, status_line
from musician.protocol.rules.deviations import Severity
from musician.store.port import Store, Tx
from musician.store.rows import HistoryRow, JournalRow, MessageRow, decode

__all__ = ["MOST_HAPPENINGS", "Happening", "Source", "happenings"]

MOST_HAPPENINGS = 100_000
"""Of each source; a longer life is told up to here."""


class Source(StrEnum):
    MESSAGE = "message"
    STATE = "state"
    JOURNAL = "journal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """``at`` is UTC by the database's clock, ``id`` the row's in its source; ``text`` may have several lines."""

    at: str
    source: Source
    id: int
    task_id: str
    who: str
    what: str
    text: str


def happenings(store: Store, *, most: int = MOST_HAPPENINGS) -> tuple[Happening, ...]:
    """Oldest first. Within a second: messages, then the changes they caused, then what was written down."""
    with store.read() as tx:
        found = [*_messages(tx, most), *_changes(tx, most), *_journal(tx, most)]
    order = list(Source)
    return tuple(sorted(found, key=lambda each: (each.at, order.index(each.source), each.id)))


def _messages(tx: Tx, most: int) -> Iterator[Happening]:
    for each in tx.all("messages_after", after=0, most=most):
        row = decode(MessageRow, each)
        yield Happening(
            at=row.timestamp,
            source=Source.MESSAGE,
            id=row.id,
            task_id=row.task_id,
            who=row.from_session,
            what=row.message_type,
            text=row.message,
        )


def _changes(tx: Tx, most: int) -> Iterator[Happening]:
    for each in tx.all("history_after", after=0, most=most):
        row = decode(HistoryRow, each)
        cause = "" if row.message_id is None else f"message {row.message_id}"
        yield Happening(
            at=row.at,
            source=Source.STATE,
            id=row.id,
            task_id=row.task_id,
            who=row.who,
            what=f"{row.from_state or 'new'} → {row.to_state}",
            text=cause,
        )


def _journal(tx: Tx, most: int) -> Iterator[Happening]:
    for each in tx.all("journal_after", after=0, most=most):
        row = decode(JournalRow, each)
        entry = Entry(
            kind=Kind(row.kind),
            item=row.item,
            text=row.text,
            severity=None if row.severity is None else Severity(row.severity),
            context_pct=row.context_pct,
        )
        yield Happening(
            at=row.at,
            source=Source.JOURNAL,
            id=row.id,
            task_id=row.task_id,
            who=row.session_id,
            what=row.kind,
            text=status_line(entry),
        )
