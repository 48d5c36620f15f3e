"""Telling a task to stand still for another's checkpoint, and to go on (PLAN-21).

What holds is the conductor's last word of the two, so that saying it again changes nothing, and a session that comes
later stands still as well: the message was its predecessor's (D37), the barrier is the phase's. It answers no question
and settles nothing that waits for a person.
"""

from musician.protocol.messages.kinds import MessageType
from musician.protocol.names import CONDUCTOR
from musician.service.rowwork import load_played, say
from musician.store.port import Store, Tx
from musician.store.queries.messages import Messages

_GO_ON = "What you paused for is judged: go on."


def pause(store: Store, task_id: str, text: str) -> None:
    """From the task's next boundary on; ``text`` says what for."""
    with store.write() as tx:
        load_played(tx, task_id)
        if not pause_in(tx, task_id):
            say(tx, task_id, CONDUCTOR, MessageType.PAUSE, text)


def go_on(store: Store, task_id: str) -> None:
    with store.write() as tx:
        load_played(tx, task_id)
        if pause_in(tx, task_id):
            say(tx, task_id, CONDUCTOR, MessageType.GO_ON, _GO_ON)


def pause_in(tx: Tx, task_id: str) -> str:
    """Why the task is to stand still, "" if it is not."""
    found = tx.one(Messages.last_word_on_pausing, task_id=task_id)
    if found is None or found.message_type != MessageType.PAUSE:
        return ""
    return found.message or MessageType.PAUSE
