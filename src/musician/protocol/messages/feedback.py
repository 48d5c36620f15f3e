"""What was sent back, point by point, and the answer to each point (sources "Re-Submit for Review").

A rejection is free text. Its points are numbered (``1. …``, on lines of their own or in one line), or listed with
dashes, or it is one point as a whole. The answer to a point is what the agent says of it; where it says nothing that is
said, with what was played since, which is all that the program knows. Nothing here judges whether an answer is good.
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
    """The points of a rejection, in order, each one line; () for an empty text."""
    numbered = tuple(point for _, point in _numbered(text))
    if numbered:
        return numbered[:MOST_POINTS]
    dashed = [_first_paragraph(part) for part in _DASH.split(text)[1:]]
    whole = " ".join(text.split())
    return tuple(point for point in dashed if point)[:MOST_POINTS] or ((whole,) if whole else ())


def numbered_answers(text: str) -> dict[int, str]:
    """What a text says to each point, by the number before it."""
    return dict(_numbered(text))


def numbered_answer(text: str) -> dict[int, str]:
    """``2. what was done`` alone; {} for a text without such a number."""
    match = re.fullmatch(r"([0-9]{1,3})\. (.+)", text, re.DOTALL)
    return {int(match[1]): match[2]} if match else {}


def answer_text(points: Sequence[str], answers: Mapping[int, str], mended_in: Sequence[str]) -> str:
    """Each point quoted and answered, one a line; ``mended_in`` are the items that were played for it."""
    played = f"{', '.join(mended_in)} was played since" if mended_in else "nothing was played for it"
    lines = (
        f'{number}. "{_short(point)}": {_short(answers.get(number, "")) or f"not answered; {played}"}'
        for number, point in enumerate(points, start=1)
    )
    return "\n".join(("Resubmitted after it was sent back:", *lines))


def _numbered(text: str) -> Iterator[tuple[int, str]]:
    """What follows 1., 2., 3. and so on; a number out of order belongs to the text."""
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
