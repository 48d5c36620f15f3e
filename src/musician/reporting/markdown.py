"""Writes Markdown in which somebody else's words are only words.

What is told of a run quotes titles, answers and test output of agents. Put on one line and with its marks
escaped, a title is no heading, an answer is no HTML and a cell ends where its column does.
"""

import re
from collections.abc import Iterable, Iterator

from musician.processes.output import one_line

MOST_CHARS = 500
"""Of one quoted text."""

_MARKS = re.compile(r"([\\`*{}\[\]<>#|~&]|(?<!\w)_|_(?!\w))")
_TICKS = re.compile(r"`+")
_REFERENCE = re.compile(r"([@#])(?=\w)")


def escaped(text: str) -> str:
    return _MARKS.sub(r"\\\1", one_line(text, MOST_CHARS * 2))


def unlinked(text: str) -> str:
    """Return a text as :func:`escaped` does, and so that a forge calls nobody and closes nothing for it."""
    return _REFERENCE.sub(r"\1<!-- -->", escaped(text))


def code(text: str) -> str:
    """Return a text as code, whatever backticks it has."""
    line = one_line(text, MOST_CHARS)
    ticks = "`" * (_longest_run(line) + 1)
    return f"{ticks} {line} {ticks}" if "`" in line else f"`{line}`"


def fenced(text: str) -> Iterator[str]:
    """Yield a text as it is, in a fence that nothing in it closes."""
    fence = "`" * max(3, _longest_run(text) + 1)
    yield f"{fence}text"
    yield text
    yield fence


def table_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def titled_list(title: str, lines: Iterable[str], *, level: int = 2) -> Iterator[str]:
    yield ""
    yield f"{'#' * level} {title}"
    yield ""
    yield from (f"- {line}" for line in lines)


def _longest_run(text: str) -> int:
    return max((len(run) for run in _TICKS.findall(text)), default=0)
