"""Whether a verified checkpoint may be reported, or what comes first (D16, REF-8).

Knows what each stage of a verification found, as one word each. Refuses to weigh anything else: nobody's claim, no
number. The sources' decision matrix is the table ``MATRIX``, read from the top, the first row that fits decides:
what makes other findings meaningless stands above them. Rows the sources do not have are marked.

What is unknown is never taken for good. It does not hold a checkpoint back either, for nobody could mend it: it is
said in the report (``REPORT_AND_SAY``). Only tests that cannot be run, or will not decide, go to a human.
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
    """It could not be looked at, or not at all of it."""


class CoverageLevel(StrEnum):
    """Of the changed lines, against the two thresholds of D16."""

    ENOUGH = "enough"
    GAP = "gap"
    """Under the target, or the project's coverage fell too far: to be explained."""
    LOW = "low"
    """Under the least."""
    UNKNOWN = "unknown"


class Decision(StrEnum):
    """What the musician does next at this checkpoint."""

    REPORT = "report"
    REPORT_AND_SAY = "report and say"
    """Report; the review names the gap or what could not be looked at."""
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
    """``valid``: new and changed tests can fail; ``whole``: it compiles and brings no import cycle.

    ``full``: everything was run; ``final``: it is the last checkpoint.
    """

    tests: Verification
    valid: StageOutcome
    coverage: CoverageLevel
    clean: StageOutcome
    whole: StageOutcome
    full: bool
    final: bool


class Row(NamedTuple):
    """None fits everything; a set fits its members."""

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
    """The decision of the first row that fits; the last fits everything."""
    return next(row.decision for row in MATRIX if row.fits(facts))


def coverage_level(
    changed_pct: float | None,
    *,
    least_pct: float,
    target_pct: float,
    drop_pct: float,
    explain_drop_pct: float,
) -> CoverageLevel:
    """Percentages of 0 to 100; ``changed_pct`` is None if it was not measured, ``drop_pct`` 0 if unknown.

    Exactly the least is a gap, exactly the target is enough, and a drop of exactly ``explain_drop_pct`` needs no
    explanation (D16: "under", "over").
    """
    if changed_pct is not None and changed_pct < least_pct:
        return CoverageLevel.LOW
    if drop_pct > explain_drop_pct or (changed_pct is not None and changed_pct < target_pct):
        return CoverageLevel.GAP
    return CoverageLevel.UNKNOWN if changed_pct is None else CoverageLevel.ENOUGH
