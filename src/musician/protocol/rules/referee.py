"""Findings: changes to the tests and files that judge the change itself (D26).

A change is judged by the base: by the base's tests, run as the base ran them. If they and the change's own tests
disagree, that is a *finding*, and a judge must accept it. The rules accept only what the plan allows by patterns of
paths. A reviewer accepts a finding, once, by approving the submission it came with or by naming it; a finding that is
sent back without being named is found again.
"""

import re
from collections.abc import Collection, Iterable
from enum import StrEnum
from functools import cache

from musician.protocol.values import dataclass

MAX_FINDINGS = 50
"""How many findings of one verification are listed. One more then counts the rest."""


class FindingKind(StrEnum):
    CHANGED_EXPECTATION = "changed expectation"
    """A test of the base fails on the changed code."""
    REMOVED = "removed test"
    SKIPPED = "newly skipped"
    EXPECTED_TO_FAIL = "newly expected to fail"
    NOT_RUN = "no longer run"
    """The test still exists, but the runner leaves it out."""
    REFEREE = "changed referee"
    """The change touches a file that configures the test runner or belongs to it."""
    UNTESTED = "function without a test"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """``text`` describes the finding in one line. ``allowed`` is true if the plan permits the change."""

    kind: FindingKind
    text: str
    allowed: bool = False

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


def may_change(patterns: Iterable[str], paths: Collection[str]) -> bool:
    """Whether there are files and the patterns allow all of them to change.

    ``*`` and ``?`` match within a folder, ``**`` matches across folders; a folder's name matches everything in it.
    """
    readers = [_reader(pattern) for pattern in patterns]
    return bool(paths) and all(any(each.fullmatch(path) for each in readers) for path in paths)


@cache
def _reader(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern.removeprefix("./").rstrip("/"))
    wild = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(wild.get(part, re.escape(part)) for part in parts) + "(?:/.*)?", re.DOTALL)
