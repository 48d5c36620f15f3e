"""What runners say of their tests, wherever it stands in the output."""

from pathlib import Path

import pytest

from musician.verification.counts import TestRecord
from musician.verification.result import TestCounts
from musician.verification.summaries import read_summaries


def record(total: int, failed: int, skipped: int, *names: str) -> TestRecord:
    return TestRecord(counts=TestCounts(total=total, failed=failed, skipped=skipped), failed_tests=names)


def ending(total: int, verdict: str, *headings: str) -> str:
    """The end of a run of unittest, a traceback under each heading."""
    tracebacks = "".join(f"{'=' * 70}\n{heading}\n{'-' * 70}\nTraceback …\n\n" for heading in headings)
    return f"{tracebacks}{'-' * 70}\nRan {total} test{'' if total == 1 else 's'} in 0.002s\n\n{verdict}\n"


@pytest.mark.parametrize(
    ("tail", "expected"),
    [
        (ending(2, "OK"), record(2, 0, 0)),
        (ending(2, "OK (skipped=1)"), record(2, 0, 1)),
        (ending(1, "OK (expected failures=1)"), record(1, 0, 0)),
        (ending(0, "OK"), record(0, 0, 0)),
        (ending(0, "NO TESTS RAN"), record(0, 0, 0)),
        (
            ending(5, "FAILED (failures=1, errors=1, skipped=1)", "FAIL: x (a.T.x)", "ERROR: y (a.T.y)\nWhy"),
            record(5, 2, 1, "a.T.x", "a.T.y"),
        ),
        (
            ending(1, "FAILED (unexpected successes=1)", "UNEXPECTED SUCCESS: u (a.T.u)"),
            record(1, 1, 0, "a.T.u"),
        ),
        (
            ending(1, "FAILED (failures=2)", "FAIL: s (a.T.s) (i=0)", "FAIL: s (a.T.s) (i=1)"),
            record(1, 1, 0, "a.T.s"),
        ),
        (ending(0, "FAILED (errors=1)", "ERROR: setUpClass (a.T)"), record(1, 1, 0, "setUpClass")),
        (
            ending(1, "FAILED (errors=1)", "ERROR: test_c (unittest.loader._FailedTest.test_c)"),
            record(1, 1, 0, "test_c"),
        ),
    ],
)
def test_a_unittest_ending_is_a_record(tail: str, expected: TestRecord) -> None:
    assert read_summaries(tail) == expected


@pytest.mark.parametrize(
    "tail",
    [
        "",
        "OK\n",
        ending(2, ""),
        "it Ran 2 tests in 0.001s\n\nOK\n",
    ],
)
def test_any_other_ending_is_none(tail: str) -> None:
    assert read_summaries(tail) is None


def test_verbose_unittest_names_what_passed() -> None:
    record = read_summaries(
        "test_ok (tests.test_a.A.test_ok) ... ok\n"
        "test_said (tests.test_a.A.test_said)\nWhat it does. ... ok\n"
        "test_prints (tests.test_a.A.test_prints) ... printed\nok\n"
        "test_old (tests.test_a.A) ... ok\n"
        "test_bad (tests.test_a.A.test_bad) ... FAIL\n"
        "test_off (tests.test_a.A.test_off) ... skipped 'x'\n"
        "\n======\nFAIL: test_bad (tests.test_a.A.test_bad)\n------\nAssertionError\n\n"
        "------\nRan 6 tests in 0.001s\n\nFAILED (failures=1, skipped=1)\n"
    )
    assert record is not None
    assert record.outcomes == {
        "tests.test_a.A.test_ok": "passed",
        "tests.test_a.A.test_said": "passed",
        "tests.test_a.A.test_prints": "passed",
        "test_old": "passed",
        "tests.test_a.A.test_bad": "failed",
    }


def test_a_summary_is_found_wherever_it_stands_and_several_add_up() -> None:
    """AUDIT-G1: a line after "OK" hid that no test ran, and which failed."""
    said = ending(0, "OK") + "all good\n"
    assert read_summaries(said) == record(0, 0, 0)
    said += ending(2, "FAILED (failures=1)", "FAIL: x (a.T.x)") + "done\n"
    assert read_summaries("before\n" + said) == record(2, 1, 0, "a.T.x")


TAP = """\
TAP version 13
# Subtest: adds
ok 1 - adds
  ---
  duration_ms: 1.4
  ...
ok 2 - skips # SKIP
not ok 3 - later # TODO
not ok 4 - sub
1..4
# tests 4
# suites 0
# pass 1
# fail 1
# cancelled 0
# skipped 1
# todo 1
# duration_ms 121.4
and more
"""

