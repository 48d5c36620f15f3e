"""The command ``status``: the present state of all tasks, or of one."""

import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import click

from musician import service
from musician.cli.context import App
from musician.cli.options import command, complete_task, parse_row, plan_option
from musician.cli.render import Rows, fields, lines, pairs, show, show_text
from musician.processes.identity import host_name
from musician.processes.machine import MACHINE
from musician.processes.output import one_line
from musician.protocol.arguments import as_argument
from musician.protocol.rules.ceilings import Bound, Scope, measures_of, reached
from musician.protocol.rules.liveness import Owner, heartbeat_status, owner_standing
from musician.protocol.states import ACTIVE, State
from musician.reporting.ahead import Met, met_ahead, met_by, say_ahead
from musician.reporting.closed import say_closed
from musician.reporting.needs_me import Need, needs_in, needs_of_task, standings_in
from musician.reporting.plan_list import pause_document, say_pause
from musician.reporting.spending import say_usage, spending_document
from musician.reporting.standing import Standing
from musician.runtime.in_force import settings_of_plan
from musician.service import PhaseSmoothness, TaskView
from musician.store.rows import PlanRow, SessionRow, TaskRow, UsageRow

if TYPE_CHECKING:
    from musician.protocol.conductor.anomalies import Anomaly
    from musician.reporting.fleet import Host
    from musician.reporting.owners import OwnerOf

_MOST_ERROR_CHARS = 200


@command("status")
@click.argument("task_id", metavar="[TASK]", required=False, callback=parse_row, shell_complete=complete_task)
@click.option("--all", "everything", is_flag=True, help="Include all finished plans.")
@plan_option
@click.option("--disk", is_flag=True, help="Show how much disk is used instead, and by what.")
@click.option("--watch", is_flag=True, help="Print again whenever something happens, until interrupted.")
@click.pass_obj
def status(app: App, task_id: str | None, everything: bool, disk: bool, watch: bool) -> None:
    """Show the state of the tasks, and what waits for a person.

    Without TASK, shows every unfinished plan, and the plan in which something happened last.
    """

    def print_once() -> None:
        if task_id is None:
            _print_all(app, everything=everything)
        else:
            _print_one(app, task_id)

    if disk:
        _print_disk(app)
        return
    if watch and app.json:
        raise click.UsageError("--watch cannot be used with --json, which prints one document")
    if not watch:
        print_once()
        return
    from musician.processes.signals import raising_on_signals

    about = () if task_id is None else (task_id,)
    listen = partial(app.shown.listen, *about, journals=True)
    with raising_on_signals(lambda _: KeyboardInterrupt(), listen) as ear:
        print_once()
        sys.stdout.flush()  # whoever reads a pipe waits for it
        while ear.wait(math.inf):
            lines("")
            print_once()
            sys.stdout.flush()


