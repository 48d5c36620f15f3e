"""Playing tasks: one session on one task, or a process that keeps claiming tasks."""

import secrets

import anyio
import click

from musician.cli.context import App
from musician.cli.options import command, force_option, task_argument
from musician.cli.render import show
from musician.protocol.musician.ready import End, EndKind
from musician.runtime.musician.work import play_task

INTERRUPTED = 130
UNFINISHED = 1


@command("work")
@task_argument
@click.option(
    "--session", "session_id", envvar="MUSICIAN_SESSION", help="The session's id; made up if not given."
)
@click.option("--agent", help="Play with this agent instead of the task's own.")
@click.option("--quiet", is_flag=True, help="A blocked claim leaves no fallback row.")
@force_option
@click.pass_obj
def work(
    app: App, task_id: str, session_id: str | None, agent: str | None, quiet: bool, out_of_turn: bool
) -> None:
    """One musician session on TASK: claim it, play it, until it is complete, handed off or stopped."""
    app.wait_as_long_as_a_claim()
    session = session_id or f"musician-{secrets.token_hex(6)}"

    async def play() -> End:
        return await play_task(
            app.root,
            app.store,
            task_id,
            session,
            settings=app.settings,
            agent=agent,
            quiet=quiet,
            out_of_turn=out_of_turn,
            owns_process=True,
        )

    end = anyio.run(play)
    show(
        app,
        {"task_id": task_id, "session_id": session, "end": end.kind, "reason": end.reason},
        f"{task_id}: {end.kind} ({end.reason})",
    )
    click.get_current_context().exit(_exit_code(end))


def _exit_code(end: End) -> int:
    if end.kind is EndKind.COMPLETE:
        return 0
    return INTERRUPTED if end.reason.startswith("interrupted") else UNFINISHED
