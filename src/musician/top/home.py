"""The first screen: what is wanted of a person, then every task in the lane of what it needs next.

That of an archived plan is the same, with nothing wanted.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import ClassVar

from textual.binding import Binding, BindingType

from musician.processes.output import one_line
from musician.project import Project
from musician.reporting.ahead import say_ahead
from musician.reporting.closed import say_closed
from musician.reporting.overview import Lane, Overview, PlanLines, TaskLine, archived_overview
from musician.top.needs import OfTask, OneStep, need_rows
from musician.top.offers import plan_offers
from musician.top.page import Folded, Page
from musician.top.review import Review
from musician.top.rows import Part, Row, heading, nearest, row
from musician.top.task import Task

_MOST_CHARS = 200
_MOST_COLUMN_CHARS = 32
"""Of a column that others stand to the right of."""
_LANES = tuple(lane for lane in Lane if lane is not Lane.NEEDS_YOU)
"""Whom something is asked for stands above, with the question."""
_STYLES = {
    Lane.RUNNING: "$text-success",
    Lane.STANDS_STILL: "$text-error",
    Lane.UNKNOWN: "$text-warning",
}


class Home(Page):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("d", "review", "Review"), Binding("p", "pause", "Pause")]
    ORDERS: ClassVar[frozenset[str]] = frozenset({"pause"})

    def __init__(self, plan: str | None = None) -> None:
        super().__init__(plan)
        self._plans: tuple[PlanLines, ...] = ()

    def fold(self, look: Overview, project: Project) -> Folded:
        if self.plan is not None:
            title: tuple[Part, ...] = ((self.plan, "bold"), (" archived, read-only", "dim"))
            return title, list(_lanes(archived_overview(project.store)))
        self._plans = look.plans
        paused = (
            row(f"paused-{each.paused.plan_id}", f"{each.paused.text}; p lets it go on", "$text-warning")
            for each in look.plans
            if each.paused is not None
        )
        accounts = (row(f"account-{each.account}", say_closed(each), "$text-warning") for each in look.closed)
        rows = [*chain.from_iterable(map(need_rows, look.needs)), *paused, *accounts, *_lanes(look)]
        if not look.plans:
            rows.append(row("none", "No plan yet: musician plan new PLAN.md, then musician run PLAN.md"))
        wanted = f"Needs you: {len(look.needs)}" if look.needs else "Nothing waits for you."
        return ((wanted, "bold"),), rows

    def start(self, rows: list[Row]) -> int:
        return next((number for number, each in enumerate(rows) if each.opens), 0)

    def open_row(self, opens: object) -> None:
        match opens:
            case OfTask(task_id=task_id, is_judged=True):
                self.app.push_screen(Review(task_id, self.plan))
            case OfTask(task_id=task_id):
                self.app.push_screen(Task(task_id, self.plan))
            case OneStep() as step:
                self.top.answer(step)

    def action_review(self) -> None:
        at = nearest(self.rows.here, OfTask)
        if at is not None:
            self.app.push_screen(Review(at.task_id, self.plan))

    def action_pause(self) -> None:
        offers = plan_offers(self.top.project, self._plans)
        if len(offers) == 1:
            self.top.give(offers[0])
        else:
            self.top.offer("Which plan?", offers)


def _lanes(look: Overview) -> Iterator[Row]:
    every = [(each, plan) for plan in look.plans for each in plan.tasks]
    for lane in _LANES:
        tasks = [(each, plan) for each, plan in every if each.lane is lane]
        if tasks:
            yield heading(f"lane-{lane}", f"{lane} ({len(tasks)})")
        cells = [_cells(each) for each, _ in tasks]
        widths = [min(_MOST_COLUMN_CHARS, max(map(len, column))) for column in zip(*cells, strict=True)]
        for (each, plan), texts in zip(tasks, cells, strict=True):
            of = plan.plan.plan_id if plan.plan is not None and len(look.plans) > 1 else ""
            yield _task_row(each, _columns(texts, widths), of)
            for number, met in enumerate(each.ahead):
                yield row(
                    f"ahead-{each.row.task_id}-{number}", f"    {say_ahead(met)}", "$text-warning", hang=4
                )


def _cells(task: TaskLine) -> tuple[str, str, str]:
    """Return what stands in columns."""
    doing = task.doing if task.lane not in (Lane.DONE, Lane.LATER, Lane.SKIPPED, Lane.WITHDRAWN) else ""
    until = f"until {task.limited_until} UTC" if task.limited_until else ""
    context = "" if task.context_pct is None else f"{task.context_pct:.0f} %"
    told = " ".join(filter(None, (one_line(doing, _MOST_CHARS), until)))
    return task.row.task_id, told, context


def _columns(texts: Iterable[str], widths: Iterable[int]) -> list[str]:
    return [f"  {text:<{width}}" if width else "" for text, width in zip(texts, widths, strict=True)]


def _task_row(task: TaskLine, columns: list[str], of: str) -> Row:
    task_id, doing, context = columns
    by = "  ".join(filter(None, (task.row.worked_by and f"by {task.row.worked_by}", of)))
    return Row(
        key=f"task-{task.row.task_id}",
        parts=(
            (task_id, "bold"),
            (doing, _STYLES.get(task.lane, "")),
            (context, ""),
            (f"  {one_line(task.row.title or '', _MOST_CHARS)}", ""),
            (f"  {one_line(by, _MOST_CHARS)}" if by else "", "dim"),
        ),
        opens=OfTask(task_id=task.row.task_id),
        is_cut=True,
    )