SPEC = """\
✔ adds (0.7ms)
﹣ skips (0.08ms) # SKIP
▶ outer
  ✔ inner (0.1ms)
✖ sub (0.7ms)
ℹ tests 4
ℹ pass 2
ℹ fail 1
ℹ skipped 1
"""


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (TAP, record(4, 1, 1, "sub")),
        (SPEC, record(4, 1, 1, "sub")),
        ("TAP version 13\n1..0\n# tests 0\n# suites 0\n# pass 0\n", record(0, 0, 0)),
        ("Tests:       1 failed, 1 skipped, 2 passed, 4 total\nTime: 1 s\n", record(4, 1, 1)),
        ("No tests found, exiting with code 0\n", record(0, 0, 0)),
        (" Test Files  1 passed (1)\n      Tests  1 failed | 2 passed (3)\n", record(3, 1, 0)),
        ("No test files found, exiting with code 0\n", record(0, 0, 0)),
        ("  3 passing (4ms)\n  1 pending\n  2 failing\n\n", record(6, 2, 1)),
        ("  0 passing (1ms)\n\n", record(0, 0, 0)),
        (
            "=== RUN   TestA\n--- PASS: TestA (0.00s)\n--- FAIL: TestB (0.00s)\nFAIL\n",
            record(2, 1, 0, "TestB"),
        ),
        ("?   \tcalc\t[no test files]\nok  \tother\t0.001s [no tests to run]\n", record(0, 0, 0)),
        (
            "test t::a ... ok\ntest b ... FAILED\ntest result: FAILED. 1 passed; 1 failed\ntest result: ok. 0 passed\n",
            record(2, 1, 0, "b"),
        ),
        ("test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n", record(0, 0, 0)),
        ("3 examples, 1 failure, 1 pending\n", record(3, 1, 1)),
        ("0 examples, 0 failures\n", record(0, 0, 0)),
        ("OK (3 tests, 5 assertions)\n", record(3, 0, 0)),
        ("Tests: 3, Assertions: 5, Failures: 1, Skipped: 1.\n", record(3, 1, 1)),
        ("No tests executed!\n", record(0, 0, 0)),
        (
            "Passed!  - Failed:     0, Passed:     3, Skipped:     1, Total:     4, Duration: 1 s\n",
            record(4, 0, 1),
        ),
        ("[INFO] Tests run: 3, Failures: 1, Errors: 0, Skipped: 1\n", record(3, 1, 1)),
        ("100% tests passed, 0 tests failed out of 5\n", record(5, 0, 0)),
        ("===== 1 failed, 2 passed, 1 skipped, 1 xfailed in 0.10s =====\n", record(5, 1, 1)),
        ("FAILED a.py::b - assert\n1 failed, 2 deselected in 0.10s\n", record(1, 1, 0, "a.py::b")),
        ("no tests ran in 0.01s\n", record(0, 0, 0)),
    ],
)
def test_the_sum_of_a_runner_is_read_from_its_words(said: str, expected: TestRecord) -> None:
    """AUDIT-V14: whoever can count and counted nothing is known for it."""
    assert read_summaries(said) == expected


@pytest.mark.parametrize(
    "said",
    ["ok  \tcalc\t0.003s\n?   \tother\t[no test files]\n", "ok\n", "3 tests were mentioned\n", "# tests\n"],
)
def test_what_says_no_number_is_no_summary(said: str) -> None:
    assert read_summaries(said) is None


def test_nodes_tests_have_their_outcomes() -> None:
    found = read_summaries(TAP)
    assert found is not None
    assert found.outcomes == {"adds": "passed", "skips": "skipped", "later": "xfailed", "sub": "failed"}


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("uvu-red", record(3, 1, 1, '"breaks"')),
        ("uvu-green", record(2, 0, 1)),
        ("ava-red", record(2, 1, 1, "breaks")),  # it does not say how many passed beside a failure
        ("ava-green", record(1, 0, 0)),
        ("ava-tap-red", record(3, 1, 1, "breaks")),
        ("tape-red", record(2, 1, 0, "one is two")),
        ("bun-red", record(3, 1, 1, "breaks")),
        ("bun-green", record(2, 0, 1)),
        ("deno-red", record(3, 1, 1, "breaks")),
        ("deno-green", record(2, 0, 1)),
    ],
)
def test_what_other_runners_of_javascript_said_is_read(output: str, expected: TestRecord) -> None:
    """Each file is what that runner printed of one test that adds, one that breaks and one that is skipped."""
    assert read_summaries((Path(__file__).parent / "outputs" / f"{output}.txt").read_text()) == expected
