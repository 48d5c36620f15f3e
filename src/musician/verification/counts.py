"""How many tests a command ran and which failed, as its runner recorded it.

Two records are read: the JUnit XML that pytest is asked for, and the closing lines of the standard library's
unittest. A record that is missing, torn or too large is no record: the exit code decides then. Names come
from code under test, so they are made printable and bounded.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from musician.processes.output import one_line
from musician.verification.result import TestCounts

if TYPE_CHECKING:
    from junitparser import TestCase

__all__ = ["MAX_FAILED_TESTS", "MAX_XML_BYTES", "Outcome", "TestRecord", "read_junit", "read_unittest"]

Outcome = Literal["passed", "failed", "skipped"]

MAX_FAILED_TESTS = 50
"""Names kept of one command's failing tests."""

MAX_XML_BYTES = 32 * 1024 * 1024

_MAX_NAME_CHARS = 200
_SUMMARY = re.compile(
    r"^Ran (?P<total>\d+) tests? in [\d.]+s\s+(?:OK|FAILED|NO TESTS RAN)(?: \((?P<parts>[^()\n]*)\))?\s*\Z",
    re.MULTILINE | re.ASCII,
)
_PART = re.compile(r"(?:^|, )(failures|errors|skipped|unexpected successes)=(\d+)", re.ASCII)
_FAILING = re.compile(
    r"^(?:FAIL|ERROR|UNEXPECTED SUCCESS): (?P<name>\S+)(?: \((?P<path>[\w.]+)\))?", re.MULTILINE
)
_PASSING = re.compile(
    r"^(?P<name>\w+) \((?P<path>[\w.]+)\)(?:\n[^\n]*)? \.\.\. (?:[^\n]*\n)?ok$", re.MULTILINE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRecord:
    """Counts and the names of failing tests, at most MAX_FAILED_TESTS; ``outcomes`` are those of all that have a name.

    unittest names the tests that passed only if asked to be verbose.
    """

    __test__ = False  # no test class, whatever pytest makes of the name

    counts: TestCounts
    failed_tests: tuple[str, ...]
    outcomes: Mapping[str, Outcome] = field(default_factory=dict, compare=False)

    @property
    def passed_tests(self) -> tuple[str, ...]:
        return tuple(name for name, outcome in self.outcomes.items() if outcome == "passed")


def read_junit(path: Path) -> TestRecord | None:
    """The record in a JUnit XML file; None if there is none that can be read."""
    cases = _cases(path)
    if cases is None:
        return None
    # pytest lists a test that fails and then breaks in teardown twice
    outcomes: dict[str, Outcome] = {}
    for case in cases:
        name, outcome = _name(case), _outcome(case)
        if outcomes.get(name) != "failed":
            outcomes[name] = outcome
    failed = [name for name, outcome in outcomes.items() if outcome == "failed"]
    skipped = sum(outcome == "skipped" for outcome in outcomes.values())
    return _record(total=len(outcomes), failed=len(failed), skipped=skipped, names=failed, outcomes=outcomes)


def read_unittest(tail: str) -> TestRecord | None:
    """The record in the last lines of output, if it ends as unittest's text runner ends; None otherwise."""
    summary = _SUMMARY.search(tail)
    if summary is None:
        return None
    parts = {name: int(number) for name, number in _PART.findall(summary["parts"] or "")}
    names = [_unittest_name(match) for match in _FAILING.finditer(tail)]
    # subtests are counted one by one, a broken setUpClass is no test: neither may exceed the whole
    total = max(int(summary["total"]), len(set(names)))
    skipped = min(parts.pop("skipped", 0), total)
    outcomes: dict[str, Outcome] = dict.fromkeys(map(_unittest_name, _PASSING.finditer(tail)), "passed")
    outcomes.update(dict.fromkeys(names, "failed"))
    failed = min(sum(parts.values()), total)
    return _record(total=total, failed=failed, skipped=skipped, names=names, outcomes=outcomes)


def _record(
    *, total: int, failed: int, skipped: int, names: list[str], outcomes: Mapping[str, Outcome]
) -> TestRecord:
    shown = tuple(one_line(name, _MAX_NAME_CHARS) for name in dict.fromkeys(names))
    return TestRecord(
        counts=TestCounts(total=total, failed=failed, skipped=skipped),
        failed_tests=shown[:MAX_FAILED_TESTS],
        outcomes=outcomes,
    )


def _unittest_name(match: re.Match[str]) -> str:
    path, name = match["path"] or "", match["name"]
    return path if path.endswith(f".{name}") and not path.startswith("unittest.") else name


def _cases(path: Path) -> "list[TestCase] | None":
    try:
        if not path.is_file() or path.stat().st_size > MAX_XML_BYTES:
            return None
    except OSError:
        return None
    from junitparser import JUnitXml, JUnitXmlError  # slow to load, and many commands leave no such record

    try:
        return [case for suite in JUnitXml.fromfile(str(path)) for case in suite]
    except (OSError, SyntaxError, ValueError, JUnitXmlError):  # torn XML is a SyntaxError
        return None


def _name(case: "TestCase") -> str:
    return "::".join(part for part in (case.classname, case.name) if part)


def _outcome(case: "TestCase") -> Outcome:
    if case.is_failure or case.is_error:
        return "failed"
    # an expected failure did run
    return "skipped" if any(r.type != "pytest.xfail" for r in case.result) else "passed"
