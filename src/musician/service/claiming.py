"""Claiming a task: exactly one of any number of sessions succeeds (D4, D9)."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from musician.protocol.claim import Claim
from musician.protocol.errors import ClaimBlocked, PlanPaused
from musician.protocol.messages.types import ClaimBlockedNotice
from musician.protocol.names import (
    CONDUCTOR,
    check_session_id,
    check_task_id,
    fallback_id,
    succession_name,
)
from musician.protocol.rules.ceilings import Amounts
from musician.protocol.rules.liveness import heartbeat_status, holds_claim, owner_standing
from musician.protocol.states import ACTIVE, CLAIMABLE, State
from musician.protocol.values import dataclass
from musician.service.claims import own_epoch
from musician.service.pausing import pause_of_plan_in
from musician.service.rowwork import is_fenced, load_task, say_fields
from musician.service.settling import keep_in
from musician.service.spending import fits_in
from musician.store.port import Store, Tx
from musician.store.queries.messages import Messages
from musician.store.queries.plans import Plans
from musician.store.queries.sessions import Sessions
from musician.store.queries.tasks import BeforeClaimRow, Tasks
from musician.store.rows import PauseRow, TaskRow

if TYPE_CHECKING:
    from musician.protocol.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A claim that succeeded. ``is_new`` is False for the owner's own second claim, which changed nothing."""

    claim: Claim
    worked_by: str
    number: int
    is_new: bool
    instruction_path: str


def claim(
    store: Store,
    task_id: str,
    session_id: str | None,
    *,
    quiet: bool = False,
    out_of_turn: bool = False,
    budgets: Mapping[str, Amounts] | None = None,
    settings: "Settings",
) -> Taken:
    """Claim a task atomically; exactly one of any number of sessions succeeds.

    Raises :class:`ClaimBlocked` when the task has a live owner, is in a state that cannot be claimed, has no
    instruction, comes after one that is not finished (``out_of_turn`` lets it), or while a session is at work on a task
    that shares its dangerous files; with the ``budgets`` of its plan's tasks also where what those at work may use yet
    leaves too little of a ceiling. :class:`PlanPaused` of a task that could be had but for its plan's pause. The task
    is then as it was; the session's fallback row and a ``claim_blocked`` message are written, unless ``quiet`` (a
    polling worker) (D9).
    """
    check_task_id(task_id)
    session = check_session_id(session_id)
    with store.write() as tx:
        keep_in(tx, settings)
        row = load_task(tx, task_id)
        before = tx.only(Tasks.before_claim, task_id=task_id, session_id=session)
        if _owns(tx, row, session) and row.state in ACTIVE - {State.EXIT_REQUESTED}:
            return _taken(row, session, before, is_new=False)
        taken = _taken(row, session, before, is_new=True)
        blocked = _why_blocked(tx, row, session, before, settings)
        paused = pause_of_plan_in(tx, row.plan_id) if before.is_paused and not blocked else None
        reason = (
            blocked
            or ("" if paused is None else paused.text)
            or ("" if out_of_turn else _why_not_yet(tx, row))
            or ("" if budgets is None or fits_in(tx, row, settings.ceilings, budgets) else _NO_ROOM)
            or _try(tx, taken)
        )
        if reason is None:
            tx.ring(CONDUCTOR)
            return taken
        if not quiet:
            _block(tx, row, session, reason)
    if paused is not None:
        raise _paused(row, paused)
    raise ClaimBlocked(
        task_id=task_id, state=row.state, reason=reason, owner=row.session_id if row.state in ACTIVE else None
    )


_NO_ROOM = "what is at work beside it may use all that the ceilings of its plan or the day leave"


def _paused(row: TaskRow, pause: PauseRow) -> PlanPaused:
    return PlanPaused(
        task_id=row.task_id,
        state=row.state,
        plan_id=pause.plan_id,
        who=pause.who,
        since=pause.at,
        why=pause.reason,
        said=pause.said,
    )


def block_claim(store: Store, task_id: str, session_id: str | None, reason: str) -> None:
    """Write down a claim that was blocked before it was tried: another process holds the task's lock (D9)."""
    check_task_id(task_id)
    session = check_session_id(session_id)
    with store.write() as tx:
        _block(tx, load_task(tx, task_id), session, reason)


