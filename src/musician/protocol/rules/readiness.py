"""Decides whether a verified checkpoint may be reported, or what must be done first (D16, REF-8).

The input is the outcome of each verification stage, and nothing else: no claim of an agent and no number. The sources'
decision matrix is the table ``MATRIX``. The first row that fits decides, so a finding that makes others meaningless
stands above them. Rows that the sources do not have are marked.

An unknown outcome never counts as good. It does not hold a checkpoint back either, because nobody could mend it: the
report mentions it (``REPORT_AND_SAY``). Only tests that cannot be run, or that are inconsistent, go to a person.
"""

from enum import StrEnum
from typing import NamedTuple

from musician.protocol.rules.review import Verification
from musician.protocol.values import dataclass


class StageOutcome(StrEnum):
    """How a stage with two outcomes ended."""

    GOOD = "good"
    BAD = "bad"
    UNKNOWN = "unknown"
    """It could not be checked, or not completely."""


class CoverageLevel(StrEnum):
    """The coverage of the changed lines, against the two thresholds of D16."""

    ENOUGH = "enough"
    GAP = "gap"
    """It is under the target, or the project's coverage fell too far; this must be explained."""
    LOW = "low"
    """It is under the minimum."""
    UNKNOWN = "unknown"


class Decision(StrEnum):
    """What the musician does next at this checkpoint."""

    REPORT = "report"
    REPORT_AND_SAY = "report and say"
    """Report; the review names the gap, or what could not be checked."""
    IMPROVE_COVERAGE = "improve coverage"
    IMPROVE_TESTS = "improve tests"
    FIX = "fix"
    CLEAN_UP = "clean up"
    VERIFY_FULLY = "verify fully"
    """The last checkpoint is never reported on less (REF-8)."""
    ESCALATE = "escalate"

    @property
    def reports(self) -> bool:
        return self in (Decision.REPORT, Decision.REPORT_AND_SAY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The outcomes of a verification.

    ``valid`` says whether new and changed tests can fail, ``whole`` whether the code compiles without a new import
    cycle. ``full`` is true if everything was run, ``final`` for the last checkpoint.
    """

    tests: Verification
    valid: StageOutcome
    coverage: CoverageLevel
    clean: StageOutcome
    whole: StageOutcome
    full: bool
    final: bool


class Row(NamedTuple):
    """A row of the matrix. None fits every value."""

    decision: Decision
    tests: Verification | None = None
    short_of_full: bool | None = None
    whole: StageOutcome | None = None
    valid: StageOutcome | None = None
    coverage: CoverageLevel | None = None
    clean: StageOutcome | None = None

    def fits(self, facts: Facts) -> bool:
        found = (
            facts.tests,
            facts.final and not facts.full,
            facts.whole,
            facts.valid,
            facts.coverage,
            facts.clean,
        )
        return all(wanted is None or wanted == value for wanted, value in zip(self[1:], found, strict=True))


MATRIX = (
    Row(Decision.FIX, tests=Verification.RED),
    Row(Decision.ESCALATE, tests=Verification.FLAKY),  # "if inconsistent … escalate to conductor"
    Row(Decision.ESCALATE, tests=Verification.CANNOT_RUN),  # ours: nothing was seen to pass
    Row(Decision.VERIFY_FULLY, short_of_full=True),  # REF-8
    Row(Decision.FIX, whole=StageOutcome.BAD),  # the protocol's step 5; code that does not compile is no gap
    Row(Decision.IMPROVE_TESTS, valid=StageOutcome.BAD),  # the protocol's step 2
    Row(Decision.IMPROVE_COVERAGE, coverage=CoverageLevel.LOW),
    Row(Decision.CLEAN_UP, clean=StageOutcome.BAD),
    Row(Decision.REPORT_AND_SAY, coverage=CoverageLevel.GAP),
    Row(Decision.REPORT_AND_SAY, coverage=CoverageLevel.UNKNOWN),  # ours, as are the next three
    Row(Decision.REPORT_AND_SAY, valid=StageOutcome.UNKNOWN),
    Row(Decision.REPORT_AND_SAY, clean=StageOutcome.UNKNOWN),
    Row(Decision.REPORT_AND_SAY, whole=StageOutcome.UNKNOWN),
    Row(Decision.REPORT),
)


def decide(facts: Facts) -> Decision:
    """Return the decision of the first row that fits. The last row fits everything."""
    return next(row.decision for row in MATRIX if row.fits(facts))


def coverage_level(
    changed_pct: float | None,
    *,
    least_pct: float,
    target_pct: float,
    drop_pct: float,
    explain_drop_pct: float,
) -> CoverageLevel:
    """Classify the coverage of changed lines. ``changed_pct`` is None if not measured, ``drop_pct`` 0 if unknown.

    Exactly the minimum is a gap, exactly the target is enough, and a drop of exactly ``explain_drop_pct`` needs no
    explanation (D16: "under", "over").
    """
    if changed_pct is not None and changed_pct < least_pct:
        return CoverageLevel.LOW
    if drop_pct > explain_drop_pct or (changed_pct is not None and changed_pct < target_pct):
        return CoverageLevel.GAP
    return CoverageLevel.UNKNOWN if changed_pct is None else CoverageLevel.ENOUGH
