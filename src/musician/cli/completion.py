"""The command ``completion``: a shell's script that completes commands, options, plans and tasks."""

import os

import click

from musician.cli.main import COMPLETE, program

_SHELLS = ("bash", "zsh", "fish")
_COMPINIT = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }"
"""What a zsh needs whose start file has not turned completion on: the script would end with an unknown command."""


def _own_shell() -> str:
    name = os.path.basename(os.environ.get("SHELL", ""))
    return name if name in _SHELLS else _SHELLS[0]


@click.command("completion")
@click.argument("shell", metavar="[bash|zsh|fish]", type=click.Choice(_SHELLS), default=_own_shell)
def completion(shell: str) -> None:
    """Print a script that completes commands, options, tasks and plans; without an argument for the shell in $SHELL.

    For now: eval "$(musician completion)"; in fish: musician completion fish | source. For good, add that line to the
    shell's own start file.
    """
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    assert found is not None  # noqa: S101 - click has each of them
    script = found(program, {}, "musician", COMPLETE).source()
    if shell == "zsh":
        # Its first line is for zsh's own loader, and must stay the first.
        script = script.strip().replace("\n", f"\n{_COMPINIT}\n", 1) + "\n"
    click.echo(script)