def _owns(tx: Tx, row: TaskRow, session: str) -> bool:
    return row.session_id == session and own_epoch(tx, row, session) == row.claim_epoch


_UNCLAIMABLE: Mapping[State, str] = MappingProxyType(
    {State.COMPLETE: "it is done", State.EXITED: "its session has ended, and nobody has opened it again"}
)
"""Why nobody can claim a task that nobody has."""


def _why_blocked(
    tx: Tx, row: TaskRow, session: str, before: BeforeClaimRow, settings: "Settings"
) -> str | None:
    if before.conducts:
        return "this session conducts, and a conductor plays no task"
    if row.is_withdrawn:
        return "it was withdrawn from its plan"
    if row.skipped is not None:
        return "it is skipped"
    if row.state not in CLAIMABLE:
        return f"{_UNCLAIMABLE.get(row.state, 'its state cannot be claimed')}{_whose(tx, row)}"
    if row.session_id is not None and is_fenced(tx, row):
        return f"it is being taken over from session {row.session_id}"
    if row.session_id == session and row.state is State.EXIT_REQUESTED:
        return "its owner has been asked to exit and may only do that"
    status = heartbeat_status(row.heartbeat_age_s, settings)
    if row.session_id is not None and row.last_heartbeat is not None:
        standing = owner_standing(status, lock_held=None)
        if holds_claim(standing):
            return f"somebody lives on it{_whose(tx, row)}"
    if before.instruction is None:
        return "it has no instruction"
    if before.at_work is not None:
        return f"{before.at_work} is at work on the same dangerous files"
    return None


def _why_not_yet(tx: Tx, row: TaskRow) -> str:
    """Return what must be finished first by the plan's order; "" if nothing."""
    first = tx.one(Plans.comes_first, task_id=row.task_id)
    if first is None:
        return ""
    how = "it comes after that" if first.is_named else f"phase {first.phase} comes before phase {row.phase}"
    return (
        f"{first.task_id} is {first.state}, and {how}"
        f" (the conductor may let it: `musician claim {row.task_id} --force`)"
    )


def _whose(tx: Tx, row: TaskRow) -> str:
    """The owner, since when, and when it was last heard of; "" if nobody has the task."""
    if row.session_id is None or row.state not in ACTIVE:
        return ""
    session = tx.one(Sessions.session, task_id=row.task_id, claim_epoch=row.claim_epoch)
    since = "" if session is None else f" since {session.started_at}"
    return f"; session {row.session_id} has it{since}, last heartbeat {row.last_heartbeat or 'never'} (UTC)"


def _try(tx: Tx, wanted: Taken) -> str | None:
    changed = tx.run(
        Tasks.claim_task,
        task_id=wanted.claim.task_id,
        session_id=wanted.claim.session_id,
        worked_by=wanted.worked_by,
    )
    return None if changed == 1 else "the database's claim guard refused it"


def _taken(row: TaskRow, session: str, before: BeforeClaimRow, *, is_new: bool) -> Taken:
    """As it is, or as a claim makes it: with the next number, under the next epoch (D2)."""
    step = 1 if is_new else 0
    number = before.sessions + step or 1
    own_name = None if is_new else row.worked_by
    return Taken(
        claim=Claim(task_id=row.task_id, session_id=session, epoch=row.claim_epoch + step),
        worked_by=own_name or succession_name(row.task_id, number if is_new else 1),
        number=number,
        is_new=is_new,
        instruction_path=before.instruction or "",
    )


def _block(tx: Tx, row: TaskRow, session: str, reason: str) -> None:
    """Let the session end, and tell the conductor: each once, however often the session tries (D9)."""
    tx.run(Tasks.block_claim, fallback_id=fallback_id(session), session_id=session)
    if tx.one(Messages.blocked_before, task_id=row.task_id, session_id=session) is None:
        notice = ClaimBlockedNotice(task_id=row.task_id, reason=f"{row.state}: {reason}")
        say_fields(tx, row.task_id, session, notice)
