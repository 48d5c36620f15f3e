"""A process that keeps claiming tasks."""

from functools import partial

import anyio
import click

from musician.cli.context import App
from musician.cli.faults import FAILED, INTERRUPTED
from musician.cli.options import command
from musician.cli.render import show
from musician.protocol.musician.ready import EndKind
from musician.runtime.fleet import Parting, work_on

LONGEST_S = 7 * 86_400.0


@command("worker")
@click.option("--agent", metavar="NAME", help="Play with this agent instead of the tasks' own.")
@click.option("--once", is_flag=True, help="End when there is nothing to claim, instead of waiting for more.")
@click.option(
    "--idle-exit",
    "idle_limit_s",
    type=click.FloatRange(0, LONGEST_S),
    metavar="SECONDS",
    help="End when there was nothing to claim for so long.",
)
@click.pass_obj
@click.pass_context
def worker(
    context: click.Context, app: App, agent: str | None, once: bool, idle_limit_s: float | None
) -> None:
    """Keep claiming tasks and playing them.

    Beside a conductor, which reviews and merges. It ends when every task is complete.
    """
    app.wait_as_long_as_a_claim()
    limit_s = 0.0 if once else idle_limit_s
    play = partial(
        work_on,
        app.root,
        app.store,
        settings=app.settings,
        agent=agent,
        idle_limit_s=limit_s,
        owns_process=True,
    )
    parting, played = anyio.run(play)
    document = {
        "ending": parting,
        "played": [{"task_id": task_id, "end": end.kind, "reason": end.reason} for task_id, end in played],
    }
    said = (f"{task_id}: {end.kind} ({end.reason})" for task_id, end in played)
    show(app, document, *said, str(parting))
    if parting is Parting.INTERRUPTED:
        context.exit(INTERRUPTED)
    if parting is Parting.NOTHING_TO_CLAIM and any(end.kind is not EndKind.COMPLETE for _, end in played):
        context.exit(FAILED)
