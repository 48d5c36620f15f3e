"""The decision matrix of the sources, every combination of what the stages can find."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from musician.protocol.rules.readiness import (
    MATRIX,
    CoverageLevel,
    Decision,
    Facts,
    StageOutcome,
    coverage_level,
    decide,
)
from musician.protocol.rules.review import Verification

ALL = [
    Facts(tests=tests, valid=valid, coverage=coverage, clean=clean, whole=whole, full=full, final=final)
    for tests, valid, coverage, clean, whole, full, final in product(
        Verification, StageOutcome, CoverageLevel, StageOutcome, StageOutcome, (True, False), (True, False)
    )
]
GOOD = Facts(
    tests=Verification.GREEN,
    valid=StageOutcome.GOOD,
    coverage=CoverageLevel.ENOUGH,
    clean=StageOutcome.GOOD,
    whole=StageOutcome.GOOD,
    full=True,
    final=False,
)


def twin(facts: Facts) -> Decision:
    """The same rules, told as a story."""
    if facts.tests is Verification.RED:
        return Decision.FIX
    if facts.tests is not Verification.GREEN:
        return Decision.ESCALATE
    if facts.final and not facts.full:
        return Decision.VERIFY_FULLY
    if facts.whole is StageOutcome.BAD:
        return Decision.FIX
    if facts.valid is StageOutcome.BAD:
        return Decision.IMPROVE_TESTS
    if facts.coverage is CoverageLevel.LOW:
        return Decision.IMPROVE_COVERAGE
    if facts.clean is StageOutcome.BAD:
        return Decision.CLEAN_UP
    if facts.coverage is CoverageLevel.ENOUGH and {facts.valid, facts.clean, facts.whole} == {
        StageOutcome.GOOD
    }:
        return Decision.REPORT
    return Decision.REPORT_AND_SAY


def test_every_combination_is_decided_as_the_rules_say() -> None:
    assert {facts: decide(facts) for facts in ALL} == {facts: twin(facts) for facts in ALL}
    assert len(set(ALL)) == 4 * 3 * 4 * 3 * 3 * 2 * 2


def test_every_row_of_the_matrix_decides_something() -> None:
    deciding = {next(number for number, row in enumerate(MATRIX) if row.fits(facts)) for facts in ALL}
    assert deciding == set(range(len(MATRIX)))


@pytest.mark.parametrize(
    ("tests", "coverage", "clean", "decision"),
    [
        (Verification.GREEN, CoverageLevel.ENOUGH, StageOutcome.GOOD, Decision.REPORT),
        (Verification.GREEN, CoverageLevel.LOW, StageOutcome.GOOD, Decision.IMPROVE_COVERAGE),
        (Verification.GREEN, CoverageLevel.GAP, StageOutcome.GOOD, Decision.REPORT_AND_SAY),
        (Verification.RED, CoverageLevel.ENOUGH, StageOutcome.GOOD, Decision.FIX),
        (Verification.RED, CoverageLevel.LOW, StageOutcome.BAD, Decision.FIX),
        (Verification.GREEN, CoverageLevel.ENOUGH, StageOutcome.BAD, Decision.CLEAN_UP),
    ],
)
def test_the_printed_matrix(
    tests: Verification, coverage: CoverageLevel, clean: StageOutcome, decision: Decision
) -> None:
    facts = Facts(
        tests=tests,
        valid=StageOutcome.GOOD,
        coverage=coverage,
        clean=clean,
        whole=StageOutcome.GOOD,
        full=True,
        final=True,
    )
    assert decide(facts) is decision


@pytest.mark.parametrize("facts", ALL[::7])
def test_nothing_is_reported_that_is_not_green_or_whole_or_clean(facts: Facts) -> None:
    if decide(facts).reports:
        assert facts.tests is Verification.GREEN
        assert StageOutcome.BAD not in (facts.valid, facts.clean, facts.whole)
        assert facts.coverage is not CoverageLevel.LOW
        assert facts.full or not facts.final


def test_the_last_checkpoint_is_not_reported_on_part_of_the_tests() -> None:
    final = Facts(
        tests=GOOD.tests,
        valid=GOOD.valid,
        coverage=GOOD.coverage,
        clean=GOOD.clean,
        whole=GOOD.whole,
        full=False,
        final=True,
    )
    assert decide(final) is Decision.VERIFY_FULLY
    assert decide(GOOD) is Decision.REPORT


def level(changed_pct: float | None, drop_pct: float = 0) -> CoverageLevel:
    return coverage_level(changed_pct, least_pct=80, target_pct=90, drop_pct=drop_pct, explain_drop_pct=5)


@pytest.mark.parametrize(
    ("changed_pct", "drop_pct", "expected"),
    [
        (0, 0, CoverageLevel.LOW),
        (79.99, 0, CoverageLevel.LOW),
        (80, 0, CoverageLevel.GAP),
        (89.99, 0, CoverageLevel.GAP),
        (90, 0, CoverageLevel.ENOUGH),
        (100, 5, CoverageLevel.ENOUGH),
        (100, 5.01, CoverageLevel.GAP),
        (79, 6, CoverageLevel.LOW),
        (None, 0, CoverageLevel.UNKNOWN),
        (None, 6, CoverageLevel.GAP),
    ],
)
def test_coverage_at_its_thresholds(
    changed_pct: float | None, drop_pct: float, expected: CoverageLevel
) -> None:
    assert level(changed_pct, drop_pct) is expected


@given(st.floats(0, 100), st.floats(0, 100), st.floats(0, 100))
def test_more_coverage_is_never_worse(one: float, other: float, drop_pct: float) -> None:
    order = [CoverageLevel.LOW, CoverageLevel.GAP, CoverageLevel.ENOUGH]
    low, high = sorted((one, other))
    assert order.index(level(low, drop_pct)) <= order.index(level(high, drop_pct))
