"""What stored verifications say about the next."""

from musician.protocol.rules.readiness import Decision
from musician.store.rows import VerificationRow
from musician.verification.earlier import Earlier, earlier_of
from musician.verification.findings import ChangedCoverage, Stages
from musician.verification.result import CommandResult, VerificationResult


def row(
    number: int,
    checkpoint: int,
    *,
    failed: tuple[str, ...] = (),
    submitted: bool = False,
    pct: float | None = None,
) -> VerificationRow:
    command = CommandResult(
        command="pytest",
        exit_code=1 if failed else 0,
        timed_out=False,
        counts=None,
        failed_tests=failed,
        tail="",
        duration_s=1.0,
    )
    result = VerificationResult(
        passed=not failed,
        commands=(command,),
        tree_id=f"tree-{number}",
        full=False,
        checkpoint=checkpoint,
        note="",
        stages=Stages(coverage=ChangedCoverage(total_pct=pct), decision=Decision.REPORT),
    )
    return VerificationRow(
        id=number,
        task_id="task-01",
        claim_epoch=1,
        checkpoint=checkpoint,
        covers_all=False,
        outcome="red" if failed else "green",
        tree_id=f"tree-{number}",
        journal_id=number,
        result=result.to_json(),
        submission_id=number * 10 if submitted else None,
        at="2026-01-01 00:00:00",
    )


def test_a_task_begins_at_its_start() -> None:
    assert earlier_of([], checkpoint=1, start="commit") == Earlier(base="commit")
    assert earlier_of([], checkpoint=1, start=None) == Earlier()


def test_a_checkpoint_begins_where_the_one_before_was_last_submitted() -> None:
    rows = [
        row(1, 1, submitted=True, pct=10.0),
        row(2, 1, failed=("old",)),
        row(3, 1, submitted=True, pct=70.0),
        row(4, 2, failed=("a", "b")),
        row(5, 2, submitted=True),
        row(6, 2, failed=("b", "c")),
    ]
    assert earlier_of(rows, checkpoint=2, start="commit") == Earlier(
        base="tree-3", failed_tests=("a", "b", "c"), coverage_pct=70.0
    )
    assert earlier_of(rows, checkpoint=1, start="commit").base == "commit"
    assert earlier_of(rows, checkpoint=3, start="commit").base == "tree-5"


def test_what_cannot_be_read_is_not_known() -> None:
    rows = [
        row(1, 1, submitted=True, pct=10.0)._replace(result="{}"),
        row(2, 2, failed=("a",))._replace(result="no"),
    ]
    assert earlier_of(rows, checkpoint=2, start="commit") == Earlier(base="tree-1")
