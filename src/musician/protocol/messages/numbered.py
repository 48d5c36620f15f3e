"""A numbered list at the end of a message, under a heading of its own, so that a program can read it again::

    POINTS, answer each by its number:
    1. greeter.py:3: say who is greeted
    2. a point of two lines
       goes on like this

A list ends where the next heading begins. A line without a number belongs to the item above it.
"""

import re
from collections.abc import Iterable

INDENT = "   "
_NUMBERED = re.compile(r"^(?P<number>\d{1,3})\. (?P<first>.*)$", re.ASCII)


def heading(word: str) -> re.Pattern[str]:
    """Return what finds the line that begins a list; the word is all that counts."""
    return re.compile(rf"^{word}\b[^\n]*:[ \t]*\n", re.MULTILINE)


def as_list(items: Iterable[str], *, first: int = 1) -> str:
    return "\n".join(
        f"{number}. {item}".replace("\n", f"\n{INDENT}") for number, item in enumerate(items, start=first)
    )


def read_list(body: str, *, first: int = 1) -> tuple[str, ...]:
    """Return the items, numbered one after the other from ``first``; () if it does not begin so."""
    items: list[list[str]] = []
    for line in body.split("\n"):
        found = _NUMBERED.match(line)
        if found and int(found["number"]) == len(items) + first:
            items.append([found["first"]])
        elif items:
            items[-1].append(line.removeprefix(INDENT))
    return tuple("\n".join(item).rstrip() for item in items)
