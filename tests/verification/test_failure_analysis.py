"""Where a failure comes from, by signs."""

import pytest

from musician.verification.change import ChangedFile, CodeChange
from musician.verification.failure import analyse
from musician.verification.findings import FailureKind
from musician.verification.result import CommandResult, TestCounts


def change(*paths: str) -> CodeChange:
    files = (
        ChangedFile(path=path, kind="modified", mode="100644", old_blob="1", new_blob="2") for path in paths
    )
    return CodeChange(base="base", tree_id="tree", files=tuple(files))


def failed(tail: str, *, exit_code: int = 1, timed_out: bool = False, counted: bool = True) -> CommandResult:
    return CommandResult(
        command="pytest",
        exit_code=exit_code,
        timed_out=timed_out,
        counts=TestCounts(total=2, failed=1, skipped=0) if counted else None,
        failed_tests=("tests.test_a::test_x",),
        tail=tail,
        duration_s=12,
    )


BOTH = change("pkg/a.py", "tests/test_a.py")
CODE = change("pkg/a.py", "README.md")
TESTS = change("tests/test_a.py")

PYTEST_ASSERTION = """\
    def test_x():
>       assert a.f() == 2
E       assert 1 == 2

tests/test_a.py:4: AssertionError
"""
PYTEST_RAISED = """\
tests/test_a.py:4: in test_x
    a.f()
pkg/a.py:2: in f
    return 1 / 0
E   ZeroDivisionError: division by zero
"""
PYTEST_NAME = """\
>       a.g(x)
E       NameError: name 'x' is not defined

tests/test_a.py:4: NameError
"""
UNITTEST_RAISED = """\
Traceback (most recent call last):
  File "/tree/tests/test_a.py", line 5, in test_x
    a.f()
  File "/tree/pkg/a.py", line 2, in f
    return {}["x"]
KeyError: 'x'
"""
FIXTURE = "E       fixture 'nothing' not found\n>       available fixtures: cache\n"


@pytest.mark.parametrize(
    ("result", "changed", "kind", "signal"),
    [
        (failed("", timed_out=True), BOTH, FailureKind.ENVIRONMENT, "timed out after 12 s"),
        (failed("", exit_code=127, counted=False), BOTH, FailureKind.ENVIRONMENT, "not found"),
        (failed("", exit_code=137, counted=False), BOTH, FailureKind.ENVIRONMENT, "signal 9"),
        (failed("OSError: [Errno 28] No space left on device"), BOTH, FailureKind.ENVIRONMENT, "No space left"),
        (failed("E  ConnectionRefusedError: [111]"), BOTH, FailureKind.ENVIRONMENT, "ConnectionRefused"),
        (failed("ModuleNotFoundError: No module named 'requests'"), BOTH, FailureKind.ENVIRONMENT, "requests"),
        (failed(PYTEST_RAISED), BOTH, FailureKind.IMPLEMENTATION, "raised in pkg/a.py"),
        (failed(UNITTEST_RAISED), BOTH, FailureKind.IMPLEMENTATION, "raised in pkg/a.py"),
        (failed(PYTEST_NAME), BOTH, FailureKind.TEST, "raised in tests/test_a.py"),
        (failed(FIXTURE), CODE, FailureKind.TEST, "fixture 'nothing' not found"),
        (failed(PYTEST_ASSERTION), CODE, FailureKind.IMPLEMENTATION, "the code changed, its tests did not"),
        (failed(PYTEST_ASSERTION), TESTS, FailureKind.TEST, "only tests changed"),
        (failed(PYTEST_ASSERTION), BOTH, FailureKind.UNCLEAR, "code and tests changed"),
        (failed(PYTEST_ASSERTION), change("README.md"), FailureKind.UNCLEAR, "nothing changed"),
        (failed("No module named 'pkg.new'\nModuleNotFoundError: No module named 'pkg.new'"), CODE,
         FailureKind.IMPLEMENTATION, "the code changed"),
    ],
)  # fmt: skip
def test_a_failure_is_put_where_its_signs_point(
    result: CommandResult, changed: CodeChange, kind: FailureKind, signal: str
) -> None:
    found = analyse(result, changed, {"pkg"})
    assert found.kind is kind
    assert signal in found.signal
