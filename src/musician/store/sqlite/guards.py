"""The database's own guards, derived from the transition table.

Theory. Whoever has the file can write it: the ``sqlite3`` shell, another program, an agent with raw SQL. What must
hold for them too (D6) is therefore said in triggers, and since a trigger's RAISE takes only literals, the
triggers are generated here from ``protocol.transitions`` instead of being written a second time:

- legality: one trigger per state, whose message names what may follow;
- the claim guard: a blocked claim changes 0 rows and raises nothing, as the sources' ``rows_affected`` check needs;
- approval before ``complete``;
- history: written for every writer, bound to its message in whichever order the two came (D5);
- no other way round: REPLACE passes delete triggers by, so a second INSERT of an id is refused instead.

What they do not know is who is writing. Identity and epochs hold through the service only.
tests/store/test_guards.py tries every pair of states and every detour.
"""

from collections.abc import Iterable, Iterator

from musician.protocol.messages import MessageType
from musician.protocol.names import CONDUCTOR, FALLBACK_PREFIX
from musician.protocol.states import CLAIMABLE, TERMINAL, VERDICTS, WAITING, State
from musician.protocol.transitions import TABLE, Actor, Event, targets

__all__ = ["STALE_AFTER_S", "guard_statements", "list_of", "state_list"]

STALE_AFTER_S = 540
"""Nine minutes without a heartbeat (D10). Literal in the triggers, so that raw writers are held to it too."""

_TASK_ROW = f"OLD.task_id <> '{CONDUCTOR}'"
_ANSWERED = (State.REVIEW_APPROVED, State.REVIEW_FAILED, State.FIX_PROPOSED)


def list_of(values: Iterable[str]) -> str:
    """``'a', 'b'``: constants of this program as SQL literals."""
    return ", ".join(f"'{value}'" for value in values)


def state_list(states: Iterable[State]) -> str:
    """Some states, in the order of the enumeration, as SQL literals."""
    chosen = set(states)
    return list_of(state for state in State if state in chosen)


def guard_statements() -> Iterator[str]:
    """Every trigger, as one CREATE TRIGGER statement each."""
    yield from _task_insert_guards()
    yield from _task_identity_guards()
    yield from _legality_guards()
    yield _claim_guard()
    yield _completion_guard()
    yield _verdict_guard()
    yield _takeover_guard()
    yield from _after_state_change()
    yield from _message_guards()
    yield from _append_only_guards()


def _trigger(name: str, event: str, when: str, *body: str) -> str:
    lines = "\n".join(f"    {statement};" for statement in body)
    return f"CREATE TRIGGER {name} {event}\nWHEN {when}\nBEGIN\n{lines}\nEND"


def _abort(name: str, event: str, when: str, reason: str) -> str:
    return _trigger(name, event, when, f"SELECT RAISE(ABORT, 'musician: {reason}')")


def _task_insert_guards() -> Iterator[str]:
    existing = "EXISTS (SELECT 1 FROM orchestration_tasks WHERE task_id = NEW.task_id)"
    is_fallback = f"NEW.task_id GLOB '{FALLBACK_PREFIX}*'"
    on = "BEFORE INSERT ON orchestration_tasks"
    yield _trigger(  # the sources' fallback INSERT "must always succeed", a second time too (D9)
        "tasks_fallback_again",
        on,
        f"{is_fallback} AND NEW.state = '{State.EXITED}' AND {existing}",
        "SELECT RAISE(IGNORE)",
    )
    yield _abort(
        "tasks_unique",
        on,
        f"{existing} AND NOT ({is_fallback} AND NEW.state = '{State.EXITED}')",
        "this task exists already, change its row with UPDATE",
    )
    yield _abort(
        "tasks_begin",
        on,
        f"NOT {existing} AND NOT (({is_fallback} AND NEW.state = '{State.EXITED}')"
        f" OR (NEW.task_id = '{CONDUCTOR}' AND NEW.state IN ({state_list(targets(None, conductor=True))}))"
        f" OR (NEW.task_id <> '{CONDUCTOR}' AND NOT {is_fallback} AND NEW.state = '{State.WATCHING}'"
        " AND NEW.session_id IS NULL AND NEW.claim_epoch = 0))",
        "a task begins as watching, without a session",
    )


