"""The command ``top``: the dashboard in a terminal."""

import os
import signal
import sys

import click

from musician.cli.context import App
from musician.cli.faults import INTERNAL
from musician.cli.options import command
from musician.own_python import install_extra
from musician.protocol.errors import ExtraMissing


@command("top")
@click.option("--read-only", is_flag=True, help="Show everything, and take no orders.")
@click.pass_obj
def top(app: App, read_only: bool) -> None:
    """Show in this terminal what needs you and how the tasks stand, and review by keys.

    The same as `musician dashboard`, for ssh and small windows. ? shows the keys.
    """
    try:
        from musician.top import terminal
        from musician.top.app import Top
    except ImportError as error:
        raise ExtraMissing(what="musician top", command=install_extra("top")) from error
    if app.json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise click.UsageError("it needs a terminal; `musician needs-me` and `musician status` print")
    if not terminal.has_screen():
        raise click.UsageError(
            f"this terminal (TERM={os.environ.get('TERM', '')}) has no screen to draw on;"
            " `musician needs-me` and `musician status` print"
        )
    _ = app.store  # what is wrong with it is told before the screen is taken
    shown = Top(app, read_only=read_only)
    app.tell_wait = shown.tell_from_thread
    shown.run()
    for title in shown.under_way:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        click.echo(f"musician: {title}: this still waits for the database; Ctrl-C leaves it undone", err=True)
    shown.is_done.wait()
    for told in shown.undone:
        click.echo(f"musician: not done: {told}", err=True)
    if shown.return_code:
        click.get_current_context().exit(INTERNAL)
