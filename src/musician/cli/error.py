"""Reporting a failure and waiting for the conductor's answer (D3)."""

import click

from musician.cli.context import App
from musician.cli.hand import hand_of
from musician.cli.options import command, context_option, session_options, task_argument, text_argument
from musician.cli.render import show

__all__ = ["error"]


@command("error")
@task_argument
@text_argument()
@click.option("--report", metavar="PATH", help="A detailed report, relative to the project.")
@context_option
@session_options
@click.pass_obj
def error(
    app: App,
    task_id: str,
    text: str,
    report: str | None,
    context_pct: float | None,
    session: str | None,
    epoch: int | None,
) -> None:
    """Report a failure and wait for the answer.

    TASK is in state error until the conductor answers.
    """
    hand = hand_of(app, task_id, session, epoch)
    message_id = hand.report(text, report=report, context_pct=context_pct)
    document = {"task_id": task_id, "message_id": message_id, "state": "error"}
    show(
        app, document, f"{task_id}: reported by message {message_id}; musician wait {task_id} sees the answer"
    )
