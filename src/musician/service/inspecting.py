"""The facts of a task's row for the sources' validation (D22): as stored, whoever wrote them."""

from typing import cast

from musician.protocol.inspections import RowFacts
from musician.protocol.messages.kinds import MessageType
from musician.protocol.names import fallback_id
from musician.store.port import Row, Store, Tx, Value

__all__ = ["row_facts"]


def row_facts(store: Store, task_id: str, session_id: str | None) -> RowFacts | None:
    """From one snapshot; None where no row has exactly this id.

    Not a :class:`~musician.store.rows.TaskRow`: what a raw writer left may be none, and that is what one looks for.
    Errors are counted from history, not from the column that a raw claim may reset (D3).
    """
    with store.read() as tx:
        row = tx.one("task", task_id=task_id)
        if row is None:
            return None
        return RowFacts(
            task_id=task_id,
            state=_text(row["state"]) or "",
            session_id=_text(row["session_id"]),
            worked_by=_text(row["worked_by"]),
            heartbeat=_text(row["last_heartbeat"]),
            age_s=cast("float | None", row["heartbeat_age_s"]),
            errors=_errors(tx, task_id),
            retry_limit=int(row["retry_limit"] or 0),
            unread=_count(tx.one("count_unread", task_id=task_id)),
            has_fallback=session_id is not None
            and tx.one("task", task_id=fallback_id(session_id)) is not None,
        )


def _errors(tx: Tx, task_id: str) -> int:
    changes = tx.all("history_of_task", task_id=task_id)
    return sum(1 for change in changes if change["message_type"] == MessageType.ERROR)


def _count(row: Row | None) -> int:
    return 0 if row is None else int(row["n"] or 0)


def _text(value: Value) -> str | None:
    """In one line: what a raw writer left must not look like a line of ours."""
    if value is None:
        return None
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)
