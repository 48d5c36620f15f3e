"""Stores an agent's conversation, which a later session may continue."""

from musician.protocol.claim import Claim
from musician.service.rowwork import load_owned
from musician.store.port import Store
from musician.store.queries.sessions import Sessions
from musician.store.rows import ConversationRow


def keep_conversation(store: Store, claim: Claim, token: str) -> None:
    """Keep by which token the conversation of a claim's agent can be gone on with."""
    with store.write() as tx:
        load_owned(tx, claim)
        tx.run(Sessions.keep_conversation, task_id=claim.task_id, claim_epoch=claim.epoch, token=token)


def conversation_token(store: Store, claim: Claim) -> str:
    """Return by which token the conversation of a claim's agent can be gone on with, "" if there is none."""
    with store.read() as tx:
        found = tx.one(Sessions.conversation, task_id=claim.task_id, claim_epoch=claim.epoch)
    return "" if found is None else found.token


def conversation_before(store: Store, claim: Claim) -> ConversationRow | None:
    """The last that an earlier session of the task had, and how that ended."""
    with store.read() as tx:
        return tx.one(Sessions.conversation_before, task_id=claim.task_id, claim_epoch=claim.epoch)
