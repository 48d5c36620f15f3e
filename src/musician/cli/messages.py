"""What was said about a task."""

import click

from musician import service
from musician.cli.context import App
from musician.cli.options import command, row_argument
from musician.cli.render import fields, indented, show
from musician.store.rows import MessageRow

MOST_AT_ONCE = 100_000


@command("messages")
@row_argument
@click.option(
    "--most",
    type=click.IntRange(1, MOST_AT_ONCE),
    default=500,
    show_default=True,
    metavar="N",
    help="The newest N; a line says when older ones are left out.",
)
@click.pass_obj
def messages(app: App, task_id: str, most: int) -> None:
    """What was said to and by TASK, the oldest first."""
    found = service.messages_of(app.store, task_id, most=most + 1)
    newest = found[-most:]
    is_cut = len(found) > len(newest)
    document = {"task_id": task_id, "truncated": is_cut, "messages": [fields(row) for row in newest]}
    cut = [f"(older messages are left out: --most {most * 2} shows more)"] if is_cut else []
    show(app, document, *cut, *map(as_text, newest))


def as_text(row: MessageRow) -> str:
    return f"#{row.id} {row.timestamp} {row.message_type} from {row.from_session}\n{indented(row.message)}"
