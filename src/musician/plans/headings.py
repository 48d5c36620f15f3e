"""Recognises the headings that structure a plan, such as ``## Phase 1: …`` and ``#### Step 1: …``.

At a level that has a meaning, every heading must be one the grammar knows; and a heading that looks like one the
grammar knows must be at its level. So a typing error is reported and never turns a step into mere text.
"""

import re
from enum import StrEnum

from musician.plans.markdown import Heading
from musician.plans.problems import Report, shorten
from musician.protocol.values import dataclass

PLAN_STEP_LEVEL = 4
"""``#### Step`` in a plan; an instruction file is the same two levels up (DESIGN 7)."""

_NUMBERED = re.compile(r"(Phase|Step|Agent|Checkpoint) ([1-9][0-9]{0,5})(?:\s*:\s*(.*))?")
_ALIKE = re.compile(r"(?:phase|step|agent|checkpoint)\s*#?[0-9]", re.IGNORECASE)


class HeadingKind(StrEnum):
    """The word in front of the number."""

    PHASE = "Phase"
    STEP = "Step"
    AGENT = "Agent"
    CHECKPOINT = "Checkpoint"


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbered:
    """The parts of ``Step 2: Write it``. The title may be empty."""

    kind: HeadingKind
    number: int
    title: str


class Count:
    """Checks that one kind of heading is numbered 1, 2, 3 … within its parent."""

    def __init__(self) -> None:
        self._next = 1
        self._gap_is_reported = False

    def forgive_gap(self) -> None:
        """Accept a gap: a heading that could not be read, and was reported, may have had the missing number."""
        self._gap_is_reported = True

    def check(self, heading: Heading, numbered: Numbered, report: Report) -> None:
        is_reported = self._gap_is_reported and numbered.number > self._next
        if numbered.number != self._next and not is_reported:
            expected = (
                f"{numbered.kind} {self._next} here: they are numbered 1, 2, 3 … in the order of the file"
            )
            report(heading.line, quote(heading), expected)
        self._gap_is_reported = False
        self._next = max(self._next, numbered.number + 1)  # one gap is one problem


def read_numbered(text: str) -> Numbered | None:
    """Split a heading's text into its parts; None if it is not of this form."""
    match = _NUMBERED.fullmatch(text)
    if match is None:
        return None
    return Numbered(kind=HeadingKind(match[1]), number=int(match[2]), title=match[3] or "")


def looks_structural(text: str) -> bool:
    """Whether the author probably meant a phase, step, agent piece or checkpoint."""
    return _ALIKE.match(text) is not None


def quote(heading: Heading) -> str:
    """Return the heading as its author sees it, for a problem's text."""
    if heading.underlined:
        return f"`{shorten(heading.text)}` (a line underlined with --- or === is a heading)"
    return f"`{'#' * heading.level} {shorten(heading.text)}`"
