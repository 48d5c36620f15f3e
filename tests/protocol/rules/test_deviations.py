"""Deviations: severities, and when they escalate (D17, REF-5, REF-6)."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from musician.protocol.errors import UnknownSeverity
from musician.protocol.rules.deviations import (
    Deviation,
    Severity,
    asks_before_resuming,
    escalates,
    open_deviations,
    parse_severity,
    worst,
)

LOW, MEDIUM, HIGH = Severity.LOW, Severity.MEDIUM, Severity.HIGH


def deviations(*severities: Severity, ruled: bool = False) -> list[Deviation]:
    return [Deviation(severity=each, text="another way", ruled=ruled) for each in severities]


some_deviations = st.lists(
    st.builds(
        Deviation,
        severity=st.sampled_from(Severity),
        text=st.text(max_size=3),
        ruled=st.booleans(),
    ),
    max_size=8,
)


@pytest.mark.parametrize(("left", "right"), list(product(Severity, repeat=2)))
def test_severities_are_ordered_by_weight_not_by_spelling(left: Severity, right: Severity) -> None:
    weight = {LOW: 1, MEDIUM: 2, HIGH: 3}
    assert (left < right) == (weight[left] < weight[right])
    assert (left <= right) == (weight[left] <= weight[right])
    assert (left > right) == (weight[left] > weight[right])
    assert (left >= right) == (weight[left] >= weight[right])
    assert sorted([HIGH, MEDIUM, LOW]) == [LOW, MEDIUM, HIGH]


@pytest.mark.parametrize("compare", ["__lt__", "__le__", "__gt__", "__ge__"])
def test_a_severity_is_not_compared_with_other_text(compare: str) -> None:
    with pytest.raises(ValueError, match="Grave"):
        getattr(LOW, compare)("Grave")


@pytest.mark.parametrize(
    ("text", "severity"), [("Low", LOW), ("medium", MEDIUM), ("HIGH", HIGH), (" High\n", HIGH)]
)
def test_a_severity_is_read_whatever_its_case(text: str, severity: Severity) -> None:
    assert parse_severity(text) is severity


@pytest.mark.parametrize("text", ["", "lower", "Low Medium", "critical", "0"])
def test_a_text_that_names_no_severity_is_refused(text: str) -> None:
    with pytest.raises(UnknownSeverity, match="use Low, Medium or High") as caught:
        parse_severity(text)
    assert caught.value.value == text


@given(st.sampled_from(Severity))
def test_a_severity_is_read_back_as_it_is_written(severity: Severity) -> None:
    assert parse_severity(str(severity)) is severity


@pytest.mark.parametrize(
    ("severities", "expected"),
    [
        ([], False),
        ([LOW] * 9, False),
        ([MEDIUM], False),
        ([MEDIUM, LOW], False),
        ([MEDIUM, MEDIUM], True),
        ([MEDIUM, LOW, MEDIUM], True),
        ([HIGH], True),
        ([LOW, HIGH], True),
    ],
)
def test_two_medium_or_one_high_escalate(severities: list[Severity], expected: bool) -> None:
    assert escalates(deviations(*severities)) is expected


def test_what_was_ruled_once_does_not_escalate_again() -> None:
    ruled = deviations(MEDIUM, MEDIUM, HIGH, ruled=True)
    assert not escalates(ruled)
    assert not escalates(ruled + deviations(MEDIUM))
    assert escalates(ruled + deviations(MEDIUM, MEDIUM))


def test_a_self_correction_that_breaks_the_estimate_escalates_alone() -> None:
    assert escalates([], estimate_broken=True)
    assert escalates(deviations(LOW), estimate_broken=True)


@given(some_deviations)
def test_escalation_agrees_with_counting_by_hand(found: list[Deviation]) -> None:
    medium = high = 0
    for each in found:
        if not each.ruled and each.severity == "Medium":
            medium += 1
        if not each.ruled and each.severity == "High":
            high += 1
    assert escalates(found) == (medium > 1 or high > 0)


@given(some_deviations, some_deviations)
def test_more_deviations_never_take_an_escalation_back(some: list[Deviation], more: list[Deviation]) -> None:
    assert escalates(some + more) >= escalates(some)


@given(some_deviations)
def test_open_deviations_are_the_unruled_in_order(found: list[Deviation]) -> None:
    expected = []
    for each in found:
        if each.ruled is False:
            expected.append(each)
    assert list(open_deviations(found)) == expected


@given(some_deviations)
def test_the_worst_is_one_of_them_and_none_is_graver(found: list[Deviation]) -> None:
    gravest = worst(found)
    if not found:
        assert gravest is None
    else:
        names = {each.severity.value for each in found}
        assert gravest == ("High" if "High" in names else "Medium" if "Medium" in names else "Low")


@pytest.mark.parametrize(
    ("deviation_count", "ownerless", "expected"),
    [(0, 0, False), (2, 2, False), (3, 0, True), (0, 3, True), (3, 3, True)],
)
def test_a_resumption_asks_first_from_more_than_two(
    deviation_count: int, ownerless: int, expected: bool
) -> None:
    assert asks_before_resuming(deviation_count=deviation_count, ownerless_tasks=ownerless) is expected
