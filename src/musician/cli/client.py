"""The commands that Claude Code starts through the plugin: hooks, status line and MCP server (CLI-22, DESIGN 8)."""

import os
from functools import partial

import click

from musician.cli.context import App
from musician.cli.options import database_option
from musician.hooks.entry import EVENTS, program


@click.command("hook")
@click.argument("event", metavar="EVENT", type=click.Choice(list(EVENTS)))
def hook(event: str) -> None:
    """Answer one hook event of Claude Code.

    Reads the event's JSON from standard input, and prints nothing or one JSON object. The plugin calls it (musician
    plugin install); `musician plugin check` tries every event.
    """
    program((event,))  # ``musician.__main__`` handles hooks earlier, because a hook must not wait for click


@click.command("statusline")
@click.pass_context
def statusline(context: click.Context) -> None:
    """Print a session's status line: task, state, unread messages, context used.

    Reads Claude Code's JSON from standard input, and prints nothing for a session that is not a musician.
    `musician plugin install --statusline` sets it up.
    """
    from musician.plugin.statusline import program as show_line

    context.exit(show_line(()))


@click.command("mcp")
@database_option
@click.pass_obj
@click.pass_context
def mcp(context: click.Context, app: App) -> None:
    """Serve the musician's verbs as MCP tools, on standard input and output.

    Claude Code starts it through the plugin. It acts for the session that started it and ends with it.
    """
    from musician.hooks.asking import answer
    from musician.hooks.kept_reader import KeptReader
    from musician.mcp_server.server import serve

    app.folder = (
        os.environ.get("CLAUDE_PROJECT_DIR") or app.folder
    )  # the client may start us in another folder
    context.exit(serve(os.environ, app, answer_hook=partial(answer, reader=KeptReader())))
