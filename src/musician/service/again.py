"""Doing a task again, and settling one without its work: a person's orders about what did not go as planned.

Both are made of the table's own events. A retry opens the task for its next session, or answers the one that waits in
an error. Started over, its journal says so: all folds over it begin there, and the next session keeps the earlier work
under a ref before it plays anything. What is done and approved is done; only its merge can be tried again.
"""

from enum import StrEnum

from musician.protocol.arguments import as_argument
from musician.protocol.claim import Claim
from musician.protocol.errors import DependentsWait, NothingAgain, StillPlayed
from musician.protocol.journal import Entry, EntryKind
from musician.protocol.messages.checks import check_said
from musician.protocol.messages.kinds import MessageType
from musician.protocol.names import CONDUCTOR
from musician.protocol.states import ACTIVE, CLAIMABLE, State
from musician.protocol.transitions import Actor, Event, find
from musician.protocol.values import dataclass
from musician.service.endings import approved_completion
from musician.service.people import judge_in_person
from musician.service.rowwork import load_played, move_by_conductor, say, write_entries
from musician.service.snapshot import waits_in
from musician.service.takeover import free_in, reopen_in
from musician.store.port import Store, Tx
from musician.store.queries.history import History
from musician.store.queries.plans import Plans
from musician.store.queries.tasks import Tasks
from musician.store.queries.work import Work
from musician.store.rows import TaskRow

AGAIN = "Play it once more from the last finished step."
FROM_START = "Play it from the start: none of the earlier work is in the tree."
MERGE = "merge"
"""The kind of what a person is asked about a complete task whose work could not be merged."""


class Dependents(StrEnum):
    """What becomes of the tasks that are to be played after one that is skipped."""

    SKIP = "skip"
    PLAY = "play"


@dataclass(frozen=True, slots=True, kw_only=True)
class Retried:
    """``state`` is the one it is in now; of a complete task only the merge is tried again.

    Started over, its earlier work is kept under the ref of the claim ``epoch``.
    """

    task_id: str
    plan_id: str | None
    state: State
    epoch: int
    from_start: bool
    errors_left: int
    """The error reports that it has left (D3)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """``skipped`` are the tasks that were, in the plan's order; ``go_on`` those that are played without them."""

    skipped: tuple[str, ...]
    go_on: tuple[str, ...]


def retry(
    store: Store, task_id: str, text: str | None = None, *, from_start: bool = False, patience: int = 5
) -> Retried:
    """Have a task played again, from its last finished step or ``from_start``. What waited for a person is settled,
    but for a ceiling, which no word raises.

    ``text`` is for who plays it. It may report ``patience`` errors from here on. Said twice, it is done once.
    :class:`StillPlayed` while a session plays it, but for one that waits in an error, which simply goes on;
    :class:`NothingAgain` of what was never played, waits for a verdict, or is done.
    """
    with store.write() as tx:
        row = load_played(tx, task_id)
        if row.state is State.COMPLETE:
            _merge_again(tx, row, from_start=from_start)
        elif row.state is State.ERROR and row.session_id is not None and not from_start:
            judge_in_person(tx, task_id, State.FIX_PROPOSED, text or AGAIN)
        else:
            _open_again(tx, row, text, from_start=from_start)
        errors = tx.only(History.count_error_reports, task_id=task_id)
        more = errors + patience - row.retry_limit
        if more > 0 and row.state is not State.COMPLETE:
            tx.run(Tasks.grant_retries, task_id=task_id, more=more)
        if row.plan_id is not None:
            tx.run(Plans.reopen_plan, plan_id=row.plan_id)
        tx.ring(task_id)
        tx.ring(CONDUCTOR)
        now = load_played(tx, task_id)
        return Retried(
            task_id=task_id,
            plan_id=row.plan_id,
            state=now.state,
            epoch=row.claim_epoch,
            from_start=from_start and row.claim_epoch > 0,
            errors_left=now.retry_limit - errors,
        )


