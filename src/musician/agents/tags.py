"""Reads the tags in an agent's output: lines that start with ``::context 58%`` and the like.

A line is a tag when it starts, after spaces or tabs, with one of the twelve names::

    ::context 58%                 measured context usage, also 58.5% or tokens of the window: 120000/200000
    ::deviation Medium text       Low, Medium or High, and what was done otherwise than planned
    ::self-correction text        something was wrong and was done again
    ::question text               for the conductor
    ::partial text                the piece is done only in part; what is missing
    ::failed text                 of a model: the piece cannot be done, and why
    ::answer 2 text               what was done for point 2 of what was sent back
    ::proposal PATTERN title      something worth keeping, of one of the seven types; with `` | docs/x.md`` at its
                                  end the text is in that file of the working tree
    ::verdict approve text        of a reviewing agent: approve, or reject or fix with a point, once for each point
    ::rule 2                      of a reviewing agent: deviation 2 of those it was shown is accepted
    ::reply text                  of an answering agent: what it answers
    ::ask-person text             of an answering agent: a person must answer, and why

Everything else, ``::group::`` of other tools included, is output. The reader knows bytes and lines; it does
not know who wrote them and decides nothing: a context reading that cannot be (over 100 %, a window of 0, more
tokens than the window, negative) is reported as unknown and forces nothing (B28); a tag that cannot be
understood is a complaint, which belongs in the log, and no event, unless the agent admits something: an
admission counts however it is put, and as the gravest kind if it does not say which (D17). How the bytes are
cut into chunks changes nothing.
"""

import re

from musician.agents.port import (
    AgentEvent,
    DeviationRuled,
    GaveUp,
    LeftToPerson,
    ProposalMade,
    Replied,
    VerdictGiven,
)
from musician.processes.output import one_line
from musician.protocol.conductor.opinion import Judgement
from musician.protocol.errors import BadField, UnknownSeverity
from musician.protocol.messages.feedback import MOST_POINTS
from musician.protocol.musician.inputs import (
    AnswerTold,
    ContextTold,
    DeviationTold,
    PartialTold,
    QuestionTold,
    SelfCorrectionTold,
)
from musician.protocol.proposals import MOST_TITLE_CHARS, ProposalType, parse_type
from musician.protocol.rules.deviations import Severity, parse_severity
from musician.protocol.values import dataclass

MAX_LINE_BYTES = 16 * 1024
"""What is kept of a line; the rest of it is skipped."""

MAX_TEXT_CHARS = 2000
"""What is kept of a tag's text."""

