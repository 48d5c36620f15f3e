"""What two runs of a command on one commit say of it: only what failed both times failed before (D27)."""

import pytest

from musician.verification.baseline import Baseline
from musician.verification.commands import Ran
from musician.verification.result import CommandResult, TestCounts


def ran(exit_code: int, *failed: str, counted: int | None = None, timed_out: bool = False) -> Ran:
    total = len(failed) if counted is None else counted
    result = CommandResult(
        command="make test",
        exit_code=exit_code,
        timed_out=timed_out,
        counts=TestCounts(total=9, failed=total, skipped=0) if failed or counted is not None else None,
        failed_tests=failed,
        tail="",
        duration_s=0.0,
    )
    return Ran(result=result, record=None, heard="")


BOTH = {
    "the same tests": (ran(1, "a", "b"), ran(1, "a", "b"), ran(1, "a", "b"), ""),
    "what failed in both": (ran(1, "a", "b"), ran(1, "b", "c"), ran(1, "b"), "2 tests: a, c"),
    "the same exit code": (ran(2), ran(2), ran(2), ""),
    "no more than the fewest": (ran(1, counted=3), ran(1, counted=2), ran(1, counted=2), ""),
}
NEITHER = {
    "one of them passed": (ran(1, "a"), ran(0), ran(1, "a")),
    "the command once failed": (ran(1), ran(0), ran(1)),
    "one of them each time": (ran(1, "a"), ran(1, "b"), ran(1, "b")),
    "what failed in one of them": (ran(1, "a", "b"), ran(1, "a"), ran(1, "b")),
    "another exit code": (ran(1), ran(2), ran(2)),
    "more than the fewest": (ran(1, counted=3), ran(1, counted=2), ran(1, counted=3)),
    "the second ran into its limit": (ran(1), ran(1, timed_out=True), ran(1)),
}


@pytest.mark.parametrize(("first", "second", "now", "flaky"), BOTH.values(), ids=BOTH)
def test_what_failed_twice_is_excused(first: Ran, second: Ran, now: Ran, flaky: str) -> None:
    """D27"""
    found = Baseline.of(first).and_again(Baseline.of(second))
    assert found.excuses(now)
    assert found.flaky == flaky


@pytest.mark.parametrize(("first", "second", "now"), NEITHER.values(), ids=NEITHER)
def test_what_failed_once_is_not(first: Ran, second: Ran, now: Ran) -> None:
    """D27: and it is told."""
    found = Baseline.of(first).and_again(Baseline.of(second))
    assert not found.excuses(now)
    assert found.flaky or found.failing == 2
