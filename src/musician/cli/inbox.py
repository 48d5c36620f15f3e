"""A task's unread messages: delivered by being printed, acknowledged only after that (D12)."""

import sys

import click

from musician import service
from musician.cli.context import App
from musician.cli.messages import as_text
from musician.cli.options import claim_of, command, session_options, task_argument
from musician.cli.render import fields, show


@command("inbox")
@task_argument
@session_options
@click.option("--ack", is_flag=True, help="Acknowledge what was printed: it is dealt with.")
@click.pass_obj
def inbox(app: App, task_id: str, session: str | None, epoch: int | None, ack: bool) -> None:
    """Print what the conductor said and is not acknowledged."""
    claim = claim_of(app, task_id, session, epoch)
    if sys.stdout is None:
        raise click.UsageError(
            "standard output is closed: nothing could be printed, and nothing is acknowledged"
        )
    found = service.unread(app.store, task_id)
    document = {"task_id": task_id, "acknowledged": ack, "messages": [fields(message) for message in found]}
    show(app, document, *map(as_text, found) if found else ("nothing new",))
    sys.stdout.flush()  # what could not be printed has neither been delivered nor acknowledged
    service.deliver(app.store, claim, tuple(message.id for message in found))
    if ack and found:
        service.acknowledge(app.store, claim, found[-1].id)