def _print_all(app: App, *, everything: bool) -> None:
    looked_at = service.all_plans if everything or app.plan_id else service.current_plans
    plans = [plan for plan in looked_at(app.shown) if app.plan_id in (None, plan.plan_id)]
    left_out = 0 if app.plan_id else service.count_plans(app.shown) - len(plans)
    ids = [*([] if app.plan_id else [None]), *(plan.plan_id for plan in plans)]
    tasks = [row for plan_id in ids for row in service.tasks_of(app.shown, plan_id)]
    conductor = service.conductor_row(app.shown)
    phases = [each for plan in plans for each in service.smoothness_by_phase(app.shown, plan.plan_id)]
    used = [each for plan in plans for each in service.usage_of_plan(app.shown, plan.plan_id)]
    seen = service.snapshot_of(app.shown)
    at_hand = standings_in(seen)
    needs = () if app.is_archived else _needs(app, seen, at_hand)
    shown_ids = {row.task_id for row in tasks}
    standings = {
        task_id: each for task_id, each in at_hand.items() if task_id in shown_ids and each.state in ACTIVE
    }
    lives = {row.task_id: _life(app, row, standings.get(row.task_id)) for row in tasks}
    anomalies = [(task_id, found) for task_id, each in standings.items() for found in each.anomalies]
    limits = [(task_id, each.view) for task_id, each in standings.items() if each.view.limited_until]
    closed = service.closed_accounts(app.shown)
    hosts, mixed = _fleet(app, at_hand)
    ceilings = dict(_reached(app, plans))
    ahead = [met for plan in plans for met in met_ahead(service.foreseen(app.shown, plan.plan_id))]
    paused = service.paused_plans(app.shown)
    if app.json:
        document = {
            "database": app.shown.name,
            "conductor": None if conductor is None else fields(conductor, heartbeat=_life(app, conductor)),
            "plans": [
                {name: value for name, value in fields(plan).items() if name != "text"}
                | {"paused": pause_document(paused.get(plan.plan_id))}
                for plan in plans
            ],
            "phases": [
                fields(phase, spending=spending_document(_used_by(used, tasks, phase))) for phase in phases
            ],
            "plans_left_out": left_out,
            "hosts": [
                {
                    "name": host.name,
                    "versions": list(host.versions),
                    "tasks": [each.task_id for each in host.workers],
                }
                for host in hosts
            ],
            "tasks": [
                fields(
                    row,
                    heartbeat=lives[row.task_id],
                    spending=spending_document(each for each in used if each.task_id == row.task_id),
                )
                for row in tasks
            ],
            "spending": spending_document(used),
            "anomalies": [fields(found, task_id=task_id) for task_id, found in anomalies],
            "limits": [
                {"task_id": task_id, "until": view.limited_until, "account": view.limited_account}
                for task_id, view in limits
            ],
            "accounts": [fields(each) for each in closed],
            "ahead": [fields(met) for met in ahead],
            "ceilings": [
                {"plan_id": plan_id, "setting": found.setting, "used": found.used, "ceiling": found.ceiling}
                for plan_id, found in ceilings.items()
            ],
            "needs": [fields(need) for need in needs],
            "needs_human": [fields(ask) for ask in service.open_asks(app.shown)],
        }
        show(app, document)
        return
    lines(f"database: {app.shown.name}")
    lines(f"conductor: {_conductor(app, conductor, plans)}")
    for plan in plans:
        if plan.plan_id in paused:
            lines(say_pause(paused[plan.plan_id]))
    if not tasks:
        lines("no tasks yet: lock a plan (musician plan lock PLAN.md) or add a task (musician task add)")
        return
    rows = [
        (row.task_id, row.shown_state, row.phase, row.worked_by, lives[row.task_id], row.title)
        for row in tasks
    ]
    headings = ("TASK", "STATE", "PHASE", "WORKED BY", "HEARTBEAT", "TITLE")
    show_text(app, Rows(headings=headings, rows=rows))
    for host in hosts:
        from musician.reporting.fleet import say_host

        lines(f"on {say_host(host, here=host_name())}: {', '.join(each.task_id for each in host.workers)}")
    if mixed:
        lines(mixed)
    if left_out:
        lines(f"finished plans left out: {left_out} (--all shows them too)")
    if used:
        lines(f"used: {say_usage(used)}")
    for task_id, found in anomalies:
        lines(f"{task_id}: {_anomaly(found)}")
    for task_id, view in limits:
        lines(f"{task_id}: {_limited(view)}")
    for each in closed:
        lines(say_closed(each))
    for met in ahead:
        lines(f"{met.task_id}: {say_ahead(met)}")
    for plan_id, ceiling in ceilings.items():
        lifts = "; nothing is begun before midnight, UTC" if ceiling.scope is Scope.DAY else ""
        lines(f"{plan_id}: {ceiling.text}{lifts}")
    for phase in phases:
        if phase.smoothness is not None:
            from musician.reporting.wording import say_smoothness

            lines(f"{phase.plan_id}: {say_smoothness(phase)}")
    for need in needs:
        lines(_needed(need))


