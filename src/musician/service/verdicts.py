"""The messages of the conductor to a task: verdicts and exit requests (D7)."""

from musician.protocol.claim import Claim
from musician.protocol.errors import BadField, EvidenceMissing, JudgedAlready, StaleVerdict
from musician.protocol.journal import JUDGED_BY_PERSON, Entry, EntryKind
from musician.protocol.messages.checks import check_said
from musician.protocol.messages.kinds import VERDICT_OF, MessageType
from musician.protocol.names import CONDUCTOR
from musician.protocol.states import VERDICTS, WAITING, State
from musician.protocol.transitions import Actor, Event, find, open_verdicts, verdict_event
from musician.service.comments import drafts_in, send_drafts, with_drafts
from musician.service.rowwork import (
    latest_change,
    load_played,
    move_by_conductor,
    say,
    write_entries,
)
from musician.service.views import is_in_conflict
from musician.store.port import Store, Tx
from musician.store.queries.history import History
from musician.store.queries.messages import Messages
from musician.store.queries.plans import Plans
from musician.store.queries.work import Work
from musician.store.rows import HistoryRow

STOP_NOW = "Stop now: write the HANDOFF and exit."
"""What an urgent stop says where nobody says it otherwise."""


def judge(
    store: Store,
    task_id: str,
    verdict: State,
    text: str,
    *,
    submission_id: int | None = None,
    rules: tuple[int, ...] = (),
) -> int:
    """Answer the latest submission or report, as the run; the verdict's message id.

    ``submission_id`` names the message that was judged: if it is no longer the latest, the verdict is refused
    (:class:`StaleVerdict`). ``rules`` are journal ids of the deviations and findings it rules, each once (D17, D26).
    :class:`EvidenceMissing` while a raw writer's submission waits for its message (D5).
    """
    with store.write() as tx:
        return judge_in(tx, task_id, verdict, text, submission_id=submission_id, rules=rules)


def judge_in(
    tx: Tx,
    task_id: str,
    verdict: State,
    text: str,
    *,
    submission_id: int | None = None,
    rules: tuple[int, ...] = (),
    by_person: bool = False,
) -> int:
    """:func:`judge` within a transaction of the caller's.

    ``by_person``: what came before is ruled by it, and makes nothing rough any more (D17); a failure is not approved
    by a person, nor what was found to be in conflict: :class:`EvidenceMissing` then.
    """
    if verdict not in VERDICTS:
        raise BadField(field="verdict", value=verdict, reason="use " + ", ".join(VERDICT_OF))
    row = load_played(tx, task_id)
    if row.state not in WAITING:
        _refuse_late(tx, task_id, submission_id)
    find(row.state, verdict_event(verdict), task_id=task_id, actor=Actor.CONDUCTOR)
    latest = _latest(tx, task_id)
    latest_id = latest.message_id
    asks = tx.all(Plans.needs_human_of_task, task_id=task_id)
    conflict = is_in_conflict(asks, latest_id)
    answers = open_verdicts(
        row.state,
        message_type=latest.message_type,
        came_from=latest.from_state,
        is_in_conflict=conflict,
    )
    if by_person and verdict not in answers:
        raise _in_conflict(task_id) if conflict else _nothing_submitted(task_id)
    if submission_id is not None and submission_id != latest_id:
        raise StaleVerdict(task_id=task_id, judged=submission_id, latest=latest_id or 0)
    drafts = drafts_in(tx, task_id) if by_person and row.state is State.NEEDS_REVIEW else ()
    if by_person:
        text, first = with_drafts(text, verdict, drafts)
    message_id = say(tx, task_id, CONDUCTOR, VERDICT_OF[verdict], text)
    for journal_id in rules:
        _rule(tx, task_id, journal_id, message_id)
    if by_person:
        conductor = Claim(task_id=task_id, session_id=CONDUCTOR, epoch=row.claim_epoch)
        write_entries(tx, conductor, (Entry(kind=EntryKind.NOTE, text=JUDGED_BY_PERSON),))
        tx.run(Work.tie_newest, task_id=task_id, message_id=message_id)
        send_drafts(tx, drafts, message_id, first)
    if any(ask.resolved_at is None for ask in asks):
        tx.run(Plans.resolve_answered, task_id=task_id, resolution=f"{verdict}: {text}"[:500])
    move_by_conductor(tx, row, verdict_event(verdict))
    return message_id


def request_exit(store: Store, task_id: str, text: str, *, urgent: bool, hold: bool = False) -> int:
    """Ask a task's session to hand off and exit; urgent: stop the running piece at once (D12).

    ``hold``: no fresh session goes on before a person says so; without it the conductor reopens the task, and what
    waited for a person is settled by that. May be asked again, more urgently, of a session that was asked already.
    The exit request's message id.
    """
    check_said("text", text)
    with store.write() as tx:
        row = load_played(tx, task_id)
        find(row.state, Event.REQUEST_EXIT, task_id=task_id, actor=Actor.CONDUCTOR)
        if urgent:
            tx.run(
                Messages.address,
                task_id=task_id,
                message_id=say(tx, task_id, CONDUCTOR, MessageType.EMERGENCY, text),
            )
        message_id = say(tx, task_id, CONDUCTOR, MessageType.EXIT_REQUEST, text)
        if hold:
            tx.run(Plans.ask_human, task_id=task_id, kind="stopped", subject_id=message_id, text=text)
        else:
            tx.run(Plans.resolve_answered, task_id=task_id, resolution=f"handed off: {text}"[:500])
        move_by_conductor(tx, row, Event.REQUEST_EXIT)
        return message_id


def _refuse_late(tx: Tx, task_id: str, submission_id: int | None) -> None:
    if submission_id is None:
        return
    change = tx.one(History.verdict_on, task_id=task_id, submission_id=submission_id)
    if change is not None and change.to_state in VERDICTS:
        raise JudgedAlready(
            task_id=task_id,
            judged=submission_id,
            verdict=change.to_state,
            message_id=change.message_id or 0,
        )


def _nothing_submitted(task_id: str) -> EvidenceMissing:
    return EvidenceMissing(
        task_id=task_id,
        missing="it reports a failure, and has submitted nothing that could be approved",
        remedy=f"say what to do differently: `musician review fix {task_id} TEXT`",
    )


def _in_conflict(task_id: str) -> EvidenceMissing:
    return EvidenceMissing(
        task_id=task_id,
        missing="what it has submitted cannot be merged as it is",
        remedy=f"bring both sides together in its tree (`musician review show {task_id}` names the command), then"
        f' `musician review fix {task_id} "resolved by hand"`',
    )


def _latest(tx: Tx, task_id: str) -> HistoryRow:
    """Return the message of the latest change of a task that waits for a verdict."""
    latest = latest_change(tx, task_id)
    if latest is None or latest.message_id is None:
        raise EvidenceMissing(
            task_id=task_id,
            missing="its submission has no message yet",
            remedy="wait for the session's message, or take the task over",
        )
    return latest


def _rule(tx: Tx, task_id: str, journal_id: int, message_id: int) -> None:
    if tx.one(Work.to_be_ruled, task_id=task_id, journal_id=journal_id) is None:
        raise BadField(
            field="rules", value=journal_id, reason=f"name a deviation or finding in the journal of {task_id}"
        )
    tx.run(Work.rule, journal_id=journal_id, message_id=message_id)
