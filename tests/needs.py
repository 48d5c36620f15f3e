"""What some tests need beside Python and git, and what happens where it is not there.

A test that needs a program of the system's is left out where there is none, and the end of the run says how many were
left out and what to install. Where nothing may be left out (``MUSICIAN_TESTS=all``, as .ci/run says) it fails.
"""

import os
import re
import shutil
from collections import Counter
from collections.abc import Iterable
from typing import NoReturn

import pytest

__all__ = ["ALL", "PACKAGES", "left_out", "need", "refuse"]

ALL = os.environ.get("MUSICIAN_TESTS") == "all"
"""Read at import: later the tests' surroundings hold nothing of ours."""

PACKAGES = {
    "bwrap": "bubblewrap",
    "groff": "groff",
    "chromium": "chromium",
    "node": "nodejs",
    "psql": "postgresql",
    "sqlite3": "sqlite3",
    "tmux": "tmux",
}
"""The program, and the package of Debian's that brings it."""

_REASON = re.compile(r"left out: needs (.+?)(?='|\"|$)")


def need(program: str) -> str:
    """Where ``program`` is; the test is left out, or fails, if it is nowhere."""
    found = shutil.which(program)
    if found is None:
        refuse(program)
    return found


def refuse(what: str) -> NoReturn:
    """Leave a test out for what is missing."""
    reason = f"left out: needs {what}"
    if ALL:
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def left_out(reasons: Iterable[str]) -> list[str]:
    """A line for each thing that is missing: what was left out for it, and the remedy."""
    counts = Counter(found[1] for reason in reasons if (found := _REASON.search(reason)))
    return [f"{count} left out without {what} ({_remedy(what)})" for what, count in sorted(counts.items())]


def _remedy(what: str) -> str:
    return f"apt-get install {PACKAGES[what]}" if what in PACKAGES else "bash .ci/run installs it"
