"""What Claude Code starts by itself, by the plugin: hooks, status line and tools' server (CLI-22, DESIGN 8)."""

import os

import click

from musician.cli.context import App
from musician.cli.options import database_option
from musician.hooks.entry import EVENTS, program


@click.command("hook")
@click.argument("event", metavar="EVENT", type=click.Choice(list(EVENTS)))
def hook(event: str) -> None:
    """Answer one event of Claude Code's, spelled as it spells it.

    Its JSON is read from standard input; nothing or one JSON object is printed. The plugin calls it
    (musician plugin install); `musician plugin check` tries every event.
    """
    program((event,))  # ``musician.__main__`` comes here sooner: a hook must not wait for click


@click.command("statusline")
@click.pass_context
def statusline(context: click.Context) -> None:
    """Print one line about a session: task, state, unread messages, context used.

    Reads the JSON that Claude Code gives a status line on standard input. Nothing is printed for a session that is
    no musician. `musician plugin install --statusline` sets it up.
    """
    from musician.plugin.statusline import program as show_line

    context.exit(show_line(()))


@click.command("mcp")
@database_option
@click.pass_obj
@click.pass_context
def mcp(context: click.Context, app: App) -> None:
    """Serve the musician's verbs as tools, on standard input and output.

    Claude Code starts it by itself, by the plugin. It acts for the session that started it and ends with it.
    """
    from musician.hooks.asking import answer
    from musician.mcp_server.server import serve

    app.folder = os.environ.get("CLAUDE_PROJECT_DIR") or app.folder  # it outranks where we were started
    context.exit(serve(os.environ, app, answer_hook=answer))
