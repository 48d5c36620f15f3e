"""The command ``needs-me``: what waits for a person."""

import click

from musician.cli.context import App
from musician.cli.faults import FAILED
from musician.cli.options import command
from musician.cli.render import fields, lines, show
from musician.processes.machine import MACHINE
from musician.reporting.needs_me import needs_me as look
from musician.reporting.owners import owner_of
from musician.reporting.run_at_work import is_conducted


@command("needs-me")
@click.pass_obj
def needs_me(app: App) -> None:
    """List what waits for a person, with the commands that answer it.

    The exit code is 1 if something waits, so a prompt or a script need not read it. --json prints an object with
    waiting, a list, the oldest first. Each has task_id (task-00 for what concerns a plan), plan_id, kind, subject_id
    (the number of what it is about), at (UTC), reason, text (the whole question), blocks (the tasks that wait for it)
    and answers, each with its command and effect.
    """
    waiting = look(
        app.store,
        is_conducted=is_conducted(app.root, app.store, app.settings),
        owner_of=lambda view: owner_of(app.root, view, app.settings, MACHINE),
    )
    show(app, {"waiting": [fields(need) for need in waiting]})
    if not app.json:
        for need in waiting:
            lines(need.reason)
            if need.blocks:
                lines(f"  waiting for it: {', '.join(need.blocks)}")
            width = max(len(answer.command) for answer in need.answers)
            for answer in need.answers:
                lines(f"  {answer.command:<{width}}  {answer.effect}")
        if not waiting:
            lines("nothing waits")
    if waiting:
        click.get_current_context().exit(FAILED)
