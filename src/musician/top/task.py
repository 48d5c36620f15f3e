"""A task's screen: how it stands, what is asked, and what its sessions say and do, as it comes."""

from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from typing import ClassVar

from anyio.to_thread import run_sync
from textual.binding import Binding, BindingType

from musician import service
from musician.project import Project
from musician.protocol.errors import MusicianError
from musician.reporting.departures import departures_of
from musician.reporting.needs_me import Need, needs_of_task
from musician.reporting.overview import Overview, doing
from musician.reporting.spending import say_usage
from musician.reporting.standing import Standing
from musician.reporting.transcript_lines import TaskLog
from musician.reporting.transcripts import LOOK_S, sizes_of
from musician.reporting.wording import say_anomaly
from musician.runtime.bounds import bounds_of_task, say_bounds
from musician.top.messages import Messages, watched
from musician.top.needs import OfTask, OneStep, need_rows
from musician.top.offers import Offer, say_offer, task_offers
from musician.top.page import Folded, Page
from musician.top.review import Review
from musician.top.rows import Row, row

MOST_LINES = 2000
"""Of the end of a task's transcripts."""
_SPARE_LINES = 500
"""More than that are dropped at once, so that not every new line moves all others."""


class Task(Page):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("d", "review", "Review"),
        Binding("m", "messages", "Messages"),
        Binding("s", "say", "Say"),
        Binding("o", "orders", "Orders"),
    ]
    ORDERS: ClassVar[frozenset[str]] = frozenset({"say", "orders"})

    def __init__(self, task_id: str, plan: str | None = None) -> None:
        super().__init__(plan)
        self._task_id = task_id
        self._is_asked = False
        self._facts: list[Row] = []
        self._lines: list[Row] = []
        self._count = 0
        self._offers: tuple[Offer, ...] = ()

    def fold(self, look: Overview, project: Project) -> Folded:
        store = project.store
        standing = Standing(service.task_view(store, self._task_id))
        needs: tuple[Need, ...] = ()
        if self.plan is None:
            needs = tuple(needs_of_task(store, standing, is_conducted=look.is_conducted))
            self._offers = task_offers(project, standing, is_asked=bool(needs))
        self._is_asked = bool(needs)
        asked = chain.from_iterable(map(need_rows, needs))
        may_use = say_bounds(bounds_of_task(project.root, store, project.settings, standing.view.row))
        self._facts = [*asked, *_facts(standing, may_use), *watched(store, standing)]
        title = ((f"{self._task_id}  ", "bold"), (f"{doing(standing)}  {standing.title}", ""))
        return title, [*self._facts, *self._lines]

    def start(self, rows: list[Row]) -> int:
        """At the end, unless something is asked: that stands above."""
        return 0 if self._is_asked else len(rows) - 1

    def on_mount(self) -> None:
        self.run_worker(self._follow())

    async def _follow(self) -> None:
        """Read the transcripts on, as they grow: no row of the database says that one did."""
        if self.plan is not None:
            with suppress(MusicianError):  # the screen's own look tells of it
                self._add(await run_sync(self._read_archived, abandon_on_cancel=True))
            return
        store, root, task_id = self.top.project.store, self.top.project.root, self._task_id
        log = TaskLog(root, store, task_id, most=MOST_LINES)

        def read() -> list[str]:
            return list(log.fresh(service.task_view(store, task_id)))

        is_news = True
        seen: tuple[int, ...] = ()
        with store.listen(task_id) as ear:
            while True:
                grown = await run_sync(sizes_of, root, task_id, abandon_on_cancel=True)
                if is_news or grown != seen:
                    with suppress(MusicianError):  # the screen's own look tells of it; here it is tried again
                        self._add(await run_sync(read, abandon_on_cancel=True))
                        seen = grown
                is_news = await ear.heard(LOOK_S)

    def _read_archived(self) -> list[str]:
        with self.top.opened(self.plan) as project:
            log = TaskLog(project.root, project.store, self._task_id, most=MOST_LINES)
            return list(log.fresh(service.task_view(project.store, self._task_id)))

    def _add(self, lines: list[str]) -> None:
        if not lines:
            return
        for line in lines:
            self._count += 1
            self._lines.append(row(f"line-{self._count}", line, "" if line.startswith("   ") else "bold"))
        if len(self._lines) > MOST_LINES + _SPARE_LINES:
            self._lines = self._lines[-MOST_LINES:]
        if self._facts:
            rows = [*self._facts, *self._lines]
            self.rows.show(rows, start=self.start(rows))

    def open_row(self, opens: object) -> None:
        match opens:
            case OneStep() as step:
                self.top.answer(step)
            case OfTask():
                self.action_review()

    def action_review(self) -> None:
        self.app.push_screen(Review(self._task_id, self.plan))

    def action_messages(self) -> None:
        self.app.push_screen(Messages(self._task_id, self.plan))

    def action_say(self) -> None:
        self.top.give(say_offer(self.top.project, self._task_id))

    def action_orders(self) -> None:
        self.top.offer(f"What is to become of {self._task_id}?", self._offers)


def _facts(standing: Standing, may_use: str) -> Iterator[Row]:
    view, task = standing.view, standing.view.row
    facts = {
        "state": standing.shown_state.replace("_", " "),
        "played by": task.worked_by,
        "plan": task.plan_id and task.plan_id + (f", phase {task.phase}" if task.phase else ""),
        "context": "" if standing.context_pct is None else f"{standing.context_pct:.0f} %",
        "done": ", ".join(standing.progress.completed),
        "used": say_usage(view.usage),
        "may use": may_use,
        "its provider": view.limited_until
        and f"gives nothing before {view.limited_until} UTC ({view.limited_account})",
    }
    for name, value in facts.items():
        if value:
            yield Row(key=f"fact-{name}", parts=((f"{name}: ", "dim"), (value, "")))
    for each in departures_of(view):
        said = f"{each.what}: {each.text}" + (f" ({each.ruling})" if each.ruling else "")
        yield row(f"departure-{each.row.id}", said, "$text-warning" if each.is_open else "dim")
    for number, found in enumerate(standing.anomalies):
        yield row(f"anomaly-{number}", say_anomaly(found), "$text-warning")
