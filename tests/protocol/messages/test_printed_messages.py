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

UNKNOWN_CORRECTION = SelfCorrection(happened=None)


def created(path: str) -> KeyOutput:
    return KeyOutput(path=path, kind=OutputKind.CREATED)


def modified(path: str) -> KeyOutput:
    return KeyOutput(path=path, kind=OutputKind.MODIFIED)


REVIEW_REQUEST = """\
REVIEW REQUEST (Smoothness: 4/9):
  Checkpoint: 2 of 5
  Context Usage: 47%
  Self-Correction: YES (step 2, agent 3 — test failure in auth module, rewrote validation logic. ~6x context impact for affected segment)
  Deviations: 1 (Medium — switched from TDD to fix-first due to flaky test fixture)
  Agents Remaining: 3 (~8% context each, ~24% total)
  Proposal: docs/implementation/proposals/task-03-auth-validation.md
  Summary: Completed auth module extraction, 2 knowledge-base files created
  Files Modified: 8
  Tests: All passing (14 tests, 2 new)
"""  # noqa: E501

REVIEW_REQUEST_TEMPLATE = """\
REVIEW REQUEST (Smoothness: X/9):
     Checkpoint: N of M
     Context Usage: XX%
     Self-Correction: YES/NO (details)
     Deviations: N (severity — description)
     Agents Remaining: N (~X% each, ~Y% total)
     Proposal: path/to/proposal.md
     Summary: what was accomplished
     Files Modified: N
     Tests: status
     Key Outputs:
       - path/to/file (created)
       - path/to/other (modified)"""

REVIEW_REQUEST_AS_A_LIST = """\
- Checkpoint: 1 of 4
- Context Usage: 35%
- Self-Correction: YES (removed debug code)
- Deviations: 0
- Agents Remaining: ~8 (@8% each = ~64% total)
- Tests: All 47 passing, 3 new tests
- Proposal: docs/implementation/proposals/testing-patterns-improvement.md
- Key Outputs:
  - docs/implementation/proposals/testing-patterns-improvement.md (created)
  - docs/implementation/proposals/rag-widget-test-isolation.md (rag-addition)
"""

KEY_OUTPUTS_ALONE = """\
Key Outputs:
  - path/to/file.md (created)
  - path/to/other.ts (modified)
  - docs/implementation/proposals/rag-something.md (rag-addition)
"""

COMPLETION = """\
TASK COMPLETE (Smoothness: 1/9):
  Context Usage: 62%
  Self-Correction: NO
  Deviations: 0
  Report: docs/implementation/reports/task-03-completion.md
  Summary: All deliverables created, tests passing, ready for integration
  Files Modified: 14
  Tests: All passing (28 tests, 12 new)
"""

COMPLETION_TEMPLATE = """\
TASK COMPLETE (Smoothness: X/9):
     Context Usage: XX%
     Self-Correction: YES/NO
     Deviations: N
     Report: path/to/completion-report.md
     Summary: all deliverables created
     Files Modified: N
     Tests: status
     Key Outputs:
       - path/to/file (created)
       - path/to/other (modified)"""

CONTEXT_WARNING = """\
CONTEXT WARNING: 58% usage
  Self-Correction: YES (step 3, agent 1 — integration test mismatch, refactored connector. ~6x context impact)
  Agents Remaining: 4 (~8% each, ~32% total)
  Agents That Fit in 65% Budget: 1 (due to self-correction bloat)
  Deviations: 2 (1 Medium, 1 Low)
  Awaiting conductor instructions
"""

CONTEXT_WARNING_EXAMPLE = """\
CONTEXT WARNING: 52% usage
Self-Correction: YES (step 3, agent 2 — test failure in parser, rewrote tokenizer. ~6x context impact)
Agents Remaining: 4 (~4% each nominal, but ~8% each with self-correction risk = ~32% total)
Agents That Fit in 65% Budget: 2 (due to self-correction bloat)
Deviations: 1 (Medium — from checkpoint 2 feedback cycle)
Recommendation: Complete step 4 agent 2 + step 5 agents 1-2, then handoff
Awaiting conductor instructions
"""

CONTEXT_WARNING_TEMPLATE = """\
CONTEXT WARNING: XX% usage
     Self-Correction: YES/NO
     Agents Remaining: N (~X% each, ~Y% total)
     Agents That Fit in 65% Budget: N
     Deviations: N (details)
     Awaiting conductor instructions"""

ERROR = """\
ERROR (Retry 1/5):
  Context Usage: 38%
  Self-Correction: NO
  Error: test_auth_integration timeout
  Report: docs/implementation/reports/task-03-error-retry-1.md
  Awaiting conductor fix proposal
"""

ERROR_EXAMPLE = """\
ERROR (Retry 1/5):
Context Usage: 35%
Self-Correction: NO
Error: Source file does not exist: docs2/guidelines/conductor/process-patterns.md
Report: docs/implementation/reports/task-05-error-retry-1.md
Key Outputs:
  - docs/implementation/reports/task-05-error-retry-1.md (created)
Suggested Investigation: File may have been moved or renamed by parallel task
Awaiting conductor fix proposal
"""

