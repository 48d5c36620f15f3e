"""Scenario scripts: a story told in commands, with what they print.

A script is read from top to bottom. A line at the margin is prose. Indented by two spaces stand a command
(``$ …``, going on in ``> …`` lines) and below it what it prints, ``[exit N]`` last where N is not 0. A file that
the story needs stands between ``>>> path`` and ``<<<``. What is printed is compared as a whole;
``MUSICIAN_REWRITE=1`` writes it anew instead, to be reviewed as a difference.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from typing import Protocol

import pytest

INDENT = "  "


class Stage(Protocol):
    """Where a script is played."""

    def write(self, path: str, text: str) -> None: ...

    def play(self, command: str) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A file the story needs."""

    path: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """``source`` is how it stands in the script, ``expected`` what it printed when that was last written."""

    text: str
    source: tuple[str, ...]
    expected: tuple[str, ...]


Block = str | Given | Command
"""A str is a line that is only copied."""


def read_script(text: str) -> list[Block]:
    """The script's blocks, in order; ``ValueError`` with the line where it cannot be read."""
    lines = text.split("\n")
    blocks: list[Block] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith(">>> "):
            end = lines.index("<<<", at)
            blocks.append(Given(path=line[4:], text="".join(f"{each}\n" for each in lines[at + 1 : end])))
            blocks += lines[at : end + 1]
            at = end + 1
        elif line.startswith(f"{INDENT}$ "):
            command, at = _read_command(lines, at)
            blocks.append(command)
        elif line.startswith(INDENT):
            raise ValueError(f"line {at + 1}: output without a command: {line}")
        else:
            blocks.append(line)
            at += 1
    return blocks


def _read_command(lines: list[str], at: int) -> tuple[Command, int]:
    end = at + 1
    while lines[end].startswith(f"{INDENT}> "):
        end += 1
    source = tuple(lines[at:end])
    output: list[str] = []
    while end < len(lines) and _belongs(lines, end):
        output.append(lines[end].removeprefix(INDENT))
        end += 1
    text = "\n".join(line[len(INDENT) + 2 :] for line in source)
    return Command(text=text, source=source, expected=tuple(output)), end


def _belongs(lines: list[str], at: int) -> bool:
    """Whether a line is output: indented and no command, or empty with output below it."""
    following = next((line for line in lines[at:] if line), "")
    return following.startswith(INDENT) and not following.startswith(f"{INDENT}$ ")


def play_script(path: Path, stage: Stage) -> None:
    """Play a script on a stage and hold it to what it says, or write down what it prints (MUSICIAN_REWRITE=1)."""
    before = path.read_text(encoding="utf-8")
    written: list[str] = []
    for block in read_script(before):
        match block:
            case Given():
                stage.write(block.path, block.text)
            case Command():
                printed = stage.play(block.text).rstrip()
                written += block.source
                written += [f"{INDENT}{line}".rstrip() for line in printed.split("\n")] if printed else []
            case _:
                written.append(block)
    after = "\n".join(written)
    if os.environ.get("MUSICIAN_REWRITE") == "1":
        path.write_text(after, encoding="utf-8")
    elif after != before:
        changes = unified_diff(before.split("\n"), after.split("\n"), path.name, "as it is now", lineterm="")
        pytest.fail("\n".join(["MUSICIAN_REWRITE=1 writes it anew:", *changes]), pytrace=False)


@pytest.fixture
def play() -> Callable[[Path, Stage], None]:
    """How a script is played on a stage."""
    return play_script