def _task_identity_guards() -> Iterator[str]:
    yield _abort(
        "tasks_keep_id",
        "BEFORE UPDATE OF task_id ON orchestration_tasks",
        "NEW.task_id IS NOT OLD.task_id",
        "a task keeps its id",
    )
    yield _abort(
        "tasks_stay",
        "BEFORE DELETE ON orchestration_tasks",
        f"OLD.task_id NOT GLOB '{FALLBACK_PREFIX}*'",
        "tasks are never deleted",
    )
    yield _abort(
        "tasks_epoch_grows",
        "BEFORE UPDATE OF claim_epoch ON orchestration_tasks",
        "NEW.claim_epoch < OLD.claim_epoch",
        "a claim epoch only grows",
    )
    yield _trigger(  # a late raw heartbeat changes nothing and needs no error
        "tasks_complete_is_final",
        "BEFORE UPDATE ON orchestration_tasks",
        f"{_TASK_ROW} AND OLD.state = '{State.COMPLETE}' AND NEW.state = '{State.COMPLETE}'",
        "SELECT RAISE(IGNORE)",
    )


def _legality_guards() -> Iterator[str]:
    on = "BEFORE UPDATE OF state ON orchestration_tasks"
    for row, where in (("task", "<>"), ("conductor", "=")):
        for source in State:
            allowed = targets(source, conductor=row == "conductor")
            names = ", ".join(state for state in State if state in allowed)
            hint = " (a correction is a new task)" if row == "task" and source is State.COMPLETE else ""
            yield _abort(
                f"{row}_from_{source}",
                on,
                f"OLD.task_id {where} '{CONDUCTOR}' AND OLD.state = '{source}' AND NEW.state <> '{source}'"
                + (f" AND NEW.state NOT IN ({state_list(allowed)})" if allowed else ""),
                f"from {source} a {row} may only become {names or 'nothing'}{hint}",
            )


def _owner_lives(row: str) -> str:
    # An unreadable heartbeat is UNKNOWN, never OK (D10); for a claim the safe reading is that somebody is there.
    return (
        f"({row}.session_id IS NOT NULL AND {row}.last_heartbeat IS NOT NULL AND "
        f"(datetime({row}.last_heartbeat) IS NULL"
        f" OR datetime({row}.last_heartbeat) > datetime('now', '-{STALE_AFTER_S} seconds')))"
    )


def _claim_guard() -> str:
    instruction = (
        "EXISTS (SELECT 1 FROM orchestration_messages WHERE task_id = OLD.task_id"
        f" AND from_session = '{CONDUCTOR}' AND message_type = '{MessageType.INSTRUCTION}')"
    )
    no_session = "lower(trim(coalesce(NEW.session_id, ''))) IN ('', 'null', 'none', 'undefined')"
    resumes = f"OLD.state = '{State.FIX_PROPOSED}' AND NEW.session_id IS OLD.session_id"
    return _trigger(
        "tasks_claim",
        "BEFORE UPDATE OF state ON orchestration_tasks",
        f"{_TASK_ROW} AND NEW.state = '{State.WORKING}' AND OLD.state IN ({state_list(CLAIMABLE)})"
        f" AND ({no_session} OR NOT {instruction} OR ({_owner_lives('OLD')} AND NOT ({resumes})))",
        "SELECT RAISE(IGNORE)",
    )


_LATEST_SUBMISSION = (
    f"SELECT max(id) FROM history WHERE task_id = OLD.task_id AND to_state = '{State.NEEDS_REVIEW}'"
)


def _completion_guard() -> str:
    approved = (
        "EXISTS (SELECT 1 FROM history s JOIN history v ON v.task_id = s.task_id AND v.submission_id = s.message_id"
        f" WHERE s.id = ({_LATEST_SUBMISSION}) AND s.message_type = '{MessageType.COMPLETION}'"
        f" AND v.id > s.id AND v.to_state = '{State.REVIEW_APPROVED}')"
    )
    return _abort(
        "tasks_complete_approved",
        "BEFORE UPDATE OF state ON orchestration_tasks",
        f"{_TASK_ROW} AND NEW.state = '{State.COMPLETE}' AND OLD.state <> '{State.COMPLETE}' AND NOT {approved}",
        "only an approved completion makes a task complete",
    )


