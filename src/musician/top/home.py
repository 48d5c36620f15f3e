"""The first screen: what is wanted of a person, then every task in the lane of what it needs next."""

from collections.abc import Iterator
from itertools import chain
from typing import ClassVar

from textual.binding import Binding, BindingType

from musician.processes.output import one_line
from musician.reporting.ahead import say_ahead
from musician.reporting.asks import JUDGED
from musician.reporting.closed import say_closed
from musician.reporting.overview import Lane, Overview, TaskLine
from musician.top.needs import need_rows
from musician.top.page import Folded, Page
from musician.top.review import Review
from musician.top.rows import Row, row
from musician.top.task import Task

_MOST_TITLE_CHARS = 200
_LANES = tuple(lane for lane in Lane if lane is not Lane.NEEDS_YOU)
"""Whom something is asked for stands above, with the question."""


class Home(Page):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("d", "review", "Review")]

    def fold(self, look: Overview) -> Folded:
        title = f"Needs you: {len(look.needs)}" if look.needs else "Nothing waits for you."
        accounts = (row(f"account-{each.account}", say_closed(each), "$text-warning") for each in look.closed)
        return ((title, "bold"),), [
            *chain.from_iterable(map(need_rows, look.needs)),
            *accounts,
            *_lanes(look),
        ]

    def start(self, rows: list[Row]) -> int:
        return next((number for number, each in enumerate(rows) if each.opens), 0)

    def open_row(self, opens: str) -> None:
        kind, _, task_id = opens.partition(" ")
        self.app.push_screen(Review(task_id) if kind in JUDGED else Task(task_id))

    def action_review(self) -> None:
        at = self.rows.at
        if at is not None and at.opens:
            self.app.push_screen(Review(at.opens.partition(" ")[2]))


def _lanes(look: Overview) -> Iterator[Row]:
    every = [(each, plan) for plan in look.plans for each in plan.tasks]
    for lane in _LANES:
        tasks = [(each, plan) for each, plan in every if each.lane is lane]
        if tasks:
            yield row(f"lane-{lane}", f"{lane} ({len(tasks)})", "underline")
        for each, plan in tasks:
            of = plan.plan.plan_id if plan.plan is not None and len(look.plans) > 1 else ""
            yield _task_row(each, of)
            for number, met in enumerate(each.ahead):
                yield row(f"ahead-{each.row.task_id}-{number}", f"    {say_ahead(met)}", "$text-warning")


def _task_row(task: TaskLine, of: str) -> Row:
    context = "" if task.context_pct is None else f"{task.context_pct:.0f} %"
    until = f"until {task.limited_until} UTC" if task.limited_until else ""
    told = "  ".join(filter(None, (task.doing, until, context, task.row.worked_by, of)))
    return Row(
        key=f"task-{task.row.task_id}",
        parts=(
            (f"  {task.row.task_id}", "bold"),
            (f"  {one_line(told, _MOST_TITLE_CHARS)}", ""),
            (f"  {one_line(task.row.title or '', _MOST_TITLE_CHARS)}", "dim"),
        ),
        opens=f"task {task.row.task_id}",
    )