def _fleet(app: App, at_hand: Mapping[str, Standing]) -> tuple[tuple["Host", ...], str]:
    """Return who is at work on what, by machine, and what is to be said of their versions."""
    from musician.reporting.fleet import conducts, fleet_in, say_mixed

    if app.is_archived:
        return (), ""
    hosts = fleet_in(at_hand, service.programs_at_work(app.store), _owners(app))
    return hosts, say_mixed(hosts, conducts(app.store, is_conducted=_is_conducted(app)))


def _owners(app: App) -> "OwnerOf":
    from musician.reporting.owners import owners_for

    return owners_for(app.root_if_any, app.settings, MACHINE)


def _is_conducted(app: App) -> bool:
    from musician.reporting.run_at_work import is_conducted  # slow to import

    return is_conducted(app.root_if_any, app.store, app.settings)


def _needs(app: App, seen: service.Snapshot, at_hand: Mapping[str, Standing]) -> tuple[Need, ...]:
    return needs_in(seen, at_hand, is_conducted=_is_conducted(app), owner_of=_owners(app))


def _needs_of(app: App, standing: Standing) -> tuple[Need, ...]:
    if app.is_archived:
        return ()
    return tuple(needs_of_task(app.store, standing, is_conducted=_is_conducted(app)))


def _needed(need: Need) -> str:
    return f"needs a person: {need.reason}"


def _print_disk(app: App) -> None:
    from rich.filesize import decimal

    from musician.runtime.cleaning import disk_used  # slow to import, and seldom asked for

    used = disk_used(app.root)
    show(app, {"bytes": used}, *pairs({name: decimal(size) for name, size in used.items()}).splitlines())


def _reached(app: App, plans: Iterable[PlanRow]) -> Iterator[tuple[str, Bound]]:
    """Yield the ceilings of whole plans, and of the day, that leave nothing."""
    for plan in plans:
        ceilings = settings_of_plan(app.shown, plan.plan_id, app.settings).ceilings
        if plan.finished_at is None and measures_of(ceilings):
            found = reached(service.accounts_of_plan(app.shown, plan.plan_id)[""], ceilings)
            if found is not None:
                yield plan.plan_id, found


def _anomaly(found: "Anomaly") -> str:
    from musician.reporting.wording import say_anomaly  # slow to import, and seldom needed

    return say_anomaly(found)


def _conductor(app: App, row: TaskRow | None, plans: Sequence[PlanRow]) -> str:
    if app.is_archived:
        return "none: the plan is archived"
    is_over = bool(plans) and all(plan.finished_at is not None for plan in plans)
    match None if row is None else row.state:
        case None:
            return "none so far"
        case State.WORKING if row is not None:
            return f"at work, heartbeat {_life(app, row)}"
        case State.COMPLETE if is_over:
            return "its plan is complete"
        case State.COMPLETE if not plans:
            return "none at work"
    unfinished = [plan.path for plan in plans if plan.finished_at is None]
    file = as_argument(unfinished[0]) if len(unfinished) == 1 else "PLAN"
    return f"none at work; `musician run {file}` goes on"


def _print_one(app: App, task_id: str) -> None:
    standing = Standing(service.task_view(app.shown, task_id))
    show(app, _document(app, standing))
    if app.json:
        return
    view, row, progress = standing.view, standing.view.row, standing.progress
    facts: dict[str, object] = {
        "task": row.task_id,
        "title": row.title,
        "state": row.shown_state,
        "plan": row.plan_id,
        "phase": row.phase,
        "session": row.session_id,
        "worked by": row.worked_by,
        "claim": row.claim_epoch,
        "heartbeat": _life(app, row, standing),
        "instructions": row.instruction_path,
        "report": row.report_path,
        "last error": _error(row),
        "done": ", ".join(progress.completed),
        "approved": ", ".join(sorted(progress.approved)),
        "deviations": len(progress.deviations),
        "unread": view.unread,
        **({"used": say_usage(view.usage)} if view.usage else {}),
        **({"may use": may_use} if (may_use := ", ".join(each.share for each in _bounds(app, row))) else {}),
    }
    lines(pairs(facts))
    for found in standing.anomalies:
        lines(_anomaly(found))
    if view.limited_until:
        lines(_limited(view))
    if standing.with_person_since:
        lines(f"with a person since {standing.with_person_since} UTC; nothing is prompted meanwhile")
    for met in _ahead_of(app, row):
        lines(say_ahead(met))
    for need in _needs_of(app, standing):
        lines(_needed(need))


