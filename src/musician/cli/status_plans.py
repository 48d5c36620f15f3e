"""What ``status`` tells without a task: the tasks of plans, who is at work, and what waits for a person."""

from collections.abc import Iterable, Iterator

from musician import service
from musician.cli.context import App
from musician.cli.render import Rows, fields
from musician.cli.status_task import life_of, limit_said
from musician.processes.identity import host_name
from musician.processes.machine import MACHINE
from musician.protocol.arguments import as_argument
from musician.protocol.rules.ceilings import Bound, Scope, measures_of, reached
from musician.protocol.states import ACTIVE, State
from musician.reporting.ahead import met_ahead, say_ahead
from musician.reporting.closed import say_closed
from musician.reporting.fleet import Host, conducts, fleet_in, say_host, say_mixed
from musician.reporting.needs_me import Need, needs_in, standings_in
from musician.reporting.owners import owners_for
from musician.reporting.plan_list import pause_document, say_pause
from musician.reporting.run_at_work import is_conducted
from musician.reporting.spending import say_usage, spending_document
from musician.runtime.in_force import settings_of_plan
from musician.service import PhaseSmoothness
from musician.store.rows import PlanRow, TaskRow


class PlansStatus:
    """The unfinished plans and the newest, or ``everything``, or the one that is named; read once. Blocks."""

    def __init__(self, app: App, *, everything: bool) -> None:
        self._app, store = app, app.shown
        looked_at = service.all_plans if everything or app.plan_id else service.current_plans
        self._plans = [plan for plan in looked_at(store) if app.plan_id in (None, plan.plan_id)]
        plan_ids = [plan.plan_id for plan in self._plans]
        self._left_out = 0 if app.plan_id else service.count_plans(store) - len(plan_ids)
        listed = plan_ids if app.plan_id else [None, *plan_ids]
        self._tasks = [row for plan_id in listed for row in service.tasks_of(store, plan_id)]
        self._conductor = service.conductor_row(store)
        self._phases = [each for plan_id in plan_ids for each in service.smoothness_by_phase(store, plan_id)]
        self._used = [each for plan_id in plan_ids for each in service.usage_of_plan(store, plan_id)]
        self._ceilings = dict(_reached(app, self._plans))
        self._ahead = [met for plan_id in plan_ids for met in met_ahead(service.foreseen(store, plan_id))]
        self._paused = service.paused_plans(store)
        self._closed = service.closed_accounts(store)
        self._look_at_work()

    def _look_at_work(self) -> None:
        app, seen = self._app, service.snapshot_of(self._app.shown)
        at_hand = standings_in(seen)
        shown_ids = {row.task_id for row in self._tasks}
        standings = {
            task_id: each
            for task_id, each in at_hand.items()
            if task_id in shown_ids and each.state in ACTIVE
        }
        self._lives = {row.task_id: life_of(app, row, standings.get(row.task_id)) for row in self._tasks}
        self._anomalies = [(task_id, each) for task_id, of in standings.items() for each in of.anomalies]
        self._limits = [(task_id, of.view) for task_id, of in standings.items() if of.view.limited_until]
        self._hosts: tuple[Host, ...] = ()
        self._needs: tuple[Need, ...] = ()
        self._mixed = ""
        if not app.is_archived:
            owner_of = owners_for(app.root_if_any, app.settings, MACHINE)
            conducted = is_conducted(app.root_if_any, app.store, app.settings)
            self._hosts = fleet_in(at_hand, service.programs_at_work(app.store), owner_of)
            self._mixed = say_mixed(self._hosts, conducts(app.store, is_conducted=conducted))
            self._needs = needs_in(seen, at_hand, is_conducted=conducted, owner_of=owner_of)

    def document(self) -> dict[str, object]:
        conductor, used = self._conductor, self._used
        return {
            "database": self._app.shown.name,
            "conductor": conductor and fields(conductor, heartbeat=life_of(self._app, conductor)),
            "plans": [
                {name: value for name, value in fields(plan).items() if name != "text"}
                | {"paused": pause_document(self._paused.get(plan.plan_id))}
                for plan in self._plans
            ],
            "phases": [
                fields(phase, spending=self._spending(self._of_phase(phase))) for phase in self._phases
            ],
            "plans_left_out": self._left_out,
            "hosts": [
                {
                    "name": host.name,
                    "versions": list(host.versions),
                    "tasks": [each.task_id for each in host.workers],
                }
                for host in self._hosts
            ],
            "tasks": [
                fields(row, heartbeat=self._lives[row.task_id], spending=self._spending({row.task_id}))
                for row in self._tasks
            ],
            "spending": spending_document(used),
            "anomalies": [fields(found, task_id=task_id) for task_id, found in self._anomalies],
            "limits": [
                {"task_id": task_id, "until": view.limited_until, "account": view.limited_account}
                for task_id, view in self._limits
            ],
            "accounts": [fields(each) for each in self._closed],
            "ahead": [fields(met) for met in self._ahead],
            "ceilings": [
                {"plan_id": plan_id, "setting": found.setting, "used": found.used, "ceiling": found.ceiling}
                for plan_id, found in self._ceilings.items()
            ],
            "needs": [fields(need) for need in self._needs],
            "needs_human": [fields(ask) for ask in service.open_asks(self._app.shown)],
        }

    def text(self) -> Iterator[str | Rows]:
        yield f"database: {self._app.shown.name}"
        yield f"conductor: {self._say_conductor()}"
        yield from (say_pause(self._paused[p.plan_id]) for p in self._plans if p.plan_id in self._paused)
        if not self._tasks:
            yield "no tasks yet: lock a plan (musician plan lock PLAN.md) or add a task (musician task add)"
            return
        yield Rows(
            headings=("TASK", "STATE", "PHASE", "WORKED BY", "HEARTBEAT", "TITLE"),
            rows=[self._cells(row) for row in self._tasks],
        )
        for host in self._hosts:
            yield f"on {say_host(host, here=host_name())}: {', '.join(each.task_id for each in host.workers)}"
        if self._mixed:
            yield self._mixed
        if self._left_out:
            yield f"finished plans left out: {self._left_out} (--all shows them too)"
        if self._used:
            yield f"used: {say_usage(self._used)}"
        yield from self._hindrances()
        yield from self._smoothness()
        yield from (f"needs a person: {need.reason}" for need in self._needs)

    def _cells(self, row: TaskRow) -> tuple[object, ...]:
        return row.task_id, row.shown_state, row.phase, row.worked_by, self._lives[row.task_id], row.title

    def _hindrances(self) -> Iterator[str]:
        """Yield what is out of the ordinary, and what holds work up now or will."""
        if self._anomalies:
            from musician.reporting.wording import say_anomaly  # slow to import, and seldom needed

            yield from (f"{task_id}: {say_anomaly(found)}" for task_id, found in self._anomalies)
        yield from (f"{task_id}: {limit_said(view)}" for task_id, view in self._limits)
        yield from map(say_closed, self._closed)
        yield from (f"{met.task_id}: {say_ahead(met)}" for met in self._ahead)
        for plan_id, ceiling in self._ceilings.items():
            lifts = "; nothing is begun before midnight, UTC" if ceiling.scope is Scope.DAY else ""
            yield f"{plan_id}: {ceiling.text}{lifts}"

    def _smoothness(self) -> Iterator[str]:
        judged = [phase for phase in self._phases if phase.smoothness is not None]
        if judged:
            from musician.reporting.wording import say_smoothness  # slow to import

            yield from (f"{phase.plan_id}: {say_smoothness(phase)}" for phase in judged)

    def _say_conductor(self) -> str:
        row = self._conductor
        unfinished = [plan.path for plan in self._plans if plan.finished_at is None]
        if self._app.is_archived:
            return "none: the plan is archived"
        if row is None:
            return "none so far"
        if row.state is State.WORKING:
            return f"at work, heartbeat {life_of(self._app, row)}"
        if row.state is State.COMPLETE and not unfinished:
            return "its plan is complete" if self._plans else "none at work"
        file = as_argument(unfinished[0]) if len(unfinished) == 1 else "PLAN"
        return f"none at work; `musician run {file}` goes on"

    def _of_phase(self, phase: PhaseSmoothness) -> set[str]:
        place = phase.plan_id, phase.number
        return {row.task_id for row in self._tasks if (row.plan_id, row.phase) == place}

    def _spending(self, task_ids: set[str]) -> object:
        return spending_document(each for each in self._used if each.task_id in task_ids)


def _reached(app: App, plans: Iterable[PlanRow]) -> Iterator[tuple[str, Bound]]:
    """Yield the ceilings of whole plans, and of the day, that leave nothing."""
    for plan in plans:
        ceilings = settings_of_plan(app.shown, plan.plan_id, app.settings).ceilings
        if plan.finished_at is None and measures_of(ceilings):
            found = reached(service.accounts_of_plan(app.shown, plan.plan_id)[""], ceilings)
            if found is not None:
                yield plan.plan_id, found
