"""Gathers the facts that the sources' scripts inspect (D22): a task's row as it is stored, and its files in ``temp/``.

Both may hold anything: bytes that are not UTF-8, a folder or a pipe where a file is expected, files of other tasks.
They are only read, and only regular files are opened.
"""

import os
import re
from pathlib import Path

from musician import service
from musician.protocol.inspections import RowFacts, TempFacts
from musician.protocol.journal import status_line
from musician.protocol.names import fallback_id
from musician.store.port import Store
from musician.store.queries.history import History
from musician.store.queries.messages import Messages
from musician.store.queries.tasks import Tasks
from musician.store.queries.work import Work
from musician.trees.git import shown
from musician.trees.root import Root

MOST_OTHERS = 200
"""How many files of other tasks are listed. Nobody reads a longer list."""

_TASK_FILE = re.compile(r"(?P<task>.+)-(?:status|deviations|HANDOFF)", re.DOTALL)


def row_facts(store: Store, task_id: str, session_id: str | None) -> RowFacts | None:
    """Return the facts of one row, from one snapshot; None if no row has exactly this id.

    The row is not read as a :class:`~musician.store.rows.TaskRow`: a raw writer may have left one that is invalid, and
    the inspection is there to find it. Errors are counted from history, because a raw claim may reset the column (D3).
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


def temp_facts(root: Root, task_id: str) -> TempFacts:
    """Return the contents of a task's files, and the names of other tasks' files."""
    handoff = root.temp_dir / f"{task_id}-HANDOFF"
    others = [name for name in _names(root.temp_dir) if _is_of_another(name, task_id)]
    return TempFacts(
        task_id=task_id,
        status=_read(root.temp_dir / f"{task_id}-status"),
        deviations=_read(root.temp_dir / f"{task_id}-deviations"),
        handoff=_read(handoff),
        handoff_path=shown(bytes(handoff)),
        others=tuple(shown(os.fsencode(name)) for name in others[:MOST_OTHERS]),
    )


def measured_status(store: Store, task_id: str) -> str | None:
    """Return the journal in the form of a status file; None if the present session has no context reading in it.

    A raw writer has no journal; then the status file is the only record.
    """
    with store.read() as tx:
        row = tx.one(Tasks.task, task_id=task_id)
        journal = tuple(tx.all(Work.journal_of_task, task_id=task_id))
    own = (each for each in journal if row is not None and each.claim_epoch == row.claim_epoch)
    if all(each.context_pct is None for each in own):
        return None
    return "\n".join(status_line(service.as_entry(each)) for each in journal)


def read_status(root: Root, task_id: str) -> tuple[str | None, str]:
    """Return the text of a task's status file (None if there is none) and its path."""
    path = root.temp_dir / f"{task_id}-status"
    return _read(path), shown(bytes(path))


def _read(path: Path) -> str | None:
    return path.read_bytes().decode("utf-8", "replace") if path.is_file() else None


def _names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder)) if folder.is_dir() else []


def _is_of_another(name: str, task_id: str) -> bool:
    """Whether a file belongs to another task, by the whole id: ``task-10-status`` is not ``task-1``'s (D8).

    A name without one of the known endings belongs to a task if it begins like a task's id.
    """
    match = _TASK_FILE.fullmatch(name)
    if match is not None:
        return match["task"] != task_id and not name.startswith(".")
    return name.startswith("task-") and re.match(rf"{re.escape(task_id)}(?![A-Za-z0-9])", name) is None


def _text(value: str | None) -> str | None:
    """Return the value on one line: a raw writer's text must not pass for a line of our output."""
    if value is None:
        return None
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in str(value))
