"""Triggers that keep what must not be changed or taken back: messages, journal, evidence, sessions.

REPLACE deletes a row without firing its delete trigger, so a second INSERT of a key is refused as well. A message
may be deleted: an id is never used twice, and what is bound to it stays bound.
"""

from collections.abc import Iterator

from musician.protocol.messages.kinds import MessageType
from musician.store.guards.conditions import unchanged
from musician.store.guards.guard import Guard, ignore, refuse

_KEYS = {
    "journal": ("id",),
    "documents": ("id",),
    "proposals": ("id",),
    "verifications": ("id",),
    "rulings": ("journal_id",),
    "message_fields": ("message_id",),
    "opinions": ("submission_id",),
    "sessions": ("task_id", "claim_epoch"),
    "plan_pauses": ("id",),
    "signatures": ("seq",),
    "settlements": ("seq",),
}
_MAY_CHANGE = {
    "journal": "FALSE",
    "documents": "FALSE",
    "rulings": "FALSE",
    "message_fields": "FALSE",
    "opinions": "FALSE",
    "signatures": "FALSE",
    "settlements": "FALSE",
    "proposals": "OLD.status = 'open' AND "
    + unchanged("id task_id claim_epoch session_id type title path message_id at"),
    "verifications": "OLD.submission_id IS NULL AND NEW.submission_id IS NOT NULL AND "
    + unchanged("id task_id claim_epoch checkpoint covers_all outcome tree_id journal_id result at"),
    "sessions": unchanged("task_id claim_epoch session_id number"),
    "plan_pauses": "OLD.resumed_at IS NULL AND NEW.resumed_at IS NOT NULL AND "
    + unchanged("id plan_id who reason at"),
}


def permanence_guards() -> Iterator[Guard]:
    yield from _messages()
    for table, columns in _KEYS.items():
        reason = f"the {table} table is append-only"
        key = " AND ".join(f"{column} = NEW.{column}" for column in columns)
        yield refuse(f"{table}_stays", f"BEFORE DELETE ON {table}", "TRUE", reason)
        yield refuse(f"{table}_fixed", f"BEFORE UPDATE ON {table}", f"NOT ({_MAY_CHANGE[table]})", reason)
        yield refuse(
            f"{table}_unique",
            f"BEFORE INSERT ON {table}",
            f"EXISTS (SELECT 1 FROM {table} WHERE {key})",
            reason,
        )


def _messages() -> Iterator[Guard]:
    yield refuse(
        "messages_unique",
        "BEFORE INSERT ON orchestration_messages",
        "EXISTS (SELECT 1 FROM orchestration_messages WHERE id = NEW.id)",
        "a message is never replaced",
    )
    yield ignore(  # the same message again is ignored, as its fallback row is (D9)
        "messages_blocked_once",
        "BEFORE INSERT ON orchestration_messages",
        f"NEW.message_type = '{MessageType.CLAIM_BLOCKED}' AND EXISTS (SELECT 1 FROM orchestration_messages"
        " WHERE task_id = NEW.task_id AND from_session = NEW.from_session"
        f" AND message_type = '{MessageType.CLAIM_BLOCKED}' AND message = NEW.message)",
    )
    same = unchanged("id task_id from_session message timestamp")
    superseded = (
        f"OLD.message_type = '{MessageType.INSTRUCTION}'"
        f" AND NEW.message_type = '{MessageType.INSTRUCTION_SUPERSEDED}'"
    )
    yield refuse(
        "messages_stay",
        "BEFORE UPDATE ON orchestration_messages",
        f"NOT ({same} AND (NEW.message_type IS NOT DISTINCT FROM OLD.message_type OR {superseded}))",
        "a message is never changed",
    )
