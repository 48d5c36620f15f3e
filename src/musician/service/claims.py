"""The claims that a session has made: which are live, and staying their owner (D2, D10)."""

from musician.protocol.claim import Claim
from musician.protocol.errors import ClaimLost, WhichTask
from musician.protocol.names import (
    CONDUCTOR,
    check_session_id,
    check_task_id,
)
from musician.service.rowwork import beat_in, load_task
from musician.store.port import Store, Tx
from musician.store.queries.sessions import Sessions
from musician.store.queries.tasks import Tasks
from musician.store.rows import TaskRow


def beat(store: Store, claim: Claim) -> None:
    """Refresh the owner's heartbeat; :class:`ClaimLost` if the claim is not the current one."""
    with store.write() as tx:
        beat_in(tx, claim)


def claims_of(store: Store, session_id: str) -> tuple[Claim, ...]:
    """The live claims a session holds, by task id."""
    with store.read() as tx:
        return claims_in(tx, session_id)


def claims_in(tx: Tx, session_id: str) -> tuple[Claim, ...]:
    """The same within a transaction of the caller's."""
    rows = tx.all(Tasks.claims_of_session, session_id=session_id)
    return tuple(
        Claim(task_id=row.task_id, session_id=session_id, epoch=row.claim_epoch)
        for row in rows
        if row.task_id != CONDUCTOR
    )


def only_claim(store: Store, session_id: str | None) -> Claim:
    """The one live claim of a session that names no task; :class:`WhichTask` where there is none, or several."""
    session = check_session_id(session_id)
    with store.read() as tx:
        live = claims_in(tx, session)
        made = tx.all(Sessions.tasks_of_session, session_id=session)
    if len(live) != 1:
        raise WhichTask(session_id=session, held=tuple(claim.task_id for claim in live), had=tuple(made))
    return live[0]


def current_claim(store: Store, task_id: str, session_id: str | None, *, epoch: int | None = None) -> Claim:
    """The claim that a call with a session id (and perhaps an epoch) means.

    With an epoch the claim is taken at its word: the verb that uses it will refuse a lost one. Without one it is
    the session's own claim; :class:`ClaimLost` if that is not the task's current one.
    """
    check_task_id(task_id)
    session = check_session_id(session_id)
    if epoch is not None:
        return Claim(task_id=task_id, session_id=session, epoch=epoch)
    with store.read() as tx:
        row = load_task(tx, task_id)
        own = own_epoch(tx, row, session)
    if own is None or row.session_id != session or row.claim_epoch != own:
        raise ClaimLost(task_id=task_id, session_id=session, epoch=own, current_epoch=row.claim_epoch)
    return Claim(task_id=task_id, session_id=session, epoch=own)


def own_epoch(tx: Tx, row: TaskRow, session: str) -> int | None:
    """The newest claim this session has made; a fence raises the task's epoch, never this one."""
    return tx.one(Sessions.own_epoch, task_id=row.task_id, session_id=session)
