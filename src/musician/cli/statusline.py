"""Claude Code's status line (CLI-22)."""

import click

from musician.plugin.statusline import program


@click.command("statusline")
@click.pass_context
def statusline(context: click.Context) -> None:
    """Print one line about a session: task, state, unread messages, context used.

    Reads the JSON that Claude Code gives a status line on standard input. Nothing is printed for a session that is
    no musician. `musician plugin install --statusline` sets it up.
    """
    context.exit(program(()))
