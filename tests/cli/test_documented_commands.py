"""Every command that a page of the documentation tells a reader to give is there, with its options."""

import re
from pathlib import Path

import click
import pytest

from musician.cli.main import program

PROJECT = Path(__file__).parents[2]
_TYPED = re.compile(r"(?:^(?:\$ )?|`|\"\$\()musician ([a-z][^`)\n]*)", re.MULTILINE)
PAGES = {
    path.name: sorted(set(_TYPED.findall(path.read_text(encoding="utf-8"))))
    for path in (PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md")))
}


def missing_of(call: str) -> set[str]:
    """Return what the program does not know of a command that somebody types."""
    words = re.sub(r'"[^"]*"', "TEXT", call).split()
    context = click.Context(program)
    command: click.Command = program
    while isinstance(command, click.Group) and words:
        word = words.pop(0)
        found = command.get_command(context, word)
        if found is None:
            return {word} - {"…"}
        command = found
    options = {option for each in command.params for option in (*each.opts, *each.secondary_opts)}
    return {word for word in words if word.startswith("--")} - options - {"--help"}


@pytest.mark.parametrize("name", [name for name, calls in PAGES.items() if calls])
def test_every_command_of_a_page_is_there_with_its_options(name: str) -> None:
    assert {call: gone for call in PAGES[name] if (gone := missing_of(call))} == {}


def test_the_pages_are_read() -> None:
    """And a command that is not there is found."""
    assert min(len(PAGES[name]) for name in ("PLANS.md", "CLAUDE_CODE.md", "TROUBLESHOOTING.md")) > 10
    assert missing_of("plan amnd PLAN.md") == {"amnd"}
    assert missing_of('send TASK "go on" --mroe 5usd') == {"--mroe"}
