"""The command ``checkpoint``: the program verifies a checkpoint and submits it (D14, D16)."""

from functools import partial

import anyio
import click

from musician.cli.context import App
from musician.cli.manual import manual_session, show_result
from musician.cli.options import command, context_option, parse_text, session_options, task_argument
from musician.protocol.rules.review import ROUGHEST
from musician.runtime.manual.submitting import submit_checkpoint


@command("checkpoint")
@task_argument
@click.argument("number", metavar="[N]", type=click.IntRange(min=1), required=False)
@click.option("--summary", metavar="TEXT", callback=parse_text, help="What was done, in your words.")
@click.option(
    "--smoothness",
    type=click.IntRange(0, ROUGHEST),
    metavar="0-9",
    help="From 0 (smooth) to 9 (rough). It can only raise the program's own score.",
)
@context_option
@session_options
@click.pass_obj
def checkpoint(
    app: App,
    task_id: str,
    number: int | None,
    summary: str | None,
    smoothness: int | None,
    context_pct: float | None,
    session: str | None,
    epoch: int | None,
) -> None:
    """Verify a checkpoint of TASK and submit it.

    Commits the task's working tree, runs the tests and sends the result to the conductor. If a test fails, nothing is
    submitted. N is the next checkpoint if it is not given.
    """
    manual = manual_session(app, task_id, session, epoch)
    play = partial(
        submit_checkpoint, manual, number, context_pct=context_pct, summary=summary, smoothness=smoothness
    )
    found, message_id = anyio.run(play)
    document = {
        "task_id": task_id,
        "checkpoint": found.result.checkpoint,
        "outcome": found.outcome,
        "tests": found.result.tests_line(),
        "message_id": message_id,
        "state": "needs_review",
    }
    show_result(
        app,
        manual,
        context_pct,
        document,
        f"{task_id}: checkpoint {found.result.checkpoint}: {found.result.tests_line()}",
        f"submitted by message {message_id}; wait for the answer: musician wait {task_id}",
    )
