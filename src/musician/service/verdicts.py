"""What the conductor says to a task: verdicts, exit requests, granted retries (D3, D7)."""

from musician.protocol.errors import StaleVerdict
from musician.protocol.messages import VERDICT_OF, MessageType
from musician.protocol.names import CONDUCTOR
from musician.protocol.states import WAITING, State
from musician.protocol.transitions import Actor, Event, find, verdict_event
from musician.service.rowwork import latest_change, load_task, move_by_conductor, say
from musician.store.port import Store

__all__ = ["grant_retries", "judge", "request_exit"]


def judge(
    store: Store,
    task_id: str,
    verdict: State,
    text: str,
    *,
    submission_id: int | None = None,
    rules: tuple[int, ...] = (),
) -> int:
    """Answer the latest submission or report; the verdict's message id.

    ``submission_id`` names the message that was judged: if it is no longer the latest, the verdict is refused
    (:class:`StaleVerdict`). ``rules`` are journal ids of the deviations this verdict rules, each once (D17).
    """
    with store.write() as tx:
        row = load_task(tx, task_id)
        find(row.state, verdict_event(verdict), task_id=task_id, actor=Actor.CONDUCTOR)
        latest = latest_change(tx, task_id)
        latest_id = latest.message_id if latest is not None and row.state in WAITING else None
        if latest_id is None or (submission_id is not None and submission_id != latest_id):
            raise StaleVerdict(task_id=task_id, judged=submission_id, latest=latest_id)
        message_id = say(tx, task_id, CONDUCTOR, VERDICT_OF[verdict], text)
        for journal_id in rules:
            tx.run("rule_deviation", journal_id=journal_id, message_id=message_id)
        tx.run("resolve_human", task_id=task_id, resolution=f"{verdict}: {text}"[:500])
        move_by_conductor(tx, row, verdict_event(verdict))
        return message_id


def request_exit(store: Store, task_id: str, text: str, *, urgent: bool) -> int:
    """Ask a task's session to hand off and exit; urgent: stop the running piece at once (D12)."""
    with store.write() as tx:
        row = load_task(tx, task_id)
        find(row.state, Event.REQUEST_EXIT, task_id=task_id, actor=Actor.CONDUCTOR)
        if urgent:
            say(tx, task_id, CONDUCTOR, MessageType.EMERGENCY, text)
        message_id = say(tx, task_id, CONDUCTOR, MessageType.EXIT_REQUEST, text)
        move_by_conductor(tx, row, Event.REQUEST_EXIT)
        return message_id


def grant_retries(store: Store, task_id: str, more: int) -> None:
    """Give a task more error reports than the five of D3."""
    if more < 1:
        raise ValueError(f"at least one retry is granted, not {more}")
    with store.write() as tx:
        load_task(tx, task_id)
        tx.run("grant_retries", task_id=task_id, more=more)
