"""The MCP server of a Claude Code session (DESIGN 8)."""

import os

import click

from musician.cli.context import App
from musician.cli.options import database_option


@click.command("mcp")
@database_option
@click.pass_obj
@click.pass_context
def mcp(context: click.Context, app: App) -> None:
    """Serve the musician's verbs as tools, on standard input and output.

    Claude Code starts it by itself, by the plugin. It acts for the session that started it and ends with it.
    """
    from musician.mcp_server.server import serve

    app.folder = os.environ.get("CLAUDE_PROJECT_DIR") or app.folder  # it outranks where we were started
    context.exit(serve(os.environ, app))
