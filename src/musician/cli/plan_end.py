"""The commands of a plan's end: ``plan list``, ``show``, ``archive``, ``restore`` and ``drop`` (D32)."""

import click

from musician import service
from musician.cli.context import App
from musician.cli.faults import FAILED
from musician.cli.options import command, plan_argument
from musician.cli.render import Rows, fields, pairs, show, show_text
from musician.processes.output import printable
from musician.protocol.errors import UnknownPlan
from musician.reporting.plan_list import (
    ListedPlan,
    listed,
    pause_document,
    put_away,
    say_left_open,
    say_pause,
)
from musician.reporting.plan_list import list_plans as plans_there_are
from musician.reporting.tally import tally_of
from musician.runtime.archiving import archive_plan, drop_plan, restore_plan


@command("list")
@click.pass_obj
def list_plans(app: App) -> None:
    """Show every plan there is, and every one that is archived."""
    found = plans_there_are(app.store)
    rows = [(each.plan_id, each.state, each.tally.brief, each.ended_at, each.title) for each in found]
    document = {"plans": [_document(each) for each in found]}
    if not found:
        show(app, document, "no plans yet: musician plan lock PLAN.md")
        return
    paused = (say_pause(each.paused) for each in found if each.paused is not None)
    show(
        app,
        document,
        Rows(headings=("PLAN", "STATE", "COMPLETE", "ENDED (UTC)", "TITLE"), rows=rows),
        *paused,
    )


@command("show")
@plan_argument
@click.pass_obj
def show_plan(app: App, plan_id: str) -> None:
    """Show one plan, open or archived, with its tasks."""
    app.plan_id = plan_id
    row = service.plan_row(app.shown, plan_id)
    if row is None:
        raise UnknownPlan(plan_id=plan_id)
    away = service.archived(app.store, plan_id)
    found = listed(app.store, row) if away is None else put_away(away)
    document = _document(found)
    tasks = service.tasks_of(app.shown, plan_id)
    facts = {
        **document,
        "paused": None if found.paused is None else say_pause(found.paused),
        "tasks": tally_of(tasks).said,
        "file": row.path,
    }
    told = {
        name.replace("_", " "): value
        for name, value in facts.items()
        if name not in ("completed", "skipped", "withdrawn", "settled") and value is not None
    }
    rows = [(task.task_id, task.shown_state, task.phase, task.title) for task in tasks]
    show(
        app,
        {**document, "tasks": [fields(task) for task in tasks], "text": row.text},
        pairs(told),
        Rows(headings=("TASK", "STATE", "PHASE", "TITLE"), rows=rows),
        f"more: musician status --plan {plan_id}; timeline, messages, log and review show take it, too",
    )


def _document(plan: ListedPlan) -> dict[str, object]:
    return fields(plan, paused=pause_document(plan.paused))


@command("archive")
@plan_argument
@click.option("--abandon", "reason", metavar="REASON", help="It is not complete, and will not be: why.")
@click.pass_obj
def archive(app: App, plan_id: str, reason: str | None) -> None:
    """Put plan NAME away. The ids of its tasks are free again, and all that happened stays readable under its name.

    A complete plan is archived by itself when the next one is locked. Branches and working trees stay as they are.
    """
    made = archive_plan(app.root, app.store, plan_id, app.settings, abandoned=reason)
    said = f"{plan_id} is archived; look at it with: musician plan show {plan_id}"
    show(app, fields(put_away(made)), said)
    show_text(app, *filter(None, (say_left_open(made),)))


@command("restore")
@plan_argument
@click.pass_obj
def restore(app: App, plan_id: str) -> None:
    """Bring the archived plan NAME back as it was, if nobody else has its ids."""
    restore_plan(app.root, app.store, plan_id)
    show(app, {"plan_id": plan_id, "state": "open"}, f"{plan_id} is back")


@command("drop")
@plan_argument
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def drop(app: App, plan_id: str, yes: bool) -> None:
    """Delete what is kept of the archived plan NAME, for good.

    Its working trees and branches stay, and keep its name from another plan, until `musician clean` or you remove them.
    """
    away = service.archived(app.store, plan_id)
    if away is not None and not yes:
        click.echo(
            f"{plan_id}: {printable(away.title)}\n"
            f"would be lost: the record of its tasks, {put_away(away).tally.said}"
            " (messages, history, journals, verifications, usage) and the logs of their sessions",
            err=True,
        )
        if not click.confirm("Drop it?", err=True):
            click.echo(f"{plan_id} stays", err=True)
            click.get_current_context().exit(FAILED)
    left = drop_plan(app.root, app.store, plan_id)
    show(app, {"plan_id": plan_id, "dropped": True, "left": list(left)}, f"{plan_id} is dropped")
    if left:
        show_text(app, f"still there, until musician clean: {', '.join(left)}")
