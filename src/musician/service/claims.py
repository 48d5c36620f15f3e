"""Claiming a task, and staying its owner (D2, D4, D9, D10)."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import cast

from musician.protocol.claim import Claim
from musician.protocol.errors import ClaimBlocked, ClaimLost, WhichTask
from musician.protocol.messages.kinds import MessageType
from musician.protocol.messages.types import ClaimBlockedNotice
from musician.protocol.names import (
    CONDUCTOR,
    check_session_id,
    check_task_id,
    fallback_id,
    succession_name,
)
from musician.protocol.rules.liveness import Owner, heartbeat_status, owner_standing
from musician.protocol.settings import Settings
from musician.protocol.states import ACTIVE, CLAIMABLE, State
from musician.service.rowwork import is_fenced, load_owned, load_task, named, say
from musician.store.port import Store, Tx
from musician.store.rows import TaskRow

__all__ = ["Taken", "beat", "block_claim", "claim", "claims_in", "claims_of", "current_claim", "sole_claim"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A claim that succeeded. ``is_new`` is False for the owner's own second claim, which changed nothing."""

    claim: Claim
    worked_by: str
    number: int
    is_new: bool
    instruction_path: str


def claim(
    store: Store, task_id: str, session_id: str | None, *, quiet: bool = False, settings: Settings
) -> Taken:
    """Claim a task atomically; exactly one of any number of sessions succeeds.

    Raises :class:`ClaimBlocked` when the task has a live owner, is in a state that cannot be claimed, has no
    instruction, or while a session is at work on a task that shares its dangerous files. The task is then as it was;
    the session's fallback row and a ``claim_blocked`` message are written, unless ``quiet`` (a polling worker) (D9).
    """
    check_task_id(task_id)
    session = check_session_id(session_id)
    with store.write() as tx:
        row = load_task(tx, task_id)
        if _owns(tx, row, session) and row.state in ACTIVE - {State.EXIT_REQUESTED}:
            return _taken(tx, row, session, is_new=False)
        reason = _why_blocked(tx, row, session, settings) or _try(tx, row, session)
        if reason is None:
            return _taken(tx, load_task(tx, task_id), session, is_new=True)
        if not quiet:
            _block(tx, row, session, reason)
    raise ClaimBlocked(
        task_id=task_id, state=row.state, reason=reason, owner=row.session_id if row.state in ACTIVE else None
    )


def block_claim(store: Store, task_id: str, session_id: str | None, reason: str) -> None:
    """Write down a claim that was blocked before it was tried: another process holds the task's lock (D9)."""
    check_task_id(task_id)
    session = check_session_id(session_id)
    with store.write() as tx:
        _block(tx, load_task(tx, task_id), session, reason)


def beat(store: Store, claim: Claim) -> None:
    """Refresh the owner's heartbeat; :class:`ClaimLost` if the claim is not the current one."""
    with store.write() as tx:
        load_owned(tx, claim)
        tx.run("beat", **named(claim))


def claims_of(store: Store, session_id: str) -> tuple[Claim, ...]:
    """The live claims a session holds, by task id."""
    with store.read() as tx:
        return claims_in(tx, session_id)


def claims_in(tx: Tx, session_id: str) -> tuple[Claim, ...]:
    """The same within a transaction of the caller's."""
    rows = tx.all("claims_of_session", session_id=session_id)
    return tuple(
        Claim(task_id=str(row["task_id"]), session_id=session_id, epoch=int(row["claim_epoch"] or 0))
        for row in rows
        if row["task_id"] != CONDUCTOR
    )


def sole_claim(store: Store, session_id: str | None) -> Claim:
    """The one live claim of a session that names no task; :class:`WhichTask` where there is none, or several."""
    session = check_session_id(session_id)
    with store.read() as tx:
        live = claims_in(tx, session)
        made = tx.all("tasks_of_session", session_id=session)
    if len(live) != 1:
        had = tuple(str(row["task_id"]) for row in made)
        raise WhichTask(session_id=session, held=tuple(claim.task_id for claim in live), had=had)
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
        own = _own_epoch(tx, row, session)
    if own is None or row.session_id != session or row.claim_epoch != own:
        raise ClaimLost(task_id=task_id, session_id=session, epoch=own, current_epoch=row.claim_epoch)
    return Claim(task_id=task_id, session_id=session, epoch=own)


