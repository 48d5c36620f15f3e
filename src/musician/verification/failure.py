"""Where a failing test most likely comes from, by mechanical signs (the sources' failure analysis).

Environment: it timed out, could not be started, was killed, or its output speaks of network, disk or a missing
program. Test: the code of a test is what broke. Implementation: code under test raised, or an assertion fails in a
test that stands as it did while the code changed. Anything else is unclear, and said to be.
"""

import re
from collections.abc import Collection

from musician.processes.output import one_line
from musician.verification.change import CodeChange, is_test_side
from musician.verification.findings import FailureCause, FailureKind
from musician.verification.result import CommandResult

_MAX_SIGNAL_CHARS = 160

_ENVIRONMENT = re.compile(
    r"ConnectionError|ConnectionRefusedError|ConnectionResetError|Connection refused|Name or service not known"
    r"|Temporary failure in name resolution|socket\.gaierror|Network is unreachable|Address already in use"
    r"|No space left on device|Read-only file system|Too many open files|Cannot allocate memory|MemoryError"
    r"|PermissionError|command not found|database is locked|ssl\.SSL\w*Error"
)
_MISSING = re.compile(r"(?:ModuleNotFoundError|ImportError).*?No module named '(?P<module>[\w.]+)'")
_TEST_ITSELF = re.compile(
    r"fixture '\w+' not found|^E? *(?:SyntaxError|IndentationError|NameError|TypeError: \w+\(\) missing)",
    re.MULTILINE,
)
_PLACE = re.compile(
    r"""^(?:  File "(?P<file>[^"\n]+)", line \d+|(?P<path>[^\s:"]+\.\w+):\d+: (?:in|\w+))""", re.MULTILINE
)
_ASSERTED = re.compile(r"^E? *(?:AssertionError|assert )|: AssertionError\b", re.MULTILINE)
_KILLED = frozenset({128 + 9, 128 + 6, 128 + 11})


def analyse(result: CommandResult, change: CodeChange, modules: Collection[str]) -> FailureCause:
    """Return why ``result`` failed; ``modules`` are the names of the project's own top-level modules."""
    by_end = _by_its_end(result)
    if by_end is not None:
        return by_end
    tail = result.tail
    if sign := _ENVIRONMENT.search(tail):
        return _failure(FailureKind.ENVIRONMENT, sign[0])
    if (missing := _MISSING.search(tail)) and missing["module"].partition(".")[0] not in modules:
        return _failure(FailureKind.ENVIRONMENT, missing[0])
    where = _last_place(tail, change)
    if _ASSERTED.search(tail) is None and where is not None:
        kind = FailureKind.TEST if is_test_side(where) else FailureKind.IMPLEMENTATION
        return _failure(kind, f"raised in {where}")
    if sign := _TEST_ITSELF.search(tail):
        return _failure(FailureKind.TEST, sign[0])
    return _by_what_changed(change)


def _by_its_end(result: CommandResult) -> FailureCause | None:
    if result.timed_out:
        return _failure(FailureKind.ENVIRONMENT, f"timed out after {result.duration_s:.0f} s")
    if not result.could_run:
        return _failure(FailureKind.ENVIRONMENT, result.why)
    if result.counts is None and result.exit_code in _KILLED:
        return _failure(FailureKind.ENVIRONMENT, f"ended by signal {result.exit_code - 128}")
    return None


def _last_place(tail: str, change: CodeChange) -> str | None:
    """Return the last file named by a traceback that belongs to the change."""
    paths = [file.path for file in change.present]
    for place in reversed(list(_PLACE.finditer(tail))):
        named = (place["file"] or place["path"]).removeprefix("./")
        for path in paths:
            if named == path or named.endswith(f"/{path}"):
                return path
    return None


def _by_what_changed(change: CodeChange) -> FailureCause:
    tests = [file.path for file in change.files if is_test_side(file.path)]
    if change.subjects and not tests:
        return _failure(FailureKind.IMPLEMENTATION, "the code changed, its tests did not")
    if tests and not change.subjects:
        return _failure(FailureKind.TEST, "only tests changed")
    return _failure(
        FailureKind.UNCLEAR, "code and tests changed" if tests else "nothing changed that explains it"
    )


def _failure(kind: FailureKind, signal: str) -> FailureCause:
    return FailureCause(kind=kind, signal=one_line(signal, _MAX_SIGNAL_CHARS))
