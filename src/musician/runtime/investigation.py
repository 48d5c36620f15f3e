"""Suggests where to look first after a failure, from mechanical signs (sources "Suggested Investigation").

Knows the verification's findings, or else the end of the agent's output, and what has changed since the last
green point. It names signs and files and never a remedy; without signs, it says that. A failure of git here
must not keep a failure from being reported.
"""

import re
from pathlib import Path

from musician.processes.output import one_line
from musician.protocol.errors import OperatorError
from musician.protocol.rules.review import Verification
from musician.protocol.values import dataclass
from musician.service import TaskView
from musician.trees.git import Git
from musician.trees.snapshot import tree_id
from musician.verification.change import CodeChange, read_change
from musician.verification.earlier import read_result
from musician.verification.failure import analyse
from musician.verification.findings import FailureCause, FailureKind, named
from musician.verification.imports import Project
from musician.verification.result import CommandResult, VerificationResult

_MISSING = re.compile(r"^.*(?:No such file or directory|FileNotFoundError).*$", re.MULTILINE)
_MOST_SIGNAL_CHARS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class _Point:
    """The last green point: a commit or a tree, and its name for people."""

    revision: str
    name: str


def suggest(view: TaskView, *, item: str, tree: Path, start: str, output: str) -> str:
    """Return one paragraph on the failure of ``item``; ``start`` is the commit the task began at. Blocks."""
    point = _last_green(view, start)
    change = _change_since(tree, point)
    result = _verification_of(view, item)
    if result is not None and result.commands:
        last = result.commands[-1]
        found = None if result.stages is None else result.stages.failure
        failing = named(last.failed_tests)
    else:
        last, found, failing = _as_a_run(output), None, ""
    if found is None:
        found = _analysed(last, change, tree)
    if found.kind is FailureKind.UNCLEAR and (missing := _MISSING.search(last.tail)):
        signal = f"a file is missing, perhaps moved or renamed by another task ({missing[0].strip()})"
        found = FailureCause(kind=found.kind, signal=one_line(signal, _MOST_SIGNAL_CHARS))
    parts = [
        f"{found.kind}: {found.signal}",
        *([f"failing: {failing}"] if failing else []),
        _changed(change, point),
        "the end of the agent's output is in the report",
    ]
    return "; ".join(parts)


def _verification_of(view: TaskView, item: str) -> VerificationResult | None:
    """Return the last verification, if it belongs to the failed item."""
    row = view.verifications[-1] if view.verifications else None
    if row is None or item != f"checkpoint {row.checkpoint}":
        return None
    return read_result(row)


def _last_green(view: TaskView, start: str) -> _Point:
    for row in reversed(view.verifications):
        if row.outcome == Verification.GREEN:
            return _Point(revision=row.tree_id, name=f"checkpoint {row.checkpoint} was green")
    return _Point(revision=start, name="the task began")


def _change_since(tree: Path, point: _Point) -> CodeChange | None:
    try:
        return read_change(Git(tree), point.revision, tree_id(tree))
    except (OperatorError, OSError):
        return None


def _as_a_run(output: str) -> CommandResult:
    return CommandResult(
        command="", exit_code=1, timed_out=False, counts=None, failed_tests=(), tail=output, duration_s=0.0
    )


def _analysed(result: CommandResult, change: CodeChange | None, tree: Path) -> FailureCause:
    if change is None:
        return FailureCause(kind=FailureKind.UNCLEAR, signal="git does not say what changed")
    try:
        modules = Project(Git(tree), change.tree_id).top_modules
    except (OperatorError, OSError):
        modules = frozenset()
    return analyse(result, change, modules)


def _changed(change: CodeChange | None, point: _Point) -> str:
    paths = () if change is None else tuple(file.path for file in change.files)
    return f"changed since {point.name}: {named(paths) or 'nothing'}"
