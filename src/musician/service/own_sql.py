"""A session's own SQL, as the sources print it: reading anything, changing only what its claim may change (D6).

The statements run first and are judged afterwards, inside the transaction, by the rows they touched: SQL can name a
row in more ways than anybody can foresee. One row too many takes all of it back (B12). A musician may

- change its own task's row, or claim one by the sources' guarded UPDATE;
- leave its ``fallback-<session>`` row;
- add messages in its own name, on its own task, or on a task whose claim was blocked.

It may not act as the conductor: a change of state is written into the history with the name of who may make it, and
that name must be the session's. What the database's guards refuse anybody is refused here too.
"""

from collections.abc import Mapping
from types import MappingProxyType

from musician.processes.output import one_line
from musician.protocol.errors import BeyondClaim
from musician.protocol.messages.kinds import MessageType
from musician.protocol.names import CONDUCTOR, check_session_id, fallback_id
from musician.protocol.states import CLAIMABLE, State
from musician.store.port import Answer, RowChange, Store, Tx
from musician.store.queries.tasks import Tasks
from musician.store.query import Row

_MOST_NAMED_CHARS = 80
_TASKS, _MESSAGES, _HISTORY = "orchestration_tasks", "orchestration_messages", "history"

WRITABLE: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        _TASKS: frozenset(
            {
                "state",
                "session_id",
                "worked_by",
                "started_at",
                "last_heartbeat",
                "completed_at",
                "retry_count",
                "last_error",
                "report_path",
            }
        ),
        _MESSAGES: frozenset(),
    }
)
"""What a statement may name: the tables rows may be added to, and the columns an UPDATE may set."""


def query(store: Store, statement: str, *, most_rows: int, most_bytes: int) -> Answer:
    """Read by one statement; :class:`StatementRefused` for one that does anything else (B11)."""
    return store.ask(statement, most_rows=most_rows, most_bytes=most_bytes)


def execute(store: Store, session_id: str | None, statements: str) -> int:
    """Run a session's own statements, all of them or none; how many rows they changed.

    A claim that is blocked changes 0 rows and raises nothing, as the sources' check needs. :class:`BeyondClaim`
    where a row was touched that is not the session's, :class:`StatementRefused` where the statements do something
    else than change rows.
    """
    session = check_session_id(session_id)
    with store.write() as tx:
        owned = {row.task_id for row in tx.all(Tasks.claims_of_session, session_id=session)}
        changes = tx.alter(statements, writable=WRITABLE)
        for change in changes:
            beyond = _beyond(change, session, owned)
            if beyond:
                raise BeyondClaim(session_id=session, what=beyond)
        _ring(tx, changes)
        return sum(not change.by_trigger for change in changes)


def _beyond(change: RowChange, session: str, owned: set[str]) -> str:
    """Return which part of a change the session may not make, "" if none. A claim adds to ``owned``."""
    before, after = change.before, change.after
    if change.by_trigger:
        added = change.table == _HISTORY and before is None and after is not None
        speaker = str(after["who"]) if added and after is not None else session
        return "" if speaker == session else f"act as {speaker}"
    if after is None:
        return "delete anything"
    if change.table == _MESSAGES:
        return _beyond_message(after, session, owned)
    if before is None:
        own = after["task_id"] == fallback_id(session) and after["session_id"] == session
        return "" if own else f"open the row {_text(after, 'task_id')}"
    return _beyond_row(before, after, session, owned)


def _beyond_message(message: Row, session: str, owned: set[str]) -> str:
    if message["from_session"] != session:
        return f"send messages as {_text(message, 'from_session')}"
    if message["task_id"] in owned or message["message_type"] == MessageType.CLAIM_BLOCKED:
        return ""
    return f"send messages on {_text(message, 'task_id')}, which it does not own"


def _beyond_row(before: Row, after: Row, session: str, owned: set[str]) -> str:
    task_id = str(before["task_id"])
    if task_id not in owned:
        claims = before["state"] in CLAIMABLE and after["state"] == State.WORKING
        if not claims or after["session_id"] != session or task_id == CONDUCTOR:
            return f"change {task_id}, which it does not own"
        owned.add(task_id)
    return "" if after["session_id"] == session else f"give {task_id} to {_text(after, 'session_id')}"


def _text(row: Row, column: str) -> str:
    return one_line(str(row[column]), _MOST_NAMED_CHARS)


def _ring(tx: Tx, changes: tuple[RowChange, ...]) -> None:
    """Everybody who may wait for one of these rows; a statement does not say whom it means."""
    if changes:
        tx.ring(CONDUCTOR)
    for change in changes:
        row = change.after or {}
        if not change.by_trigger and row.get("task_id") is not None:
            tx.ring(str(row["task_id"]))
