"""What was said about a task, and what became of each word of the conductor's."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from textual.binding import Binding, BindingType

from musician import service
from musician.processes.output import headline
from musician.project import Project
from musician.reporting.overview import Overview
from musician.reporting.receipts import Mark, marks_of
from musician.reporting.standing import Standing, names_of
from musician.reporting.timeline import signers_of
from musician.store.port import Store
from musician.store.rows import MessageRow
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
        view = service.task_view(store, task_id)
        names = names_of(view)
        every, left_out = service.newest_messages(store, task_id, most=MOST_SHOWN)
        marks, by = marks_of(store, view, most=MOST_SHOWN), signers_of(store, task_id, most=MOST_SHOWN)
        rows = [found for each in every for found in _rows(each, names, marks, by=by.get(each.id, ""))]
        if left_out:
            older = f"Older ones are left out: {left_out} (musician messages {task_id})"
            rows.insert(0, row("older", older, "dim"))
        return ((f"Messages of {task_id}", "bold"),), rows or [row("none", "Nothing was said yet.")]

    def start(self, rows: list[Row]) -> int:
        return len(rows) - 1

    def action_say(self) -> None:
        self.top.give(say_offer(self.top.project, self._task_id))


def watched(store: Store, standing: Standing) -> Iterator[Row]:
    """Yield the conductor's newest words to the session, each with how far it has come."""
    every = service.messages_of(store, standing.task_id, most=MOST_SHOWN)
    marks = marks_of(store, standing.view, most=MOST_SHOWN)
    for each in [each for each in every if each.id in marks][-_MOST_WATCHED:]:
        mark = marks[each.id]
        yield Row(
            key=f"word-{each.id}",
            parts=(
                (f"{each.message_type.replace('_', ' ')} {each.id}: ", "dim"),
                (mark.shown, "bold" if mark.is_waiting else ""),
                (f"  {headline(each.message)}", "dim"),
            ),
            is_cut=True,
        )


def _rows(each: MessageRow, names: Mapping[str, str], marks: Mapping[int, Mark], *, by: str) -> Iterator[Row]:
    mark = f"  {marks[each.id].shown}" if each.id in marks else ""
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
