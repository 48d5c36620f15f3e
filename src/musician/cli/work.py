"""The commands ``work`` (one session on one task) and ``worker`` (a process that keeps claiming tasks)."""

from functools import partial

import anyio
import click

from musician.cli.context import App
from musician.cli.faults import FAILED
from musician.cli.options import agent_option, command, force_option, session_option, task_argument
from musician.cli.render import show
from musician.interruption import INTERRUPTED
from musician.processes.machine import MACHINE
from musician.protocol.musician.ready import End, EndKind
from musician.runtime.musician.work import play_task

_LONGEST_S = 7 * 86_400.0


@command("work")
@task_argument
@session_option("The session's id; generated if not given.")
@agent_option("Play with this agent instead of the task's own.")
@click.option("--quiet", is_flag=True, help="Write no fallback row if the claim is blocked.")
@force_option
@click.pass_obj
def work(
    app: App, task_id: str, session: str | None, agent: str | None, quiet: bool, out_of_turn: bool
) -> None:
    """Play one musician session on TASK, until it is complete, handed off or stopped."""
    app.wait_as_long_as_a_claim()
    session = session or MACHINE.new_id("musician")
    play = partial(
        play_task,
        settings=app.settings,
        agent=agent,
        quiet=quiet,
        out_of_turn=out_of_turn,
        owns_process=True,
    )
    end = anyio.run(play, app.root, app.store, task_id, session)
    show(
        app,
        {"task_id": task_id, "session_id": session, "end": end.kind, "reason": end.reason},
        f"{task_id}: {end.kind} ({end.reason})",
    )
    click.get_current_context().exit(_exit_code(end))


def _exit_code(end: End) -> int:
    if end.kind is EndKind.COMPLETE:
        return 0
    return INTERRUPTED if end.reason.startswith("interrupted") else FAILED


@command("worker")
@agent_option("Play with this agent instead of the tasks' own.")
@click.option("--once", is_flag=True, help="End when there is nothing to claim, instead of waiting for more.")
@click.option(
    "--idle-exit",
    "idle_limit_s",
    type=click.FloatRange(0, _LONGEST_S),
    metavar="SECONDS",
    help="End after this time without anything to claim.",
)
@click.pass_obj
@click.pass_context
def worker(
    context: click.Context, app: App, agent: str | None, once: bool, idle_limit_s: float | None
) -> None:
    """Keep claiming tasks and playing them.

    A conductor must run as well: it reviews and merges. The worker ends when every task is complete.
    """
    from musician.processes.signals import hearing_stops
    from musician.runtime.fleet import Parting, work_on  # slow to import

    app.wait_as_long_as_a_claim()
    limit_s = 0.0 if once else idle_limit_s
    play = partial(work_on, settings=app.settings, agent=agent, idle_limit_s=limit_s, owns_process=True)
    with hearing_stops():  # between two tasks as well
        parting, played = anyio.run(play, app.root, app.store)
    document = {
        "ending": parting,
        "played": [{"task_id": task_id, "end": end.kind, "reason": end.reason} for task_id, end in played],
    }
    endings = (f"{task_id}: {end.kind} ({end.reason})" for task_id, end in played)
    show(app, document, *endings, str(parting))
    if parting is Parting.INTERRUPTED:
        context.exit(INTERRUPTED)
    if parting is Parting.NOTHING_TO_CLAIM and any(end.kind is not EndKind.COMPLETE for _, end in played):
        context.exit(FAILED)
