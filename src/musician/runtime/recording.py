"""Stores the engine's records: each by its service verb, and in the files beside the database."""

from musician import service
from musician.processes.whole_file import write_whole
from musician.protocol.errors import OperatorError
from musician.protocol.journal import Entry, EntryKind
from musician.protocol.messages.particulars import Counted, KeyOutput, OutputKind, SelfCorrection
from musician.protocol.messages.types import ErrorReport, HandoffNotice
from musician.protocol.musician import ready as r
from musician.protocol.names import succession_number
from musician.protocol.values import replace
from musician.runtime.approval import approved_as_it_is
from musician.runtime.claimed import ClaimedSession
from musician.runtime.investigation import suggest
from musician.runtime.resuming.handoffs import handoff_of
from musician.runtime.task_files import completion_report, error_report_text
from musician.runtime.tasktree import TaskTree
from musician.trees.git import Git


def store_record(claimed: ClaimedSession, record: r.Record) -> int | None:
    """Store one record; return the message id if its verdict, or a question's answer, is now awaited."""
    match record:
        case r.Write(entries=entries, verified=verified):
            service.record(claimed.store, claimed.claim, *entries, verified=verified)
        case r.Submit():
            return _submit(claimed, record)
        case r.ReportProblem():
            return _report(claimed, record)
        case r.Ask(text=text, entries=entries):
            message_id = service.ask(claimed.store, claimed.claim, text, *entries)
            claimed.task_files.note(record.entries)
            return message_id
        case r.Resume(entries=entries):
            service.resume(claimed.store, claimed.claim, *entries)
        case r.Limit():
            said_s, own_s = record.said_s, record.own_s
            service.limit(claimed.store, claimed.claim, *record.entries, said_s=said_s, own_s=own_s)
        case r.Refuse(detail=detail, entries=entries):
            service.refuse(claimed.store, claimed.claim, detail, *entries)
        case r.Lift(entries=entries):
            service.lift(claimed.store, claimed.claim, *entries)
        case r.Acknowledge(message_id=message_id):
            service.acknowledge(claimed.store, claimed.claim, message_id)
        case r.ExitClaim():
            _leave(claimed, record)
            return None
        case r.CompleteTask():
            _finish(claimed, record)
            return None
    claimed.task_files.note(record.entries)
    return None


def _submit(claimed: ClaimedSession, record: r.Submit) -> int:
    proposed = service.unsubmitted_proposals(claimed.store, claimed.claim.task_id)
    message = replace(record.message, proposal=", ".join(proposed) or None)
    message_id = service.submit(
        claimed.store,
        claimed.claim,
        message,
        verified=record.verified,
        entries=record.entries,
        commit_id=claimed.tree.tip(),
        tree_id=claimed.tree.tree_id(),
        changed_files=message.files_modified,
    )
    claimed.task_files.note(record.entries)
    return message_id


def _report(claimed: ClaimedSession, record: r.ReportProblem) -> int | None:
    """Store an error report. A reminder changes nothing: the answer belongs to the report before it."""
    message, document = record.message, None
    if isinstance(message, ErrorReport) and message.retry is not None:
        item = record.entries[-1].item if record.entries else ""
        message, document = _with_report(claimed, message, message.retry.number, item)
    message_id = service.report(
        claimed.store,
        claimed.claim,
        message,
        last_error=record.last_error,
        entries=record.entries,
        document=document,
    )
    claimed.task_files.note(record.entries)
    return None if record.is_reminder else message_id


def _with_report(
    claimed: ClaimedSession, message: ErrorReport, retry: int, item: str
) -> tuple[ErrorReport, tuple[str, str]]:
    """Write the detailed report of a failure, and name it in the message (sources "Error Report")."""
    output = claimed.task_files.end_of_output()
    place = claimed.task_files.error_report(retry)
    path = claimed.task_files.relative(place)
    message = replace(
        message,
        report=path,
        suggested_investigation=suggest(
            service.task_view(claimed.store, claimed.claim.task_id),
            item=item,
            tree=claimed.tree.path,
            start=claimed.tree.start,
            output=output,
        ),
        key_outputs=(*message.key_outputs, KeyOutput(path=path, kind=OutputKind.CREATED)),
    )
    text = error_report_text(
        claimed.claim.task_id,
        claimed.program.title,
        message.render(),
        commit=_stands_at(claimed.tree),
        output=output,
    )
    write_whole(place, text)
    return message, (path, text)