def _bounds(app: App, row: TaskRow) -> tuple[Bound, ...]:
    from musician.runtime.bounds import bounds_of_task  # it reads the task's file, which is slow to import

    return bounds_of_task(app.root, app.shown, app.settings, row)


def _ahead_of(app: App, row: TaskRow) -> tuple[Met, ...]:
    return met_by(row.task_id, met_ahead(service.foreseen(app.shown, row.plan_id or "")))


def _limited(view: service.TaskView) -> str:
    until = view.limited_until
    return f"its agent's provider gives nothing before {until} UTC ({view.limited_account}); it goes on by itself then"


def _error(row: TaskRow) -> str | None:
    """Return the last error on one line, with the path of its log."""
    if not row.last_error:
        return None
    first = one_line(row.last_error.strip().partition("\n")[0], _MOST_ERROR_CHARS)
    return f"{first} (musician log {row.task_id})"


def _document(app: App, standing: Standing) -> dict[str, object]:
    """Return the document for one task. History and messages have commands of their own."""
    view, progress = standing.view, standing.progress
    return {
        **fields(view.row, heartbeat=_life(app, view.row, standing)),
        "unread": view.unread,
        "completed": list(progress.completed),
        "approved": sorted(progress.approved),
        "deviations": [fields(deviation) for deviation in progress.deviations],
        "self_corrections": list(progress.self_corrections),
        "sessions": [
            fields(session, spending=spending_document(_used_in(view, session))) for session in view.sessions
        ],
        "anomalies": [fields(found) for found in standing.anomalies],
        "spending": spending_document(view.usage),
        "bounds": [
            {"measure": each.measure, "used": each.used, "ceiling": each.ceiling, "is_budget": each.is_budget}
            for each in _bounds(app, view.row)
        ],
        "limited_until": view.limited_until or None,
        "limited_account": view.limited_account or None,
        "with_person_since": standing.with_person_since or None,
        "ahead": [fields(met) for met in _ahead_of(app, view.row)],
        "needs": [fields(need) for need in _needs_of(app, standing)],
        "needs_human": [fields(ask) for ask in standing.asks],
    }


def _used_by(used: list[UsageRow], tasks: list[TaskRow], phase: PhaseSmoothness) -> list[UsageRow]:
    of = {row.task_id for row in tasks if (row.plan_id, row.phase) == (phase.plan_id, phase.number)}
    return [each for each in used if each.task_id in of]


def _used_in(view: TaskView, session: SessionRow) -> list[UsageRow]:
    return [each for each in view.usage if each.claim_epoch == session.claim_epoch]


def _life(app: App, row: TaskRow, standing: Standing | None = None) -> str:
    """Return the heartbeat's status, "dead" if the owner is known to be (D38), or "-" without an active owner."""
    if row.session_id is None or row.state not in ACTIVE:
        return "-"
    from musician.reporting.owners import owner_of  # slow to import; most tasks have no owner
    from musician.reporting.run_at_work import conductor_lives

    status = heartbeat_status(row.heartbeat_age_s, app.settings)
    if standing is not None:
        owner = owner_of(app.root, standing.view, app.settings, MACHINE) or Owner.LIVE
    elif row.state is State.WORKING:  # the conductor
        owner = owner_standing(status, lock_held=conductor_lives(app.root, row))
    else:
        return "-"
    return "dead" if owner is Owner.DEAD else status
