"""Every message printed in the sources, verbatim, with what can be known of it (D14)."""

import pytest

from musician.protocol.messages.forms import Message
from musician.protocol.messages.particulars import (
    AgentsRemaining,
    Counted,
    Deviations,
    KeyOutput,
    Nth,
    OutputKind,
    SelfCorrection,
)
from musician.protocol.messages.submissions import Completion, ReviewRequest
from musician.protocol.messages.types import (
    ClaimBlockedNotice,
    ContextWarning,
    ErrorReport,
    HandoffNotice,
    Resumption,
)
from musician.protocol.rules.deviations import Severity
from tests import printed

UNKNOWN_CORRECTION = SelfCorrection(happened=None)


def created(path: str) -> KeyOutput:
    return KeyOutput(path=path, kind=OutputKind.CREATED)


def modified(path: str) -> KeyOutput:
    return KeyOutput(path=path, kind=OutputKind.MODIFIED)


PRINTED: dict[str, tuple[str, Message]] = {
    "review request": (
        printed.REVIEW_REQUEST,
        ReviewRequest(
            smoothness=4,
            checkpoint=Nth(number=2, of=5),
            context_usage_pct=47,
            self_correction=SelfCorrection(
                happened=True,
                details="step 2, agent 3 — test failure in auth module, rewrote validation logic."
                " ~6x context impact for affected segment",
            ),
            deviations=Deviations(
                count=1,
                worst=Severity.MEDIUM,
                description="switched from TDD to fix-first due to flaky test fixture",
            ),
            agents_remaining=AgentsRemaining(count=3, each_pct=8, total_pct=24),
            proposal="docs/implementation/proposals/task-03-auth-validation.md",
            summary="Completed auth module extraction, 2 knowledge-base files created",
            files_modified=8,
            tests="All passing (14 tests, 2 new)",
            reason="",
            key_outputs=(),
        ),
    ),
    "review request, template": (
        printed.REVIEW_REQUEST_TEMPLATE,
        ReviewRequest(
            smoothness=None,
            checkpoint=None,
            context_usage_pct=None,
            self_correction=SelfCorrection(happened=None, details="YES/NO (details)"),
            deviations=Deviations(count=None, description="N (severity — description)"),
            agents_remaining=AgentsRemaining(count=None, description="N (~X% each, ~Y% total)"),
            proposal="path/to/proposal.md",
            summary="what was accomplished",
            files_modified=None,
            tests="status",
            reason="",
            key_outputs=(created("path/to/file"), modified("path/to/other")),
        ),
    ),
    "review request, as a list": (
        printed.REVIEW_REQUEST_AS_A_LIST,
        ReviewRequest(
            smoothness=None,
            checkpoint=Nth(number=1, of=4),
            context_usage_pct=35,
            self_correction=SelfCorrection(happened=True, details="removed debug code"),
            deviations=Deviations(count=0),
            agents_remaining=AgentsRemaining(
                count=8, each_pct=8, total_pct=64, description="~8 (@8% each = ~64% total)"
            ),
            proposal="docs/implementation/proposals/testing-patterns-improvement.md",
            summary="",
            files_modified=None,
            tests="All 47 passing, 3 new tests",
            reason="",
            key_outputs=(
                created("docs/implementation/proposals/testing-patterns-improvement.md"),
                KeyOutput(
                    path="docs/implementation/proposals/rag-widget-test-isolation.md",
                    kind=OutputKind.RAG_ADDITION,
                ),
            ),
        ),
    ),
    "key outputs alone": (
        printed.KEY_OUTPUTS_ALONE,
        ReviewRequest(
            smoothness=None,
            checkpoint=None,
            context_usage_pct=None,
            self_correction=UNKNOWN_CORRECTION,
            deviations=Deviations(count=None),
            agents_remaining=AgentsRemaining(count=None),
            proposal=None,
            summary="",
            files_modified=None,
            tests="",
            reason="",
            key_outputs=(
                created("path/to/file.md"),
                modified("path/to/other.ts"),
                KeyOutput(
                    path="docs/implementation/proposals/rag-something.md", kind=OutputKind.RAG_ADDITION
                ),
            ),
        ),
    ),
    "completion": (
        printed.COMPLETION,
        Completion(
            smoothness=1,
            checkpoint=None,
            context_usage_pct=62,
            self_correction=SelfCorrection(happened=False),
            deviations=Deviations(count=0),
            agents_remaining=AgentsRemaining(count=None),
            proposal=None,
            report="docs/implementation/reports/task-03-completion.md",
            summary="All deliverables created, tests passing, ready for integration",
            files_modified=14,
            tests="All passing (28 tests, 12 new)",
            key_outputs=(),
        ),
    ),
    "completion, template": (
        printed.COMPLETION_TEMPLATE,
        Completion(
            smoothness=None,
            checkpoint=None,
            context_usage_pct=None,
            self_correction=SelfCorrection(happened=None, details="YES/NO"),
            deviations=Deviations(count=None, description="N"),
            agents_remaining=AgentsRemaining(count=None),
            proposal=None,
            report="path/to/completion-report.md",
            summary="all deliverables created",
            files_modified=None,
            tests="status",
            key_outputs=(created("path/to/file"), modified("path/to/other")),
        ),
    ),
    "context warning": (
        printed.CONTEXT_WARNING,
        ContextWarning(
            context_usage_pct=58,
            self_correction=SelfCorrection(
                happened=True,
                details="step 3, agent 1 — integration test mismatch, refactored connector."
                " ~6x context impact",
            ),
            agents_remaining=AgentsRemaining(count=4, each_pct=8, total_pct=32),
            agents_that_fit=Counted(count=1, remark="due to self-correction bloat"),
            deviations=Deviations(count=2, worst=Severity.MEDIUM, description="1 Medium, 1 Low"),
            to_checkpoint_pct=None,
            recommendation="",
        ),
    ),
    "context warning, example": (
        printed.CONTEXT_WARNING_EXAMPLE,
        ContextWarning(
            context_usage_pct=52,
            self_correction=SelfCorrection(
                happened=True,
                details="step 3, agent 2 — test failure in parser, rewrote tokenizer. ~6x context impact",
            ),
            agents_remaining=AgentsRemaining(
                count=4,
                each_pct=4,
                total_pct=32,
                description="4 (~4% each nominal, but ~8% each with self-correction risk = ~32% total)",
            ),
            agents_that_fit=Counted(count=2, remark="due to self-correction bloat"),
            deviations=Deviations(
                count=1, worst=Severity.MEDIUM, description="from checkpoint 2 feedback cycle"
            ),
            to_checkpoint_pct=None,
            recommendation="Complete step 4 agent 2 + step 5 agents 1-2, then handoff",
        ),
    ),
    "context warning, template": (
        printed.CONTEXT_WARNING_TEMPLATE,
        ContextWarning(
            context_usage_pct=None,
            self_correction=SelfCorrection(happened=None, details="YES/NO"),
            agents_remaining=AgentsRemaining(count=None, description="N (~X% each, ~Y% total)"),
            agents_that_fit=Counted(count=None, remark="N"),
            deviations=Deviations(count=None, description="N (details)"),
            to_checkpoint_pct=None,
            recommendation="",
        ),
    ),
    "error": (
        printed.ERROR,
        ErrorReport(
            retry=Nth(number=1, of=5),
            context_usage_pct=38,
            self_correction=SelfCorrection(happened=False),
            error="test_auth_integration timeout",
            report="docs/implementation/reports/task-03-error-retry-1.md",
        ),
    ),
    "error, example": (
        printed.ERROR_EXAMPLE,
        ErrorReport(
            retry=Nth(number=1, of=5),
            context_usage_pct=35,
            self_correction=SelfCorrection(happened=False),
            error="Source file does not exist: docs2/guidelines/conductor/process-patterns.md",
            report="docs/implementation/reports/task-05-error-retry-1.md",
            suggested_investigation="File may have been moved or renamed by parallel task",
            key_outputs=(created("docs/implementation/reports/task-05-error-retry-1.md"),),
        ),
    ),
    "error, template": (
        printed.ERROR_TEMPLATE,
        ErrorReport(
            retry=None,
            context_usage_pct=None,
            self_correction=SelfCorrection(happened=None, details="YES/NO"),
            error="description",
            report="path/to/error-report.md",
            key_outputs=(created("path/to/file"),),
        ),
    ),
    "claim blocked": (
        printed.CLAIM_BLOCKED,
        ClaimBlockedNotice(task_id="task-03", reason="state was not claimable"),
    ),
    "claim blocked, in SQL": (
        printed.CLAIM_BLOCKED_IN_SQL,
        ClaimBlockedNotice(task_id="task-03", reason="state was not claimable"),
    ),
    "claim blocked, on one line": (
        printed.CLAIM_BLOCKED_ON_ONE_LINE,
        ClaimBlockedNotice(task_id="task-03", reason=""),
    ),
    "exited": (
        printed.EXITED,
        HandoffNotice(
            reason="Context exhaustion, clean handoff prepared.",
            handoff_path="temp/task-03-HANDOFF",
            context_usage_pct=72,
            self_correction=SelfCorrection(happened=True, details="step 3, ~6x impact"),
            last_completed_step="5 (partial — agents 1-2)",
            remaining_steps="step 5 agent 3, final verification",
            proposals_pending=Counted(count=1, remark="anti-pattern"),
            key_outputs=(
                created("docs/implementation/reports/task-03-handoff-s1.md"),
                created("docs/implementation/proposals/2026-02-07-parser-rewrite-antipattern.md"),
            ),
        ),
    ),
    "exited, template": (
        printed.EXITED_TEMPLATE,
        HandoffNotice(
            reason="Context exhaustion, clean handoff prepared.",
            handoff_path="temp/task-03-HANDOFF",
            context_usage_pct=None,
            self_correction=UNKNOWN_CORRECTION,
            last_completed_step="N",
            remaining_steps="list",
            proposals_pending=Counted(count=None),
        ),
    ),
    "resumption": (
        printed.RESUMPTION,
        Resumption(
            worked_by="musician-task-03-S2",
            previous_session="abc123-def456-789",
            handoff="present (clean exit at 72% context)",
            context_usage_pct=18,
            deviations_found=Deviations(
                count=2,
                worst=Severity.MEDIUM,
                description="1 Medium, 1 Low — both from S1, no new deviations",
            ),
            mismatches=Counted(count=0),
            pending_messages=Counted(count=1, remark="handoff instructions"),
            previous_self_correction=SelfCorrection(happened=True, details="step 3, agent 2"),
            assessment="clean handoff",
            verification="all passing (44 tests)",
            resuming_from="step 5 agent 3 (table of contents generation)",
            estimate="1 agent + final checkpoint (~8% context)",
        ),
    ),
    "resumption, template": (
        printed.RESUMPTION_TEMPLATE,
        Resumption(
            worked_by="musician-task-{NN}-S2",
            previous_session="{session_id from HANDOFF}",
            handoff="present/missing/stale",
            context_usage_pct=None,
            deviations_found=Deviations(count=None, description="{N} (breakdown by severity)"),
            mismatches=Counted(count=None, remark='{N or "none"}'),
            pending_messages=Counted(count=None, remark="{N}"),
            previous_self_correction=SelfCorrection(happened=None, details="YES/NO"),
            assessment="clean handoff / needs verification / needs guidance",
            verification="",
            resuming_from="step {N}, {description}",
        ),
    ),
}


@pytest.mark.parametrize("name", PRINTED)
def test_a_message_printed_in_the_sources_says_what_it_says(name: str) -> None:
    text, message = PRINTED[name]
    assert type(message).parse(text) == message


@pytest.mark.parametrize("name", PRINTED)
def test_what_was_read_from_a_printed_message_survives_being_written_by_us(name: str) -> None:
    _, message = PRINTED[name]
    assert type(message).parse(message.render()) == message


@pytest.mark.parametrize("name", PRINTED)
def test_a_printed_message_sent_with_crlf_reads_the_same(name: str) -> None:
    text, message = PRINTED[name]
    assert type(message).parse(text.replace("\n", "\r\n")) == message


def test_a_rendered_error_is_the_printed_one_with_its_fields_in_the_printed_order() -> None:
    assert ErrorReport.parse(printed.ERROR).render() == printed.ERROR.rstrip("\n")


def test_a_rendered_exit_is_the_printed_one_indented() -> None:
    first, *rest = printed.EXITED.rstrip("\n").split("\n")
    assert HandoffNotice.parse(printed.EXITED).render() == "\n".join([first, *("  " + line for line in rest)])