_TAG = re.compile(
    r"[ \t]*::(context|deviation|self-correction|question|partial|failed|answer|proposal|verdict|rule|reply|ask-person)"
    r"(?![\w-]):?(.*)",
    re.DOTALL,
)
_PERCENT = re.compile(r"(-?\d+(?:\.\d+)?)\s*%", re.ASCII)
_TOKENS = re.compile(r"(-?\d+)\s*/\s*(-?\d+)", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of output, without its end. ``complaint`` says what is wrong with a line that looks like a
    tag.
    """

    text: str
    event: AgentEvent | None = None
    complaint: str | None = None

    @property
    def is_tag(self) -> bool:
        return self.event is not None or self.complaint is not None


class LineReader:
    """Bytes in, lines out. Feed it chunks as they come; :meth:`close` gives a last line without an end."""

    def __init__(self) -> None:
        self._open = bytearray()
        self._began = False

    def feed(self, data: bytes) -> list[Line]:
        """Return the lines that ``data`` completed."""
        *ended, rest = data.split(b"\n")
        lines = []
        for part in ended:
            if self._began or len(part) > MAX_LINE_BYTES:
                self._keep(part)
                lines.append(self._end())
            else:  # nearly every line, and there may be millions
                lines.append(_read(part))
        if rest:
            self._keep(rest)
        return lines

    def close(self) -> list[Line]:
        """Return the line that was still open, if any."""
        return [self._end()] if self._began else []

    def _keep(self, part: bytes) -> None:
        self._began = True
        self._open += part[: MAX_LINE_BYTES - len(self._open)]

    def _end(self) -> Line:
        line = bytes(self._open)
        self._open.clear()
        self._began = False
        return _read(line)


_UNSAID: dict[str, AgentEvent] = {
    "deviation": DeviationTold(severity=Severity.HIGH, text="it does not say what deviates"),
    "self-correction": SelfCorrectionTold(text="it does not say what was wrong"),
    "partial": PartialTold(text="it does not say what is missing"),
    "failed": GaveUp(text="it does not say why"),
    "ask-person": LeftToPerson(text="it does not say why"),
}
"""What an agent owns up to by the tag alone."""


class _NotUnderstood(Exception):
    """A tag that cannot be understood: the reason, for a complaint, and the event that still counts, if any."""

    def __init__(self, reason: str, *, heard: AgentEvent | None = None) -> None:
        super().__init__(reason)
        self.heard = heard


def _read(line: bytes) -> Line:
    text = line.removesuffix(b"\r").decode("utf-8", "replace")
    match = _TAG.fullmatch(text) if "::" in text else None
    if match is None:
        return Line(text=text)
    try:
        return Line(text=text, event=_event(match[1], one_line(match[2], MAX_TEXT_CHARS)))
    except _NotUnderstood as reason:
        complaint = f"{one_line(text, 200)!r} is not understood: {reason}"
        return Line(text=text, event=reason.heard, complaint=complaint)


def _event(name: str, text: str) -> AgentEvent:
    if not text:
        raise _NotUnderstood("it says nothing", heard=_UNSAID.get(name))
    match name:
        case "context":
            return ContextTold(used_pct=_used_pct(text))
        case "deviation":
            return _deviation(text)
        case "self-correction":
            return SelfCorrectionTold(text=text)
        case "question":
            return QuestionTold(text=text)
        case "answer":
            return _answer(text)
        case "proposal":
            return _proposal(text)
        case "failed":
            return GaveUp(text=text)
        case "verdict":
            return _verdict(text)
        case "rule":
            return _rule(text)
        case "reply":
            return Replied(text=text)
        case "ask-person":
            return LeftToPerson(text=text)
        case _:
            return PartialTold(text=text)


def _used_pct(text: str) -> float | None:
    """Return the used percentage of the window; None for an impossible reading."""
    if percent := _PERCENT.fullmatch(text):
        reading = float(percent[1])
        return reading if 0 <= reading <= 100 else None
    tokens = _TOKENS.fullmatch(text)
    if tokens is None:
        raise _NotUnderstood("use 58%, 58.5% or 120000/200000")
    used, window = int(tokens[1]), int(tokens[2])
    if window <= 0 or not 0 <= used <= window:
        return None
    return 100 * used / window  # divided last, so that 65 % is exactly 65 at the threshold


def _deviation(text: str) -> DeviationTold:
    word, _, what = text.partition(" ")
    try:
        severity = parse_severity(word.rstrip(":"))
    except UnknownSeverity:
        grave = DeviationTold(severity=Severity.HIGH, text=text)
        raise _NotUnderstood("the severity is Low, Medium or High", heard=grave) from None
    if not what:
        unsaid = "it does not say what deviates"
        raise _NotUnderstood(unsaid, heard=DeviationTold(severity=severity, text=unsaid))
    return DeviationTold(severity=severity, text=what)


def _answer(text: str) -> AnswerTold:
    word, _, what = text.partition(" ")
    number = word.rstrip(".:)")
    if not (number.isascii() and number.isdecimal()) or not 1 <= int(number) <= MOST_POINTS:
        raise _NotUnderstood(f"it does not begin with the number of a point, 1 to {MOST_POINTS}")
    if not what:
        raise _NotUnderstood("it does not say what was done")
    return AnswerTold(number=int(number), text=what)


def _verdict(text: str) -> VerdictGiven:
    word, _, what = text.partition(" ")
    judgement = word.rstrip(":").lower()
    if judgement not in list(Judgement):
        raise _NotUnderstood("the verdict is " + ", ".join(Judgement))
    return VerdictGiven(judgement=judgement, text=what)


def _rule(text: str) -> DeviationRuled:
    number = text.rstrip(".:)")
    if not (number.isascii() and number.isdecimal()) or not 1 <= int(number) <= MOST_POINTS:
        raise _NotUnderstood(f"it is the number of a deviation, 1 to {MOST_POINTS}")
    return DeviationRuled(number=int(number))


def _proposal(text: str) -> ProposalMade:
    word, _, rest = text.partition(" ")
    try:
        kind = parse_type(word.rstrip(":"))
    except BadField:
        raise _NotUnderstood("the type is one of " + ", ".join(ProposalType)) from None
    before, bar, path = f" {rest}".rpartition(" | ")
    title = before.strip() if bar else rest
    if not title:
        raise _NotUnderstood("it has no title")
    if len(title) > MOST_TITLE_CHARS:
        raise _NotUnderstood(
            f"the title has more than {MOST_TITLE_CHARS} characters; put the rest into a file"
        )
    return ProposalMade(type=kind, title=title, path=path if bar else None)
