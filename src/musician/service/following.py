"""Following what happens: messages, changes of state, journals, what persons are asked, proposals that are decided.

Theory. Every such row has a place in one order, its ``seq``, given by the database (``store/sqlite/ordering.py``).
Whoever follows keeps the seq it has come to and asks for what is after it, in pages; nothing comes twice or is left
out, however seldom it asks, and nothing is ever sorted by its time. Whoever waits asks first whether anything is new
of a task (``Changes.news_of``), which reads no more than what was written since.
"""

from collections.abc import Iterator
from enum import StrEnum
from operator import attrgetter

from musician.protocol.values import dataclass
from musician.store.port import Store, Tx
from musician.store.queries.changes import ChangedRow, Changes

MOST_CHANGES = 1000
"""In one page."""

_END = 2**63 - 1

_CHANGED = (
    Changes.changed_messages,
    Changes.changed_states,
    Changes.changed_journals,
    Changes.changed_usage,
    Changes.changed_asks,
    Changes.changed_proposals,
)


class Source(StrEnum):
    MESSAGE = "message"
    STATE = "state"
    JOURNAL = "journal"
    USAGE = "usage"
    ASKED = "asked"
    SETTLED = "settled"
    DECIDED = "decided"
    """A proposal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanChange:
    """One thing that happened. ``said`` is the message that a change of state was made with, "" without one.

    A row of what a person is asked says what stands now: where it was asked again since, ``row`` is of the last time.
    """

    seq: int
    source: Source
    row: ChangedRow
    said: str = ""

    @property
    def task_id(self) -> str:
        return self.row.task_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """``seq`` is how far it goes, to be asked for next.

    A message that was deleted leaves a seq without a change, and so does a claim that was fenced or rebound: it has a
    place, so that its owner learns of it, and nothing to tell.
    """

    changes: tuple[PlanChange, ...]
    seq: int


def changes_since(store: Store, seq: int, *, most: int = MOST_CHANGES, until: int = _END) -> Page:
    """Return the changes after ``seq``, oldest first. A page that ends at ``seq`` means that there are no more."""
    with store.read() as tx:
        return page_in(tx, seq, most=most, until=until)


def every_change(store: Store, seq: int, *, until: int) -> Iterator[PlanChange]:
    """All that happened after ``seq``, up to ``until``, page by page."""
    while seq < until:
        page = changes_since(store, seq, until=until)
        yield from page.changes
        if page.seq == seq:
            return
        seq = page.seq


def newest_changes(store: Store, *, most: int) -> tuple[tuple[PlanChange, ...], int]:
    """The newest there are, oldest first, and how many are older: no seq is left out."""
    with store.read() as tx:
        before = tx.only(Changes.before_the_newest, most=most, until=_END)
        return page_in(tx, before, most=most).changes, before


def change_with(store: Store, task_id: str, message_id: int) -> PlanChange | None:
    """Return the change of a task's state that a message was written with, None where there is none."""
    with store.read() as tx:
        seq = tx.one(Changes.place_of_state, task_id=task_id, message_id=message_id)
        return None if seq is None else page_in(tx, seq - 1, most=1, until=seq).changes[0]


def seq_before(store: Store, until: int, *, most: int = MOST_CHANGES) -> int:
    """Return after which place the last ``most`` changes up to ``until`` stand; 0 where there are no others."""
    with store.read() as tx:
        return tx.only(Changes.before_the_newest, most=most, until=until)


def newest_seq(store: Store) -> int:
    """0 where nothing has happened yet."""
    with store.read() as tx:
        return tx.only(Changes.newest_seq)


def page_in(tx: Tx, seq: int, *, most: int, until: int = _END) -> Page:
    reached = tx.only(Changes.reached, seq=seq, most=most, until=until)
    span = {"seq": seq, "until": reached}
    found = [
        PlanChange(seq=place.seq, source=Source(place.source), row=row, said=place.said or "")
        for query in _CHANGED
        for place, row in tx.all(query, **span)
    ]
    return Page(changes=tuple(sorted(found, key=attrgetter("seq"))), seq=reached)