def _own_epoch(tx: Tx, row: TaskRow, session: str) -> int | None:
    """The newest claim this session has made; a fence raises the task's epoch, never this one."""
    own = tx.one("own_epoch", task_id=row.task_id, session_id=session)
    return None if own is None else cast("int", own["claim_epoch"])


def _owns(tx: Tx, row: TaskRow, session: str) -> bool:
    return row.session_id == session and _own_epoch(tx, row, session) == row.claim_epoch


_UNCLAIMABLE: Mapping[State, str] = MappingProxyType(
    {State.COMPLETE: "it is done", State.EXITED: "nobody has opened it again"}
)
"""Why nobody can claim a task that nobody has."""


def _why_blocked(tx: Tx, row: TaskRow, session: str, settings: Settings) -> str | None:
    if row.state not in CLAIMABLE:
        return f"{_UNCLAIMABLE.get(row.state, 'its state cannot be claimed')}{_whose(tx, row)}"
    if row.session_id is not None and is_fenced(tx, row):
        return f"it is being taken over from session {row.session_id}"
    if row.session_id == session and row.state is State.EXIT_REQUESTED:
        return "its owner has been asked to exit and may only do that"
    status = heartbeat_status(row.heartbeat_age_s, settings)
    if row.session_id is not None and row.last_heartbeat is not None:
        standing = owner_standing(status, lock_held=None)
        if standing in (Owner.LIVE, Owner.DOUBTFUL):
            return f"somebody lives on it{_whose(tx, row)}"
    if tx.one("instruction", task_id=row.task_id) is None:
        return "it has no instruction"
    at_work = tx.one("conflict_at_work", task_id=row.task_id)
    if at_work is not None:
        return f"{at_work['other']!s} is at work on the same dangerous files"
    return None


def _whose(tx: Tx, row: TaskRow) -> str:
    """The owner, since when, and when it was last heard of; "" if nobody has the task."""
    if row.session_id is None or row.state not in ACTIVE:
        return ""
    session = tx.one("session", task_id=row.task_id, claim_epoch=row.claim_epoch)
    since = "" if session is None else f" since {session['started_at']!s}"
    return f"; session {row.session_id} has it{since}, last heartbeat {row.last_heartbeat or 'never'} (UTC)"


def _try(tx: Tx, row: TaskRow, session: str) -> str | None:
    counted = tx.one("count_sessions", task_id=row.task_id)
    number = int((counted or {}).get("n") or 0) + 1
    changed = tx.run(
        "claim_task",
        task_id=row.task_id,
        session_id=session,
        worked_by=succession_name(row.task_id, number),
    )
    return None if changed == 1 else "the database's claim guard refused it"


def _taken(tx: Tx, row: TaskRow, session: str, *, is_new: bool) -> Taken:
    instruction = tx.one("instruction", task_id=row.task_id)
    counted = tx.one("count_sessions", task_id=row.task_id)
    if is_new:
        tx.ring(CONDUCTOR)
    return Taken(
        claim=Claim(task_id=row.task_id, session_id=session, epoch=row.claim_epoch),
        worked_by=row.worked_by or succession_name(row.task_id, 1),
        number=int((counted or {}).get("n") or 1),
        is_new=is_new,
        instruction_path=str((instruction or {}).get("message") or ""),
    )


def _block(tx: Tx, row: TaskRow, session: str, reason: str) -> None:
    """Let the session end, and tell the conductor: each once, however often the session tries (D9)."""
    tx.run("block_claim", fallback_id=fallback_id(session), session_id=session)
    if tx.one("blocked_before", task_id=row.task_id, session_id=session) is None:
        notice = ClaimBlockedNotice(task_id=row.task_id, reason=f"{row.state}: {reason}")
        say(tx, row.task_id, session, MessageType.CLAIM_BLOCKED, notice.render())
