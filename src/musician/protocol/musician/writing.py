"""Writes a musician's messages; the program fills in everything it knows (D14)."""

import re
from typing import TYPE_CHECKING

from musician.protocol.messages.feedback import answer_text
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
from musician.protocol.messages.types import ContextWarning, ErrorReport
from musician.protocol.musician.inputs import VerificationEnded
from musician.protocol.musician.program import CheckpointItem
from musician.protocol.musician.ready import ExitClaim
from musician.protocol.rules.budget import Stance, agents_that_fit, average_agent_cost
from musician.protocol.rules.deviations import asks_before_resuming, open_deviations, worst
from musician.protocol.rules.review import Roughness, smoothness

if TYPE_CHECKING:
    from musician.protocol.musician.state import MusicianState

_USAGE_AT_THE_END = re.compile(r"\n *Context Usage: [^\n]*\Z")


def submission(
    state: "MusicianState", check: CheckpointItem, found: VerificationEnded
) -> ReviewRequest | Completion:
    """The review request of a checkpoint, or the completion report of the last one; before it is counted as a round."""
    since = state.since
    score = smoothness(
        Roughness(
            failed_verifications=since.failed_verifications,
            error_reports=since.errors,
            deviations=state.progress.deviations,
            self_corrected=since.self_corrected,
            subagent_retries=since.agent_retries,
        )
    )
    played = ", ".join(state.progress.completed[-8:]) or "nothing new"
    summary = f"{state.program.title}: {check.title}. Played: {played}"
    if since.points:
        summary = f"{summary}\n{answer_text(since.points, since.answers, since.mended_in)}"
    common = {
        "checkpoint": Nth(number=check.number, of=check.of),
        "context_usage_pct": state.used_pct,
        "self_correction": _self_correction(state),
        "deviations": _deviations(state),
        "agents_remaining": _agents_remaining(state, cost_pct(state)),
        "proposal": None,
        "summary": summary,
        "files_modified": found.files_modified,
        "tests": found.tests,
        "smoothness": score,
        "key_outputs": found.key_outputs,
    }
    if check.final:
        return Completion(report=state.report_path or None, **common)  # type: ignore[arg-type]
    return ReviewRequest(reason=f"checkpoint {check.number} of {check.of}", **common)  # type: ignore[arg-type]


def context_warning(
    state: "MusicianState", *, cost_pct: float, projected_pct: float | None
) -> ContextWarning:
    """Why the way to the next checkpoint is too dear, with the estimate and a recommendation (D15)."""
    fit = agents_that_fit(state.used_pct, cost_pct, state.settings)
    used = state.used_pct or 0.0
    return ContextWarning(
        context_usage_pct=state.used_pct,
        self_correction=_self_correction(state),
        agents_remaining=_agents_remaining(state, cost_pct),
        agents_that_fit=Counted(
            count=fit, remark="due to self-correction bloat" if state.self_corrected else ""
        ),
        deviations=_deviations(state),
        to_checkpoint_pct=None if projected_pct is None else max(0.0, projected_pct - used),
        recommendation=_recommendation(state.proposed_pieces),
        budget_pct=state.settings.context.handoff_from_pct,
    )


def _recommendation(pieces: int | None) -> str:
    """In words what ``review_approved`` will be taken for."""
    if pieces is None:
        return "proceed to the checkpoint, then hand off"
    return f"play {pieces} more, then hand off" if pieces else "hand off now"


def error_report(state: "MusicianState", *, item: str, detail: str, report: str = "") -> ErrorReport:
    """Write an error report: what failed, and which retry it was. ``report`` is the session's own report."""
    return ErrorReport(
        retry=Nth(number=max(1, state.errors), of=max(state.retry_limit, state.errors, 1)),
        context_usage_pct=state.used_pct,
        self_correction=_self_correction(state),
        error=f"{item}: {detail}",
        report=None,
        key_outputs=(KeyOutput(path=report, kind=OutputKind.CREATED),) if report else (),
    )


def timeout_report(state: "MusicianState") -> ErrorReport:
    """The conductor has not answered; no retry, for nothing failed (D3, D11)."""
    return ErrorReport(
        retry=None,
        context_usage_pct=state.used_pct,
        self_correction=_self_correction(state),
        error=f"{state.item or state.program.task_id}: conductor timeout",
        report=None,
    )


def question(state: "MusicianState", text: str) -> str:
    """A question with its context usage, as everything a musician sends (D12)."""
    used = "unknown" if state.used_pct is None else f"{state.used_pct:.0f}%"
    return f"{text}\n  Context Usage: {used}"


def question_asked(message: str) -> str:
    """Return the question in a message of :func:`question`, without the line for the conductor's records."""
    return _USAGE_AT_THE_END.sub("", message)


def resumption_question(state: "MusicianState", ownerless_tasks: int, doubts: tuple[str, ...] = ()) -> str:
    """Why a session that resumes asks first (D17, D20); "" if it need not."""
    found = open_deviations(state.progress.deviations)
    too_many = asks_before_resuming(deviation_count=len(found), ownerless_tasks=ownerless_tasks)
    if not doubts and not too_many:
        return ""
    what = f"{len(found)} open deviations, {ownerless_tasks} tasks at work without a live owner"
    lines = [f"  - {each}" for each in doubts]
    lines += [f"  - {each.text} ({each.severity})" for each in found]
    return "\n".join([f"Resuming {state.program.task_id}: {what}. How do I go on?", *lines])


def leaving(state: "MusicianState") -> ExitClaim:
    """The terminal record: why, and what a successor finds."""
    completed = state.progress.completed
    return ExitClaim(
        reason=state.leave_reason,
        last_completed=completed[-1] if completed else "none",
        remaining=state.program.remaining(state.progress),
        context_pct=state.used_pct,
        self_correction="; ".join(state.self_corrections),
    )


def cost_pct(state: "MusicianState") -> float:
    """Return the expected cost of one more piece in this session (REF-3)."""
    return average_agent_cost(
        state.progress.agent_costs_pct, self_corrected=state.self_corrected, settings=state.settings
    )


def _agents_remaining(state: "MusicianState", cost_pct: float) -> AgentsRemaining:
    left = state.program.pieces_left(state.progress)
    return AgentsRemaining(count=left, each_pct=cost_pct, total_pct=left * cost_pct)


def _deviations(state: "MusicianState") -> Deviations:
    found = state.progress.deviations
    return Deviations(
        count=len(found), worst=worst(found), description="; ".join(each.text for each in found)
    )


def _self_correction(state: "MusicianState") -> SelfCorrection:
    return SelfCorrection(happened=state.self_corrected, details="; ".join(state.self_corrections))


_CONTEXT_ADVICE = {
    Stance.GO_ON: "",
    Stance.GO_ON_SPARINGLY: "estimate before every read, read nothing on speculation, and weigh the way to the next"
    " checkpoint: if it is too dear, report a context warning first",
    Stance.ASK: "the next checkpoint can perhaps be reached: report a context warning and wait",
    Stance.PAUSE: "the next checkpoint cannot be reached: report a context warning and wait",
    Stance.PREPARE_HANDOFF: "finish this step only, prepare the HANDOFF, report a context warning and wait",
    Stance.EXIT: "stop now: write the HANDOFF and exit",
}


def context_advice(stance: Stance) -> str:
    """Return what the context budget requires of a session, in words; "" if it may simply go on (D15)."""
    return _CONTEXT_ADVICE[stance]
