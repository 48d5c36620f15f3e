"""Reads everything that a session's watcher needs, from one snapshot (D11)."""

from musician.protocol.claim import Claim
from musician.protocol.journal import Entry, Progress
from musician.protocol.messages.kinds import MessageType
from musician.protocol.musician.since import Since
from musician.protocol.names import CONDUCTOR
from musician.protocol.states import ACTIVE, VERDICTS, State
from musician.protocol.values import dataclass
from musician.service.inbox import MOST_UNREAD
from musician.service.pausing import pause_of_plan_in
from musician.service.rowwork import load_task
from musician.service.work import as_entry
from musician.store.port import Store, Tx
from musician.store.queries.history import History
from musician.store.queries.messages import Messages
from musician.store.queries.plans import Plans
from musician.store.queries.tasks import Tasks
from musician.store.queries.work import Work
from musician.store.rows import MessageRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """``owns``: the claim is still the task's current one. ``verdict``: on the awaited message, None if there is none.

    ``verdict_id`` and ``exit_id`` are the messages that say so, 0 where none does. ``conductor_age_s`` is the age of
    the conductor's heartbeat; ages are None where unset or unreadable. ``plan_pause`` is why nothing is begun, "" if
    the plan is not paused; then it waits for a person too.
    """

    owns: bool
    state: State
    heartbeat_age_s: float | None
    unread: tuple[MessageRow, ...]
    exit_text: str
    exit_id: int
    verdict: State | None
    verdict_text: str
    verdict_id: int
    progress: Progress
    since: Since
    waits_for_human: bool
    conductor_age_s: float | None
    plan_pause: str = ""


def observe(store: Store, claim: Claim, *, awaiting_id: int | None) -> Observation:
    with store.read() as tx:
        row = load_task(tx, claim.task_id)
        of = {"task_id": claim.task_id}
        unread = tuple(tx.all(Messages.unread, most=MOST_UNREAD, **of))
        exits = [each for each in unread if each.message_type == MessageType.EXIT_REQUEST]
        verdict, text, verdict_id = _verdict(tx, claim.task_id, awaiting_id)
        entries: list[Entry] = []
        if verdict is not None:
            entries = [as_entry(each) for each in tx.all(Work.journal_of_task, **of)]
        asks = tx.all(Plans.needs_human_of_task, **of)
        conductor = tx.one(Tasks.task, task_id=CONDUCTOR)
        pause = pause_of_plan_in(tx, row.plan_id)
    return Observation(
        owns=row.session_id == claim.session_id and row.claim_epoch == claim.epoch and row.state in ACTIVE,
        state=row.state,
        heartbeat_age_s=row.heartbeat_age_s,
        unread=unread,
        exit_text=exits[-1].message if exits else "",
        exit_id=exits[-1].id if exits else 0,
        verdict=verdict,
        verdict_text=text,
        verdict_id=verdict_id,
        progress=Progress().after(entries),
        since=Since().after(entries),
        waits_for_human=pause is not None or any(ask.resolved_at is None for ask in asks),
        conductor_age_s=None if conductor is None else conductor.heartbeat_age_s,
        plan_pause="" if pause is None else pause.text,
    )


def _verdict(tx: Tx, task_id: str, awaiting_id: int | None) -> tuple[State | None, str, int]:
    if awaiting_id is None:
        return None, "", 0
    change = tx.one(History.verdict_on, task_id=task_id, submission_id=awaiting_id)
    if change is None:
        return None, "", 0
    message = None if change.message_id is None else tx.one(Messages.message, id=change.message_id)
    text = "" if message is None else message.message
    return (change.to_state if change.to_state in VERDICTS else None), text, change.message_id or 0


def nudge(store: Store, task_id: str) -> None:
    """Have a task's session look at once: something has changed that no row says."""
    with store.write() as tx:
        tx.ring(task_id)
