"""The guards of a plan's pauses (PLAN-23, PLAN-24).

Theory. A pause is a row that has no end yet. It is written once, ended once, and never taken back, so the table is also
the account of who paused the plan, when and why. Pausing a plan that is paused changes 0 rows: the first word stands.
Each begin and end is told by a message beside the conductor's row, in the same statement: it has a place in the one
order, whoever wrote it. A plan that is complete is not paused any more. That a claim changes 0 rows meanwhile is said
where claims are (``tasks``).
"""

from collections.abc import Iterator

from musician.protocol.messages.kinds import MessageType
from musician.protocol.names import CONDUCTOR
from musician.store.guards.guard import Guard, ignore, refuse, write

_IS_OPEN = "EXISTS (SELECT 1 FROM plans WHERE plan_id = NEW.plan_id AND finished_at IS NULL)"


def is_paused(plan_id: str) -> str:
    """Whether the plan, given as SQL, is paused."""
    return f"EXISTS (SELECT 1 FROM plan_pauses WHERE plan_id = {plan_id} AND resumed_at IS NULL)"


def pausing_guards() -> Iterator[Guard]:
    on = "BEFORE INSERT ON plan_pauses"
    yield ignore("plan_pauses_are_one", on, is_paused("NEW.plan_id"))
    yield refuse(
        "plan_pauses_of_open_plans",
        on,
        f"NEW.resumed_at IS NOT NULL OR NOT {_IS_OPEN}",
        "only a locked plan that is not complete can be paused",
    )
    yield write(
        "plans_end_their_pause",
        "AFTER UPDATE OF finished_at ON plans",
        f"NEW.finished_at IS NOT NULL AND {is_paused('NEW.plan_id')}",
        "UPDATE plan_pauses SET resumed_at = CURRENT_TIMESTAMP"
        " WHERE plan_id = NEW.plan_id AND resumed_at IS NULL",
    )
    why = "CASE NEW.reason WHEN '' THEN '' ELSE ': ' || NEW.reason END"
    yield _told(
        MessageType.PAUSE,
        "INSERT ON plan_pauses",
        "TRUE",
        f"'plan ' || NEW.plan_id || ' is paused by ' || {_named('NEW.who')} || {why}",
    )
    yield _told(
        MessageType.GO_ON,
        "UPDATE OF resumed_at ON plan_pauses",
        f"OLD.resumed_at IS NULL AND NEW.resumed_at IS NOT NULL AND {_IS_OPEN}",
        f"{_named('NEW.resumed_by')} || ' lets plan ' || NEW.plan_id || ' go on'",
    )


def _named(who: str) -> str:
    return f"CASE {who} WHEN '' THEN 'somebody' ELSE {who} END"


def _told(kind: MessageType, event: str, when: str, text: str) -> Guard:
    return write(
        f"plan_pauses_{kind}",
        f"AFTER {event}",
        when,
        "INSERT INTO orchestration_messages (task_id, from_session, message_type, message)"
        f" VALUES ('{CONDUCTOR}', '{CONDUCTOR}', '{kind}', {text})",
    )
