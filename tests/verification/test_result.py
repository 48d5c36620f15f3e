"""What a result claims, and that it claims no more than was seen."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from musician.protocol.rules.readiness import Decision
from musician.verification.findings import Stages
from musician.verification.result import CommandResult, TestCounts, VerificationResult


def command(
    exit_code: int = 0,
    counts: tuple[int, int, int] | None = None,
    failed: tuple[str, ...] = (),
    tail: str = "",
) -> CommandResult:
    """``counts``: total, failed, skipped."""
    return CommandResult(
        command="make test",
        exit_code=exit_code,
        timed_out=False,
        counts=None if counts is None else TestCounts(total=counts[0], failed=counts[1], skipped=counts[2]),
        failed_tests=failed,
        tail=tail,
        duration_s=1.5,
    )


def result(
    *commands: CommandResult, passed: bool = False, note: str = "", flaky: bool = False
) -> VerificationResult:
    return VerificationResult(
        passed=passed, commands=commands, tree_id="t", full=False, checkpoint=1, note=note, flaky=flaky
    )


@pytest.mark.parametrize(
    ("commands", "line"),
    [
        ([command(counts=(14, 0, 0))], "All passing (14 tests)"),
        ([command(counts=(1, 0, 0))], "All passing (1 test)"),
        ([command(counts=(14, 0, 2)), command(counts=(3, 0, 0))], "All passing (15 tests, 2 skipped)"),
        ([command()], "All passing (exit code 0 from 1 command)"),
        (
            [command(), command(), command(counts=(2, 0, 0))],
            "All passing (2 tests, exit code 0 from 2 commands)",
        ),
    ],
)
def test_a_green_result_says_how_much_was_seen(commands: list[CommandResult], line: str) -> None:
    assert all(item.passed for item in commands)
    assert result(*commands, passed=True).tests_line() == line


@pytest.mark.parametrize(
    ("item", "line"),
    [
        (command(1, (14, 2, 0), ("a", "b")), "2 of 14 failing: a, b"),
        (command(1, (14, 2, 0)), "2 of 14 failing: `make test`"),
        (command(1, (90, 7, 0), tuple("abcdefg")), "7 of 90 failing: a, b, c, d, e and 2 more"),
        (command(0, (2, 1, 0), ("a",)), "1 of 2 failing: a, but the exit code is 0"),
        (command(3), "exit code 3 from `make test`"),
        (command(1, (14, 0, 0)), "exit code 1 from `make test`"),
        (command(5, (0, 0, 0)), "no tests ran: `make test`"),
        (command(0, (0, 0, 0)), "no tests ran: `make test`"),
        (command(4, (0, 0, 0)), "no tests ran, and it ended with exit code 4: `make test`"),
        (command(0, (3, 0, 3)), "no tests ran (3 skipped): `make test`"),
        (command(5), "exit code 5 from `make test`"),
        (command(127), "not run: command not found in `make test`"),
        (command(126), "not run: command not executable in `make test`"),
        (command(127, (2, 0, 0)), "exit code 127 from `make test`"),
        (replace(command(143), timed_out=True), "timed out after 2 s: `make test`"),
        (replace(command(0), timed_out=True), "timed out after 2 s: `make test`"),
    ],
)
def test_anything_else_is_not_green_and_says_why(item: CommandResult, line: str) -> None:
    assert not item.passed
    assert result(command(), item).tests_line() == line


def test_a_long_command_of_several_lines_is_quoted_in_one() -> None:
    line = result(replace(command(1), command="set -e\n" + "x" * 500)).tests_line()
    assert line.startswith("exit code 1 from `set -e xxx")
    assert len(line) < 160


def test_no_command_at_all_is_not_run() -> None:
    assert result(note="cannot run: no test command").tests_line() == "not run: no test command"


def test_trouble_between_green_commands_is_said() -> None:
    line = result(command(), note="cannot run: No space left on device").tests_line()
    assert line == "cannot run: No space left on device"


def test_flakiness_is_said_green_or_not_and_only_a_red_one_is_escalated() -> None:
    green = result(command(counts=(3, 0, 0)), passed=True, flaky=True, note="flaky: passed 3 of 3 re-runs")
    assert green.tests_line() == "All passing (3 tests); flaky: passed 3 of 3 re-runs"
    assert not green.escalate
    red = result(command(1), flaky=True, note="flaky: passed 1 of 2 re-runs, escalate")
    assert red.tests_line() == "exit code 1 from `make test`; flaky: passed 1 of 2 re-runs, escalate"
    assert red.escalate
    assert not result(command(1)).escalate


_COUNTS = st.builds(TestCounts, total=st.integers(), failed=st.integers(), skipped=st.integers())
_COMMANDS = st.builds(
    CommandResult,
    command=st.text(),
    exit_code=st.integers(),
    timed_out=st.booleans(),
    counts=st.none() | _COUNTS,
    failed_tests=st.lists(st.text()).map(tuple),
    tail=st.text(),
    duration_s=st.floats(allow_nan=False, allow_infinity=False),
)
_STAGES = st.builds(
    Stages,
    decision=st.sampled_from(Decision),
    base=st.text(),
    notes=st.lists(st.text(), max_size=2).map(tuple),
)
_RESULTS = st.builds(
    VerificationResult,
    passed=st.booleans(),
    commands=st.lists(_COMMANDS, max_size=3).map(tuple),
    tree_id=st.text(),
    full=st.booleans(),
    checkpoint=st.integers(),
    note=st.text(),
    flaky=st.booleans(),
    stages=st.none() | _STAGES,
)


@given(original=_RESULTS)
def test_a_result_survives_json(original: VerificationResult) -> None:
    assert VerificationResult.from_json(original.to_json()) == original


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "{}",
        '{"commands": [{}]}',
        '{"commands": [1]}',
        '{"commands": [], "passed": true}',
        json.dumps({**json.loads(result().to_json()), "more": 1}),
    ],
)
def test_anything_else_is_no_result(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (the family is the promise)
        VerificationResult.from_json(text)
