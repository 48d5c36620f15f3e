"""The command ``checkpoint``: the program verifies a checkpoint and submits it (D14, D16)."""

from functools import partial

import anyio
import click

from musician.cli.acting import Acting, acting
from musician.cli.options import command, context_option, parse_text, task_argument
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
@acting
def checkpoint(acting: Acting, number: int | None, summary: str | None, smoothness: int | None) -> None:
    """Verify a checkpoint of TASK and submit it.

    Commits the task's working tree, runs the tests and sends the result to the conductor. If a test fails, nothing is
    submitted. N is the next checkpoint if it is not given.
    """
    play = partial(
        submit_checkpoint,
        acting.manual,
        number,
        summary=summary,
        smoothness=smoothness,
    )
    found, message_id = anyio.run(play)
    document = {
        "checkpoint": found.result.checkpoint,
        "outcome": found.outcome,
        "tests": found.result.tests_line(),
        "message_id": message_id,
        "state": "needs_review",
    }
    acting.show_with_advice(
        document,
        f"checkpoint {found.result.checkpoint}: {found.result.tests_line()}",
        f"submitted by message {message_id}; wait for the answer: musician wait {acting.task_id}",
    )
