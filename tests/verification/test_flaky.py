"""What re-runs say of a failure (D16)."""

import itertools

import pytest

from musician.verification.flaky import RERUNS, Repeat, judge


@pytest.mark.parametrize(
    ("reruns", "repeat"),
    [
        ((True, True, True), Repeat.FLAKY),
        ((False, False, False), Repeat.REAL),
        ((True, False), Repeat.MIXED),
        ((False, False, True), Repeat.MIXED),
        ((), Repeat.UNDECIDED),
        ((True, True), Repeat.UNDECIDED),
        ((False,), Repeat.UNDECIDED),
    ],
)
def test_passes_all_is_flaky_fails_all_is_real_anything_else_is_mixed(
    reruns: tuple[bool, ...], repeat: Repeat
) -> None:
    assert judge(reruns) is repeat


def test_three_reruns_always_decide_and_an_early_decision_stands() -> None:
    for reruns in itertools.product((True, False), repeat=RERUNS):
        final = judge(reruns)
        assert final is not Repeat.UNDECIDED
        earlier = {judge(reruns[:length]) for length in range(RERUNS)} - {Repeat.UNDECIDED}
        assert earlier <= {final}
