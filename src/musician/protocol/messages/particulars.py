"""The values that messages are made of, and each one's text form (D14).

Unknown is None or "", never a guess. Reading is lenient: the canonical form is read back exactly; of any other text
the value takes what it can, and keeps the whole text as its description. A number without digits is unknown; one out of
bounds is refused.
"""

import re
from enum import StrEnum
from typing import Self

from musician.protocol.errors import BadField
from musician.protocol.messages.checks import (
    MOST_COUNTED,
    MOST_PCT,
    check_count,
    check_path,
    check_pct,
    check_text,
)
from musician.protocol.rules.deviations import Severity
from musician.protocol.values import dataclass

_INT = r"\d{1,9}(?!\d)"
_PCT = r"\d{1,9}(?:\.\d{1,30})?(?:e-\d{1,3})?"
_UNKNOWN = "unknown"
_LEADING_INT = re.compile(rf"\s*~?({_INT})", re.ASCII)
_LEADING_PCT = re.compile(rf"\s*[~@]?({_PCT})\s*%?", re.ASCII)


class OutputKind(StrEnum):
    """How a key output came to be (sources "Key Outputs Format")."""

    CREATED = "created"
    MODIFIED = "modified"
    DELETED = "deleted"
    """Not in the sources: a judge must also see what was deleted (D26)."""
    RAG_ADDITION = "rag-addition"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyOutput:
    """One significant file. ``path`` is relative to the project's root and stays inside it."""

    path: str
    kind: OutputKind

    def __post_init__(self) -> None:
        check_path("path", self.path)

    def render(self) -> str:
        return f"- {self.path} ({self.kind})"

    @classmethod
    def parse(cls, text: str) -> Self:
        match = re.fullmatch(rf"[-*] +(\S.*) \(({'|'.join(OutputKind)})\)\s*", text)
        if match is None:
            raise BadField(
                field="key_outputs", value=text, reason=f"each is '- path ({'|'.join(OutputKind)})'"
            )
        return cls(path=match[1], kind=OutputKind(match[2]))


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfCorrection:
    """Whether earlier work was redone; ``happened`` is None where a text does not say."""

    happened: bool | None
    details: str = ""

    def __post_init__(self) -> None:
        check_text("self_correction", self.details)

    def render(self) -> str:
        word = _UNKNOWN if self.happened is None else "YES" if self.happened else "NO"
        return word + _in_brackets(self.details)

    @classmethod
    def parse(cls, text: str) -> Self:
        said = {"YES": True, "NO": False, _UNKNOWN: None}
        if match := re.fullmatch(r"(YES|NO|unknown)(?: \((.*)\))?", text, re.DOTALL):
            return cls(happened=said[match[1]], details=match[2] or "")
        if match := re.fullmatch(r"\s*(yes|no)\b(?!/)\W*(.*)", text, re.DOTALL | re.IGNORECASE):
            return cls(happened=said[match[1].upper()], details=match[2])
        return cls(happened=None, details=text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviations:
    """The number of deviations, the gravest severity, and a description. ``count`` is None if unknown."""

    count: int | None
    worst: Severity | None = None
    description: str = ""

    def __post_init__(self) -> None:
        check_count("deviations", self.count)
        check_text("deviations", self.description)
        if self.count == 0 and self.worst is not None:
            raise BadField(field="deviations", value=self.worst, reason="none at all has no severity")

    def render(self) -> str:
        if self.worst is None and not self.description:
            return show_int(self.count)
        remark = f" — {self.description}" if self.description else ""
        return f"{show_int(self.count)} ({self.worst or 'unrated'}{remark})"

    @classmethod
    def parse(cls, text: str) -> Self:
        """``1 (Medium — why)``, or ``2 (1 Medium, 1 Low)`` and what else begins with a count."""
        if match := _DEVIATIONS.fullmatch(text):
            worst = Severity(match[2]) if match[2] not in (None, "unrated") else None
            return cls(count=read_int(match[1]), worst=worst, description=match[3] or "")
        if text.strip().lower() == "none":
            return cls(count=0)
        graded = [Severity(word.capitalize()) for word in _GRADED.findall(text)]
        inner = re.fullmatch(rf"\s*{_INT} \((.*)\)\s*", text, re.DOTALL | re.ASCII)
        count = read_int(text)
        return cls(
            count=count,
            worst=max(graded, default=None) if count else None,
            description=inner[1] if inner else text,
        )


_DEVIATIONS = re.compile(
    rf"({_INT}|unknown)(?: \((Low|Medium|High|unrated)(?: — (.*))?\))?", re.DOTALL | re.ASCII
)
_GRADED = re.compile(r"\b\d{1,9} (low|medium|high)\b", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentsRemaining:
    """How many agents the task still needs, what each costs, what all cost, in per cent of the context."""

    count: int | None
    each_pct: float | None = None
    total_pct: float | None = None
    description: str = ""

    def __post_init__(self) -> None:
        check_count("agents_remaining", self.count)
        check_pct("agents_remaining", self.each_pct, most=MOST_PCT)
        check_pct("agents_remaining", self.total_pct, most=MOST_PCT)
        check_text("agents_remaining", self.description)

    def render(self) -> str:
        costs = [
            f"~{show_pct(pct)} {word}"
            for pct, word in ((self.each_pct, "each"), (self.total_pct, "total"))
            if pct is not None
        ]
        remark = f" — {self.description}" if self.description else ""
        return show_int(self.count) + _in_brackets(", ".join(costs)) + remark

    @classmethod
    def parse(cls, text: str) -> Self:
        """``3 (~8% each, ~24% total)``, or what else begins with a count and may name such costs."""
        if match := _AGENTS.fullmatch(text):
            each, total, description = match[2], match[3], match[4] or ""
        else:
            each, total, description = _first(_EACH, text), _first(_TOTAL, text), text
        return cls(
            count=read_int(match[1] if match else text),
            each_pct=_pct(each),
            total_pct=_pct(total),
            description=description,
        )


_AGENTS = re.compile(
    rf"({_INT}|unknown)(?: \((?:~({_PCT})%(?: context)? each)?(?:, )?(?:~({_PCT})% total)?\))?(?: — (.+))?",
    re.DOTALL | re.ASCII,
)
_EACH = re.compile(rf"({_PCT})% each", re.ASCII)
_TOTAL = re.compile(rf"({_PCT})% total", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """A count with a remark: ``2 (due to self-correction bloat)``; ``none`` reads as 0."""

    count: int | None
    remark: str = ""

    def __post_init__(self) -> None:
        check_count("count", self.count)
        check_text("remark", self.remark)

    def render(self) -> str:
        return show_int(self.count) + _in_brackets(self.remark)

    @classmethod
    def parse(cls, text: str) -> Self:
        if match := re.fullmatch(rf"({_INT}|unknown|none)(?: \((.*)\))?", text, re.DOTALL | re.ASCII):
            count = 0 if match[1] == "none" else read_int(match[1])
            return cls(count=count, remark=match[2] or "")
        return cls(count=read_int(text), remark=text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Nth:
    """The second of five; both from 1."""

    number: int
    of: int

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.of <= MOST_COUNTED:
            raise BadField(
                field="number", value=f"{self.number} of {self.of}", reason="count from 1 to the last"
            )

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """From ``2 of 5`` or ``2/5``; None if it says neither."""
        match = re.fullmatch(rf"\s*({_INT})\s*(?:of|/)\s*({_INT}).*", text, re.DOTALL | re.ASCII)
        return cls(number=int(match[1]), of=int(match[2])) if match else None


def show_int(value: int | None) -> str:
    return _UNKNOWN if value is None else str(value)


def read_int(text: str) -> int | None:
    """The whole number a text begins with (``~8 …``), None if it begins with none."""
    match = _LEADING_INT.match(text)
    return int(match[1]) if match else None


def show_pct(value: float | None) -> str:
    if value is None:
        return _UNKNOWN
    return f"{int(value) if value == int(value) else value!r}%"


def read_pct(text: str) -> float | None:
    """The usage a text begins with; None if there is none or it cannot be (B28: over 100 is unknown)."""
    value = read_estimate(text)
    return value if value is None or value <= 100 else None


def read_estimate(text: str) -> float | None:
    """The percentage a text begins with, over 100 too; None if there is none."""
    match = _LEADING_PCT.match(text)
    return float(match[1]) if match else None


def _in_brackets(text: str) -> str:
    return f" ({text})" if text else ""


def _first(pattern: re.Pattern[str], text: str) -> str | None:
    match = pattern.search(text)
    return match[1] if match else None


def _pct(digits: str | None) -> float | None:
    return None if digits is None else float(digits)
