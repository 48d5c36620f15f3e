"""Standing still: a task for another's checkpoint (PLAN-21), and a plan because a person wants it.

What holds for a task is the conductor's last word of the two, so that saying it again changes nothing, and a session
that comes later stands still as well: the message was its predecessor's (D37), the barrier is the phase's. It answers
no question and settles nothing that waits for a person.

A plan is paused while it has a row in ``pauses``. The database refuses the claim of any of its tasks then, and whoever
plays one is told to pause; what is under way is played to its boundary, submitted and judged as ever. The first word
stands: pausing it again changes neither who nor why. What a barrier holds when the plan goes on is told by the
conductor, which alone knows it; where none is at work nobody holds a barrier, and all that was paused goes on.
"""

from musician.protocol.errors import PlanStands, UnknownPlan
from musician.protocol.messages.kinds import MessageType
from musician.protocol.names import CONDUCTOR
from musician.protocol.rules.liveness import heartbeat_status, holds_claim, standing_by_heartbeat
from musician.protocol.settings import Settings
from musician.protocol.states import ACTIVE, State
from musician.protocol.values import dataclass
from musician.service.rowwork import load_played, say
from musician.store.port import ONLOOKERS, Store, Tx
from musician.store.queries.messages import Messages
from musician.store.queries.plans import Plans
from musician.store.queries.tasks import Tasks
from musician.store.rows import PauseRow, TaskRow

_GO_ON = "What you paused for is over: go on."
MOST_PAUSE_CHARS = 500
"""Of the reason for which a plan is paused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanPause:
    """How a plan stands paused. ``is_new`` is False where it was so before: then that word stands."""

    row: PauseRow
    is_new: bool


def pause(store: Store, task_id: str, text: str) -> None:
    """From the task's next boundary on; ``text`` says what for."""
    with store.write() as tx:
        load_played(tx, task_id)
        _tell_to_pause(tx, task_id, text)


def go_on(store: Store, task_id: str) -> None:
    with store.write() as tx:
        load_played(tx, task_id)
        _tell_to_go_on(tx, task_id)


def pause_in(tx: Tx, task_id: str) -> str:
    """Why the task is to stand still, "" if it is not."""
    found = tx.one(Messages.last_word_on_pausing, task_id=task_id)
    if found is None or found.message_type != MessageType.PAUSE:
        return ""
    return found.message or MessageType.PAUSE


def pause_plan(store: Store, plan_id: str, *, who: str, reason: str = "") -> PlanPause:
    """Nothing of the plan is begun any more, and whoever plays one of its tasks is told to pause.

    :class:`UnknownPlan` and :class:`PlanStands` of one that is not there, archived, or complete.
    """
    with store.write() as tx:
        _load_open(tx, plan_id)
        reason = " ".join(reason.split())[:MOST_PAUSE_CHARS]
        is_new = tx.run(Plans.pause_plan, plan_id=plan_id, who=who, reason=reason) == 1
        row = tx.only(Plans.pause, plan_id=plan_id)
        if is_new:
            text = f"plan {plan_id} is {row.said}"
            say(tx, CONDUCTOR, CONDUCTOR, MessageType.PAUSE, text)
            for task in tx.all(Tasks.tasks_of_plan, plan_id=plan_id):
                if task.session_id is not None and task.state in ACTIVE:
                    _tell_to_pause(tx, task.task_id, text)
            _ring(tx)
        return PlanPause(row=row, is_new=is_new)


def resume_plan(store: Store, plan_id: str, *, who: str, settings: Settings) -> PauseRow | None:
    """Let a paused plan go on; return what had paused it, None if nothing had. Refused as :func:`pause_plan`."""
    with store.write() as tx:
        _load_open(tx, plan_id)
        row = tx.one(Plans.pause, plan_id=plan_id)
        if row is None:
            return None
        tx.run(Plans.resume_plan, plan_id=plan_id)
        say(tx, CONDUCTOR, CONDUCTOR, MessageType.GO_ON, f"{who} lets plan {plan_id} go on")
        tasks = tx.all(Tasks.tasks_of_plan, plan_id=plan_id)
        is_conducted = _is_conducted(tx, settings)
        for task in tasks:
            said = tx.one(Messages.last_word_on_pausing, task_id=task.task_id)
            is_told_for_this = said is not None and said.id > row.mark
            if is_told_for_this and not (is_conducted and _may_be_held(task, tasks)):
                _tell_to_go_on(tx, task.task_id)
        _ring(tx)
        return row


def pause_of_plan(store: Store, plan_id: str) -> PauseRow | None:
    """Who has paused the plan, since when and why; None if it is not paused."""
    with store.read() as tx:
        return tx.one(Plans.pause, plan_id=plan_id)


def paused_plans(store: Store) -> dict[str, PauseRow]:
    """Every plan that is paused, by its id."""
    with store.read() as tx:
        return {row.plan_id: row for row in tx.all(Plans.pauses)}


def _tell_to_pause(tx: Tx, task_id: str, text: str) -> None:
    if not pause_in(tx, task_id):
        say(tx, task_id, CONDUCTOR, MessageType.PAUSE, text)


def _tell_to_go_on(tx: Tx, task_id: str) -> None:
    if pause_in(tx, task_id):
        say(tx, task_id, CONDUCTOR, MessageType.GO_ON, _GO_ON)


def _load_open(tx: Tx, plan_id: str) -> None:
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


def _is_conducted(tx: Tx, settings: Settings) -> bool:
    row = tx.one(Tasks.task, task_id=CONDUCTOR)
    if row is None or row.state is not State.WORKING or row.last_heartbeat is None:
        return False
    return holds_claim(standing_by_heartbeat(heartbeat_status(row.heartbeat_age_s, settings)))


def _may_be_held(task: TaskRow, tasks: list[TaskRow]) -> bool:
    """Whether a sibling waits for a verdict, which may be at a barrier: the conductor tells the task, if it is none."""
    others = (each for each in tasks if each.phase == task.phase and each.task_id != task.task_id)
    return any(each.state is State.NEEDS_REVIEW for each in others)


def _ring(tx: Tx) -> None:
    tx.ring(CONDUCTOR)
    tx.ring(ONLOOKERS)
