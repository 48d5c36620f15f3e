"""The command ``attach``: speak with a task's agent in its own terminal."""

import sys

import click

from musician.cli.context import App
from musician.cli.options import command, task_argument
from musician.cli.render import show
from musician.protocol.errors import NotAttachable
from musician.runtime.attaching import Outcome
from musician.runtime.attaching import attach as attach_to
from musician.runtime.world import WORLD

_TOLD = {
    Outcome.GOES_ON: "given back; its session goes on",
    Outcome.ENDED: "its session has ended meanwhile, and your terminal with it; what you changed is kept",
    Outcome.GONE: "nobody is there to take it back: its session is gone. What you changed stays in its tree, and the"
    " next session keeps it under a ref",
}


@command("attach")
@task_argument
@click.pass_obj
def attach(app: App, task_id: str) -> None:
    """Speak with TASK's agent in its own terminal, in the task's tree.

    What it plays is stopped, and nothing is prompted until you leave the terminal. Then what you have changed is
    committed as the session's, and it goes on. What you have used of Claude counts
    for the task once you have given it back; what you use of another agent is not metered.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise NotAttachable(
            task_id=task_id,
            reason="this is no terminal",
            remedy=f"use `musician send {task_id} TEXT` from a program",
        )
    outcome = attach_to(app.root, app.store, task_id, world=WORLD)
    show(app, {"task_id": task_id, "session": outcome}, f"{task_id}: {_TOLD[outcome]}")