def _verdict_guard() -> str:
    unbound = "(SELECT message_id IS NULL FROM history WHERE task_id = OLD.task_id ORDER BY id DESC LIMIT 1)"
    return _abort(
        "tasks_verdict_on_whole",
        "BEFORE UPDATE OF state ON orchestration_tasks",
        f"{_TASK_ROW} AND OLD.state IN ({state_list(WAITING)}) AND NEW.state IN ({state_list(VERDICTS)})"
        f" AND NEW.session_id IS NOT NULL AND {unbound}",
        "the submission is not whole, its message is missing",
    )


def _only_by_takeover() -> str:
    by_takeover = {row.source for row in TABLE if row.event is Event.TAKE_OVER}
    otherwise = {
        row.source for row in TABLE if row.target is State.FIX_PROPOSED and row.event is not Event.TAKE_OVER
    }
    return state_list(s for s in by_takeover - otherwise - {State.FIX_PROPOSED} if s is not None)


_FENCED = "NOT EXISTS (SELECT 1 FROM sessions WHERE task_id = OLD.task_id AND claim_epoch = OLD.claim_epoch)"


def _takeover_guard() -> str:
    return _abort(
        "tasks_take_over_the_dead",
        "BEFORE UPDATE OF state ON orchestration_tasks",
        f"{_TASK_ROW} AND NEW.state = '{State.FIX_PROPOSED}' AND OLD.state IN ({_only_by_takeover()})"
        f" AND {_owner_lives('OLD')} AND NOT {_FENCED}",
        "its owner is alive, fence and end it first",
    )


def _who() -> str:
    by_conductor = {
        row.target for row in TABLE if row.actor is Actor.CONDUCTOR and row.target not in TERMINAL
    }
    return (
        f"CASE WHEN NEW.task_id = '{CONDUCTOR}' OR NEW.state IN ({state_list(by_conductor)})"
        f" OR OLD.state = '{State.WATCHING}' AND NEW.state = '{State.EXITED}'"
        f" THEN '{CONDUCTOR}' ELSE coalesce(NEW.session_id, '') END"
    )


def _message_types() -> str:
    """``CASE`` that says whether message ``m`` belongs to a change into ``NEW.state``."""
    kinds: dict[State, set[MessageType]] = {}
    for row in TABLE:
        kinds.setdefault(row.target, set()).update(row.messages)
    cases = " ".join(
        f"WHEN '{state}' THEN m.message_type IN ({list_of(sorted(types))})"
        for state, types in kinds.items()
        if types
    )
    return f"CASE NEW.state {cases} ELSE 0 END"


def _bound(column: str) -> str:
    # The newest message of the right type and sender that no earlier change has: "message first" (D5).
    return (
        f"(SELECT m.{column} FROM orchestration_messages m WHERE m.task_id = NEW.task_id"
        f" AND m.from_session = {_who()} AND {_message_types()}"
        " AND m.id > coalesce((SELECT max(message_id) FROM history WHERE task_id = NEW.task_id), 0)"
        " ORDER BY m.id DESC LIMIT 1)"
    )


