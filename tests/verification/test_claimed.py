"""What subagents claim of tests against what was found (D19)."""

import pytest

from musician.verification.claimed import MAX_CLAIMED_NAMES, Claimed, compare_claim, read_claim


@pytest.mark.parametrize(
    ("text", "claimed"),
    [
        ("All 47 tests passing, 3 new", Claimed(passed=47)),
        ("All passing (14 tests, 2 new)", Claimed(passed=14)),
        ("==== 12 passed, 1 failed in 0.3s ====", Claimed(passed=12, failed=1)),
        ("12/12 tests pass", Claimed(passed=12)),
        ("first 3 passed, then 5 passed", Claimed(passed=5)),
        ("3 new tests passing", Claimed(passed=3)),
        ("2 tests failed", Claimed(failed=2)),
        (
            "Added tests/test_a.py::TestA::test_one and test_two[3]; ran tests/test_a.py",
            Claimed(names=("test_one", "test_two")),
        ),
        ("it works", Claimed()),
        ("", Claimed()),
    ],
)
def test_numbers_and_names_are_read_out_of_prose(text: str, claimed: Claimed) -> None:
    assert read_claim(text) == claimed


def test_a_claim_without_end_is_cut() -> None:
    assert len(read_claim(" ".join(f"test_{n}" for n in range(9_000))).names) == MAX_CLAIMED_NAMES


PASSED = ("tests.test_a.TestA::test_one", "tests.test_a::test_two[3]", "tests.test_b.B.test_three")


@pytest.mark.parametrize(
    ("text", "failed", "mismatches"),
    [
        ("3 passed: test_one, test_two, test_three", (), ()),
        ("2 passed", (), ()),
        ("4 passed", (), ("4 passing claimed, 3 found",)),
        ("it works", ("tests.test_a::test_x",), ()),
        ("3 passed", ("tests.test_a::test_x",), ("no failure claimed, 1 found",)),
        ("3 passed, 1 failed", ("tests.test_a::test_x",), ()),
        ("test_four works", (), ("test_four was claimed and is not among the tests that ran",)),
        (
            "test_x works",
            ("tests.test_a::test_x[1]",),
            ("no failure claimed, 1 found", "test_x was claimed and fails"),
        ),
    ],
)
def test_each_difference_is_named(text: str, failed: tuple[str, ...], mismatches: tuple[str, ...]) -> None:
    found = compare_claim(text, passed=3, failed=failed, passed_names=PASSED)
    assert found.mismatches == mismatches
    assert found.claimed == text


def test_where_no_names_were_recorded_none_can_be_missing() -> None:
    assert compare_claim("test_four works", passed=3, failed=(), passed_names=()).mismatches == ()
