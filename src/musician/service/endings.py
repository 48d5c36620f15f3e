"""Terminal writes: the last writes of a session on its task (D1, sources "Terminal Write Atomicity")."""

from typing import TYPE_CHECKING

from musician.protocol.claim import Claim
from musician.protocol.errors import EvidenceMissing
from musician.protocol.journal import Entry
from musician.protocol.messages.kinds import MessageType
from musician.protocol.names import CONDUCTOR
from musician.protocol.states import State
from musician.protocol.transitions import Actor, Event, find
from musician.service.documents import keep_text
from musician.service.rowwork import (
    changed_one,
    load_owned,
    move_owned,
    named,
    say,
    say_fields,
    write_entries,
)
from musician.store.port import Store, Tx
from musician.store.queries.history import History
from musician.store.queries.plans import Plans
from musician.store.queries.sessions import Sessions
from musician.store.queries.tasks import Tasks
from musician.store.queries.work import Work
from musician.store.rows import SubmissionRow

if TYPE_CHECKING:
    from musician.protocol.messages.types import HandoffNotice


def exit_task(
    store: Store,
    claim: Claim,
    notice: "HandoffNotice",
    *,
    handoff: str,
    written_by: str = "program",
    entries: tuple[Entry, ...] = (),
    report: tuple[str, str] | None = None,
) -> None:
    """End this session's claim for good. Stores the HANDOFF and the reason, then the message, then the state.

    ``report`` is the path and text of the session's own report. :class:`EvidenceMissing` without a HANDOFF.
    """
    with store.write() as tx:
        row = load_owned(tx, claim)
        find(row.state, Event.EXIT, task_id=row.task_id, actor=Actor.OWNER)
        _check_stored(claim.task_id, "HANDOFF", handoff)
        write_entries(tx, claim, entries)
        keep_text(
            tx,
            claim.task_id,
            claim.epoch,
            "handoff",
            notice.handoff_path or "",
            handoff,
            written_by=written_by,
        )
        if report is not None:
            keep_text(tx, claim.task_id, claim.epoch, "report", *report)
        tx.run(
            Sessions.end_session,
            task_id=claim.task_id,
            claim_epoch=claim.epoch,
            exit_reason=notice.reason,
            context_pct=notice.context_usage_pct,
        )
        say_fields(tx, claim.task_id, claim.session_id, notice)
        move_owned(tx, row, claim, Event.EXIT)


def leave_handoff(store: Store, claim: Claim, *, path: str, handoff: str) -> None:
    """The session ends while its verdict is awaited: its HANDOFF is kept, and its row as it is (D7)."""
    with store.write() as tx:
        load_owned(tx, claim)
        keep_text(tx, claim.task_id, claim.epoch, "handoff", path, handoff)


def complete(
    store: Store, claim: Claim, *, report_path: str, report: str, notice: str, entries: tuple[Entry, ...] = ()
) -> None:
    """Finish the task. The latest completion must stand approved, and nothing be written down as played since.

    :class:`EvidenceMissing` otherwise (D7, D28). That the tree has not moved is for the caller to see.
    """
    with store.write() as tx:
        row = load_owned(tx, claim)
        find(row.state, Event.COMPLETE, task_id=row.task_id, actor=Actor.OWNER)
        _check_covered(tx, claim.task_id, _approved(tx, claim.task_id))
        _check_stored(claim.task_id, "report", report)
        write_entries(tx, claim, entries)
        keep_text(tx, claim.task_id, claim.epoch, "report", report_path, report)
        tx.run(
            Sessions.end_session,
            task_id=claim.task_id,
            claim_epoch=claim.epoch,
            exit_reason="complete",
            context_pct=None,
        )
        say(tx, claim.task_id, claim.session_id, MessageType.COMPLETED, notice)
        changed = tx.run(
            Tasks.move_to_complete, report_path=report_path, from_state=row.state, **named(claim)
        )
        changed_one(row, changed)
        tx.run(Plans.resolve_human, task_id=claim.task_id, resolution="it is complete")
        tx.ring(CONDUCTOR)


def approved_completion(tx: Tx, task_id: str) -> SubmissionRow | None:
    """The latest submission, if it is a completion and stands approved; it outlives its session (D7)."""
    latest = tx.one(History.latest_submission, task_id=task_id)
    if latest is None:
        return None
    stands = latest.message_type == MessageType.COMPLETION and latest.verdict is State.REVIEW_APPROVED
    return latest if stands else None


def approved_work(store: Store, task_id: str) -> SubmissionRow:
    """The completion that stands approved, and covers what the journal says; :class:`EvidenceMissing` otherwise."""
    with store.read() as tx:
        found = _approved(tx, task_id)
        _check_covered(tx, task_id, found)
        return found


def moved_by_others(store: Store, task_id: str, entry_id: int) -> bool:
    """Whether other tasks have gone on since an entry of the journal: a shared tree is theirs, too."""
    with store.read() as tx:
        return tx.one(Work.others_moved_since, task_id=task_id, entry_id=entry_id) is not None


def overtaken(task_id: str, what: str) -> EvidenceMissing:
    """An approval that does not cover what is there now (D28)."""
    return EvidenceMissing(
        task_id=task_id,
        missing=f"{what} since what stands approved was submitted",
        remedy=f"submit it again: `musician checkpoint {task_id}`",
    )


def _approved(tx: Tx, task_id: str) -> SubmissionRow:
    found = approved_completion(tx, task_id)
    if found is None:
        raise EvidenceMissing(
            task_id=task_id,
            missing="no approved completion",
            remedy=f"submit the last checkpoint with `musician checkpoint {task_id}` and wait for its approval",
        )
    return found


def _check_covered(tx: Tx, task_id: str, found: SubmissionRow) -> None:
    """Of a raw writer's submission nobody knows what it covers."""
    if found.entry_id is not None and tx.one(Work.moved_since, task_id=task_id, entry_id=found.entry_id):
        raise overtaken(task_id, "something was played")


def _check_stored(task_id: str, what: str, text: str) -> None:
    if not text.strip():
        raise EvidenceMissing(task_id=task_id, missing=f"no {what}", remedy="write it first")
