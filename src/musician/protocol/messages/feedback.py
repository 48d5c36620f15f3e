"""The points of a rejection, and the answer to each of them (sources "Re-Submit for Review").

A rejection is free text. Its points are numbered (``1. …``, on separate lines or in one), or listed with dashes;
otherwise the whole text is one point. The answer to a point is the agent's own. If it gives none, the answer says so
and names the items played since, which is all that the program knows. Whether an answer is good is not judged here.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

MOST_POINTS = 20
_MOST_SHOWN_CHARS = 300

_NUMBER = re.compile(r"(?:^|(?<=\s))([0-9]{1,3})[.)]\s+", re.MULTILINE)
_DASH = re.compile(r"^[ \t]*[-*•] +", re.MULTILINE)
_NEXT_PARAGRAPH = re.compile(r"\n(?![ \t])")
"""A point that goes on in a further line is indented there."""


def points_of(text: str) -> tuple[str, ...]:
    """Return the points of a rejection in order, each on one line; () for an empty text."""
    numbered = tuple(point for _, point in _numbered(text))
    if numbered:
        return numbered[:MOST_POINTS]
    dashed = [_first_paragraph(part) for part in _DASH.split(text)[1:]]
    whole = " ".join(text.split())
    return tuple(point for point in dashed if point)[:MOST_POINTS] or ((whole,) if whole else ())


def numbered_answers(text: str) -> dict[int, str]:
    """Return the answers in a text, by the numbers before them."""
    return dict(_numbered(text))


def numbered_answer(text: str) -> dict[int, str]:
    """Parse a single answer, ``2. what was done``; {} for a text without a number."""
    match = re.fullmatch(r"([0-9]{1,3})\. (.+)", text, re.DOTALL)
    return {int(match[1]): match[2]} if match else {}


def answer_text(points: Sequence[str], answers: Mapping[int, str], mended_in: Sequence[str]) -> str:
    """Quote and answer each point on one line. ``mended_in`` are the items that were played for the rejection."""
    played = f"{', '.join(mended_in)} was played since" if mended_in else "nothing was played for it"
    lines = (
        f'{number}. "{_short(point)}": {_short(answers.get(number, "")) or f"not answered; {played}"}'
        for number, point in enumerate(points, start=1)
    )
    return "\n".join(("Resubmitted after it was sent back:", *lines))


def _numbered(text: str) -> Iterator[tuple[int, str]]:
    """Yield the texts after 1., 2., 3. and so on. A number out of order belongs to the text."""
    marks: list[re.Match[str]] = []
    for mark in _NUMBER.finditer(text):
        if int(mark[1]) == len(marks) + 1:
            marks.append(mark)
    for number, mark in enumerate(marks, start=1):
        end = marks[number].start() if number < len(marks) else len(text)
        if point := _first_paragraph(text[mark.end() : end]):
            yield number, point


def _first_paragraph(text: str) -> str:
    return " ".join(_NEXT_PARAGRAPH.split(text.strip(), maxsplit=1)[0].split())


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MOST_SHOWN_CHARS else line[: _MOST_SHOWN_CHARS - 1] + "…"
