"""Reading what runners record."""

from pathlib import Path

import pytest

from musician.verification.counts import (
    MAX_FAILED_TESTS,
    MAX_XML_BYTES,
    TestRecord,
    read_junit,
    read_unittest,
)
from musician.verification.result import TestCounts


def record(total: int, failed: int, skipped: int, *names: str) -> TestRecord:
    return TestRecord(counts=TestCounts(total=total, failed=failed, skipped=skipped), failed_tests=names)


def junit(tmp_path: Path, content: str) -> TestRecord | None:
    path = tmp_path / "record.xml"
    path.write_text(content, encoding="utf-8")
    return read_junit(path)


CASES = """
<testcase classname="tests.test_a" name="test_ok" time="0.1"/>
<testcase classname="tests.test_a" name="test_bad"><failure message="assert 1 == 2">…</failure></testcase>
<testcase classname="tests.test_a" name="test_bad"><error message="teardown">…</error></testcase>
<testcase classname="" name="tests.test_c"><error message="collection failure">…</error></testcase>
<testcase classname="tests.test_a" name="test_skip"><skipped type="pytest.skip" message="no"/></testcase>
<testcase classname="tests.test_a" name="test_xfail"><skipped type="pytest.xfail" message=""/></testcase>
"""


@pytest.mark.parametrize(
    "frame",
    [
        "<testsuites><testsuite name='pytest'>{}</testsuite></testsuites>",
        "<testsuite name='pytest'>{}</testsuite>",
        "<testsuites><testsuite><testsuite>{}</testsuite></testsuite></testsuites>",
    ],
)
def test_a_junit_record_counts_each_test_once(tmp_path: Path, frame: str) -> None:
    expected = record(5, 2, 1, "tests.test_a::test_bad", "tests.test_c")
    assert junit(tmp_path, frame.format(CASES)) == expected


def test_a_failure_is_not_forgotten_for_a_later_pass_of_the_same_name(tmp_path: Path) -> None:
    cases = '<testcase classname="a" name="t"><failure/></testcase><testcase classname="a" name="t"/>'
    assert junit(tmp_path, f"<testsuite>{cases}</testsuite>") == record(1, 1, 0, "a::t")


def test_an_empty_suite_is_a_record_of_no_tests(tmp_path: Path) -> None:
    assert junit(tmp_path, "<testsuites><testsuite tests='0'/></testsuites>") == record(0, 0, 0)


@pytest.mark.parametrize("content", ["", "<testsuites><testsuite>", "<html/>", "\0", "no xml"])
def test_a_torn_or_foreign_file_is_no_record(tmp_path: Path, content: str) -> None:
    assert junit(tmp_path, content) is None


def test_a_missing_or_unreasonable_file_is_no_record(tmp_path: Path) -> None:
    assert read_junit(tmp_path / "missing.xml") is None
    assert read_junit(tmp_path) is None
    large = tmp_path / "large.xml"
    with large.open("wb") as file:
        file.truncate(MAX_XML_BYTES + 1)
    assert read_junit(large) is None


def test_names_are_printable_and_bounded(tmp_path: Path) -> None:
    cases = "".join(
        f'<testcase name="t{number}&#10;{"x" * 500}"><failure/></testcase>'
        for number in range(MAX_FAILED_TESTS + 5)
    )
    read = junit(tmp_path, f"<testsuite>{cases}</testsuite>")
    assert read is not None
    assert read.counts.failed == MAX_FAILED_TESTS + 5
    assert len(read.failed_tests) == MAX_FAILED_TESTS
    assert read.failed_tests[0].startswith("t0 xxx")
    assert all(len(name) <= 200 and name.isprintable() for name in read.failed_tests)


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
    assert read_unittest(tail) == expected


@pytest.mark.parametrize(
    "tail",
    [
        "",
        "OK\n",
        ending(2, ""),
        ending(2, "OK") + "and then something else\n",
        "it Ran 2 tests in 0.001s\n\nOK\n",
    ],
)
def test_any_other_ending_is_none(tail: str) -> None:
    assert read_unittest(tail) is None


def test_every_test_of_a_junit_record_has_its_outcome(tmp_path: Path) -> None:
    path = tmp_path / "record.xml"
    path.write_text(
        "<testsuites><testsuite name='pytest'>"
        "<testcase classname='tests.test_a' name='test_ok[1]'/>"
        "<testcase classname='tests.test_a.TestA' name='test_bad'><failure message='x'/></testcase>"
        "<testcase classname='tests.test_a' name='test_off'><skipped type='pytest.skip'/></testcase>"
        "<testcase classname='' name='tests.test_torn'><error message='x'/></testcase>"
        "</testsuite></testsuites>"
    )
    record = read_junit(path)
    assert record is not None
    assert record.outcomes == {
        "tests.test_a::test_ok[1]": "passed",
        "tests.test_a.TestA::test_bad": "failed",
        "tests.test_a::test_off": "skipped",
        "tests.test_torn": "failed",
    }
    assert record.passed_tests == ("tests.test_a::test_ok[1]",)


def test_verbose_unittest_names_what_passed() -> None:
    record = read_unittest(
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
