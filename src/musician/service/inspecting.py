"""The facts of a task's row for the sources' validation (D22): as stored, whoever wrote them."""

from musician.protocol.inspections import RowFacts
from musician.protocol.names import fallback_id
from musician.store.port import Store
from musician.store.queries.history import History
from musician.store.queries.messages import Messages
from musician.store.queries.tasks import Tasks


def row_facts(store: Store, task_id: str, session_id: str | None) -> RowFacts | None:
    """From one snapshot; None where no row has exactly this id.

    Not a :class:`~musician.store.rows.TaskRow`: what a raw writer left may be none, and that is what one looks for.
    Errors are counted from history, not from the column that a raw claim may reset (D3).
    """
    with store.read() as tx:
        row = tx.one(Tasks.task_as_written, task_id=task_id)
        if row is None:
            return None
        return RowFacts(
            task_id=task_id,
            state=_text(row.written_state) or "",
            session_id=_text(row.session_id),
            worked_by=_text(row.worked_by),
            heartbeat=_text(row.last_heartbeat),
            age_s=row.heartbeat_age_s,
            errors=tx.only(History.count_error_reports, task_id=task_id),
            retry_limit=row.retry_limit,
            unread=tx.only(Messages.count_unread, task_id=task_id),
            has_fallback=session_id is not None
            and tx.one(Tasks.task_as_written, task_id=fallback_id(session_id)) is not None,
        )


def _text(value: str | None) -> str | None:
    """In one line: what a raw writer left must not look like a line of ours."""
    if value is None:
        return None
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in str(value))
