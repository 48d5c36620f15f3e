"""Deviations from the plan: how grave they are, and when they are no longer the musician's to carry alone.

A deviation is ruled once (D17): whoever judges the submission it comes with rules it, and from then on it
weighs nothing. Severities (REF-5): Low has no effect on time and changes an approach a little; Medium
costs under an hour or changes an approach notably; High costs more, or changes scope or architecture.
"""

from collections.abc import Iterable
from enum import StrEnum

from musician.protocol.errors import UnknownSeverity
from musician.protocol.values import dataclass

ESCALATES_AT_MEDIUM = 2
"""So many open Medium deviations escalate (REF-6)."""

ESCALATES_AT_HIGH = 1
"""So many open High deviations escalate (REF-6)."""

RESUMES_ALONE_UP_TO = 2
"""A resuming session with more deviations, or more ownerless tasks at work around it, asks first (D17)."""


class Severity(StrEnum):
    """REF-5. Ordered by weight, Low < Medium < High, not by spelling."""

    LOW = "Low"
    MEDIUM = "Medium"
    HIGH = "High"

    @property
    def rank(self) -> int:
        """0 for Low, 1 for Medium, 2 for High."""
        return list(Severity).index(self)

    # str brings all four comparisons along, by spelling: each is replaced. No severity is a ValueError.
    def __lt__(self, other: str) -> bool:
        return self.rank < Severity(other).rank

    def __le__(self, other: str) -> bool:
        return self.rank <= Severity(other).rank

    def __gt__(self, other: str) -> bool:
        return self.rank > Severity(other).rank

    def __ge__(self, other: str) -> bool:
        return self.rank >= Severity(other).rank


REJECTED = Severity.MEDIUM
"""A rejected review is itself a deviation, ruled by the rejection (sources "Conductor Pause & Feedback Cycle")."""

SKIPPED_BY_ITSELF = Severity.MEDIUM
"""What a musician leaves out without having been told to (D29)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviation:
    """One departure from the plan. ``step`` counts from 1, None outside any step; ``ruled`` once judged."""

    severity: Severity
    text: str
    step: int | None = None
    ruled: bool = False


def parse_severity(text: str) -> Severity:
    """The severity a text names, whatever its case; :class:`UnknownSeverity` if it names none."""
    try:
        return Severity(text.strip().capitalize())
    except ValueError:
        raise UnknownSeverity(value=text) from None


def open_deviations(deviations: Iterable[Deviation]) -> tuple[Deviation, ...]:
    """Those nobody has ruled yet, in their order."""
    return tuple(each for each in deviations if not each.ruled)


def escalates(deviations: Iterable[Deviation], *, estimate_broken: bool = False) -> bool:
    """Whether the open ones are more than the musician may decide (REF-6, D17).

    ``estimate_broken``: a self-correction made the way to the checkpoint too dear
    (:func:`musician.protocol.rules.budget.breaks_estimate`) and nobody has answered that yet.
    """
    severities = [each.severity for each in open_deviations(deviations)]
    return (
        estimate_broken
        or severities.count(Severity.MEDIUM) >= ESCALATES_AT_MEDIUM
        or severities.count(Severity.HIGH) >= ESCALATES_AT_HIGH
    )


def worst(deviations: Iterable[Deviation]) -> Severity | None:
    """The gravest severity, ruled or not; None without deviations (D14: count, worst)."""
    return max((each.severity for each in deviations), default=None)


def asks_before_resuming(*, deviation_count: int, ownerless_tasks: int) -> bool:
    """Whether a resuming session asks the conductor before it plays anything (D17).

    ``ownerless_tasks`` counts the tasks that are ``working`` without a live owner.
    """
    return max(deviation_count, ownerless_tasks) > RESUMES_ALONE_UP_TO
