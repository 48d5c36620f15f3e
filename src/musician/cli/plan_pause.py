"""The commands ``plan pause`` and ``plan resume``."""

import click

from musician import service
from musician.cli.context import App
from musician.cli.options import command, complete_plan
from musician.cli.render import show
from musician.reporting.plan_list import pause_document, say_pause
from musician.runtime.as_person import as_person, person_name

_name_argument = click.argument("plan_id", metavar="[NAME]", required=False, shell_complete=complete_plan)


@command("pause")
@_name_argument
@click.option("--reason", metavar="TEXT", default="", help="Why, for whoever finds it paused.")
@click.pass_obj
def pause(app: App, plan_id: str | None, reason: str) -> None:
    """Pause plan NAME; it may be left out if only one is open.

    Nothing of it is begun, and no agent is asked anything, until it is resumed. Who is at work stops at the next
    boundary; what was submitted can be reviewed, and is merged. Pausing it again changes nothing.
    """
    plan_id = plan_id or _only_plan(app)
    made = service.pause_plan(as_person(app), plan_id, who=person_name(), reason=reason)
    before = "" if made.is_new else "nothing is changed: "
    document = {"plan_id": plan_id, "paused": pause_document(made.row), "is_new": made.is_new}
    show(app, document, before + say_pause(made.row))


@command("resume")
@_name_argument
@click.pass_obj
def resume(app: App, plan_id: str | None) -> None:
    """Let the paused plan NAME go on; it may be left out if only one is open."""
    plan_id = plan_id or _only_plan(app)
    row = service.resume_plan(as_person(app), plan_id, who=person_name())
    said = f"plan {plan_id} goes on" if row is not None else f"plan {plan_id} was not paused"
    show(app, {"plan_id": plan_id, "was_paused": row is not None}, said)


def _only_plan(app: App) -> str:
    found = [row.plan_id for row in service.all_plans(app.store) if row.finished_at is None]
    if len(found) != 1:
        which = f"which one? Open: {', '.join(found)}" if found else "no plan is open"
        raise click.UsageError(which)
    return found[0]