ERROR_TEMPLATE = """\
ERROR (Retry N/5):
     Context Usage: XX%
     Self-Correction: YES/NO
     Error: description
     Report: path/to/error-report.md
     Key Outputs:
       - path/to/file (created)
     Awaiting conductor fix proposal"""

CLAIM_BLOCKED = """\
CLAIM BLOCKED: Guard prevented claim on task-03 (state was not claimable).
  Created fallback row to exit cleanly. Conductor intervention needed.
"""

CLAIM_BLOCKED_IN_SQL = """\
CLAIM BLOCKED: Guard prevented claim on task-03 (state was not claimable).
     Created fallback row to exit cleanly. Conductor intervention needed."""

CLAIM_BLOCKED_ON_ONE_LINE = "CLAIM BLOCKED: Guard prevented claim on task-03. Conductor intervention needed."

EXITED = """\
EXITED: Context exhaustion, clean handoff prepared.
HANDOFF: temp/task-03-HANDOFF
Context Usage: 72%
Self-Correction: YES (step 3, ~6x impact)
Last Completed Step: 5 (partial — agents 1-2)
Remaining Steps: step 5 agent 3, final verification
Proposals Pending: 1 (anti-pattern)
Key Outputs:
  - docs/implementation/reports/task-03-handoff-s1.md (created)
  - docs/implementation/proposals/2026-02-07-parser-rewrite-antipattern.md (created)
"""

EXITED_TEMPLATE = """\
EXITED: Context exhaustion, clean handoff prepared.
     HANDOFF: temp/task-03-HANDOFF
     Context Usage: XX%
     Last Completed Step: N
     Remaining Steps: list"""

RESUMPTION = """\
RESUMPTION: musician-task-03-S2 taking over
  Previous session: abc123-def456-789
  HANDOFF: present (clean exit at 72% context)
  Context Usage (fresh session): 18%
  Deviations found: 2 (1 Medium, 1 Low — both from S1, no new deviations)
  Status/comms mismatches: none
  Pending conductor messages: 1 (handoff instructions)
  Self-correction in previous session: YES (step 3, agent 2)
  Assessment: clean handoff
  Verification tests: all passing (44 tests)
  Resuming from: step 5 agent 3 (table of contents generation)
  Estimated remaining work: 1 agent + final checkpoint (~8% context)
"""

RESUMPTION_TEMPLATE = """\
RESUMPTION: musician-task-{NN}-S2 taking over
  Previous session: {session_id from HANDOFF}
  HANDOFF: present/missing/stale
  Context Usage: {XX%} (fresh session)
  Deviations found: {N} (breakdown by severity)
  Status/comms mismatches: {N or "none"}
  Pending conductor messages: {N}
  Self-correction in previous session: YES/NO
  Assessment: clean handoff / needs verification / needs guidance
  Resuming from: step {N}, {description}
"""

PRINTED: dict[str, tuple[str, Message]] = {
    "review request": (
        REVIEW_REQUEST,
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
        REVIEW_REQUEST_TEMPLATE,
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
        REVIEW_REQUEST_AS_A_LIST,
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
        KEY_OUTPUTS_ALONE,
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
        COMPLETION,
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
        COMPLETION_TEMPLATE,
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
        CONTEXT_WARNING,
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
        CONTEXT_WARNING_EXAMPLE,
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
        CONTEXT_WARNING_TEMPLATE,
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
        ERROR,
        ErrorReport(
            retry=Nth(number=1, of=5),
            context_usage_pct=38,
            self_correction=SelfCorrection(happened=False),
            error="test_auth_integration timeout",
            report="docs/implementation/reports/task-03-error-retry-1.md",
        ),
    ),
    "error, example": (
        ERROR_EXAMPLE,
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
        ERROR_TEMPLATE,
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
        CLAIM_BLOCKED,
        ClaimBlockedNotice(task_id="task-03", reason="state was not claimable"),
    ),
    "claim blocked, in SQL": (
        CLAIM_BLOCKED_IN_SQL,
        ClaimBlockedNotice(task_id="task-03", reason="state was not claimable"),
    ),
    "claim blocked, on one line": (
        CLAIM_BLOCKED_ON_ONE_LINE,
        ClaimBlockedNotice(task_id="task-03", reason=""),
    ),
    "exited": (
        EXITED,
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
        EXITED_TEMPLATE,
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
        RESUMPTION,
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
        RESUMPTION_TEMPLATE,
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
    assert ErrorReport.parse(ERROR).render() == ERROR.rstrip("\n")


def test_a_rendered_exit_is_the_printed_one_indented() -> None:
    first, *rest = EXITED.rstrip("\n").split("\n")
    assert HandoffNotice.parse(EXITED).render() == "\n".join([first, *("  " + line for line in rest)])
