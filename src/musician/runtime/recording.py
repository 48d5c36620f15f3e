"""Stores the engine's records: each by its service verb, and in the files beside the database."""

from musician import service
from musician.processes.whole_file import write_whole
from musician.protocol.claim import Claim
from musician.protocol.errors import OperatorError
from musician.protocol.journal import Entry, EntryKind
from musician.protocol.messages.particulars import Counted, KeyOutput, OutputKind, SelfCorrection
from musician.protocol.messages.types import ErrorReport, HandoffNotice
from musician.protocol.musician import ready as r
from musician.protocol.names import succession_number
from musician.protocol.values import dataclass, replace
from musician.runtime.approval import approved_as_it_is
from musician.runtime.investigation import suggest
from musician.runtime.resuming.handoffs import handoff_of
from musician.runtime.task_files import TaskFiles, completion_report, error_report_text
from musician.runtime.tasktree import TaskTree
from musician.store.port import Store
from musician.trees.git import Git


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorder:
    """Stores the records of one session. All calls block."""

    store: Store
    claim: Claim
    task_files: TaskFiles
    tree: TaskTree
    worked_by: str
    title: str

    def store_record(self, record: r.Record) -> int | None:
        """Store one record; return the message id if its verdict, or a question's answer, is now awaited."""
        match record:
            case r.Write(entries=entries, verified=verified):
                service.record(self.store, self.claim, *entries, verified=verified)
            case r.Submit():
                return self._submit(record)
            case r.ReportProblem():
                return self._report(record)
            case r.Ask(text=text, entries=entries):
                message_id = service.ask(self.store, self.claim, text, *entries)
                self._note(record)
                return message_id
            case r.Resume(entries=entries):
                service.resume(self.store, self.claim, *entries)
            case r.Limit():
                said_s, own_s = record.said_s, record.own_s
                service.limit(self.store, self.claim, *record.entries, said_s=said_s, own_s=own_s)
            case r.Refuse(detail=detail, entries=entries):
                service.refuse(self.store, self.claim, detail, *entries)
            case r.Lift(entries=entries):
                service.lift(self.store, self.claim, *entries)
            case r.Acknowledge(message_id=message_id):
                service.acknowledge(self.store, self.claim, message_id)
            case r.ExitClaim():
                self._leave(record)
                return None
            case r.CompleteTask():
                self._finish(record)
                return None
        self._note(record)
        return None

    def _note(self, record: r.Record) -> None:
        if not isinstance(record, r.Acknowledge):
            self.task_files.note(record.entries)

    def _submit(self, record: r.Submit) -> int:
        proposed = service.unsubmitted_proposals(self.store, self.claim.task_id)
        message = replace(record.message, proposal=", ".join(proposed) or None)
        message_id = service.submit(
            self.store,
            self.claim,
            message,
            verified=record.verified,
            entries=record.entries,
            commit_id=self.tree.tip(),
            tree_id=self.tree.tree_id(),
            changed_files=message.files_modified,
        )
        self._note(record)
        return message_id

    def _report(self, record: r.ReportProblem) -> int | None:
        """Store an error report. A reminder changes nothing: the answer belongs to the report before it."""
        message, document = record.message, None
        if isinstance(message, ErrorReport) and message.retry is not None:
            item = record.entries[-1].item if record.entries else ""
            message, document = self._with_report(message, message.retry.number, item)
        message_id = service.report(
            self.store,
            self.claim,
            message,
            last_error=record.last_error,
            entries=record.entries,
            document=document,
        )
        self._note(record)
        return None if record.is_reminder else message_id

    def _with_report(
        self, message: ErrorReport, retry: int, item: str
    ) -> tuple[ErrorReport, tuple[str, str]]:
        """Write the detailed report of a failure, and name it in the message (sources "Error Report")."""
        output = self.task_files.end_of_output()
        place = self.task_files.error_report(retry)
        path = self.task_files.relative(place)
        message = replace(
            message,
            report=path,
            suggested_investigation=suggest(
                service.task_view(self.store, self.claim.task_id),
                item=item,
                tree=self.tree.path,
                start=self.tree.start,
                output=output,
            ),
            key_outputs=(*message.key_outputs, KeyOutput(path=path, kind=OutputKind.CREATED)),
        )
        text = error_report_text(
            self.claim.task_id,
            self.title,
            message.render(),
            commit=self._stands_at(),
            output=output,
        )
        write_whole(place, text)
        return message, (path, text)

    def _stands_at(self) -> str:
        """Return the tree's commit for a person to read; an error of the tree must not prevent the session's
        last message.
        """
        try:
            return Git(self.tree.path).head()
        except OperatorError:
            return "unknown"

    def _leave(self, record: r.ExitClaim) -> None:
        """Set unfinished work aside, write the HANDOFF, and only then the terminal write (D1)."""
        set_aside = self.tree.set_aside()
        proposals = service.open_proposals_of(self.store, self.claim.task_id)
        path = self.task_files.relative(self.task_files.handoff)
        document = (
            record.handoff
            or handoff_of(
                service.task_view(self.store, self.claim.task_id),
                session_id=self.claim.session_id,
                worked_by=self.worked_by,
                epoch=self.claim.epoch,
                reason=record.reason,
                context_pct=record.context_pct,
                at=service.now(self.store),
                pending=record.remaining,
                commit=self._stands_at(),
                set_aside=set_aside,
                written_by="agent",
                proposals=proposals,
                agent_notes=record.notes,
            ).render()
        )
        write_whole(self.task_files.handoff, document)
        if record.stays:
            service.leave_handoff(self.store, self.claim, path=path, handoff=document)
            return
        report = self._report_of_session(document)
        notice = HandoffNotice(
            reason=record.reason,
            handoff_path=path,
            context_usage_pct=record.context_pct,
            self_correction=SelfCorrection(
                happened=bool(record.self_correction), details=record.self_correction
            ),
            last_completed_step=record.last_completed,
            remaining_steps=", ".join(record.remaining) or "none",
            proposals_pending=Counted(count=len(proposals)),
            key_outputs=(KeyOutput(path=report[0], kind=OutputKind.CREATED),),
        )
        entries = (*record.entries, Entry(kind=EntryKind.HANDOFF, text=path, context_pct=record.context_pct))
        self.task_files.note(entries)  # the terminal write is the last of all
        service.exit_task(
            self.store,
            self.claim,
            notice,
            handoff=document,
            written_by="agent" if record.handoff else "program",
            entries=entries,
            report=report,
        )

    def _report_of_session(self, handoff: str) -> tuple[str, str]:
        """Return the handoff report, which stays when a later HANDOFF replaces this one (sources "Clean Exit
        & Handoff").
        """
        place = self.task_files.handoff_report(succession_number(self.worked_by, self.claim.task_id) or 1)
        text = f"# {self.claim.task_id}: {self.title}\n\n{handoff.replace('# HANDOFF', '## HANDOFF', 1)}"
        write_whole(place, text)
        return self.task_files.relative(place), text

    def _finish(self, record: r.CompleteTask) -> None:
        approved = approved_as_it_is(self.store, self.claim, self.tree)
        lines = [
            f"{change.at} {change.from_state or 'new'} → {change.to_state} ({change.who})"
            for change in service.history_of(self.store, self.claim.task_id)
        ]
        report = completion_report(self.claim.task_id, self.title, approved.message or "", lines)
        path = self.task_files.completion
        write_whole(path, report)
        self.task_files.note(record.entries)
        service.complete(
            self.store,
            self.claim,
            report_path=self.task_files.relative(path),
            report=report,
            notice=f"COMPLETED: {self.claim.task_id}\n  Context Usage: {_context(record)}\n"
            f"  Report: {self.task_files.relative(path)}",
            entries=record.entries,
        )


def _context(record: r.CompleteTask) -> str:
    """Return the used context, which every message of a musician states (D12)."""
    used = record.entries[-1].context_pct if record.entries else None
    return "unknown" if used is None else f"{used:.0f}%"
