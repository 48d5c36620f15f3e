"""Puts state changes and journal entries into sentences for people who do not know the protocol.

A row that another row already explains gives "". Nothing is judged or shortened here: quoted texts are repeated whole.
"""

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from musician.processes.output import one_line
from musician.protocol.conductor.anomalies import Anomaly, Signal
from musician.protocol.journal import RESOLVED_BY_HAND, EntryKind
from musician.protocol.messages.kinds import MessageType
from musician.protocol.messages.stored import read_resumption
from musician.protocol.messages.types import ContextWarning
from musician.protocol.names import CONDUCTOR, succession_name
from musician.protocol.resumption.handoff import DIED, WITHOUT_A_WORD
from musician.protocol.rules.review import ROUGHEST
from musician.protocol.states import State
from musician.service import PhaseSmoothness, TaskView
from musician.store.rows import HistoryRow, JournalRow, SessionRow
from musician.verification.findings import counted

if TYPE_CHECKING:
    from musician.verification.baseline import Baseline

_MOST_COMMAND_CHARS = 80
_MINUTE_S = 60
_HOUR_S = 3600

_ANOMALY = "anomaly: "
_SAID_ALREADY = re.compile(rf"The last session ({'|'.join(WITHOUT_A_WORD)})\. ")

Noted = Mapping[str, JournalRow]
"""The newest journal entry of each kind since the task's last submission or error report."""


def say_change(
    change: HistoryRow, view: TaskView, text: str, noted: Noted, *, by: str = "", by_hand: bool = False
) -> str:
    """Describe a state change; ``text`` is that of the message written with it, ``by`` whose decision it was."""
    if by:
        by = f" by {by}"
    match change.from_state, change.to_state:
        case None, State.WATCHING:
            return f"open: {view.row.title}"
        case _, State.WORKING:
            return _claimed(change, view)
        case _, State.NEEDS_REVIEW:
            return _submitted(change, view, text, noted.get(EntryKind.VERIFIED))
        case _, State.ERROR:
            return _reported(change, view, text, noted.get(EntryKind.FAILED))
        case State.NEEDS_REVIEW | State.ERROR, State.REVIEW_APPROVED:
            return _approved(text, by)
        case State.NEEDS_REVIEW | State.ERROR, State.REVIEW_FAILED:
            return f"sent back{by}: {text}"
        case State.EXITED, State.FIX_PROPOSED:
            return f"open again: {text}"
        case _, State.FIX_PROPOSED if change.message_type == MessageType.HANDOFF:
            return _taken_over(change, view, text, by_hand=by_hand)
        case _, State.FIX_PROPOSED:
            return f"answered{by}: {text}"
        case _, State.EXIT_REQUESTED:
            return f"asked to hand off{by}: {text}"
        case _, State.EXITED if change.who == CONDUCTOR:
            return (
                f"skipped{by}: {text}"
                if change.message_type == MessageType.SKIPPED
                else "withdrawn from the plan"
            )
        case _, State.EXITED:
            return _exited(change, view)
        case _, State.COMPLETE:
            report = f"; report in {view.row.report_path}" if view.row.report_path else ""
            return f"complete{report}"
    return ""


