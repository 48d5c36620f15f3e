"""Claude Code's hooks (CLI-22)."""

import click

from musician.hooks.entry import EVENTS, program


@click.command("hook")
@click.argument("event", metavar="EVENT", type=click.Choice(list(EVENTS)))
def hook(event: str) -> None:
    """Answer one event of Claude Code's, spelled as it spells it.

    Its JSON is read from standard input; nothing or one JSON object is printed. The plugin calls it
    (musician plugin install); `musician plugin check` tries every event.
    """
    program(
        (event,)
    )  # without options before it, ``musician.__main__`` comes here sooner: a hook must not wait for click
