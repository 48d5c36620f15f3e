"""Reading what runners were made to record."""

import json
from pathlib import Path

import pytest

from musician.verification.counts import (
    MAX_FAILED_TESTS,
    MAX_RECORD_BYTES,
    Recorded,
    TestRecord,
    read_records,
)
from musician.verification.result import TestCounts

NOTHING = Recorded(record=None, was_seen=False, unreported=False)


def left(folder: Path, *records: dict[str, str], begun: int = 0) -> Recorded:
    for number, outcomes in enumerate(records):
        (folder / f"begun-{number}").touch()
        (folder / f"record-{number}").write_text(json.dumps(outcomes))
    for number in range(len(records), begun):
        (folder / f"begun-{number}").touch()
    return read_records(folder)


def test_a_record_counts_each_test_and_names_what_failed(tmp_path: Path) -> None:
    outcomes = {"a::ok[1]": "passed", "a::bad": "failed", "a::off": "skipped", "a::known": "xfailed"}
    record = left(tmp_path, outcomes).record
    assert record == TestRecord(
        counts=TestCounts(total=4, failed=1, skipped=1), failed_tests=("a::bad",), outcomes={}
    )
    assert record is not None
    assert record.outcomes == outcomes
    assert record.passed_tests == ("a::ok[1]",)


def test_several_runs_add_up_and_no_failure_is_forgotten_for_a_pass(tmp_path: Path) -> None:
    record = left(tmp_path, {"a": "failed", "b": "passed"}, {"a": "passed", "c": "passed"}).record
    assert record is not None
    assert record.counts == TestCounts(total=3, failed=1, skipped=0)


def test_an_empty_record_is_a_record_of_no_tests(tmp_path: Path) -> None:
    record = left(tmp_path, {}).record
    assert record is not None
    assert record.counts == TestCounts(total=0, failed=0, skipped=0)


def test_a_run_that_was_begun_and_not_recorded_has_not_reported(tmp_path: Path) -> None:
    assert left(tmp_path, {"a": "passed"}, begun=2).unreported


@pytest.mark.parametrize("content", ["", "{", "[]", "[" * 100_000, "\0", '{"a": "great"}', '{"a": 1}'])
def test_a_torn_or_foreign_file_is_no_record(tmp_path: Path, content: str) -> None:
    (tmp_path / "record-1").write_text(content)
    assert read_records(tmp_path) == Recorded(record=None, was_seen=False, unreported=True)


def test_a_missing_or_unreasonable_file_is_no_record(tmp_path: Path) -> None:
    assert read_records(tmp_path / "missing") == NOTHING
    assert read_records(tmp_path) == NOTHING
    with (tmp_path / "record-1").open("wb") as file:
        file.truncate(MAX_RECORD_BYTES + 1)
    assert read_records(tmp_path).record is None


def test_names_are_printable_and_bounded(tmp_path: Path) -> None:
    record = left(tmp_path, {f"t{n}\n{'x' * 500}": "failed" for n in range(MAX_FAILED_TESTS + 5)}).record
    assert record is not None
    assert record.counts.failed == MAX_FAILED_TESTS + 5
    assert len(record.failed_tests) == MAX_FAILED_TESTS
    assert record.failed_tests[0].startswith("t0 xxx")
    assert all(len(name) <= 200 and name.isprintable() for name in record.failed_tests)