def skip(store: Store, task_id: str, reason: str, *, dependents: Dependents | None = None) -> Skipped:
    """Settle a task without its work; the plan goes on without it. :func:`retry` takes that back.

    :class:`DependentsWait` if others are to be played after it and nobody says what becomes of them.
    :class:`StillPlayed` while a session has one of those that would be skipped. Skipping it again changes nothing.
    """
    check_said("text", reason)
    with store.write() as tx:
        row = load_played(tx, task_id)
        if row.skipped is not None:
            return Skipped(skipped=(), go_on=())
        waiting = waits_in(tx, row.plan_id).after(task_id)
        if waiting and dependents is None:
            raise DependentsWait(task_id=task_id, waiting=waiting)
        skipped = (task_id, *(waiting if dependents is Dependents.SKIP else ()))
        for each in skipped:
            why = reason if each == task_id else f"skipped with {task_id}: {reason}"
            _skip(tx, load_played(tx, each), why)
        return Skipped(skipped=skipped, go_on=() if dependents is Dependents.SKIP else waiting)


def _skip(tx: Tx, row: TaskRow, reason: str) -> None:
    row = free_in(tx, row, reason)
    find(row.state, Event.SKIP, task_id=row.task_id, actor=Actor.CONDUCTOR)
    say(tx, row.task_id, CONDUCTOR, MessageType.SKIPPED, reason)
    tx.run(Plans.resolve_human, task_id=row.task_id, resolution=f"skipped: {reason}"[:500])
    move_by_conductor(tx, row, Event.SKIP)


def _merge_again(tx: Tx, row: TaskRow, *, from_start: bool) -> None:
    asks = tx.all(Plans.needs_human_of_task, task_id=row.task_id)
    if from_start or not any(ask.kind == MERGE and ask.resolved_at is None for ask in asks):
        raise NothingAgain(
            task_id=row.task_id,
            reason="it is complete, and what is complete stays so",
            remedy=f"a correction is a task of its own, such as {row.task_id}-fix: `musician plan amend`",
        )
    tx.run(Plans.resolve_human, task_id=row.task_id, resolution="the merge is tried again")


def _open_again(tx: Tx, row: TaskRow, text: str | None, *, from_start: bool) -> None:
    task_id = row.task_id
    _check_free(tx, row, from_start=from_start)
    if from_start and row.claim_epoch > 0 and not _is_started_over(tx, task_id):
        entry = Entry(kind=EntryKind.STARTED_OVER, text=text or FROM_START)
        write_entries(tx, Claim(task_id=task_id, session_id=CONDUCTOR, epoch=row.claim_epoch), (entry,))
    said = text or (FROM_START if from_start else AGAIN)
    if row.state is State.EXITED:
        reopen_in(tx, row, said)
        return
    tx.run(Plans.resolve_answered, task_id=task_id, resolution=f"tried again: {said}"[:500])
    if text is not None or from_start:
        say(tx, task_id, CONDUCTOR, MessageType.NOTE, said)


def _check_free(tx: Tx, row: TaskRow, *, from_start: bool) -> None:
    """Raise unless the task is nobody's, and there is something to do again."""
    task_id = row.task_id
    if row.state is State.NEEDS_REVIEW or (row.session_id is None and row.state in ACTIVE - CLAIMABLE):
        find(row.state, Event.REOPEN, task_id=task_id, actor=Actor.CONDUCTOR)  # what to do instead
    if row.session_id is not None and row.state in ACTIVE:
        raise StillPlayed(task_id=task_id, session_id=row.session_id)
    if row.is_withdrawn:
        plan = tx.one(Plans.plan, plan_id=row.plan_id or "")
        file = "PLAN" if plan is None else as_argument(plan.path)
        raise NothingAgain(
            task_id=task_id,
            reason="it was withdrawn from its plan",
            remedy=f"put it into the plan again, and `musician plan amend {file}`",
        )
    is_asked = any(ask.resolved_at is None for ask in tx.all(Plans.needs_human_of_task, task_id=task_id))
    if row.state is State.WATCHING and not is_asked:
        find(row.state, Event.REOPEN, task_id=task_id, actor=Actor.CONDUCTOR)
    if from_start and approved_completion(tx, task_id) is not None and not _is_started_over(tx, task_id):
        raise NothingAgain(
            task_id=task_id,
            reason="all of its work is approved, and may be merged with the others' already",
            remedy=f"`musician task retry {task_id}` has it completed; a correction is a task of its own",
        )


def _is_started_over(tx: Tx, task_id: str) -> bool:
    """Whether nothing was played since it was."""
    journal = tx.all(Work.journal_of_task, task_id=task_id)
    return bool(journal) and journal[-1].kind == EntryKind.STARTED_OVER
