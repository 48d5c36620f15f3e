"""The command ``needs-me``: what waits for a person."""

from collections.abc import Iterator

import click

from musician.cli.context import App
from musician.cli.faults import FAILED
from musician.cli.options import command
from musician.cli.render import aligned, fields, show
from musician.processes.machine import MACHINE
from musician.reporting.needs_me import Need
from musician.reporting.needs_me import needs_me as look
from musician.reporting.owners import owners_for
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
        owner_of=owners_for(app.root, app.settings, MACHINE),
    )
    told = [line for need in waiting for line in _lines(need)] or ["nothing waits"]
    show(app, {"waiting": [fields(need) for need in waiting]}, *told)
    if waiting:
        click.get_current_context().exit(FAILED)


def _lines(need: Need) -> Iterator[str]:
    yield need.reason
    if need.blocks:
        yield f"  waiting for it: {', '.join(need.blocks)}"
    answers = aligned([(answer.command, answer.effect) for answer in need.answers])
    yield from (f"  {line}" for line in answers)