def say_entry(row: JournalRow, *, is_again: bool = False) -> str:
    """Describe a journal entry; "" if it is of no interest to people.

    ``is_again``: the last entry of its kind was about the same item, which was interrupted and begins anew.
    """
    item, text = row.item, row.text
    context = "" if row.context_pct is None else f" [context {row.context_pct:.0f} %]"
    match row.kind:
        case EntryKind.STARTED | EntryKind.LAUNCHED if is_again:
            return f"{item} begins again"
        case EntryKind.STARTED:
            return f"{item} started: {text}" if text else f"{item} started"
        case EntryKind.LAUNCHED:
            return f"{item} handed to a subagent: {text}"
        case EntryKind.RETRIED:
            return f"{item} {text}"
        case EntryKind.ABSORBED:
            return f"{item} is played by the musician itself: {text}"
        case EntryKind.COMPLETED | EntryKind.RETURNED:
            return f"{item} completed{context}"
        case EntryKind.REWORKED:
            by_hand = f": {text}" if text == RESOLVED_BY_HAND else ""
            return f"{_reworked(item)}{by_hand}{context}"
        case EntryKind.FAILED:
            return f"{item} failed: {text}"
        case EntryKind.DEVIATION:
            return f"deviation in {item} ({row.severity}): {text}"
        case EntryKind.SELF_CORRECTION:
            return f"self-correction in {item}: {text}"
        case EntryKind.ANSWER:
            return f"{item} answers point {text}"
        case EntryKind.PARTIAL:
            return f"{item} done in part: {text}"
        case EntryKind.PAUSED:
            return f"pauses: {text}"
        case EntryKind.LIMITED:
            return f"{item} waits for its agent's provider: {text}"
        case EntryKind.QUESTION:
            return f"asks in {item}: {text}" if item else f"asks: {text}"
        case EntryKind.VERIFIED:
            return f"{item} verified: {text}"
        case EntryKind.NOT_VERIFIED:
            return f"{item} is not green: {text}"
        case EntryKind.STARTED_OVER:
            return f"is started over: {text}"
        case EntryKind.SET_ASIDE:
            return f"unfinished work set aside at {text}"
        case EntryKind.RECONCILED:
            return f"{item} was done already: {text}"
        case EntryKind.RESUMED:
            return _resumed(text)
        case EntryKind.SETTING_UP:
            return f"sets its tree up: {text}"
        case EntryKind.WITH_PERSON:
            return "a person speaks with its agent; nothing is prompted meanwhile"
        case EntryKind.GIVEN_BACK:
            kept = f"; what was changed is kept as {row.commit_id[:12]}" if row.commit_id else ""
            return f"given back by the person{kept}"
        case EntryKind.NOTICED:
            return f"noticed in {item}: {text}"
    return ""


def say_noted(row: JournalRow, anomalies: Iterable[Anomaly], *, is_again: bool = False) -> list[str]:
    """Describe a journal entry and the anomalies it shows."""
    lines = [say_entry(row, is_again=is_again)]
    for anomaly in anomalies:
        if anomaly.signal is Signal.CONTEXT_JUMP:
            lines.append(say_anomaly(anomaly))
        else:
            lines[0] = f"{_ANOMALY}{lines[0]}"
    return lines


def say_anomaly(anomaly: Anomaly) -> str:
    return f"{_ANOMALY}{anomaly.signal} {anomaly.text}"


def say_smoothness(phase: PhaseSmoothness) -> str:
    """``smoothness of phase 1 (Foundations): 1.5 on average of 4 submissions, the roughest 6 of 9``."""
    smoothness = phase.smoothness
    where = f"smoothness of phase {phase.number} ({phase.title})"
    if smoothness is None:
        return f"{where}: nothing submitted yet"
    count = counted(smoothness.submissions, "submission")
    return (
        f"{where}: {smoothness.mean:.1f} on average of {count}, the roughest {smoothness.worst} of {ROUGHEST}"
    )


def say_base(baseline: "Baseline", *, required: bool) -> str:
    """Describe how a verification command ended before any task began; "" if nothing failed."""
    command = f"`{one_line(baseline.command, _MOST_COMMAND_CHARS)}`"
    if baseline.flaky and not baseline.failed:
        return (
            f"{command} is flaky before the plan begins ({baseline.flaky}); its failures count against tasks"
        )
    if not baseline.why or baseline.has_no_tests:
        return ""
    if baseline.is_empty:
        return f"{command} tests nothing before the plan begins: {baseline.why}; its failures count against tasks"
    if not baseline.failed:
        return (
            f"{command} fails before the plan begins (exit code {baseline.exit_code}) and names no tests: its failure"
            " counts against no task, and what a task breaks in it cannot be determined"
        )
    until = "; the plan requires that it passes at its end" if required else ""
    flaky = f"; flaky, and counted against tasks: {baseline.flaky}" if baseline.flaky else ""
    failed = f"{command} fails before the plan begins ({baseline.told})"
    return f"{failed}: not counted against any task until one mends it{flaky}{until}"