def _after_state_change() -> Iterator[str]:
    columns = (
        "task_id, from_state, to_state, who, session_id, claim_epoch, message_id, message_type, submission_id"
    )
    judged = (
        f"CASE WHEN OLD.state IN ({state_list(WAITING)}) AND NEW.state IN ({state_list(VERDICTS)})"
        " AND NEW.session_id IS NOT NULL THEN (SELECT message_id FROM history WHERE task_id = NEW.task_id ORDER BY id DESC LIMIT 1) END"
    )
    changed = "OLD.state IS NOT NEW.state"
    claims = (
        f"{_TASK_ROW} AND NEW.state = '{State.WORKING}' AND OLD.state IN ({state_list(CLAIMABLE)})"
        f" AND NOT (OLD.state = '{State.FIX_PROPOSED}' AND NEW.session_id IS OLD.session_id)"
    )
    epoch = f"CASE WHEN {claims} THEN OLD.claim_epoch + 1 ELSE NEW.claim_epoch END"
    first_step = (
        "INSERT INTO history (task_id, from_state, to_state, who, session_id, claim_epoch)"
        f" SELECT NEW.task_id, OLD.state, '{State.WORKING}', coalesce(NEW.session_id, ''), NEW.session_id,"
        f" NEW.claim_epoch WHERE NEW.state = '{State.NEEDS_REVIEW}' AND OLD.state IN ({state_list(_ANSWERED)})"
    )
    source = (
        f"CASE WHEN NEW.state = '{State.NEEDS_REVIEW}' AND OLD.state IN ({state_list(_ANSWERED)})"
        f" THEN '{State.WORKING}' ELSE OLD.state END"
    )
    yield _trigger(
        "tasks_history",
        "AFTER UPDATE OF state ON orchestration_tasks",
        changed,
        first_step,  # "history shows both steps"
        f"INSERT INTO history ({columns}) SELECT NEW.task_id, {source}, NEW.state, {_who()}, NEW.session_id,"
        f" {epoch}, {_bound('id')}, {_bound('message_type')}, {judged}",
        "UPDATE orchestration_tasks SET claim_epoch = OLD.claim_epoch + 1"
        f" WHERE task_id = NEW.task_id AND ({claims})",
        "INSERT INTO sessions (task_id, claim_epoch, session_id, number)"
        " SELECT NEW.task_id, OLD.claim_epoch + 1, NEW.session_id,"
        f" 1 + (SELECT count(*) FROM sessions WHERE task_id = NEW.task_id) WHERE {claims}",
        "UPDATE sessions SET ended_at = coalesce(ended_at, datetime('now')) WHERE task_id = NEW.task_id"
        f" AND ended_at IS NULL AND (NEW.state IN ({state_list(TERMINAL)})"
        f" OR NEW.state = '{State.FIX_PROPOSED}' AND OLD.state IN ({_only_by_takeover()}, '{State.EXITED}')"
        " OR claim_epoch < (SELECT claim_epoch FROM orchestration_tasks WHERE task_id = NEW.task_id))",
        # Reopened or taken over: nobody owns it, and a heartbeat without an owner means nothing (D10).
        "UPDATE orchestration_tasks SET session_id = NULL, last_heartbeat = NULL,"
        f" claim_epoch = claim_epoch + (OLD.state <> '{State.EXITED}' AND NOT {_FENCED})"
        f" WHERE task_id = NEW.task_id AND NEW.state = '{State.FIX_PROPOSED}'"
        f" AND OLD.state IN ({_only_by_takeover()}, '{State.EXITED}')",
    )
    yield _trigger(
        "tasks_history_begin",
        "AFTER INSERT ON orchestration_tasks",
        f"NEW.task_id NOT GLOB '{FALLBACK_PREFIX}*'",
        "INSERT INTO history (task_id, from_state, to_state, who, session_id, claim_epoch)"
        f" VALUES (NEW.task_id, NULL, NEW.state, '{CONDUCTOR}', NEW.session_id, NEW.claim_epoch)",
    )
    yield _trigger(
        "tasks_heartbeat_needs_owner",
        "AFTER UPDATE OF last_heartbeat ON orchestration_tasks",
        "NEW.session_id IS NULL AND NEW.last_heartbeat IS NOT NULL",
        "UPDATE orchestration_tasks SET last_heartbeat = NULL WHERE task_id = NEW.task_id",
    )


