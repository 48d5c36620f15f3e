"""Collects the problems of a plan and its instruction files, to report them all at once.

A reader of plans does not stop at the first mistake and never guesses. It reports the line, what it found there and
what it expected, goes on, and raises at the end. Problems are sorted by file, then by line.
"""

from collections.abc import Callable
from functools import partial
from unicodedata import category

from musician.protocol.errors import InvalidPlan

MAX_PROBLEMS = 100
"""Further problems are only counted: one unclosed fence can cause hundreds."""

MAX_FOUND_CHARACTERS = 80
"""How many characters of the author's text a problem quotes."""

_CONTROLS = frozenset({"Cc", "Cs", "Zl", "Zp"})
_DIRECTIONS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")

Report = Callable[[int, str, str], None]
"""``report(line, found, expected)`` for one file. Lines count from 1."""


class Problems:
    """The mistakes found so far, over all files of one plan."""

    def __init__(self) -> None:
        self._files: dict[str, list[tuple[int, str]]] = {}
        self._whole: list[str] = []

    def report_for(self, path: str) -> Report:
        """Return the function that reports mistakes in the file called ``path``."""
        self._files.setdefault(path, [])
        return partial(self._add, path)

    def adopt(self, error: InvalidPlan) -> None:
        """Add the problems that the reader of another file raised."""
        self._whole.extend(error.problems)

    def raise_any(self) -> None:
        """Raise :class:`InvalidPlan` with all problems, if there are any."""
        lines = [
            f"{path}:{line}: {text}"
            for path, found in self._files.items()
            for line, text in sorted(found, key=lambda problem: problem[0])
        ]
        lines.extend(self._whole)
        if len(lines) > MAX_PROBLEMS:
            more = len(lines) - MAX_PROBLEMS
            lines = [*lines[:MAX_PROBLEMS], f"and {more} more problems; mend these first"]
        if lines:
            raise InvalidPlan(problems=tuple(lines))

    def _add(self, path: str, line: int, found: str, expected: str) -> None:
        self._files[path].append((line, f"{found}; expected {expected}"))


def control_characters(text: str) -> list[str]:
    """Return the characters that a terminal would obey: they move its cursor, ring it or reverse the reading order."""
    return sorted({char for char in text if category(char) in _CONTROLS or char in _DIRECTIONS})


def shorten(text: str) -> str:
    """Return ``text`` on one line, cut to :data:`MAX_FOUND_CHARACTERS`."""
    flat = " ".join(text.split())
    return flat if len(flat) <= MAX_FOUND_CHARACTERS else flat[: MAX_FOUND_CHARACTERS - 1] + "…"
