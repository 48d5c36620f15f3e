"""Triggers that write the history: every change of state, whoever makes it, bound to its message (D5, D6).

Theory. A history row is written in the statement that changes the state, and says who owns the task after it. Its
message is the newest one that goes with the change, if that came first; else the next one that does. What a claim
or a takeover means for epoch, session and heartbeat follows from the row just written.

The changes of state themselves are judged in ``guards``; here they have already been allowed.
"""

from collections.abc import Iterator

from musician.protocol.messages.kinds import MessageType
from musician.protocol.names import CONDUCTOR
from musician.protocol.states import TERMINAL, State
from musician.store.guards.conditions import (
    ANSWERED,
    CLAIMS,
    FENCED,
    IS_FALLBACK,
    JUDGES,
    TAKES_OVER,
    WHO,
    goes_with,
    newest_unbound,
    unchanged,
)
from musician.store.guards.guard import Guard, refuse, write
from musician.store.literals import list_of, state_list

_NEWEST = "FROM history WHERE task_id = NEW.task_id ORDER BY id DESC LIMIT 1"


def chronicle_guards() -> Iterator[Guard]:
    yield _change()
    yield _beginning()
    yield from _heartbeat()
    yield _supersede()
    yield _bind()
    yield _address()
    yield from _truth()


def _change() -> Guard:
    owner_cleared = (
        f"NEW.state = '{State.FIX_PROPOSED}' AND OLD.session_id IS NOT NULL AND NEW.session_id IS NULL"
    )
    resubmits = f"NEW.state = '{State.NEEDS_REVIEW}' AND OLD.state IN ({state_list(ANSWERED)})"
    ownerless = f"NEW.state = '{State.FIX_PROPOSED}' AND (OLD.state = '{State.EXITED}' OR {TAKES_OVER})"
    # true once the row is written
    freed = f"NEW.state = '{State.FIX_PROPOSED}' AND (SELECT session_id {_NEWEST}) IS NULL"
    epoch = (
        f"CASE WHEN {CLAIMS} THEN OLD.claim_epoch + 1"
        f" WHEN {TAKES_OVER} AND NOT {FENCED} THEN GREATEST(NEW.claim_epoch, OLD.claim_epoch + 1)"
        " ELSE NEW.claim_epoch END"
    )
    return write(
        "tasks_history",
        "AFTER UPDATE OF state ON orchestration_tasks",
        f"OLD.state IS DISTINCT FROM NEW.state OR ({owner_cleared})",
        # "history shows both steps"
        "INSERT INTO history (task_id, from_state, to_state, who, session_id, claim_epoch)"
        f" SELECT NEW.task_id, OLD.state, '{State.WORKING}', coalesce(NEW.session_id, ''), NEW.session_id,"
        f" NEW.claim_epoch WHERE {resubmits}",
        "INSERT INTO history (task_id, from_state, to_state, who, session_id, claim_epoch, message_id, message_type,"
        f" submission_id) SELECT NEW.task_id, CASE WHEN {resubmits} THEN '{State.WORKING}' ELSE OLD.state END,"
        f" NEW.state, {WHO}, CASE WHEN {ownerless} THEN NULL ELSE NEW.session_id END, {epoch},"
        f" {newest_unbound('id', WHO)}, {newest_unbound('message_type', WHO)},"
        f" CASE WHEN {JUDGES} THEN (SELECT message_id {_NEWEST}) END",
        f"UPDATE orchestration_tasks SET claim_epoch = (SELECT claim_epoch {_NEWEST})"
        f" WHERE task_id = NEW.task_id AND claim_epoch < (SELECT claim_epoch {_NEWEST})",
        "INSERT INTO sessions (task_id, claim_epoch, session_id, number)"
        " SELECT NEW.task_id, OLD.claim_epoch + 1, NEW.session_id,"
        f" 1 + (SELECT count(*) FROM sessions WHERE task_id = NEW.task_id) WHERE {CLAIMS}",
        "UPDATE sessions SET ended_at = CURRENT_TIMESTAMP WHERE task_id = NEW.task_id AND ended_at IS NULL"
        f" AND (NEW.state IN ({state_list(TERMINAL)}) OR claim_epoch < (SELECT claim_epoch {_NEWEST})"
        f" AND ({CLAIMS} OR {freed}))",
        # Nobody owns it now, and a heartbeat without an owner means nothing (D10).
        "UPDATE orchestration_tasks SET session_id = NULL, last_heartbeat = NULL"
        f" WHERE task_id = NEW.task_id AND {freed}",
    )


def _beginning() -> Guard:
    conductor = f"'{CONDUCTOR}'"
    return write(
        "tasks_history_begin",
        "AFTER INSERT ON orchestration_tasks",
        f"NOT {IS_FALLBACK}",
        "INSERT INTO history (task_id, from_state, to_state, who, session_id, claim_epoch, message_id, message_type)"
        f" VALUES (NEW.task_id, NULL, NEW.state, {conductor}, NEW.session_id, NEW.claim_epoch,"
        f" {newest_unbound('id', conductor)}, {newest_unbound('message_type', conductor)})",
    )


