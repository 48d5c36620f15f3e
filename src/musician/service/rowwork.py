"""The steps that verbs share in a transaction: find the row, check the claim, write the message, change the state."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from musician.protocol.claim import Claim
from musician.protocol.errors import (
    BadId,
    ClaimLost,
    DatabaseUnusable,
    EvidenceMissing,
    IllegalEvent,
    TaskIsOver,
    UnknownTask,
)
from musician.protocol.journal import Entry, EntryKind
from musician.protocol.messages.kinds import MessageType
from musician.protocol.names import CONDUCTOR, is_reserved
from musician.protocol.rules.review import Verified
from musician.protocol.states import State
from musician.protocol.transitions import Actor, Event, Transition, find
from musician.protocol.values import as_dict
from musician.store.port import ONLOOKERS, Tx
from musician.store.queries.history import History
from musician.store.queries.messages import Messages
from musician.store.queries.sessions import Sessions
from musician.store.queries.tasks import Tasks
from musician.store.queries.work import Work
from musician.store.rows import HistoryRow, JournalRow, TaskRow

if TYPE_CHECKING:
    from musician.protocol.messages.forecasts import Forecast
    from musician.protocol.messages.stored import FieldedMessage


def load_task(tx: Tx, task_id: str) -> TaskRow:
    """The row with exactly this id; :class:`UnknownTask` otherwise."""
    row = tx.one(Tasks.task, task_id=task_id)
    if row is None:
        raise UnknownTask(task_id=task_id)
    return row


def load_played(tx: Tx, task_id: str) -> TaskRow:
    """The row of a task that is played: not the conductor's own, nor a blocked session's (D8)."""
    row = load_task(tx, task_id)
    if is_reserved(task_id):
        raise BadId(kind="task", value=task_id, reason="this row is no task")
    return row


def load_unfinished(tx: Tx, task_id: str) -> TaskRow:
    """As :func:`load_played`, of a task to which something can be said yet.

    :class:`IllegalEvent` of a complete one, :class:`TaskIsOver` of one that was withdrawn or skipped.
    """
    row = load_played(tx, task_id)
    if row.state is State.COMPLETE:
        raise IllegalEvent(task_id=task_id, state=row.state, event="send", actor=Actor.CONDUCTOR, allowed=())
    if row.is_over:
        raise TaskIsOver(task_id=task_id, is_skipped=row.skipped is not None)
    return row


def load_owned(tx: Tx, claim: Claim) -> TaskRow:
    """The row, if exactly this claim owns it and its session may still write; :class:`ClaimLost` otherwise (D1, D2)."""
    owned = tx.one(Tasks.owned_task, **named(claim))
    if owned is None:
        raise _lost(tx, claim)
    return owned


def beat_in(tx: Tx, claim: Claim) -> None:
    """Refresh its owner's heartbeat. What only this claim may do can follow: :class:`ClaimLost` as of `load_owned`."""
    if tx.run(Tasks.beat, **named(claim)) != 1:
        raise _lost(tx, claim)


def _lost(tx: Tx, claim: Claim) -> ClaimLost:
    return ClaimLost(**as_dict(claim), current_epoch=load_task(tx, claim.task_id).claim_epoch)


def is_fenced(tx: Tx, row: TaskRow) -> bool:
    """Whether the epoch was raised to shut the last claim out: a claim's own epoch has a session (D23)."""
    session = tx.one(Sessions.session, task_id=row.task_id, claim_epoch=row.claim_epoch)
    return row.claim_epoch > 0 and session is None


def move_owned(tx: Tx, row: TaskRow, claim: Claim, event: Event) -> Transition:
    """The owner's change of state. Write its message before calling this."""
    transition = find(row.state, event, task_id=row.task_id, actor=Actor.OWNER)
    changed_one(row, tx.run(Tasks.move_owned, state=transition.target, from_state=row.state, **named(claim)))
    tx.ring(CONDUCTOR)
    return transition


def move_by_conductor(tx: Tx, row: TaskRow, event: Event) -> Transition:
    """The conductor's change of state. Write its message before calling this."""
    transition = find(row.state, event, task_id=row.task_id, actor=Actor.CONDUCTOR)
    changed = tx.run(
        Tasks.move_by_conductor, task_id=row.task_id, state=transition.target, from_state=row.state
    )
    changed_one(row, changed)
    tx.ring(row.task_id)
    tx.ring(CONDUCTOR)
    return transition


def changed_one(row: TaskRow, changed: int) -> None:
    """The row was read in this transaction, so that only a trigger can have kept it as it was."""
    if changed != 1:
        raise DatabaseUnusable(
            path="the database",
            kind="refused",
            detail=f"{row.task_id} is {row.state}, and its row could not be changed ({changed} rows were)",
            remedy="its triggers are not this program's; run `musician doctor`",
        )


def say(tx: Tx, task_id: str, sender: str, message_type: MessageType, text: str) -> int:
    """Write a message that is nothing but its text; its id. The other side is rung after the commit."""
    tx.ring(task_id if sender == CONDUCTOR else CONDUCTOR)
    tx.ring(ONLOOKERS)
    return tx.insert(
        Messages.send, task_id=task_id, from_session=sender, message_type=message_type, message=text
    )


def say_fields(tx: Tx, task_id: str, sender: str, message: "FieldedMessage | Forecast") -> int:
    """Write a message with its fields beside its text; its id."""
    from musician.protocol.messages.stored import fields_of

    message_id = say(tx, task_id, sender, message.type, message.render())
    tx.run(Messages.store_fields, message_id=message_id, fields=fields_of(message))
    return message_id


def write_entries(tx: Tx, claim: Claim, entries: tuple[Entry, ...]) -> None:
    for entry in entries:
        tx.ring(ONLOOKERS)
        tx.run(
            Work.write_journal,
            kind=entry.kind,
            item=entry.item,
            text=entry.text,
            severity=entry.severity,
            context_pct=entry.context_pct,
            commit_id=entry.commit_id,
            **named(claim),
        )
        if entry.context_pct is not None:
            tx.run(
                Sessions.measure_context,
                task_id=claim.task_id,
                claim_epoch=claim.epoch,
                context_pct=entry.context_pct,
            )


def keep_verified(tx: Tx, claim: Claim, verified: Verified, *, submission_id: int | None = None) -> None:
    """Keep what the program found, and whose evidence it is (D7); :class:`EvidenceMissing` if it is stale."""
    kept = tx.run(
        Work.store_verification,
        task_id=claim.task_id,
        claim_epoch=claim.epoch,
        submission_id=submission_id,
        **as_dict(verified),
    )
    if not kept:
        raise EvidenceMissing(
            task_id=claim.task_id,
            missing="work was done after the verification began",
            remedy="run the verification again (`musician checkpoint` does both)",
        )


def since_started_over(journal: Sequence[JournalRow]) -> Sequence[JournalRow]:
    """Return a journal from the entry on by which its task was started over; all of it, if it never was."""
    starts = (number for number, row in enumerate(journal) if row.kind == EntryKind.STARTED_OVER)
    return journal[max(starts, default=0) :]


def latest_change(tx: Tx, task_id: str) -> HistoryRow | None:
    return tx.one(History.latest_change, task_id=task_id)


def named(claim: Claim) -> dict[str, str | int]:
    return {"task_id": claim.task_id, "session_id": claim.session_id, "claim_epoch": claim.epoch}
