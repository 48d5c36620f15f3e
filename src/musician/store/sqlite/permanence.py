"""Triggers that keep what must not be changed or taken back: messages, journal, evidence, sessions.

REPLACE deletes a row without firing its delete trigger, so a second INSERT of a key is refused as well. A message
may be deleted: an id is never used twice, and what is bound to it stays bound.
"""
# ruff: noqa: S608 - generated from constants

from collections.abc import Iterator

from musician.protocol.messages.kinds import MessageType
from musician.store.sqlite.triggers import abort, trigger

_KEYS = {
    "journal": ("id",),
    "documents": ("id",),
    "proposals": ("id",),
    "verifications": ("id",),
    "rulings": ("journal_id",),
    "message_fields": ("message_id",),
    "opinions": ("submission_id",),
    "sessions": ("task_id", "claim_epoch"),
}
_MAY_CHANGE = {
    "journal": "0",
    "documents": "0",
    "rulings": "0",
    "message_fields": "0",
    "opinions": "0",
    "proposals": "OLD.status = 'open' AND "
    + " AND ".join(
        f"NEW.{column} IS OLD.{column}"
        for column in (
            "id",
            "task_id",
            "claim_epoch",
            "session_id",
            "type",
            "title",
            "path",
            "message_id",
            "at",
        )
    ),
    "verifications": "OLD.submission_id IS NULL AND NEW.submission_id IS NOT NULL AND "
    + " AND ".join(
        f"NEW.{column} IS OLD.{column}"
        for column in (
            "id",
            "task_id",
            "claim_epoch",
            "checkpoint",
            "covers_all",
            "outcome",
            "tree_id",
            "journal_id",
            "result",
            "at",
        )
    ),
    "sessions": " AND ".join(
        f"NEW.{column} IS OLD.{column}" for column in ("task_id", "claim_epoch", "session_id", "number")
    ),
}


def permanence_triggers() -> Iterator[str]:
    """Every trigger, as one CREATE TRIGGER statement each."""
    yield from _messages()
    for table, columns in _KEYS.items():
        reason = f"the {table} table is append-only"
        key = " AND ".join(f"{column} = NEW.{column}" for column in columns)
        yield abort(f"{table}_stays", f"BEFORE DELETE ON {table}", "1", reason)
        yield abort(f"{table}_fixed", f"BEFORE UPDATE ON {table}", f"NOT ({_MAY_CHANGE[table]})", reason)
        yield abort(
            f"{table}_unique",
            f"BEFORE INSERT ON {table}",
            f"EXISTS (SELECT 1 FROM {table} WHERE {key})",
            reason,
        )


def _messages() -> Iterator[str]:
    yield abort(
        "messages_unique",
        "BEFORE INSERT ON orchestration_messages",
        "EXISTS (SELECT 1 FROM orchestration_messages WHERE id = NEW.id)",
        "a message is never replaced",
    )
    yield trigger(  # said again in the same words, as the row that lets it end (D9)
        "messages_blocked_once",
        "BEFORE INSERT ON orchestration_messages",
        f"NEW.message_type = '{MessageType.CLAIM_BLOCKED}' AND EXISTS (SELECT 1 FROM orchestration_messages"
        " WHERE task_id = NEW.task_id AND from_session = NEW.from_session"
        f" AND message_type = '{MessageType.CLAIM_BLOCKED}' AND message = NEW.message)",
        "SELECT RAISE(IGNORE)",
    )
    same = " AND ".join(
        f"NEW.{column} IS OLD.{column}"
        for column in ("id", "task_id", "from_session", "message", "timestamp")
    )
    superseded = (
        f"OLD.message_type = '{MessageType.INSTRUCTION}'"
        f" AND NEW.message_type = '{MessageType.INSTRUCTION_SUPERSEDED}'"
    )
    yield abort(
        "messages_stay",
        "BEFORE UPDATE ON orchestration_messages",
        f"NOT ({same} AND (NEW.message_type IS OLD.message_type OR {superseded}))",
        "a message is never changed",
    )
