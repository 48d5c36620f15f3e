"""Standing still: a plan because a person wants it (PLAN-23), and a task for another's checkpoint (PLAN-21).

Theory. Two things hold a session at its next boundary, and it goes on when neither does.

*A plan's pause* is a row without an end (``store/guards/pausing``). Nobody is told of it: whoever is to begin something
looks it up, so that it holds for whoever comes later too, and for what a raw writer pauses, or lets go on. While it
lasts the database refuses the claim of any task of the plan; what is under way is played to its boundary, submitted and
judged as ever. The first word stands: pausing it again changes neither who nor why.

*A task's* is the conductor's last word of two, so that saying it again changes nothing, and a session that comes later
stands still as well: the message was its predecessor's (D37), the barrier is the phase's. It answers no question and
settles nothing that waits for a person.
"""

from musician.protocol.errors import PlanStands, UnknownPlan
from musician.protocol.messages.kinds import MessageType
from musician.protocol.names import CONDUCTOR
from musician.protocol.values import dataclass
from musician.service.rowwork import load_played, say
from musician.store.port import ONLOOKERS, Store, Tx
from musician.store.queries.messages import Messages
from musician.store.queries.pausing import Pauses
from musician.store.queries.plans import Plans
from musician.store.rows import PauseRow

_GO_ON = "What you paused for is judged: go on."
MOST_PAUSE_CHARS = 500
"""Of the reason for which a plan is paused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanPause:
    """How a plan stands paused. ``is_new`` is False where it was so before: then that word stands."""

    row: PauseRow
    is_new: bool


def pause_plan(store: Store, plan_id: str, *, who: str, reason: str = "") -> PlanPause:
    """Nothing of the plan is begun any more; whoever plays one of its tasks stands still at the next boundary.

    :class:`UnknownPlan` and :class:`PlanStands` of one that is not there, archived, or complete.
    """
    with store.write() as tx:
        _check_open(tx, plan_id)
        reason = " ".join(reason.split())[:MOST_PAUSE_CHARS]
        is_new = tx.run(Pauses.pause_plan, plan_id=plan_id, who=who, reason=reason) == 1
        if is_new:
            _ring(tx, plan_id)
        return PlanPause(row=tx.only(Pauses.pause_of_plan, plan_id=plan_id), is_new=is_new)


def resume_plan(store: Store, plan_id: str, *, who: str) -> PauseRow | None:
    """Let a paused plan go on; return what had paused it, None if nothing had. Refused as :func:`pause_plan`."""
    with store.write() as tx:
        _check_open(tx, plan_id)
        row = pause_of_plan_in(tx, plan_id)
        if row is not None:
            tx.run(Pauses.resume_plan, plan_id=plan_id, who=who)
            _ring(tx, plan_id)
        return row


def pause_of_plan(store: Store, plan_id: str) -> PauseRow | None:
    """Who has paused the plan, since when and why; None if it is not paused."""
    with store.read() as tx:
        return pause_of_plan_in(tx, plan_id)


def pause_of_task(store: Store, task_id: str) -> PauseRow | None:
    """The same of the plan that a task belongs to."""
    with store.read() as tx:
        return tx.one(Pauses.pause_of_task, task_id=task_id)


def paused_plans(store: Store) -> dict[str, PauseRow]:
    """Every plan that is paused, by its id."""
    with store.read() as tx:
        return {row.plan_id: row for row in tx.all(Pauses.pauses)}


def pause_of_plan_in(tx: Tx, plan_id: str | None) -> PauseRow | None:
    """:func:`pause_of_plan` within a transaction of the caller's; without a plan nothing is paused."""
    return None if plan_id is None else tx.one(Pauses.pause_of_plan, plan_id=plan_id)


def _check_open(tx: Tx, plan_id: str) -> None:
    row = tx.one(Plans.plan, plan_id=plan_id)
    if row is None and tx.one(Plans.archive, plan_id=plan_id) is not None:
        raise PlanStands(
            plan_id=plan_id,
            reason="is archived, and nothing of it is played",
            remedy=f"bring it back first: `musician plan restore {plan_id}`",
        )
    if row is None:
        raise UnknownPlan(plan_id=plan_id)
    if row.finished_at is not None:
        raise PlanStands(
            plan_id=plan_id,
            reason="is complete, and nothing of it is played",
            remedy="there is nothing to pause; `musician plan list` shows the open plans",
        )


def _ring(tx: Tx, plan_id: str) -> None:
    """Wake the run, whoever looks on, and the sessions that play."""
    for task_id in (CONDUCTOR, ONLOOKERS, *tx.all(Pauses.owned_tasks_of_plan, plan_id=plan_id)):
        tx.ring(task_id)


def pause(store: Store, task_id: str, text: str) -> None:
    """From the task's next boundary on; ``text`` says what for."""
    with store.write() as tx:
        load_played(tx, task_id)
        if not order_to_pause_in(tx, task_id):
            say(tx, task_id, CONDUCTOR, MessageType.PAUSE, text)


def go_on(store: Store, task_id: str) -> None:
    with store.write() as tx:
        load_played(tx, task_id)
        if order_to_pause_in(tx, task_id):
            say(tx, task_id, CONDUCTOR, MessageType.GO_ON, _GO_ON)


def order_to_pause_in(tx: Tx, task_id: str) -> str:
    """Why the task was told to stand still, "" if it was not, or was told to go on since."""
    found = tx.one(Messages.last_word_on_pausing, task_id=task_id)
    if found is None or found.message_type != MessageType.PAUSE:
        return ""
    return found.message or MessageType.PAUSE
