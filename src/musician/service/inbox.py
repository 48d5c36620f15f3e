"""Messages to a task: stored, delivered and acknowledged are three facts (D12)."""

from collections.abc import Collection

from musician.protocol.claim import Claim
from musician.protocol.errors import AnsweredLate, AskedNoMore, BadField
from musician.protocol.messages.checks import check_said
from musician.protocol.messages.kinds import MessageType
from musician.protocol.names import CONDUCTOR
from musician.protocol.policy.forbidden import Act, worded_grants
from musician.protocol.rules.ceilings import Amounts
from musician.service.rowwork import load_owned, load_task, load_unfinished, say
from musician.service.spending import grant_means
from musician.store.port import ONLOOKERS, Store, Tx
from musician.store.queries.messages import Messages
from musician.store.queries.permits import Permits
from musician.store.queries.plans import Plans
from musician.store.queries.tasks import Tasks
from musician.store.rows import MessageRow

MOST_UNREAD = 200
"""At most so many messages are handed over at once; the rest follows after these are acknowledged."""


def send(
    store: Store,
    task_id: str,
    text: str,
    *,
    urgent: bool = False,
    grants: Collection[Act] = (),
    revokes: Collection[Act] = (),
    question_id: int | None = None,
    retries: int | None = None,
    more: Amounts | None = None,
    answers: tuple[str, int] | None = None,
) -> int:
    """Say something to a task as its conductor; the message's id. Urgent: its running piece is stopped.

    ``grants`` are acts that the task's sessions may do from now on, until they are revoked (D21); the message says so.
    ``question_id`` is what it answers: :class:`AnsweredLate` if that is not the open question any more.
    ``retries`` and ``more`` are granted with it, or nothing is. ``answers`` is the kind and the subject of what a
    person was asked: :class:`AskedNoMore` if that is settled.
    :class:`IllegalEvent` on a complete task (D1), :class:`TaskIsOver` on one that was withdrawn or skipped: nobody
    would ever read it. :class:`BadField` for a text that says nothing.
    """
    check_said("text", text)
    if retries is not None and retries < 1:
        raise BadField(field="retries", value=retries, reason="grant at least one")
    with store.write() as tx:
        load_unfinished(tx, task_id)
        question = None if question_id is None else tx.one(Messages.open_question, task_id=task_id)
        if question_id != (question and question.id):
            raise AnsweredLate(
                task_id=task_id, question_id=question_id, open_id=None if question is None else question.id
            )
        if answers is not None and not _is_asked(tx, task_id, *answers):
            raise AskedNoMore(task_id=task_id, kind=answers[0])
        if retries is not None:
            tx.run(Tasks.grant_retries, task_id=task_id, more=retries)
        if more is not None:
            grant_means(tx, task_id, more)
        kind = MessageType.EMERGENCY if urgent else MessageType.NOTE
        tx.run(Plans.resolve_answered, task_id=task_id, resolution=f"answered: {text}"[:500])
        message_id = say(tx, task_id, CONDUCTOR, kind, text + worded_grants(grants, revokes))
        for act in grants:
            tx.run(Permits.grant_act, task_id=task_id, act=act, message_id=message_id)
        for act in revokes:
            tx.run(Permits.revoke_act, task_id=task_id, act=act, message_id=message_id)
        return message_id


def _is_asked(tx: Tx, task_id: str, kind: str, subject_id: int) -> bool:
    return any(
        (each.kind, each.subject_id, each.resolved_at) == (kind, subject_id, None)
        for each in tx.all(Plans.needs_human_of_task, task_id=task_id)
    )


def unread(store: Store, task_id: str, *, most: int = MOST_UNREAD) -> tuple[MessageRow, ...]:
    """Return the conductor's messages after the last acknowledged one, oldest first."""
    with store.read() as tx:
        load_task(tx, task_id)
        return tuple(tx.all(Messages.unread, task_id=task_id, most=most))


def undelivered(store: Store, claim: Claim, *, most: int = MOST_UNREAD) -> tuple[MessageRow, ...]:
    """Of the unread messages those that have not reached this claim's session, oldest first."""
    with store.read() as tx:
        return tuple(tx.all(Messages.undelivered, task_id=claim.task_id, claim_epoch=claim.epoch, most=most))


def deliver(store: Store, claim: Claim, message_ids: tuple[int, ...]) -> None:
    """Record that these messages of the conductor reached the session. Not yet acknowledged."""
    with store.write() as tx:
        load_owned(tx, claim)
        for message_id in message_ids:
            tx.ring(ONLOOKERS)
            tx.run(
                Messages.deliver,
                task_id=claim.task_id,
                message_id=message_id,
                session_id=claim.session_id,
                claim_epoch=claim.epoch,
            )


def future_messages(store: Store, task_id: str, *, tolerance_s: float) -> tuple[int, ...]:
    """Messages of the conductor dated after now, by the database's clock: their ids (D10, D20)."""
    with store.read() as tx:
        return tuple(tx.all(Messages.messages_of_the_future, task_id=task_id, tolerance_s=tolerance_s))


def acknowledge(store: Store, claim: Claim, up_to: int) -> int:
    """The session has dealt with everything delivered up to this message; how many that were.

    Never acknowledges past a message that was not delivered: unread is counted from the last acknowledged one, and
    would skip it (D12).
    """
    with store.write() as tx:
        load_owned(tx, claim)
        tx.ring(ONLOOKERS)
        return tx.run(Messages.acknowledge, task_id=claim.task_id, message_id=up_to)
