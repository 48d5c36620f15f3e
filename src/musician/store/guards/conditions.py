"""The conditions that several guards share, put together from the program's own constants; nothing else enters."""

from musician.protocol.messages.kinds import MessageType
from musician.protocol.names import CONDUCTOR, FALLBACK_PREFIX
from musician.protocol.states import ACTIVE, CLAIMABLE, TERMINAL, VERDICTS, WAITING, State
from musician.protocol.transitions import TABLE, Actor, Event
from musician.store.literals import list_of, state_list

ANSWERED = VERDICTS
"""From these an owner goes on."""


def unchanged(columns: str) -> str:
    """Whether these stay as they were; separated by blanks."""
    return " AND ".join(f"NEW.{column} IS NOT DISTINCT FROM OLD.{column}" for column in columns.split())


def goes_with(state: str, message_type: str) -> str:
    """Whether a message of a type belongs to a change into a state, both given as SQL (D5)."""
    kinds: dict[State, set[MessageType]] = {}
    for row in TABLE:
        kinds.setdefault(row.target, set()).update(row.messages)
    cases = " ".join(
        f"WHEN '{target}' THEN {message_type} IN ({list_of(sorted(types))})"
        for target, types in kinds.items()
        if types
    )
    return f"CASE {state} {cases} ELSE FALSE END"


def newest_unbound(column: str, who: str) -> str:
    """The newest message that goes with this change and comes after every earlier change's: "message first" (D5)."""
    return (
        f"(SELECT m.{column} FROM orchestration_messages m WHERE m.task_id = NEW.task_id"
        f" AND m.from_session = {who} AND {goes_with('NEW.state', 'm.message_type')}"
        " AND m.id > coalesce((SELECT max(message_id) FROM history WHERE task_id = NEW.task_id), 0)"
        " ORDER BY m.id DESC LIMIT 1)"
    )


TASK_ROW = f"OLD.task_id <> '{CONDUCTOR}'"
IS_FALLBACK = f"NEW.task_id LIKE '{FALLBACK_PREFIX}%'"
NO_SESSION = "names_nobody(NEW.session_id)"

# A time that cannot be read is UNKNOWN, never OK (D10); for a claim the safe reading is that somebody is there. From
# which age on is a row of the settings, so that raw writers are held to the same as the service (D40).
OWNER_LIVES = (
    "(OLD.session_id IS NOT NULL AND OLD.last_heartbeat IS NOT NULL"
    " AND NOT has_aged(OLD.last_heartbeat, 'heartbeat.stale_after_s'))"
)

# Every claim has its session; an epoch without one was raised by the conductor to shut the old claim out (D23).
FENCED = (
    "(OLD.claim_epoch > 0 AND NOT EXISTS (SELECT 1 FROM sessions"
    " WHERE task_id = OLD.task_id AND claim_epoch = OLD.claim_epoch))"
)

CLAIMS = (
    f"({TASK_ROW} AND NEW.state = '{State.WORKING}' AND OLD.state IN ({state_list(CLAIMABLE)})"
    f" AND NOT (OLD.state = '{State.FIX_PROPOSED}' AND NEW.session_id IS NOT DISTINCT FROM OLD.session_id))"
)


def _who() -> str:
    conductors = {row.target for row in TABLE if row.actor is Actor.CONDUCTOR and row.target not in TERMINAL}
    return (
        f"CASE WHEN NEW.task_id = '{CONDUCTOR}' OR NEW.state IN ({state_list(conductors)})"
        f" OR OLD.session_id IS NULL AND NEW.state = '{State.EXITED}'"
        f" THEN '{CONDUCTOR}' ELSE coalesce(NEW.session_id, '') END"
    )


WHO = _who()
"""Who may have made this change of state; the sender of its message."""


def _takes_over() -> str:
    sources = {row.source for row in TABLE if row.event is Event.TAKE_OVER}
    otherwise = {
        row.source for row in TABLE if row.target is State.FIX_PROPOSED and row.event is not Event.TAKE_OVER
    }
    only = state_list(s for s in sources - otherwise - {State.FIX_PROPOSED} if s is not None)
    return (
        f"({TASK_ROW} AND NEW.state = '{State.FIX_PROPOSED}' AND OLD.state IN ({state_list(ACTIVE)})"
        f" AND (OLD.state IN ({only}) OR OLD.session_id IS NOT NULL AND NEW.session_id IS NULL"
        f" OR OLD.state IN ({state_list(WAITING)})"
        f" AND coalesce({newest_unbound('message_type', WHO)}, '') = '{MessageType.HANDOFF}'))"
    )


TAKES_OVER = _takes_over()
"""Where ``fix_proposed`` could also be a verdict, the message says which it is: a handoff."""

JUDGES = (
    f"({TASK_ROW} AND OLD.state IN ({state_list(WAITING)}) AND NEW.state IN ({state_list(VERDICTS)})"
    f" AND NOT {TAKES_OVER})"
)
