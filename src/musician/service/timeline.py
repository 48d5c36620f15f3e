"""Everything that happened, in one line of time: messages, state changes, journal.

The three count by themselves and their times are whole seconds. Within a second a change of state stands behind the
message it was made with and before the next one, since both were written in one transaction, message first; what a
session wrote down stands last.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby

from musician.protocol.journal import status_line
from musician.service.work import as_entry
from musician.store.port import Store, Tx
from musician.store.queries.history import History
from musician.store.queries.messages import Messages
from musician.store.queries.work import Work

__all__ = ["MOST_HAPPENINGS", "Happening", "Source", "Timeline", "happenings"]

MOST_HAPPENINGS = 100_000
"""The newest are told."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Oldest first. ``left_out`` are older ones."""

    happenings: tuple[Happening, ...]
    left_out: int


def happenings(store: Store, *, most: int = MOST_HAPPENINGS) -> Timeline:
    """The newest there are, in their order."""
    with store.read() as tx:
        found = [*_messages(tx, most), *_changes(tx, most), *_journal(tx, most)]
        total = tx.only(History.count_happenings)
    found.sort(key=lambda each: each[0].at)
    ordered = [
        each for _, within in groupby(found, key=lambda each: each[0].at) for each in _causal(tuple(within))
    ]
    kept = tuple(ordered[-most:])
    return Timeline(happenings=kept, left_out=total - len(kept))


_Found = tuple[Happening, int | None]
"""What happened, and the message it was made with."""


def _causal(found: Sequence[_Found]) -> Iterator[Happening]:
    """Those of one second."""
    of = {
        source: deque(sorted((each for each in found if each[0].source is source), key=_id))
        for source in Source
    }
    messages, changes = of[Source.MESSAGE], of[Source.STATE]
    unsaid = {message.id for message, _ in messages}
    while messages or changes:
        if changes and changes[0][1] not in unsaid:
            yield changes.popleft()[0]
        else:
            message, _ = messages.popleft()
            unsaid.remove(message.id)
            yield message
    yield from (entry for entry, _ in of[Source.JOURNAL])


def _id(found: _Found) -> int:
    return found[0].id


def _messages(tx: Tx, most: int) -> Iterator[_Found]:
    for row in tx.all(Messages.newest_messages, most=most):
        happened = Happening(
            at=row.timestamp,
            source=Source.MESSAGE,
            id=row.id,
            task_id=row.task_id,
            who=row.from_session,
            what=row.message_type,
            text=row.message,
        )
        yield happened, None


def _changes(tx: Tx, most: int) -> Iterator[_Found]:
    for row in tx.all(History.newest_changes, most=most):
        cause = "" if row.message_id is None else f"message {row.message_id}"
        happened = Happening(
            at=row.at,
            source=Source.STATE,
            id=row.id,
            task_id=row.task_id,
            who=row.who,
            what=f"{row.from_state or 'new'} → {row.to_state}",
            text=cause,
        )
        yield happened, row.message_id


def _journal(tx: Tx, most: int) -> Iterator[_Found]:
    for row in tx.all(Work.newest_entries, most=most):
        happened = Happening(
            at=row.at,
            source=Source.JOURNAL,
            id=row.id,
            task_id=row.task_id,
            who=row.session_id,
            what=row.kind,
            text=status_line(as_entry(row)),
        )
        yield happened, None
