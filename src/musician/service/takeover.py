"""Gives a task to its next session: reopens it, or takes it over from a dead session (D1, D23).

Taking over is four steps, each restartable: :func:`fence` (every later write of the old claim is refused), ending
its processes, saving what it left (both the runtime's), and :func:`take_over`.
"""

from musician.protocol.errors import EvidenceMissing, StillPlayed
from musician.protocol.messages.kinds import MessageType
from musician.protocol.names import CONDUCTOR
from musician.protocol.states import ACTIVE, State
from musician.protocol.transitions import Actor, Event, find
from musician.service.documents import keep_text
from musician.service.inbox import send
from musician.service.rowwork import changed_one, is_fenced, load_played, move_by_conductor, say
from musician.service.verdicts import request_exit
from musician.store.port import Store, Tx
from musician.store.queries.plans import Plans
from musician.store.queries.sessions import Sessions
from musician.store.queries.tasks import Tasks
from musician.store.rows import TaskRow


def fence(store: Store, task_id: str, *, epoch: int) -> int:
    """Shut the claim ``epoch`` out; the new epoch. Fencing what is fenced already changes nothing."""
    with store.write() as tx:
        row = load_played(tx, task_id)
        if row.claim_epoch != epoch or is_fenced(tx, row):
            return row.claim_epoch
        find(row.state, Event.TAKE_OVER, task_id=task_id, actor=Actor.CONDUCTOR)
        changed_one(row, tx.run(Tasks.fence, task_id=task_id, claim_epoch=epoch))
        tx.ring(task_id)
        return epoch + 1


def take_over(
    store: Store, task_id: str, text: str, *, reason: str, handoff: tuple[str, str] | None = None
) -> None:
    """Reopen a fenced task for its next session; the old session ends with ``reason``.

    ``handoff`` is the path and text of the HANDOFF the program wrote in the dead session's place (D20).

    Its processes must be ended and its work saved before this is called. :class:`EvidenceMissing` if the claim
    is not fenced. Taking over what is open already changes nothing.
    """
    with store.write() as tx:
        row = load_played(tx, task_id)
        find(row.state, Event.TAKE_OVER, task_id=task_id, actor=Actor.CONDUCTOR)
        if row.state is State.FIX_PROPOSED and row.session_id is None:
            return
        if not is_fenced(tx, row):
            raise EvidenceMissing(
                task_id=task_id,
                missing="its claim is not fenced",
                remedy=f"`musician handoff {task_id}` does all of it",
            )
        if handoff is not None:
            keep_text(tx, task_id, row.claim_epoch, "handoff", *handoff)
        say(tx, task_id, CONDUCTOR, MessageType.HANDOFF, text)
        tx.run(Sessions.end_older_sessions, task_id=task_id, claim_epoch=row.claim_epoch, exit_reason=reason)
        changed = tx.run(Tasks.reopen_fenced, task_id=task_id, claim_epoch=row.claim_epoch)
        changed_one(row, changed)
        tx.ring(CONDUCTOR)


def hand_over(store: Store, task_id: str, text: str | None) -> tuple[int, State]:
    """Have a fresh session go on with a task: its session is asked to exit; one that exited is reopened.

    One that waits for its next session already is only told ``text``. The message's id, and the state the task is in
    then. None for ``text`` says what is usually said.
    """
    with store.read() as tx:
        row = load_played(tx, task_id)
    if row.state is State.EXITED:
        return reopen(store, task_id, text), State.FIX_PROPOSED
    if row.state is State.FIX_PROPOSED and row.session_id is None:
        return send(store, task_id, text or "Go on where the last session stopped."), row.state
    text = text or "Finish this piece, write the HANDOFF and exit."
    return request_exit(store, task_id, text, urgent=False), State.EXIT_REQUESTED


def reopen(store: Store, task_id: str, text: str | None = None) -> int:
    """Reopen an exited task for its next session, with what that session should know (D1); the message's id."""
    with store.write() as tx:
        row = load_played(tx, task_id)
        return reopen_in(tx, row, text or _go_on(row))


def _go_on(row: TaskRow) -> str:
    if row.is_withdrawn:
        return "It is back in the plan."
    if row.skipped is not None:
        return "It is to be played after all."
    return f"The last session exited. Read temp/{row.task_id}-HANDOFF and go on where it stopped."


def reopen_in(tx: Tx, row: TaskRow, text: str) -> int:
    """:func:`reopen` within a transaction of the caller's."""
    find(row.state, Event.REOPEN, task_id=row.task_id, actor=Actor.CONDUCTOR)
    message_id = say(tx, row.task_id, CONDUCTOR, MessageType.HANDOFF, text)
    tx.run(Plans.resolve_answered, task_id=row.task_id, resolution=f"opened again: {text}"[:500])
    move_by_conductor(tx, row, Event.REOPEN)
    return message_id


def free_in(tx: Tx, row: TaskRow, text: str) -> TaskRow:
    """The row of a task that nobody owns, to be settled: one that has exited is opened for that, with the reason."""
    if row.state is State.EXITED and not row.is_withdrawn:
        reopen_in(tx, row, text)
        row = load_played(tx, row.task_id)
    if row.session_id is not None and row.state in ACTIVE:
        raise StillPlayed(task_id=row.task_id, session_id=row.session_id)
    return row


def withdraw(store: Store, task_id: str, text: str) -> None:
    """Take back a task that nobody owns."""
    with store.write() as tx:
        withdraw_in(tx, task_id, text)


def withdraw_in(tx: Tx, task_id: str, text: str) -> None:
    """:func:`withdraw` within a transaction of the caller's."""
    row = free_in(tx, load_played(tx, task_id), text)
    find(row.state, Event.WITHDRAW, task_id=task_id, actor=Actor.CONDUCTOR)
    say(tx, task_id, CONDUCTOR, MessageType.SYSTEM, text)
    tx.run(Plans.resolve_human, task_id=task_id, resolution=text)
    move_by_conductor(tx, row, Event.WITHDRAW)
