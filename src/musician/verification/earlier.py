"""What a task's earlier verifications, as stored, contribute to the next one.

The change of a checkpoint begins at the tree with which the last one before it was submitted: the task could not
have gone on had it not been approved. A stored result that cannot be read, from another version or torn,
counts as unknown.
"""

from collections.abc import Iterable

from musician.protocol.values import dataclass
from musician.store.rows import VerificationRow
from musician.verification.result import VerificationResult

MAX_FAILED_TESTS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """``base`` is the commit or tree the change begins at, None if unknown; ``failed_tests`` are recorded names of
    tests that failed on the way to this checkpoint; ``coverage_pct`` is the whole project's at ``base``; ``idle`` are
    tests that were skipped or expected to fail there.
    """

    base: str | None = None
    failed_tests: tuple[str, ...] = ()
    coverage_pct: float | None = None
    idle: tuple[str, ...] = ()


def earlier_of(rows: Iterable[VerificationRow], *, checkpoint: int, start: str | None) -> Earlier:
    """Return what is known for verifying ``checkpoint``; ``rows`` are the task's, oldest first; ``start`` is
    its commit.
    """
    before, since = None, []
    for row in rows:
        if row.checkpoint == checkpoint:
            since.append(row)
        elif row.checkpoint < checkpoint and row.submission_id is not None:
            before, since = row, []
    failed = dict.fromkeys(
        name
        for result in map(read_result, since)
        if result is not None
        for command in result.commands
        for name in command.failed_tests
    )
    stored = None if before is None else read_result(before)
    stages = None if stored is None else stored.stages
    return Earlier(
        base=start if before is None else before.tree_id,
        failed_tests=tuple(failed)[:MAX_FAILED_TESTS],
        coverage_pct=None if stages is None or stages.coverage is None else stages.coverage.total_pct,
        idle=() if stages is None else stages.idle,
    )


def failed_tests_of(row: VerificationRow) -> tuple[str, ...]:
    """Return the tests that one verification found failing, by their recorded names."""
    result = read_result(row)
    return () if result is None else tuple(name for each in result.commands for name in each.failed_tests)


def read_result(row: VerificationRow) -> VerificationResult | None:
    """Return a stored result; None if it cannot be read, because another version wrote it or it is torn."""
    try:
        return VerificationResult.from_json(row.result)
    except ValueError:
        return None
