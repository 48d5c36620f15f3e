"""The entry point: finds a command by its name, imports it when it is called, and handles every error."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import cast

import click

from musician import interruption
from musician.cli.context import App
from musician.cli.faults import explain
from musician.cli.options import database_option

PARTS = {
    "Begin": {"demo": "demo", "init": "init", "doctor": "doctor", "completion": "completion"},
    "Plan and play": {
        "plan": "plan",
        "task": "task",
        "run": "run",
        "work": "work",
        "worker": "work",
        "clean": "clean",
    },
    "Look": {
        "status": "status",
        "needs-me": "needs_me",
        "dashboard": "dashboard",
        "top": "top",
        "log": "log",
        "messages": "messages",
        "history": "history",
        "timeline": "timeline",
        "trace": "trace",
        "show": "show",
    },
    "Decide": {
        "review": "review",
        "proposals": "proposals",
        "send": "send",
        "stop": "send",
        "handoff": "send",
        "attach": "attach",
        "push": "push",
        "pr": "push",
    },
    "For musicians, and for scripts in their place": {
        "claim": "claim",
        "heartbeat": "claim",
        "step": "step",
        "deviation": "step",
        "self-correction": "step",
        "correction": "step",
        "checkpoint": "checkpoint",
        "error": "step",
        "inbox": "messages",
        "wait": "wait",
        "propose": "propose",
        "complete": "exit",
        "exit": "exit",
        "release": "exit",
        "validate": "inspect",
        "verify-temp": "inspect",
        "headroom": "inspect",
    },
    "For Claude Code": {"plugin": "plugin", "hook": "client", "statusline": "client", "mcp": "client"},
}
"""Command name to its module in ``musician.cli``, by who wants it. The function has the command's name, with ``_`` for
``-``.
"""

COMMANDS = {name: module for commands in PARTS.values() for name, module in commands.items()}

_MOST_HELP_CHARS = 200
"""Of a command's first sentence in the list of all: enough for each, so that none is cut."""


COMPLETE = "_MUSICIAN_COMPLETE"
"""The variable by which a shell's script asks for completions, in click's own protocol."""


class Lazy(click.Group):
    """A group that knows its commands' names without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"musician.cli.{COMMANDS[cmd_name]}")
        interruption.interrupt()
        return cast("click.Command", getattr(module, cmd_name.replace("-", "_")))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for part, commands in PARTS.items():
            found = [(name, self.get_command(ctx, name)) for name in commands]
            rows = [(name, each.get_short_help_str(_MOST_HELP_CHARS)) for name, each in found if each]
            with formatter.section(part):
                formatter.write_dl(rows)


def _print_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        from musician.cli.version import print_version

        print_version(ctx)


@click.group(
    cls=Lazy,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="`musician COMMAND --help` says more. Every command that reads or does something takes --json.",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version and what it found here, and exit.",
)
@database_option
@click.pass_context
def program(context: click.Context) -> None:
    """An orchestra for coding agents: tasks claimed atomically, verified, reviewed, handed off and resumed."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code. Every error is reported in one line."""
    for stream in (sys.stdout, sys.stderr):
        # No name or message may end a command because of the terminal's encoding (B36).
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="surrogateescape")
    app = App()
    try:
        if instruction := os.environ.get(COMPLETE):
            from click.shell_completion import shell_complete

            return shell_complete(program, {}, "musician", COMPLETE, instruction)
        with app, program.make_context("musician", list(arguments), obj=app) as context:
            program.invoke(context)
        if sys.stdout is not None:
            sys.stdout.flush()
    except BaseException as error:  # the one handler of all errors
        return explain(error)
    return 0
