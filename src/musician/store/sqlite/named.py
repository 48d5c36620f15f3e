"""Named SQL: ``-- name: claim_task`` begins a query, comment lines under it describe it.

Our own dozen lines instead of a library: hooks start in a few milliseconds and the library made for this (aiosql)
takes a hundred to import.
"""

import re
from functools import cache
from pathlib import Path

from musician.protocol.journal import WORK, EntryKind
from musician.protocol.messages.kinds import MessageType
from musician.protocol.names import CONDUCTOR
from musician.protocol.states import ACTIVE, CLAIMABLE, State
from musician.store.literals import list_of, state_list

_HERE = Path(__file__).parent
_NAME = re.compile(r"^-- name: ([a-z_]+)$", re.MULTILINE)


@cache
def load_queries() -> dict[str, str]:
    """Every query of ``queries/*.sql`` by its name; a name given twice is an error."""
    queries: dict[str, str] = {}
    for file in sorted((_HERE / "queries").glob("*.sql")):
        parts = _NAME.split(fill(file.read_text(encoding="utf-8")))
        for name, body in zip(parts[1::2], parts[2::2], strict=True):
            if name in queries:
                raise ValueError(f"{file.name}: query {name} is defined twice")
            queries[name] = body.strip()
    return queries


def load_schema() -> str:
    """The tables and indexes; the state lists come from the protocol."""
    return fill((_HERE / "schema.sql").read_text(encoding="utf-8"))


_AGE = (
    "CASE WHEN t.last_heartbeat GLOB '[0-9][0-9][0-9][0-9]-*'"
    " THEN unixepoch('now', 'subsec') - unixepoch(t.last_heartbeat, 'subsec') END AS heartbeat_age_s"
)
"""SQLite would also read 'now' and day numbers as times; only a date is one (D10)."""

_LAST = "FROM history WHERE task_id = t.task_id ORDER BY id DESC LIMIT 1"
_SETTLED = f"(t.state = '{State.EXITED}' AND coalesce((SELECT who {_LAST}), '') = '{CONDUCTOR}')"
"""An exit is its session's, or else the conductor's, who took the task out of the plan or skipped it."""

_IS_SKIPPED = f"(coalesce((SELECT message_type {_LAST}), '') = '{MessageType.SKIPPED}')"
_REASON = f"coalesce((SELECT message FROM orchestration_messages WHERE id = (SELECT message_id {_LAST})), '')"  # noqa: S608 - constants

_SUBMISSION = """SELECT s.id, s.message_id, s.message_type, s.claim_epoch, s.at, m.message, f.fields,
       v.to_state AS verdict, w.message AS verdict_text, v.message_id AS verdict_id,
       c.commit_id, c.tree_id, c.entry_id, c.changed_files
FROM history s
LEFT JOIN orchestration_messages m ON m.id = s.message_id
LEFT JOIN message_fields f ON f.message_id = s.message_id
LEFT JOIN covered c ON c.message_id = s.message_id
LEFT JOIN history v ON v.task_id = s.task_id AND v.submission_id = s.message_id AND v.id > s.id
                       AND v.message_id > s.message_id
LEFT JOIN orchestration_messages w ON w.id = v.message_id"""
"""A submission with its verdict: NULL while it waits, for the verdict's message too. One that is older than the
submission was not about it (D28).
"""

_CONSTANTS = {
    "SUBMISSION": _SUBMISSION,
    "AGE": f"{_AGE}, {_SETTLED} AND NOT {_IS_SKIPPED} AS is_withdrawn,"
    f" CASE WHEN {_SETTLED} AND {_IS_SKIPPED} THEN {_REASON} END AS skipped",
    "SETTLED": _SETTLED,
    "STATES": state_list(State),
    "ACTIVE": state_list(ACTIVE),
    "WORK": list_of(kind for kind in EntryKind if kind in WORK),
    "CLAIMABLE": state_list(CLAIMABLE),
}
_MARK = re.compile(rf"/\*({'|'.join(_CONSTANTS)})\*/")


def fill(sql: str) -> str:
    """Put the protocol's own constants in."""
    return _MARK.sub(lambda mark: _CONSTANTS[mark[1]], sql)
