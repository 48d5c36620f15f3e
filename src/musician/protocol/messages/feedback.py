"""The points of a rejection, and the answer to each of them (sources "Re-Submit for Review").

A rejection is free text. Its points are numbered (``1. …``, on separate lines or in one), or listed with dashes;
otherwise the whole text is one point. What a person says to lines of the change follows as a list of its own, whose
numbers go on from those of the text. The answer to a point is the agent's own. If it gives none, the answer says so
and names the items played since, which is all that the program knows. Whether an answer is good is not judged here.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from musician.protocol.errors import BadField
from musician.protocol.messages.corrections import BEGIN
from musician.protocol.messages.numbered import as_list, heading, read_list

MOST_POINTS = 50
_MOST_SHOWN_CHARS = 300

_NUMBER = re.compile(r"(?:^|(?<=\s))([0-9]{1,3})[.)]\s+", re.MULTILINE)
_DASH = re.compile(r"^[ \t]*[-*•] +", re.MULTILINE)
_NEXT_PARAGRAPH = re.compile(r"\n(?![ \t])")
"""A point that goes on in a further line is indented there."""
_BEGIN = heading("POINTS")
POINTS_HEADING = "POINTS, answer each by its number:"
RESUBMITTED = "Resubmitted after it was sent back:"
"""Before the answers to all points, which follow what a submission says of its work."""


def with_points(text: str, points: Sequence[str]) -> tuple[str, int]:
    """Append points to a rejection, before its corrections; the whole text, and the number of the first of them.

    Raises :class:`BadField` if it has more points then than a rejection can have.
    """
    cut = _end(text)
    first = len(_listed(text[:cut])) + 1
    last = first + len(points) - 1
    if last > MOST_POINTS:
        reason = f"a rejection has at most {MOST_POINTS}: say the others in its text"
        raise BadField(field="points", value=last, reason=reason)
    parts = [text[:cut].rstrip(), "", POINTS_HEADING, as_list(points, first=first)]
    return "\n".join([*parts, "", text[cut:]] if text[cut:] else parts), first


def points_of(text: str) -> tuple[str, ...]:
    """Return the points of a rejection in order, each on one line; () for an empty text."""
    said, added = text, ""
    for begin in _BEGIN.finditer(text[: _end(text)]):
        said, added = text[: begin.start()], text[begin.end() : _end(text)]
    own = _listed(said)
    if points := read_list(added, first=len(own) + 1):
        return (*own, *(" ".join(each.split()) or "…" for each in points))[:MOST_POINTS]
    whole = " ".join(text.split())
    return _listed(text) or ((whole,) if whole else ())


def _end(text: str) -> int:
    """Return where the corrections begin that follow the points."""
    corrections = BEGIN.search(text)
    return corrections.start() if corrections else len(text)


def _listed(text: str) -> tuple[str, ...]:
    """Return the points that a text numbers, or lists with dashes; () if it does neither."""
    numbered = tuple(point for _, point in _numbered(text))
    dashed = (_first_paragraph(part) for part in _DASH.split(text)[1:])
    return (numbered or tuple(point for point in dashed if point))[:MOST_POINTS]


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
    return "\n".join((RESUBMITTED, *lines))


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
