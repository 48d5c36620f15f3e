"""The commands by name, each imported when it is called, and the way out for every error."""

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import cast

import click

from musician import __version__
from musician.cli.context import App
from musician.cli.faults import explain
from musician.cli.options import database_option

COMMANDS = {
    "demo": "demo",
    "init": "init",
    "doctor": "doctor",
    "plan": "plan",
    "task": "task",
    "run": "run",
    "work": "work",
    "worker": "work",
    "status": "status",
    "history": "history",
    "messages": "messages",
    "timeline": "timeline",
    "log": "log",
    "review": "review",
    "send": "send",
    "stop": "send",
    "handoff": "send",
    "claim": "claim",
    "release": "exit",
    "heartbeat": "claim",
    "step": "step",
    "deviation": "step",
    "self-correction": "step",
    "correction": "step",
    "checkpoint": "checkpoint",
    "error": "step",
    "complete": "exit",
    "exit": "exit",
    "inbox": "messages",
    "wait": "wait",
    "propose": "propose",
    "proposals": "proposals",
    "validate": "inspect",
    "verify-temp": "inspect",
    "headroom": "inspect",
    "hook": "client",
    "statusline": "client",
    "plugin": "plugin",
    "mcp": "client",
}
"""The module of ``musician.cli`` that has a command; the function is the command's name, ``-`` as ``_``."""


class Lazy(click.Group):
    """A group that knows its commands' names without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"musician.cli.{COMMANDS[cmd_name]}")
        return cast("click.Command", getattr(module, cmd_name.replace("-", "_")))


@click.group(
    cls=Lazy,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Every command that reads or does something takes --json. `musician COMMAND --help` says more.",
)
@click.version_option(__version__, prog_name="musician")
@database_option
@click.pass_context
def program(context: click.Context) -> None:
    """An orchestra for coding agents: tasks claimed atomically, verified, reviewed, handed off and resumed."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def run(arguments: Sequence[str]) -> int:
    """Run one command with everything that can go wrong told in one line; the exit code."""
    for stream in (sys.stdout, sys.stderr):
        # No name or message may end a command because of the terminal's encoding (B36).
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="surrogateescape")
    app = App()
    try:
        with app, program.make_context("musician", list(arguments), obj=app) as context:
            program.invoke(context)
        if sys.stdout is not None:
            sys.stdout.flush()
    except BaseException as error:  # the one place where everything that goes wrong comes by
        return explain(error)
    return 0
