"""The command ``history``: the state changes of a task."""

import click

from musician import service
from musician.cli.context import App
from musician.cli.options import command, plan_option, row_argument
from musician.cli.render import Rows, fields, show
from musician.reporting.timeline import signers_of


@command("history")
@row_argument
@plan_option
@click.pass_obj
def history(app: App, task_id: str) -> None:
    """Show every state change of TASK, and who made it."""
    changes = service.history_of(app.shown, task_id)
    by = signers_of(app.shown, task_id, service.Source.STATE, most=len(changes))
    document = {"task_id": task_id, "history": [fields(each, by=by.get(each.id)) for each in changes]}
    rows = [
        (
            row.at,
            row.from_state,
            row.to_state,
            f"{row.who} ({by[row.id]})" if row.id in by else row.who,
            row.claim_epoch,
            row.message_id,
            row.message_type,
        )
        for row in changes
    ]
    headings = ("AT (UTC)", "FROM", "TO", "BY", "CLAIM", "MESSAGE", "TYPE")
    show(app, document, Rows(headings=headings, rows=rows))
