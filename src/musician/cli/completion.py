"""The command ``completion``: a shell's script that completes commands, options, plans and tasks."""

import os

import click

from musician.cli.main import COMPLETE, program

_SHELLS = ("bash", "zsh", "fish")


def _own_shell() -> str:
    name = os.path.basename(os.environ.get("SHELL", ""))
    return name if name in _SHELLS else _SHELLS[0]


@click.command("completion")
@click.argument("shell", metavar="[bash|zsh|fish]", type=click.Choice(_SHELLS), default=_own_shell)
def completion(shell: str) -> None:
    """Print a script that completes commands, options and tasks; without an argument for the shell in $SHELL.

    For now: eval "$(musician completion)"; in fish: musician completion fish | source. For good, add that line to the
    shell's own start file.
    """
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    assert found is not None  # noqa: S101 - click has each of them
    click.echo(found(program, {}, "musician", COMPLETE).source())