def duration(seconds: float) -> str:
    """Format a duration, as ``0:41``, ``12:05`` or ``3:00:09``."""
    whole = int(seconds)
    hours, minutes = whole // _HOUR_S, whole % _HOUR_S // _MINUTE_S
    head = f"{hours}:{minutes:02d}" if hours else f"{minutes}"
    return f"{head}:{whole % _MINUTE_S:02d}"


def _claimed(change: HistoryRow, view: TaskView) -> str:
    """Describe a claim; "" for a session that goes back to work after a verdict: its next entry shows that."""
    claim = _session_at(change.claim_epoch, view)
    first = next((each for each in view.history if each.claim_epoch == change.claim_epoch), change)
    if claim is None or first.id != change.id:
        return ""
    earlier = _session_before(change.claim_epoch, view) if claim.number > 1 else None
    return f"{claim.name} claimed it" + ("" if earlier is None else f", after {earlier.name}")


def _approved(text: str, by: str) -> str:
    return text if not by and text.lower().startswith("approved") else f"approved{by}: {text}"


def _reworked(item: str) -> str:
    """Describe a rework item: ``rework 1.2.0`` belongs to checkpoint 1, after its second submission."""
    number = item.removeprefix("rework ").partition(".")[0]
    return f"checkpoint {number} reworked" if number.isdecimal() else f"{item} done"


def _taken_over(change: HistoryRow, view: TaskView, text: str, *, by_hand: bool) -> str:
    gone = _session_before(change.claim_epoch, view)
    if gone is None:
        return f"open again: {text}"
    reason = gone.exit_reason or DIED
    how = reason if reason in WITHOUT_A_WORD else f"is gone ({reason})"
    successor = f"{succession_name(change.task_id, gone.number + 1)} takes over"
    if by_hand:
        successor = f'it waits for a session: claude "/musician {change.task_id}"'
    return f"{gone.name} {how}; {successor}. {_SAID_ALREADY.sub('', text, count=1)}"


def _exited(change: HistoryRow, view: TaskView) -> str:
    session = _session_at(change.claim_epoch, view)
    if session is None:
        return "its session ended"
    return f"{session.name} handed off: {session.exit_reason or 'no reason given'}"


def _submitted(change: HistoryRow, view: TaskView, text: str, verified: JournalRow | None) -> str:
    """Describe a submission; the tests are left out if the line before has said them."""
    what = "completion" if change.message_type == MessageType.COMPLETION else "review"
    found = next((each.said for each in view.submissions if each.message_id == change.message_id), None)
    if found is None:
        return f"asks for {what}: {text}"
    point = (
        ""
        if found.checkpoint is None
        else f" (checkpoint {found.checkpoint.number} of {found.checkpoint.of})"
    )
    score = "" if found.smoothness is None else f", smoothness {found.smoothness} of 9"
    is_told = verified is not None and verified.text == found.tests
    said = "" if is_told else f": {found.tests or found.summary}"
    return f"submitted for {what}{point}{said}{score}"


def _reported(change: HistoryRow, view: TaskView, text: str, failed: JournalRow | None) -> str:
    """Describe an error report; the error is left out if the line before has said it."""
    row = view.reports.get(change.message_id or 0)
    report = None if row is None else row.said
    if report is None:
        return f"reports: {text}"
    if isinstance(report, ContextWarning):
        used = "unknown" if report.context_usage_pct is None else f"{report.context_usage_pct:.0f} %"
        return f"context used {used}, recommends: {report.recommendation or 'nothing'}"
    retry = "" if report.retry is None else f" ({report.retry.number} of {report.retry.of})"
    is_told = failed is not None and f"{failed.item}: {failed.text}" == report.error
    return f"reports an error{retry}" + ("" if is_told else f": {report.error}")


def _resumed(text: str) -> str:
    found = read_resumption(text)
    if found is None:
        return ""
    return f"HANDOFF {found.handoff}; {found.verification}; goes on at {found.resuming_from}"


def _session_at(epoch: int, view: TaskView) -> SessionRow | None:
    return next((session for session in view.sessions if session.claim_epoch == epoch), None)


def _session_before(epoch: int, view: TaskView) -> SessionRow | None:
    earlier = [session for session in view.sessions if session.claim_epoch < epoch]
    return earlier[-1] if earlier else None
