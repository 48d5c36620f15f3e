"""The messages of an owner to its conductor: submissions, reports, questions (DESIGN 3, D5, D14)."""

from typing import TYPE_CHECKING

from musician.protocol.claim import Claim
from musician.protocol.errors import EvidenceMissing
from musician.protocol.journal import Entry
from musician.protocol.messages.kinds import MessageType
from musician.protocol.names import CONDUCTOR
from musician.protocol.rules.review import Verification, Verified
from musician.protocol.states import VERDICTS, State
from musician.protocol.transitions import Actor, Event, find
from musician.service.documents import keep_text
from musician.service.rowwork import (
    beat_in,
    changed_one,
    keep_verified,
    load_owned,
    move_owned,
    named,
    say,
    say_fields,
    write_entries,
)
from musician.store.port import Store, Tx
from musician.store.queries.tasks import Tasks
from musician.store.queries.work import Work
from musician.store.rows import TaskRow

if TYPE_CHECKING:
    from musician.protocol.messages.stored import Report
    from musician.protocol.messages.submissions import Submission
    from musician.protocol.messages.types import Resumption


def submit(
    store: Store,
    claim: Claim,
    message: "Submission",
    *,
    verified: Verified,
    entries: tuple[Entry, ...] = (),
    commit_id: str | None = None,
    tree_id: str | None = None,
    changed_files: int | None = None,
) -> int:
    """Go to the conductor with a checkpoint's or the task's work; the submission's message id.

    What was verified is stored with it, and is evidence of this one submission (D7): :class:`EvidenceMissing` if it is
    red. After a verdict the history shows both steps, back to work and in again. ``commit_id`` (None where the tree is
    not the task's alone), ``tree_id`` and ``changed_files`` are what it stands for: an approval covers no more (D28).
    """
    with store.write() as tx:
        row = load_owned(tx, claim)
        find(row.state, Event.SUBMIT, task_id=row.task_id, actor=Actor.OWNER)
        if verified.outcome is Verification.RED:
            raise EvidenceMissing(
                task_id=claim.task_id,
                missing="what was verified is red",
                remedy="mend it, and verify it again (`musician checkpoint` does both)",
            )
        row = _back_to_work(tx, row, claim)
        write_entries(tx, claim, entries)
        message_id = say_fields(tx, claim.task_id, claim.session_id, message)
        keep_verified(tx, claim, verified, submission_id=message_id)
        if tree_id is not None and changed_files is not None:
            tx.run(
                Work.cover,
                message_id=message_id,
                task_id=claim.task_id,
                commit_id=commit_id,
                tree_id=tree_id,
                changed_files=changed_files,
            )
        move_owned(tx, row, claim, Event.SUBMIT)
        return message_id


def report(
    store: Store,
    claim: Claim,
    message: "Report",
    *,
    last_error: str,
    entries: tuple[Entry, ...] = (),
    document: tuple[str, str] | None = None,
) -> int:
    """Go into ``error`` with an error report or a context warning, and wait; the message's id.

    ``document`` is the path and text of the report file that goes with it.

    A report while already in ``error`` is a message only: the state stays (D11). Only a failure at work counts as
    a retry, a context warning or a wait that timed out does not (D3).
    """
    with store.write() as tx:
        row = _back_to_work(tx, load_owned(tx, claim), claim)
        write_entries(tx, claim, entries)
        if document is not None:
            keep_text(tx, claim.task_id, claim.epoch, "report", *document)
        message_id = say_fields(tx, claim.task_id, claim.session_id, message)
        if row.state is State.ERROR:
            tx.run(Tasks.beat, **named(claim))
        else:
            is_retry = message.type is MessageType.ERROR and row.state is State.WORKING
            _move_to_error(tx, row, claim, last_error, is_retry=is_retry)
        return message_id


def resume(store: Store, claim: Claim, *entries: Entry) -> None:
    """Go on after a verdict: back to ``working``."""
    with store.write() as tx:
        row = load_owned(tx, claim)
        move_owned(tx, row, claim, Event.RESUME)
        write_entries(tx, claim, entries)


def ask(store: Store, claim: Claim, text: str, *entries: Entry) -> int:
    """Ask the conductor something; the state stays as it is. The question's message id."""
    with store.write() as tx:
        beat_in(tx, claim)
        write_entries(tx, claim, entries)
        return say(tx, claim.task_id, claim.session_id, MessageType.QUESTION, text)


def announce(store: Store, claim: Claim, message: "Resumption", *entries: Entry) -> int:
    """A resumed session says that it takes over, and what it found (sources "Verbose Resumption Status")."""
    with store.write() as tx:
        load_owned(tx, claim)
        write_entries(tx, claim, entries)
        return say_fields(tx, claim.task_id, claim.session_id, message)


def _back_to_work(tx: Tx, row: TaskRow, claim: Claim) -> TaskRow:
    """After a verdict an owner is at work again before it does anything else."""
    if row.state not in VERDICTS:
        return row
    move_owned(tx, row, claim, Event.RESUME)
    return load_owned(tx, claim)


def _move_to_error(tx: Tx, row: TaskRow, claim: Claim, last_error: str, *, is_retry: bool) -> None:
    find(row.state, Event.REPORT, task_id=row.task_id, actor=Actor.OWNER)
    changed = tx.run(
        Tasks.move_to_error, last_error=last_error, is_retry=is_retry, from_state=row.state, **named(claim)
    )
    changed_one(row, changed)
    tx.ring(CONDUCTOR)
