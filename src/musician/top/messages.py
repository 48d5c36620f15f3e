"""What was said about a task, and what became of each word of the conductor's: stored, delivered, acknowledged."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from textual.binding import Binding, BindingType

from musician import service
from musician.processes.output import headline
from musician.project import Project
from musician.protocol.names import CONDUCTOR
from musician.reporting.overview import Overview
from musician.reporting.standing import Standing, names_of
from musician.reporting.timeline import say_signer
from musician.store.port import Store
from musician.store.rows import MessageRow, ReceiptRow
from musician.top.offers import say_offer
from musician.top.page import Folded, Page
from musician.top.rows import Row, block, row

MOST_SHOWN = 200
"""Of the newest; the others are counted."""
_MOST_WATCHED = 3
"""Of the newest words of the conductor's, on the task's own screen."""


class Messages(Page):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("s", "say", "Say")]
    ORDERS: ClassVar[frozenset[str]] = frozenset({"say"})

    def __init__(self, task_id: str, plan: str | None = None) -> None:
        super().__init__(plan)
        self._task_id = task_id

    def fold(self, _: Overview, project: Project) -> Folded:
        store, task_id = project.store, self._task_id
        names = names_of(service.task_view(store, task_id))
        every = service.messages_of(store, task_id, most=MOST_SHOWN)
        receipts = service.receipts_of(store, task_id)
        signers = service.signers_of_messages(store, task_id)
        rows = [
            found
            for each in every
            for found in _rows(each, names, receipts, by=say_signer(signers.get(each.id)))
        ]
        return ((f"Messages of {task_id}", "bold"),), rows or [row("none", "Nothing was said yet.")]

    def start(self, rows: list[Row]) -> int:
        return len(rows) - 1

    def action_say(self) -> None:
        self.top.give(say_offer(self.top.project, self._task_id))


def watched(store: Store, standing: Standing) -> Iterator[Row]:
    """Yield the conductor's newest words to the session, each with how far it has come."""
    every = service.messages_of(store, standing.task_id, most=MOST_SHOWN)
    receipts = service.receipts_of(store, standing.task_id)
    for each in [each for each in every if each.from_session == CONDUCTOR][-_MOST_WATCHED:]:
        mark = _mark(receipts.get(each.id))
        yield Row(
            key=f"word-{each.id}",
            parts=(
                (f"{each.message_type.replace('_', ' ')} {each.id}: ", "dim"),
                (mark, "bold" if each.id not in receipts else ""),
                (f"  {headline(each.message)}", "dim"),
            ),
            is_cut=True,
        )


def _rows(
    each: MessageRow, names: Mapping[str, str], receipts: Mapping[int, ReceiptRow], *, by: str
) -> Iterator[Row]:
    mark = f"  {_mark(receipts.get(each.id))}" if each.from_session == CONDUCTOR else ""
    who = names.get(each.from_session, each.from_session)
    yield Row(
        key=f"message-{each.id}",
        parts=(
            (f"{each.timestamp}  ", "dim"),
            (f"{who} ({by})" if by else who, "bold"),
            (f"  {each.message_type.replace('_', ' ')} {each.id}", "$text-accent"),
            (mark, ""),
        ),
        begins=True,
    )
    yield from block(f"message-{each.id}", each.message, indent="  ")


def _mark(receipt: ReceiptRow | None) -> str:
    if receipt is None:
        return "stored, not delivered yet"
    if receipt.acknowledged_at:
        return f"acknowledged {receipt.acknowledged_at} UTC"
    return f"delivered {receipt.delivered_at} UTC"
