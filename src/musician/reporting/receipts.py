"""Says what has become of each word of the conductor's to a task.

Theory. Stored, delivered and acknowledged are facts (D12). A fourth is no row: an order, a verdict among them, is to
one claim, and is settled when that ends (D37). Nobody will read it as a message any more, and "stored" would say that
somebody is still to. A verdict is not lost by that: the next session knows it from the submission it judged, and has
been handed it once it has looked back. What a task is told that is over is read by nobody.
"""

from collections.abc import Mapping

from musician import service
from musician.protocol.journal import EntryKind
from musician.protocol.values import dataclass
from musician.reporting.standing import names_of
from musician.service.views import TaskView
from musician.store.port import Store
from musician.store.rows import ReceiptRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """``at`` is UTC by the database's clock, "" where nothing has happened that had a time."""

    text: str
    at: str = ""
    is_waiting: bool = False
    """A session is still to be given it."""

    @property
    def shown(self) -> str:
        return f"{self.text} {self.at} UTC" if self.at else self.text


def marks_of(store: Store, view: TaskView, *, most: int) -> Mapping[int, Mark]:
    """Return the marks of the conductor's newest ``most`` messages to a task, by their ids."""
    handed = {row.verdict_id for row in view.this_time.submissions}
    return {
        row.message_id: _mark(view, row, is_verdict=row.message_id in handed)
        for row in service.receipts_of(store, view.row.task_id, most=most)
    }


def _mark(view: TaskView, row: ReceiptRow, *, is_verdict: bool) -> Mark:
    if row.acknowledged_at:
        return Mark(text="acknowledged", at=row.acknowledged_at)
    if row.delivered_at:
        ended = {each.claim_epoch: each.session_id for each in view.sessions if each.ended_at}
        if not row.is_unread or view.row.is_over or row.delivered_epoch not in ended:
            return Mark(text="delivered", at=row.delivered_at)
        who = _name(view, ended[row.delivered_epoch])
        return Mark(
            text=f"delivered to {who}, which has ended; the next session is given it", is_waiting=True
        )
    if view.row.is_over and row.is_unread:
        return Mark(text="never delivered: the task is over")
    if row.is_unread:
        return Mark(text="stored, not delivered yet", is_waiting=True)
    if not is_verdict or row.ordered_epoch is None:
        return Mark(text="never delivered: the session it was for has ended")
    return _handed_on(view, row.ordered_epoch)


def _handed_on(view: TaskView, epoch: int) -> Mark:
    """Of a verdict whose claim had ended before anybody read it."""
    looked_back = (
        each for each in view.journal if each.kind == EntryKind.CLAIMED and each.claim_epoch > epoch
    )
    first = next(looked_back, None)
    if first is not None:
        return Mark(text=f"handed to the next session, {_name(view, first.session_id)},", at=first.at)
    if view.row.is_over:
        return Mark(text="never delivered: the task is over")
    return Mark(text="its session has ended: the next one is handed it", is_waiting=True)


def _name(view: TaskView, session_id: str) -> str:
    return names_of(view).get(session_id, session_id)
