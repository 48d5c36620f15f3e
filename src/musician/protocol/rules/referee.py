"""What a change does to those who judge it (D26), and who may let it pass.

A change is judged by what stood before it: the base's tests, run as the base ran them. Where that comes to something
else than the change's own tests say, there is a *finding*, and it needs a judge. The rules are none: they let pass what
the plan says may change, by patterns of paths, and nothing else. A reviewer accepts a finding, once, by approving what
it came with, or by naming it; what is sent back unnamed is found again.
"""

import re
from collections.abc import Collection, Iterable
from enum import StrEnum
from functools import cache

from musician.protocol.values import dataclass

MAX_FINDINGS = 50
"""Of one verification; what is over is counted in one more."""


class FindingKind(StrEnum):
    CHANGED_EXPECTATION = "changed expectation"
    """A test as it was fails on the code as it is."""
    REMOVED = "removed test"
    SKIPPED = "newly skipped"
    EXPECTED_TO_FAIL = "newly expected to fail"
    NOT_RUN = "no longer run"
    """It is still there, and the runner leaves it out."""
    REFEREE = "changed referee"
    """A file that configures or is the test runner."""
    UNTESTED = "function without a test"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """``text`` says what was found, in one line; ``allowed``: the plan says that it may change."""

    kind: FindingKind
    text: str
    allowed: bool = False

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


def may_change(patterns: Iterable[str], paths: Collection[str]) -> bool:
    """Whether all of the files, and at least one, may change.

    ``*`` and ``?`` stay within a folder, ``**`` goes through them; the name of a folder means all in it.
    """
    readers = [_reader(pattern) for pattern in patterns]
    return bool(paths) and all(any(each.fullmatch(path) for each in readers) for path in paths)


@cache
def _reader(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern.removeprefix("./").rstrip("/"))
    wild = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(wild.get(part, re.escape(part)) for part in parts) + "(?:/.*)?", re.DOTALL)