def _message_guards() -> Iterator[str]:
    yield _abort(
        "messages_unique",
        "BEFORE INSERT ON orchestration_messages",
        "EXISTS (SELECT 1 FROM orchestration_messages WHERE id = NEW.id)",
        "a message is never replaced",
    )
    same = " AND ".join(
        f"NEW.{column} IS OLD.{column}"
        for column in ("id", "task_id", "from_session", "message", "timestamp")
    )
    superseded = (
        f"OLD.message_type = '{MessageType.INSTRUCTION}'"
        f" AND NEW.message_type = '{MessageType.INSTRUCTION_SUPERSEDED}'"
    )
    yield _abort(
        "messages_stay",
        "BEFORE UPDATE ON orchestration_messages",
        f"NOT ({same} AND (NEW.message_type IS OLD.message_type OR {superseded}))",
        "a message is never changed",
    )
    yield _trigger(  # the sources read the oldest instruction; it must be the current one (D4)
        "messages_supersede",
        "AFTER INSERT ON orchestration_messages",
        f"NEW.message_type = '{MessageType.INSTRUCTION}' AND NEW.from_session = '{CONDUCTOR}'",
        f"UPDATE orchestration_messages SET message_type = '{MessageType.INSTRUCTION_SUPERSEDED}'"
        f" WHERE task_id = NEW.task_id AND from_session = '{CONDUCTOR}'"
        f" AND message_type = '{MessageType.INSTRUCTION}' AND id <> NEW.id",
    )
    latest = "(SELECT max(id) FROM history WHERE task_id = NEW.task_id)"
    kinds: dict[State, set[MessageType]] = {}
    for row in TABLE:
        kinds.setdefault(row.target, set()).update(row.messages)
    matches = " OR ".join(
        f"to_state = '{state}' AND NEW.message_type IN ({list_of(sorted(types))})"
        for state, types in kinds.items()
        if types
    )
    yield _trigger(  # state first, message second: bind it now (D5)
        "messages_bind",
        "AFTER INSERT ON orchestration_messages",
        "EXISTS (SELECT 1 FROM history WHERE task_id = NEW.task_id AND message_id IS NULL)",
        "UPDATE history SET message_id = NEW.id, message_type = NEW.message_type"
        f" WHERE id = {latest} AND message_id IS NULL AND who = NEW.from_session AND ({matches})",
    )


def _append_only_guards() -> Iterator[str]:
    yield _abort(  # only a change that has happened and is not written yet can be written
        "history_true",
        "BEFORE INSERT ON history",
        "EXISTS (SELECT 1 FROM history WHERE id = NEW.id) OR NEW.from_state IS NEW.to_state OR NEW.from_state IS NOT"
        " (SELECT to_state FROM history WHERE task_id = NEW.task_id ORDER BY id DESC LIMIT 1)"
        " OR (SELECT to_state FROM history WHERE task_id = NEW.task_id ORDER BY id DESC LIMIT 1)"
        " IS (SELECT state FROM orchestration_tasks WHERE task_id = NEW.task_id)",
        "history is written by the database",
    )
    fixed = (
        "id",
        "task_id",
        "from_state",
        "to_state",
        "who",
        "session_id",
        "claim_epoch",
        "submission_id",
        "at",
    )
    same = " AND ".join(f"NEW.{column} IS OLD.{column}" for column in fixed)
    yield _abort(
        "history_fixed",
        "BEFORE UPDATE ON history",
        f"NOT ({same} AND OLD.message_id IS NULL AND EXISTS (SELECT 1 FROM orchestration_messages m"
        " WHERE m.id = NEW.message_id AND m.task_id = OLD.task_id AND m.from_session = OLD.who"
        " AND m.message_type = NEW.message_type))",
        "history is never changed",
    )
    yield _abort("history_stays", "BEFORE DELETE ON history", "1", "history is never deleted")
    for table in ("journal", "verifications", "documents"):
        yield _abort(f"{table}_stays", f"BEFORE DELETE ON {table}", "1", f"the {table} table is append-only")
        yield _abort(
            f"{table}_unique",
            f"BEFORE INSERT ON {table}",
            f"EXISTS (SELECT 1 FROM {table} WHERE id = NEW.id)",
            f"the {table} table is append-only",
        )
    for table in ("journal", "documents"):
        yield _abort(f"{table}_fixed", f"BEFORE UPDATE ON {table}", "1", f"the {table} table is append-only")
