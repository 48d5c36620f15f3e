"""The grants of the conductor, and the records of acts that were refused without one (D21)."""

from musician.protocol.claim import Claim
from musician.protocol.journal import Entry, EntryKind, Written
from musician.protocol.policy.forbidden import Act, Refusal
from musician.service.rowwork import beat_in, write_entries
from musician.store.port import Store
from musician.store.queries.permits import Permits
from musician.store.rows import MessageRow

MOST_URGENT = 20
"""Messages that stop a session at once; the others follow when these are dealt with."""


def grants_of(store: Store, *task_ids: str) -> frozenset[Act]:
    """The acts granted to whoever plays one of the tasks, until they are revoked."""
    with store.read() as tx:
        return frozenset(
            Act(act) for task_id in task_ids for act in tx.all(Permits.grants_of_task, task_id=task_id)
        )


def note_refusal(store: Store, claim: Claim, refusal: Refusal) -> Written:
    """Into the journal, where the conductor sees it; a sign of life too."""
    with store.write() as tx:
        beat_in(tx, claim)
        entry = Entry(kind=EntryKind.REFUSED, text=f"{refusal.what} ({refusal.act}: {refusal.reason})")
        write_entries(tx, claim, (entry,))
        return ((claim.task_id, entry),)


def urgent_messages(store: Store, claim: Claim) -> tuple[MessageRow, ...]:
    """The urgent messages that its session has not acknowledged, delivered or not, oldest first (D12, D35)."""
    with store.read() as tx:
        return tuple(tx.all(Permits.urgent_unacknowledged, task_id=claim.task_id, most=MOST_URGENT))


def was_taken(store: Store, claim: Claim) -> bool:
    """Whether a claim that is over was taken from its session, and not ended by it (D2)."""
    with store.read() as tx:
        ended = tx.one(Permits.ended_by_owner, task_id=claim.task_id, claim_epoch=claim.epoch)
        return ended is None
