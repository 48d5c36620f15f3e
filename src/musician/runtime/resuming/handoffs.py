"""Makes HANDOFFs from what the program knows: the journal, the verifications, git (D20).

A session that leaves writes one; after a crash the conductor writes one from the same facts, marked as such.
"""

from musician import service
from musician.protocol.journal import Progress
from musician.protocol.musician.program import Program
from musician.protocol.resumption.handoff import (
    DIED,
    ENDED_WAITING,
    FELL_SILENT,
    Ending,
    Handoff,
    HandoffKind,
    assess_ending,
    classify,
    read,
)
from musician.protocol.states import VERDICTS, WAITING
from musician.protocol.values import dataclass
from musician.service import TaskView
from musician.verification.earlier import read_result

AFTER_CRASH = "program after a crash"
"""Who wrote a HANDOFF that no session of its own wrote: it is no clean exit."""


def handoff_of(
    view: TaskView,
    *,
    reason: str,
    context_pct: float | None,
    at: str,
    pending: tuple[str, ...],
    commit: str,
    set_aside: str | None,
    written_by: str,
    proposals: tuple[str, ...] = (),
    agent_notes: str = "",
) -> Handoff:
    """Return the HANDOFF of the task's last session. ``pending`` is still to be played; ``set_aside`` is the ref of
    unfinished work, None if there is none.
    """
    last, progress = view.sessions[-1], Progress().after(service.as_entry(row) for row in view.journal)
    return Handoff(
        task_id=view.row.task_id,
        session_id=last.session_id,
        worked_by=view.row.worked_by or "",
        epoch=last.claim_epoch,
        reason=reason,
        context_pct=context_pct,
        at=at,
        written_by=written_by,
        completed=(*progress.completed, *sorted(progress.approved)),
        pending=pending,
        tree=(f"Commit: {commit}", f"Unfinished work: {set_aside or 'none'}"),
        deviations=tuple(f"{each.text} ({each.severity})" for each in progress.deviations),
        self_correction="; ".join(progress.self_corrections),
        proposals=proposals,
        agent_notes=agent_notes,
        verification=last_verification(view),
        instructions=(
            f"Claim task with worked_by = musician-{view.row.task_id}-S{len(view.sessions) + 1}",
            "Read this HANDOFF and the conductor's handoff message",
            "Re-run the verification of the last approved checkpoint",
            f"Continue from {pending[0] if pending else 'the final report'}",
        ),
    )


def handoff_after_crash(
    view: TaskView, program: Program, *, reason: str, at: str, commit: str, set_aside: str | None
) -> Handoff:
    """Return the HANDOFF a dead session could not write, from journal, verifications and git."""
    progress = Progress().after(service.as_entry(row) for row in view.journal)
    return handoff_of(
        view,
        reason=reason,
        context_pct=view.sessions[-1].context_pct,
        at=at,
        pending=program.remaining(progress),
        commit=commit,
        set_aside=set_aside,
        written_by=AFTER_CRASH,
    )


def why_gone(view: TaskView, *, is_known_dead: bool, has_left: bool) -> str:
    """Return the exit reason of a session that died without a terminal write; ``has_left``: it left a HANDOFF
    of its own.
    """
    if has_left or view.row.state in WAITING | VERDICTS:
        return ENDED_WAITING
    return DIED if is_known_dead else FELL_SILENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """The last session's HANDOFF, how far it can be believed, and how the session ended."""

    kind: HandoffKind
    ending: Ending
    session_id: str
    context_pct: float | None = None
    """What the session had used when it was last measured."""
    written_by: str = ""

    @property
    def described(self) -> str:
        """Its form in the takeover message: ``present (clean exit at 72% context)``."""
        if self.kind is not HandoffKind.WHOLE:
            return str(self.kind)
        at = "" if self.context_pct is None else f" at {self.context_pct:.0f}% context"
        by = f", written by the {self.written_by}" if self.written_by == AFTER_CRASH else ""
        word = "clean exit" if self.ending is Ending.CLEAN else str(self.ending)
        return f"present ({word}{at}{by})"


def what_was_left(view: TaskView, text: str | None, *, epoch: int) -> Left | None:
    """Judge the HANDOFF text found for the session before claim ``epoch``; None if there was none before."""
    earlier = [session for session in view.sessions if session.claim_epoch < epoch]
    if not earlier:
        return None
    last = earlier[-1]
    kind = classify(text, task_id=view.row.task_id, last_session_id=last.session_id)
    written_by = (text and read(text).written_by) or ""
    ending = assess_ending(
        kind,
        written_by=written_by,
        exit_reason=last.exit_reason,
        context_pct=last.context_pct,
    )
    return Left(
        kind=kind,
        ending=ending,
        session_id=last.session_id,
        context_pct=last.context_pct,
        written_by=written_by,
    )


def last_verification(view: TaskView) -> str:
    if not view.verifications:
        return ""
    row = view.verifications[-1]
    result = read_result(row)
    return f"checkpoint {row.checkpoint}: {row.outcome if result is None else result.tests_line()} ({row.at})"
