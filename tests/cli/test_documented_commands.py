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
    assert min(len(PAGES[name]) for name in ("RUNNING.md", "CLAUDE_CODE.md", "TROUBLESHOOTING.md")) > 10
    assert missing_of("plan amnd PLAN.md") == {"amnd"}
    assert missing_of('send TASK "go on" --mroe 5usd') == {"--mroe"}


TEXTS = {
    str(path.relative_to(PROJECT)): path.read_text(encoding="utf-8")
    for path in (*sorted(PROJECT.glob("*.md")), *sorted((PROJECT / "docs").glob("*.md")))
}
_LINK = re.compile(r"""(?:\]\(|<img src=")([^)"\s]+)""")
_SHOWN = re.compile(r"^(`{3,}).*?^\1`*$|`[^`\n]+`", re.MULTILINE | re.DOTALL)


def anchors_of(text: str) -> set[str]:
    """Every anchor that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^(`{3,}).*?^\1`*$", "", text, flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", TEXTS)
def test_every_link_of_a_page_leads_somewhere(name: str) -> None:
    here = (PROJECT / name).parent
    broken = []
    for link in _LINK.findall(_SHOWN.sub("", TEXTS[name])):
        path, _, anchor = link.partition("#")
        if path.startswith(("https://", "http://")):
            continue
        target = (here / path).resolve() if path else PROJECT / name
        page = str(target.relative_to(PROJECT))
        if not target.is_file() or (anchor and anchor not in anchors_of(TEXTS.get(page, ""))):
            broken.append(link)
    assert broken == []


def test_links_and_anchors_are_read() -> None:
    assert "tests-that-fail-before" in anchors_of(TEXTS["docs/PLANS.md"])
    assert "a-plans-end" in anchors_of(TEXTS["docs/RUNNING.md"]), "GitHub leaves out an apostrophe"
    assert sum(len(_LINK.findall(text)) for text in TEXTS.values()) > 100
