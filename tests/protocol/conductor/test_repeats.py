"""The same failure is known again, however it is told (AUDIT-V15)."""

import pytest

from musician.protocol.conductor.repeats import what_failed

FAILED = (
    "block 1 ended with exit code 1: {} failed after {} in /tmp/musician-{}/tree/tests/test_a.py, process {}"
)


def test_durations_scratch_paths_and_numbers_of_processes_make_no_other_failure() -> None:
    """AUDIT-V15."""
    told = what_failed(FAILED.format("test_x", "0.12s", "x9_1", 4711))
    assert what_failed(FAILED.format("test_x", "11.4 s", "k77a", 12)) == told
    assert what_failed(FAILED.format("test_y", "0.12s", "x9_1", 4711)) != told


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("<Thing at 0x7f1122>: no", "<Thing at 0x99aa>: no", id="address"),
        ("2026-11-28 12:00:01 refused", "2026-11-28T13:10:59Z refused"),
        ("object 1a2b3c4d5e6f of 12:00", "object 9f8e7d6c5b4a of 13:59:02.001"),
        ("ran 3 tests in 0.01s", "ran 3 tests in 12.5 seconds"),
    ],
)
def test_what_shifts_is_left_out(one: str, other: str) -> None:
    assert what_failed(one) == what_failed(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("test_1 failed", "test_2 failed"), ("exit code 1", "exit code 2"), ("3 failed", "2 failed")],
)
def test_what_is_told_otherwise_failed_otherwise(one: str, other: str) -> None:
    assert what_failed(one) != what_failed(other)


def test_tests_that_fail_say_more_than_any_words() -> None:
    assert what_failed("one", ("b", "a")) == what_failed("quite another", ("a", "b", "a"))
    assert what_failed("one", ("a",)) != what_failed("one", ("b",))
