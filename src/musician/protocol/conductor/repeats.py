"""Recognises an error report that repeats the one before it, by what failed and not by its wording (D18).

The same failure is reported each time with other durations, addresses, process ids and scratch folders. So reports are
compared by the failing tests if these are known, and otherwise by their text without such variable parts.
"""

import re
from collections.abc import Iterable

_SHIFTS = (
    (re.compile(r"(?:/[^\s/:'\"`]+)+/"), "/"),  # a file's folder; its name stays
    (re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?Z?)?\b"), "DATE"),
    (re.compile(r"\b\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?\b"), "TIME"),
    (re.compile(r"\b\d+(?:[.,]\d+)?\s?(?:ns|µs|us|ms|s|sec|secs|seconds?|min|minutes?)\b"), "DURATION"),
    (re.compile(r"\b0x[0-9a-fA-F]+\b"), "ADDRESS"),
    (re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b"), "ID"),
    (re.compile(r"\b(pid|process|port|line)([ =:]+)\d+\b", re.IGNORECASE), r"\1 N"),
    (re.compile(r"\b(musician|pytest|tmp|before)-[\w-]+"), r"\1"),
)


def what_failed(text: str, failed_tests: Iterable[str] = ()) -> str:
    """Return a text that is equal for two reports of the same failure."""
    tests = sorted(set(failed_tests))
    if tests:
        return "\n".join(tests)
    for pattern, instead in _SHIFTS:
        text = pattern.sub(instead, text)
    return " ".join(text.split())
