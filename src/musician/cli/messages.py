"""The commands ``messages`` and ``inbox``. Printing an unread message delivers it; then it is acknowledged (D12)."""

import sys

import click

from musician import service
from musician.cli.acting import Acting, acting
from musician.cli.context import App
from musician.cli.options import command, plan_option, row_argument, task_argument
from musician.cli.render import fields, indented, show
from musician.reporting.receipts import marks_of
from musician.reporting.timeline import signers_of
from musician.store.rows import MessageRow

MOST_AT_ONCE = 100_000


@command("messages")
@row_argument
@plan_option
@click.option(
    "--most",
    type=click.IntRange(1, MOST_AT_ONCE),
    default=500,
    show_default=True,
    metavar="N",
    help="Show the newest N; a line says if older ones are left out.",
)
@click.pass_obj
def messages(app: App, task_id: str, most: int) -> None:
    """Show the messages to and from TASK, oldest first, and what has become of each of the conductor's."""
    found = service.messages_of(app.shown, task_id, most=most + 1)
    newest = found[-most:]
    marks = marks_of(app.shown, service.task_view(app.shown, task_id), most=most)
    is_cut = len(found) > len(newest)
    by = signers_of(app.shown, task_id, most=most)
    told = {message_id: mark.shown for message_id, mark in marks.items()}
    messages = [fields(row, by=by.get(row.id), became=told.get(row.id)) for row in newest]
    document = {"task_id": task_id, "truncated": is_cut, "messages": messages}
    cut = [f"(older messages are left out: --most {most * 2} shows more)"] if is_cut else []
    show(app, document, *cut, *(_as_text(row, by.get(row.id, ""), told.get(row.id, "")) for row in newest))


@command("inbox")
@task_argument
@click.option("--ack", is_flag=True, help="Acknowledge the printed messages: they have been dealt with.")
@acting
def inbox(acting: Acting, ack: bool) -> None:
    """Print the conductor's messages that are not acknowledged."""
    app, claim = acting.app, acting.claim
    if sys.stdout is None:
        raise click.UsageError(
            "standard output is closed: nothing could be printed, and nothing is acknowledged"
        )
    found = service.unread(app.store, claim.task_id)
    document = {
        "task_id": claim.task_id,
        "acknowledged": ack,
        "messages": [fields(message) for message in found],
    }
    show(app, document, *map(_as_text, found) if found else ("nothing new",))
    sys.stdout.flush()  # or a failing output would lose messages that count as delivered
    service.deliver(app.store, claim, tuple(message.id for message in found))
    if ack and found:
        service.acknowledge(app.store, claim, found[-1].id)


def _as_text(row: MessageRow, by: str = "", became: str = "") -> str:
    who = f"{row.from_session} ({by})" if by else row.from_session
    head = f"#{row.id} {row.timestamp} {row.message_type} from {who}{f', {became}' if became else ''}"
    return f"{head}\n{indented(row.message)}"
