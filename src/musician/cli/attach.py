"""The command ``attach``: speak with a task's agent in its own terminal."""

import sys

import click

from musician.cli.context import App
from musician.cli.options import command, task_argument
from musician.cli.render import show
from musician.protocol.errors import NotAttachable
from musician.runtime.attaching import attach as attach_to
from musician.runtime.world import WORLD


@command("attach")
@task_argument
@click.pass_obj
def attach(app: App, task_id: str) -> None:
    """Speak with TASK's agent in its own terminal, in the task's tree.

    What it plays is stopped, and nothing is prompted until you leave the terminal. Then what you have changed is
    committed as the session's, and it goes on.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise NotAttachable(
            task_id=task_id,
            reason="this is no terminal",
            remedy=f"use `musician send {task_id} TEXT` from a program",
        )
    goes_on = attach_to(app.root, app.store, task_id, world=WORLD)
    told = (
        "given back; its session goes on"
        if goes_on
        else "its session ended meanwhile, and your terminal with it"
    )
    show(app, {"task_id": task_id, "goes_on": goes_on}, f"{task_id}: {told}")