def _stands_at(tree: TaskTree) -> str:
    """Return the tree's commit for a person to read; an error of the tree must not prevent the session's
    last message.
    """
    try:
        return Git(tree.path).head()
    except OperatorError:
        return "unknown"


def _leave(claimed: ClaimedSession, record: r.ExitClaim) -> None:
    """Set unfinished work aside, write the HANDOFF, and only then the terminal write (D1)."""
    set_aside = claimed.tree.set_aside()
    proposals = service.open_proposals_of(claimed.store, claimed.claim.task_id)
    path = claimed.task_files.relative(claimed.task_files.handoff)
    document = (
        record.handoff
        or handoff_of(
            service.task_view(claimed.store, claimed.claim.task_id),
            reason=record.reason,
            context_pct=record.context_pct,
            at=service.now(claimed.store),
            pending=record.remaining,
            commit=_stands_at(claimed.tree),
            set_aside=set_aside,
            written_by="agent",
            proposals=proposals,
            agent_notes=record.notes,
        ).render()
    )
    write_whole(claimed.task_files.handoff, document)
    if record.stays:
        service.leave_handoff(claimed.store, claimed.claim, path=path, handoff=document)
        return
    report = _report_of_session(claimed, document)
    notice = HandoffNotice(
        reason=record.reason,
        handoff_path=path,
        context_usage_pct=record.context_pct,
        self_correction=SelfCorrection(happened=bool(record.self_correction), details=record.self_correction),
        last_completed_step=record.last_completed,
        remaining_steps=", ".join(record.remaining) or "none",
        proposals_pending=Counted(count=len(proposals)),
        key_outputs=(KeyOutput(path=report[0], kind=OutputKind.CREATED),),
    )
    entries = (*record.entries, Entry(kind=EntryKind.HANDOFF, text=path, context_pct=record.context_pct))
    claimed.task_files.note(entries)  # the terminal write is the last of all
    service.exit_task(
        claimed.store,
        claimed.claim,
        notice,
        handoff=document,
        written_by="agent" if record.handoff else "program",
        entries=entries,
        report=report,
    )


def _report_of_session(claimed: ClaimedSession, handoff: str) -> tuple[str, str]:
    """Return the handoff report, which stays when a later HANDOFF replaces this one (sources "Clean Exit
    & Handoff").
    """
    place = claimed.task_files.handoff_report(
        succession_number(claimed.worked_by, claimed.claim.task_id) or 1
    )
    text = f"# {claimed.claim.task_id}: {claimed.program.title}\n\n{handoff.replace('# HANDOFF', '## HANDOFF', 1)}"
    write_whole(place, text)
    return claimed.task_files.relative(place), text


def _finish(claimed: ClaimedSession, record: r.CompleteTask) -> None:
    approved = approved_as_it_is(claimed.store, claimed.claim, claimed.tree)
    lines = [
        f"{change.at} {change.from_state or 'new'} → {change.to_state} ({change.who})"
        for change in service.history_of(claimed.store, claimed.claim.task_id)
    ]
    report = completion_report(claimed.claim.task_id, claimed.program.title, approved.message or "", lines)
    path = claimed.task_files.completion
    write_whole(path, report)
    claimed.task_files.note(record.entries)
    service.complete(
        claimed.store,
        claimed.claim,
        report_path=claimed.task_files.relative(path),
        report=report,
        notice=f"COMPLETED: {claimed.claim.task_id}\n  Context Usage: {_context(record)}\n"
        f"  Report: {claimed.task_files.relative(path)}",
        entries=record.entries,
    )


def _context(record: r.CompleteTask) -> str:
    """Return the used context, which every message of a musician states (D12)."""
    used = record.entries[-1].context_pct if record.entries else None
    return "unknown" if used is None else f"{used:.0f}%"
