"""Reporting a failure and waiting for the conductor's answer (D3)."""

import click

from musician.cli.context import App
from musician.cli.manual import manual_session, tell
from musician.cli.options import command, context_option, session_options, task_argument, text_argument
from musician.cli.render import show


@command("error")
@task_argument
@text_argument(required=False)
@click.option("--report", metavar="PATH", help="A detailed report, relative to the project.")
@click.option(
    "--context-warning",
    "is_warning",
    is_flag=True,
    help="Nothing failed, but the context (--context) may not reach: with the program's estimate.",
)
@context_option
@session_options
@click.pass_obj
def error(
    app: App,
    task_id: str,
    text: str | None,
    report: str | None,
    is_warning: bool,
    context_pct: float | None,
    session: str | None,
    epoch: int | None,
) -> None:
    """Report a failure, or a context that may not reach, and wait for the answer.

    TASK is in state error until the conductor answers.
    """
    if (text is None) is not is_warning:
        raise click.UsageError("say what failed, or --context-warning")
    manual = manual_session(app, task_id, session, epoch)
    if text is None:
        message_id: int | None = manual.warn(context_pct)
    else:
        message_id = manual.report(text, report=report, context_pct=context_pct)
        if message_id is None:
            left = {"task_id": task_id, "message_id": None, "state": "exited"}
            show(app, left, f"{task_id}: exited (retry exhaustion); its conductor decides how it goes on")
            return
    document: dict[str, object] = {"task_id": task_id, "message_id": message_id, "state": "error"}
    what = "warned of its context" if is_warning else "reported"
    said = f"{task_id}: {what} by message {message_id}; musician wait {task_id} sees the answer"
    tell(app, manual, context_pct, document, said)
