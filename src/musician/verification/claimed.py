"""Compares what a subagent says of its work with what the program found (D19, sources "Subagent Test
Validation").

Reads numbers, names of tests and files out of free text; nothing of it counts as evidence. A claim is checked, never
believed: the checkpoint re-runs the tests, those that only a claim names too, and each difference is named. Text
without a number, a test or a file claims nothing.
"""

import re
from collections.abc import Collection
from pathlib import PurePosixPath

from musician.processes.output import one_line
from musician.protocol.values import dataclass
from musician.verification.findings import ClaimCheck

MAX_CLAIMED_NAMES = 200
"""Of tests, and of files."""
_MAX_TEXT_CHARS = 20_000
_MAX_SHOWN_CHARS = 200

_PASSED = re.compile(
    r"\b(?:all\s+)?(?P<a>\d{1,6})(?:\s*/\s*\d{1,6})?\s+(?:(?:new|unit|of\s+\d+)\s+)?(?:tests?\s+)?(?:are\s+)?pass(?:ed|ing|es)?\b"
    r"|\ball passing \((?P<b>\d{1,6}) tests?",
    re.IGNORECASE,
)
_FAILED = re.compile(r"\b(?P<n>\d{1,6})\s+(?:tests?\s+)?fail(?:ed|ing|ures?)?\b", re.IGNORECASE)
_NAME = re.compile(r"\b(?:[\w./-]+::)*(?P<test>test_\w+)(?!\.py)\b(?!/)")
_PATH = r"`?(?P<path>(?!/)(?!\S*\.\./)[\w./-]*\w\.[A-Za-z]\w*)`?"
_FILE = re.compile(
    rf"^[ \t*-]*{_PATH}[ \t]*\((?:created|modified|new|added|changed|updated)\b", re.IGNORECASE | re.MULTILINE
)
_FILES = re.compile(
    r"^[ \t#*-]*(?:test )?files?\b[ \t]*(?:created|modified|changed|added|updated)?(?:/\w+)?\**:(?P<list>.*)",
    re.IGNORECASE | re.MULTILINE,
)
_LISTED = re.compile(rf"(?:^|[\s,]){_PATH}(?=[\s,;)]|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """``passed`` and ``failed`` are None if no number was given; ``names`` are bare test names."""

    passed: int | None = None
    failed: int | None = None
    names: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What the program ran: how many tests ``passed``, None if no runner counts them; names as recorded."""

    passed: int | None
    failed: Collection[str] = ()
    passed_names: Collection[str] = ()


def read_claim(text: str) -> Claimed:
    """Return what a text claims about tests; of several numbers the last counts."""
    text = text[:_MAX_TEXT_CHARS]
    passed = [int(match["a"] or match["b"]) for match in _PASSED.finditer(text)]
    failed = [int(match["n"]) for match in _FAILED.finditer(text)]
    names = dict.fromkeys(match["test"] for match in _NAME.finditer(text))
    lists = (each["list"] for each in _FILES.finditer(text))
    paths = [*_FILE.finditer(text), *(path for listed in lists for path in _LISTED.finditer(listed))]
    files = dict.fromkeys(str(PurePosixPath(match["path"])) for match in paths)
    return Claimed(
        passed=passed[-1] if passed else None,
        failed=failed[-1] if failed else None,
        names=tuple(names)[:MAX_CLAIMED_NAMES],
        files=tuple(files)[:MAX_CLAIMED_NAMES],
    )


def compare_claim(text: str, ran: Ran, *, by: str = "", missing: Collection[str] = ()) -> ClaimCheck:
    """Compare a claim with what ran. ``missing`` are claimed files that do not exist; ``by`` says who claimed
    it.

    More passing tests than claimed are no mismatch: a checkpoint runs more than one subagent did. A claimed name
    that nobody ran is one, where names of passing tests were recorded at all.
    """
    claim = read_claim(text)
    broken, good = {_bare(name) for name in ran.failed}, {_bare(name) for name in ran.passed_names}
    mismatches = [f"{path} was claimed and is not there" for path in claim.files if path in missing]
    if claim.passed is not None and ran.passed is not None and ran.passed < claim.passed:
        mismatches.append(f"{claim.passed} passing claimed, {ran.passed} found")
    if ran.failed and not claim.failed and (claim.passed is not None or claim.names):
        mismatches.append(f"no failure claimed, {len(ran.failed)} found")
    for name in claim.names:
        bare = _bare(name)
        if bare in broken:
            mismatches.append(f"{name} was claimed and fails")
        elif good and bare not in good and not any(bare in each for each in good):
            mismatches.append(f"{name} was claimed and is not among the tests that ran")
    unchecked = ran.passed is None and bool(claim.passed or claim.names)
    return ClaimCheck(
        by=by,
        claimed=one_line(text, _MAX_SHOWN_CHARS),
        mismatches=tuple(mismatches),
        why_not="this runner's tests are not counted" if unchecked else "",
    )


def _bare(name: str) -> str:
    """Return a test's own name: without file, class and parameters."""
    return name.partition("[")[0].rpartition("::")[2].rpartition(".")[2]
