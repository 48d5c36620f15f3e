"""Stores an agent's conversation, which a later session may continue, and the usage limits of its provider.

A limit belongs to the task: whoever has it next waits for the end of it, too. It is no failure of the work, and the
database's clock says when it is over (D10).
"""

from musician.protocol.claim import Claim
from musician.protocol.journal import Entry
from musician.service.rowwork import beat_in, load_owned, write_entries
from musician.store.port import Store
from musician.store.queries.sessions import Sessions
from musician.store.rows import ConversationRow


def keep_conversation(store: Store, claim: Claim, token: str) -> None:
    """Keep by which token the conversation of a claim's agent can be gone on with."""
    with store.write() as tx:
        load_owned(tx, claim)
        tx.run(Sessions.keep_conversation, task_id=claim.task_id, claim_epoch=claim.epoch, token=token)


def conversation_before(store: Store, claim: Claim) -> ConversationRow | None:
    """The last that an earlier session of the task had, and how that ended."""
    with store.read() as tx:
        return tx.one(Sessions.conversation_before, task_id=claim.task_id, claim_epoch=claim.epoch)


def limit(store: Store, claim: Claim, wait_s: float, *entries: Entry) -> None:
    """Have nothing of the task played for so long, and write down why."""
    with store.write() as tx:
        beat_in(tx, claim)
        tx.run(Sessions.forget_limits, task_id=claim.task_id, claim_epoch=claim.epoch)
        tx.run(Sessions.limit, task_id=claim.task_id, claim_epoch=claim.epoch, wait_s=wait_s)
        write_entries(tx, claim, entries)


def limited_for_s(store: Store, task_id: str) -> float:
    """How long the limit of a task still holds; 0 or less where it is over, or there is none."""
    with store.read() as tx:
        return tx.only(Sessions.limited_for_s, task_id=task_id)
