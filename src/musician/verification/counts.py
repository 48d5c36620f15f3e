"""How many tests a command ran and which failed, by our record or else by the runner's output.

pytest and unittest are made to write a record of ours, wherever in a command they are hidden (``inside``).
For any other runner the closing lines are read (``summaries``), wherever they stand. A record that is torn or
too large is none. A run that was begun and never recorded ended without its runner's report: ``unreported``.
Names come from code under test, so they are made printable and bounded.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Literal, get_args

from musician.processes.output import one_line
from musician.protocol.values import dataclass
from musician.verification.result import TestCounts

Outcome = Literal["passed", "failed", "skipped", "xfailed"]

MAX_FAILED_TESTS = 50
"""Names kept of one command's failing tests."""

MAX_RECORD_BYTES = 32 * 1024 * 1024

_MAX_NAME_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRecord:
    """Counts and the names of failing tests, at most MAX_FAILED_TESTS; ``outcomes`` are those of all that have a name.

    If only the closing lines are known, not every test has a name.
    """

    __test__ = False  # no test class, whatever pytest makes of the name

    counts: TestCounts
    failed_tests: tuple[str, ...]
    outcomes: Mapping[str, Outcome] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, counts: TestCounts, outcomes: Mapping[str, Outcome]) -> "TestRecord":
        failed = (name for name, outcome in outcomes.items() if outcome == "failed")
        shown = tuple(dict.fromkeys(one_line(name, _MAX_NAME_CHARS) for name in failed))
        return cls(counts=counts, failed_tests=shown[:MAX_FAILED_TESTS], outcomes=outcomes)

    @property
    def passed_tests(self) -> tuple[str, ...]:
        return tuple(name for name, outcome in self.outcomes.items() if outcome == "passed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What the processes of a command left in its folder; ``was_seen``: a Python that could have recorded was there."""

    record: TestRecord | None
    was_seen: bool
    unreported: bool


def read_records(folder: Path) -> Recorded:
    """Combine all of a command's runs: a test that failed in one of them failed."""
    begun, ended = _numbers(folder, "begun"), _numbers(folder, "record")
    outcomes: dict[str, Outcome] = {}
    read = 0
    for number in sorted(ended):
        found = _outcomes(folder / f"record-{number}")
        if found is not None:
            read += 1
            outcomes.update((name, each) for name, each in found.items() if outcomes.get(name) != "failed")
    return Recorded(
        record=TestRecord.of(counted_in(outcomes.values()), outcomes) if read else None,
        was_seen=(folder / "seen").exists(),
        unreported=not begun <= ended or read < len(ended),
    )


def counted_in(outcomes: Iterable[Outcome]) -> TestCounts:
    """Count the tests of a record; an expected failure counts as run."""
    found = list(outcomes)
    return TestCounts(total=len(found), failed=found.count("failed"), skipped=found.count("skipped"))


def _numbers(folder: Path, kind: str) -> set[str]:
    return {path.name.partition("-")[2] for path in folder.glob(f"{kind}-*")}


def _outcomes(path: Path) -> dict[str, Outcome] | None:
    try:
        if path.stat().st_size > MAX_RECORD_BYTES:
            return None
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    known = get_args(Outcome)
    is_whole = isinstance(found, dict) and all(outcome in known for outcome in found.values())
    return found if is_whole else None
