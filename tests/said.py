"""Messages in their shortest form: what is not of the test's concern is unknown."""

from typing import Any

from musician.protocol.messages.kinds import MessageType
from musician.protocol.messages.particulars import AgentsRemaining, Counted, Deviations, SelfCorrection
from musician.protocol.messages.stored import Report
from musician.protocol.messages.submissions import Completion, ReviewRequest, Submission
from musician.protocol.messages.types import ContextWarning, ErrorReport, HandoffNotice, Resumption
from musician.protocol.rules.review import Verification, Verified

SUBMISSIONS = frozenset({MessageType.REVIEW_REQUEST, MessageType.COMPLETION})
"""The owner asks for a judgement of its work (D14)."""

REPORTS = frozenset({MessageType.ERROR, MessageType.CONTEXT_WARNING})
"""The owner asks what to do."""

UNKNOWN = SelfCorrection(happened=None)


def submission(kind: MessageType = MessageType.REVIEW_REQUEST, summary: str = "the work") -> Submission:
    unknown: dict[str, Any] = {
        "checkpoint": None,
        "context_usage_pct": None,
        "self_correction": UNKNOWN,
        "deviations": Deviations(count=None),
        "agents_remaining": AgentsRemaining(count=None),
        "proposal": None,
        "files_modified": None,
        "tests": "",
        "smoothness": None,
        "key_outputs": (),
        "summary": summary,
    }
    if kind is MessageType.COMPLETION:
        return Completion(report=None, **unknown)
    return ReviewRequest(reason="", **unknown)


def evidence(outcome: str = "green") -> Verified:
    return Verified(checkpoint=1, covers_all=True, outcome=Verification(outcome), tree_id="tree", result="{}")


def report(kind: MessageType = MessageType.ERROR, error: str = "it broke") -> Report:
    if kind is MessageType.CONTEXT_WARNING:
        return ContextWarning(
            context_usage_pct=None,
            self_correction=UNKNOWN,
            agents_remaining=AgentsRemaining(count=None),
            agents_that_fit=Counted(count=None),
            deviations=Deviations(count=None),
            to_checkpoint_pct=None,
            recommendation=error,
        )
    return ErrorReport(retry=None, context_usage_pct=None, self_correction=UNKNOWN, error=error, report=None)


def farewell(
    reason: str = "context", *, path: str = "temp/HANDOFF", used_pct: float | None = None
) -> HandoffNotice:
    return HandoffNotice(
        reason=reason,
        handoff_path=path,
        context_usage_pct=used_pct,
        self_correction=UNKNOWN,
        last_completed_step="none",
        remaining_steps="all",
    )


def resumption() -> Resumption:
    return Resumption(
        worked_by="musician-task-01-S2",
        previous_session=None,
        handoff="missing",
        context_usage_pct=None,
        deviations_found=Deviations(count=0),
        mismatches=Counted(count=0),
        pending_messages=Counted(count=0),
        previous_self_correction=UNKNOWN,
        assessment="needs verification",
        verification="green",
        resuming_from="step 1",
    )
