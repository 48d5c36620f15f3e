"""The one order of messages, changes of state, journals, what persons were asked and what became of proposals."""

from typing import NamedTuple

from musician.store.query import Command, Query, Row
from musician.store.rows.documents import DecidedRow, HumanRow
from musician.store.rows.messages import MessageRow
from musician.store.rows.sessions import JournalRow, UsageRow
from musician.store.rows.tasks import HistoryRow

ChangedRow = MessageRow | HistoryRow | JournalRow | UsageRow | HumanRow | DecidedRow


class PlaceRow(NamedTuple):
    """``said`` is the message that a change of state was made with."""

    seq: int
    source: str
    said: str | None = None


class MovedRow(NamedTuple):
    seq: int
    has_moved: bool


class _Changed(Query[tuple[PlaceRow, ChangedRow]]):
    """A row of its table, beside its place."""

    __slots__ = ("_place", "_row")

    def __init__(self, kind: type[ChangedRow]) -> None:
        super().__init__(tuple, "seq until")
        self._place, self._row = Query(PlaceRow), Query(kind)

    def read(self, row: Row) -> tuple[PlaceRow, ChangedRow]:
        return self._place.read(row), self._row.read(row)


class Changes:
    reached = Query(int, "seq most until")
    newest_seq = Query(int)
    news_of = Query(MovedRow, "seq task_ids journals")
    before_the_newest = Query(int, "most until")
    place_of_state = Query(int, "task_id message_id")
    changed_messages = _Changed(MessageRow)
    changed_states = _Changed(HistoryRow)
    changed_journals = _Changed(JournalRow)
    changed_usage = _Changed(UsageRow)
    changed_asks = _Changed(HumanRow)
    changed_proposals = _Changed(DecidedRow)
    order_the_rest = Command()
    keep_settlements = Command()
