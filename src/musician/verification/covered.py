"""How many of the changed lines the tests ran (D16).

A changed line counts if the report knows it, that is, if it holds something that can run; tests are not counted,
for they run themselves. A changed file of code that the report does not know at all is named: nothing says that it
was run.
"""

from pathlib import PurePosixPath

from musician.verification.change import Change, is_test_side
from musician.verification.findings import ChangedCoverage
from musician.verification.reports import Report

__all__ = ["MAX_MISSED", "changed_coverage"]

MAX_MISSED = 100
"""Lines and files named."""


def changed_coverage(change: Change, report: Report | str, *, baseline_pct: float | None) -> ChangedCoverage:
    """By a report, or why there is none; ``baseline_pct`` is the whole project's at the last checkpoint."""
    if isinstance(report, str):
        return ChangedCoverage(why_not=report, baseline_pct=baseline_pct)
    known_suffixes = {PurePosixPath(path).suffix for path in report.hits}
    hit: list[str] = []
    missed: list[str] = []
    absent: list[str] = []
    for file in change.present:
        if is_test_side(file.path) or not file.added:
            continue
        lines = report.hits.get(file.path)
        if lines is None:
            if PurePosixPath(file.path).suffix in known_suffixes:
                absent.append(file.path)
            continue
        for added in file.added:
            if added.number in lines:
                (hit if lines[added.number] else missed).append(f"{file.path}:{added.number}")
    return ChangedCoverage(
        lines=len(hit) + len(missed),
        covered=len(hit),
        source=report.source,
        total_pct=report.total_pct,
        baseline_pct=baseline_pct,
        missed=tuple(missed[:MAX_MISSED]),
        absent=tuple(absent[:MAX_MISSED]),
        why_not="" if hit or missed else "no changed line is in the report",
    )
