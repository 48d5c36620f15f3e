"""How many of the changed lines the tests ran (D16).

A changed line counts if the report knows it, that is, if it holds something that can run; tests are not counted,
for they run themselves. A changed file of code that the report does not know at all is named: nothing says that it
was run.
"""

import re
from pathlib import PurePosixPath

from musician.verification.change import CodeChange, is_test_side
from musician.verification.findings import ChangedCoverage
from musician.verification.reports import CoverageReport

MAX_MISSED = 100
"""Lines and files named."""


_LEFT_OUT = re.compile(r"(?:#|//|/\*) *(?:pragma: *no *cover|istanbul ignore|[cv]8 ignore)", re.IGNORECASE)


def left_out_of_coverage(change: CodeChange) -> tuple[str, ...]:
    """Return the changed lines that exclude themselves from coverage, as "path:line"."""
    return tuple(
        f"{file.path}:{line.number}"
        for file in change.present
        for line in file.added
        if not is_test_side(file.path) and _LEFT_OUT.search(line.text)
    )


def changed_coverage(
    change: CodeChange, report: CoverageReport | str, *, baseline_pct: float | None
) -> ChangedCoverage:
    """Return the coverage by a report, or why there is none; ``baseline_pct`` is the whole project's at the
    last checkpoint.
    """
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