def _heartbeat() -> Iterator[Guard]:
    for name, event in (
        ("tasks_heartbeat_needs_owner", "AFTER UPDATE OF last_heartbeat ON orchestration_tasks"),
        ("tasks_heartbeat_begins_unset", "AFTER INSERT ON orchestration_tasks"),
    ):
        yield write(
            name,
            event,
            "NEW.session_id IS NULL AND NEW.last_heartbeat IS NOT NULL",
            "UPDATE orchestration_tasks SET last_heartbeat = NULL WHERE task_id = NEW.task_id",
        )


def _supersede() -> Guard:
    instruction = f"from_session = '{CONDUCTOR}' AND message_type = '{MessageType.INSTRUCTION}'"
    return write(  # the sources read the oldest instruction; it must be the current one (D4)
        "messages_supersede",
        "AFTER INSERT ON orchestration_messages",
        f"NEW.message_type = '{MessageType.INSTRUCTION}' AND NEW.from_session = '{CONDUCTOR}'",
        f"UPDATE orchestration_messages SET message_type = '{MessageType.INSTRUCTION_SUPERSEDED}'"
        f" WHERE task_id = NEW.task_id AND {instruction} AND id <> NEW.id",
    )


def _bind() -> Guard:
    return write(  # state first, message second (D5)
        "messages_bind",
        "AFTER INSERT ON orchestration_messages",
        f"EXISTS (SELECT 1 FROM history WHERE id = (SELECT id {_NEWEST}) AND message_id IS NULL)",
        "UPDATE history SET message_id = NEW.id, message_type = NEW.message_type"
        f" WHERE id = (SELECT id {_NEWEST}) AND message_id IS NULL AND who = NEW.from_session"
        f" AND {goes_with('to_state', 'NEW.message_type')}",
    )


def _address() -> Guard:
    """An order belongs to the claim it was written for, and is settled when that ends (D37).

    A proposed fix is none: it says how the work goes on, whoever plays it.
    """
    kinds = {
        MessageType.EXIT_REQUEST,
        MessageType.PAUSE,
        MessageType.GO_ON,
        MessageType.APPROVAL,
        MessageType.REJECTION,
    }
    return write(
        "messages_address",
        "AFTER INSERT ON orchestration_messages",
        f"NEW.from_session = '{CONDUCTOR}' AND NEW.message_type IN ({list_of(sorted(kinds))})",
        "INSERT INTO orders (message_id, task_id, claim_epoch)"
        " SELECT NEW.id, t.task_id, t.claim_epoch FROM orchestration_tasks t"
        " JOIN sessions s ON s.task_id = t.task_id AND s.claim_epoch = t.claim_epoch AND s.ended_at IS NULL"
        " WHERE t.task_id = NEW.task_id",
    )


def _truth() -> Iterator[Guard]:
    last = f"(SELECT to_state {_NEWEST})"
    now = "(SELECT state FROM orchestration_tasks WHERE task_id = NEW.task_id)"
    owner = "(SELECT session_id FROM orchestration_tasks WHERE task_id = NEW.task_id)"
    changed = (
        f"{last} IS DISTINCT FROM {now} AND (NEW.to_state IS NOT DISTINCT FROM {now}"
        f" OR NEW.to_state = '{State.WORKING}'"
        f" AND {now} = '{State.NEEDS_REVIEW}' AND {last} IN ({state_list(ANSWERED)}))"
    )
    cleared = (
        f"NEW.to_state = '{State.FIX_PROPOSED}' AND NEW.session_id IS NULL"
        f" AND {last} IS NOT DISTINCT FROM NEW.to_state AND {now} IS NOT DISTINCT FROM NEW.to_state"
        f" AND {owner} IS NULL AND (SELECT session_id {_NEWEST}) IS NOT NULL"
    )
    yield refuse(  # history may record only a change that has happened and is not recorded yet
        "history_true",
        "BEFORE INSERT ON history",
        f"{IS_FALLBACK} OR EXISTS (SELECT 1 FROM history WHERE id = NEW.id) OR NEW.from_state IS DISTINCT FROM {last}"
        f" OR NOT ({changed} OR {cleared})",
        "history is written by the database",
    )
    same = unchanged("id task_id from_state to_state who session_id claim_epoch submission_id at")
    yield refuse(
        "history_fixed",
        "BEFORE UPDATE ON history",
        f"NOT ({same} AND OLD.message_id IS NULL AND {goes_with('OLD.to_state', 'NEW.message_type')}"
        " AND EXISTS (SELECT 1 FROM orchestration_messages m WHERE m.id = NEW.message_id AND m.task_id = OLD.task_id"
        " AND m.from_session = OLD.who AND m.message_type = NEW.message_type))",
        "history is never changed",
    )
    yield refuse("history_stays", "BEFORE DELETE ON history", "TRUE", "history is never deleted")
