"""Deviations from the plan: their severity, and when they must be escalated.

A deviation is ruled on once (D17), by the judge of the submission it comes with; after that it has no weight.
Severities (REF-5): Low has no effect on time and changes an approach slightly; Medium costs less than an hour or
changes an approach notably; High costs more, or changes scope or architecture.
"""

from collections.abc import Iterable
from enum import StrEnum

from musician.protocol.errors import UnknownSeverity
from musician.protocol.values import dataclass

ESCALATES_AT_MEDIUM = 2
"""The number of open Medium deviations that escalates (REF-6)."""

ESCALATES_AT_HIGH = 1
"""The number of open High deviations that escalates (REF-6)."""

RESUMES_ALONE_UP_TO = 2
"""A resuming session asks first if there are more deviations, or more working tasks without an owner (D17)."""


class Severity(StrEnum):
    """REF-5. Ordered by weight, Low < Medium < High, not by spelling."""

    LOW = "Low"
    MEDIUM = "Medium"
    HIGH = "High"

    @property
    def rank(self) -> int:
        """0 for Low, 1 for Medium, 2 for High."""
        return list(Severity).index(self)

    # str compares by spelling, so all four comparisons are replaced. Comparing with no severity is a ValueError.
    def __lt__(self, other: str) -> bool:
        return self.rank < Severity(other).rank

    def __le__(self, other: str) -> bool:
        return self.rank <= Severity(other).rank

    def __gt__(self, other: str) -> bool:
        return self.rank > Severity(other).rank

    def __ge__(self, other: str) -> bool:
        return self.rank >= Severity(other).rank


REJECTED = Severity.MEDIUM
"""A rejected review is itself a deviation; the rejection rules on it (sources "Conductor Pause & Feedback Cycle")."""

SKIPPED_BY_ITSELF = Severity.MEDIUM
"""An item that a musician skips on its own account (D29)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviation:
    """One departure from the plan; ``ruled`` once it is judged."""

    severity: Severity
    text: str
    ruled: bool = False


def parse_severity(text: str) -> Severity:
    """Parse a severity in any case. Raises :class:`UnknownSeverity` if the text names none."""
    try:
        return Severity(text.strip().capitalize())
    except ValueError:
        raise UnknownSeverity(value=text) from None


def open_deviations(deviations: Iterable[Deviation]) -> tuple[Deviation, ...]:
    """Return the deviations that nobody has ruled on, in their order."""
    return tuple(each for each in deviations if not each.ruled)


def escalates(deviations: Iterable[Deviation], *, estimate_broken: bool = False) -> bool:
    """Whether the open deviations must go to the conductor (REF-6, D17).

    ``estimate_broken`` is true if a self-correction broke the estimate
    (:func:`musician.protocol.rules.budget.breaks_estimate`) and nobody has answered that yet.
    """
    severities = [each.severity for each in open_deviations(deviations)]
    return (
        estimate_broken
        or severities.count(Severity.MEDIUM) >= ESCALATES_AT_MEDIUM
        or severities.count(Severity.HIGH) >= ESCALATES_AT_HIGH
    )


def worst(deviations: Iterable[Deviation]) -> Severity | None:
    """Return the gravest severity, ruled on or not; None without deviations (D14: count, worst)."""
    return max((each.severity for each in deviations), default=None)


def asks_before_resuming(*, deviation_count: int, ownerless_tasks: int) -> bool:
    """Whether a resuming session asks the conductor before it plays anything (D17).

    ``ownerless_tasks`` counts the tasks that are ``working`` without a live owner.
    """
    return max(deviation_count, ownerless_tasks) > RESUMES_ALONE_UP_TO
