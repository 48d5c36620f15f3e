"""What subagents claim of tests against what was found (D19)."""

import pytest

from musician.verification.claimed import MAX_CLAIMED_NAMES, Claimed, Ran, compare_claim, read_claim


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
        (
            (
                "Files created: docs/a.md (234 lines), `src/b.py`\nFiles modified: ./src/c.py\n- src/d.py (modified)\n"
                "Took 0.3s, see /etc/passwd.txt (created) and ../x.py"
            ),
            Claimed(files=("src/d.py", "docs/a.md", "src/b.py", "src/c.py")),
        ),
        ("Files Modified: none", Claimed()),
        ("it works in 3.11", Claimed()),
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
    found = compare_claim(text, Ran(passed=3, failed=failed, passed_names=PASSED), by="step 1 agent 1")
    assert found.mismatches == mismatches
    assert found.claimed == text
    assert found.lines() == tuple(f"claimed otherwise: step 1 agent 1: {each}" for each in mismatches)


def test_where_no_names_were_recorded_none_can_be_missing() -> None:
    assert compare_claim("test_four works", Ran(passed=3)).mismatches == ()


def test_where_nothing_is_counted_a_count_is_not_checked_and_that_is_said() -> None:
    found = compare_claim("4 passed", Ran(passed=None), by="step 1 agent 1")
    assert found.mismatches == ()
    assert found.lines() == (
        "step 1 agent 1: what it claims of tests is not checked (this runner's tests are not counted)",
    )
    assert compare_claim("it works", Ran(passed=None)).lines() == ()


def test_a_file_that_was_claimed_and_is_not_there_is_named() -> None:
    found = compare_claim("Files created: a.py, b.py", Ran(passed=None), missing={"b.py", "c.py"})
    assert found.mismatches == ("b.py was claimed and is not there",)
