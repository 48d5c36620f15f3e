"""The guards of a task's own row: its creation, its changes, its owner, and its completion.

- legality: one guard per state, whose message names what may follow;
- the claim: a blocked one changes 0 rows and raises nothing, as the sources' ``rows_affected`` check needs, and so does
  whoever puts another session into a row without a claim, or claims a task of a plan that a person has paused;
- approval before ``complete``, a whole submission before a verdict, no takeover from the living;
- no other way round: REPLACE passes delete triggers by, so a second INSERT of an id is refused instead.
"""

from collections.abc import Iterator

from musician.protocol.journal import WORK, EntryKind
from musician.protocol.messages.kinds import MessageType
from musician.protocol.names import CONDUCTOR, FALLBACK_PREFIX
from musician.protocol.states import CLAIMABLE, State
from musician.protocol.transitions import targets
from musician.store.guards.conditions import (
    CLAIMS,
    FENCED,
    IS_FALLBACK,
    JUDGES,
    NO_SESSION,
    OWNER_LIVES,
    TAKES_OVER,
    TASK_ROW,
)
from musician.store.guards.guard import Guard, ignore, refuse
from musician.store.guards.pausing import is_paused
from musician.store.literals import list_of, state_list

_ON_CHANGE = "BEFORE UPDATE OF state ON orchestration_tasks"


def task_guards() -> Iterator[Guard]:
    yield from _begin()
    yield from _identity()
    yield from _legality()
    yield _claim()
    yield _owner()
    yield _verdict()
    yield _takeover()
    yield from _completion()


def _begin() -> Iterator[Guard]:
    existing = "EXISTS (SELECT 1 FROM orchestration_tasks WHERE task_id = NEW.task_id)"
    falls_back = f"{IS_FALLBACK} AND NEW.state = '{State.EXITED}'"
    on = "BEFORE INSERT ON orchestration_tasks"
    yield ignore(  # the sources' fallback INSERT "must always succeed", a second time too (D9)
        "tasks_fallback_again", on, f"{falls_back} AND {existing}"
    )
    yield refuse(
        "tasks_unique",
        on,
        f"{existing} AND NOT ({falls_back})",
        "this task exists already, change its row with UPDATE",
    )
    yield refuse(
        "tasks_begin",
        on,
        f"NOT {existing} AND NOT ("
        f"({falls_back} AND NEW.task_id IS NOT DISTINCT FROM '{FALLBACK_PREFIX}' || NEW.session_id"
        f" AND NOT {NO_SESSION})"
        f" OR (NEW.task_id = '{CONDUCTOR}' AND NEW.state IN ({state_list(targets(None, conductor=True))}))"
        f" OR (NEW.task_id <> '{CONDUCTOR}' AND NOT {IS_FALLBACK} AND NEW.state = '{State.WATCHING}'"
        " AND NEW.session_id IS NULL AND NEW.claim_epoch = 0))",
        "a task begins as watching without a session, a blocked session as exited under fallback-<session>",
    )


def _identity() -> Iterator[Guard]:
    yield refuse(
        "tasks_keep_id",
        "BEFORE UPDATE OF task_id ON orchestration_tasks",
        "NEW.task_id IS DISTINCT FROM OLD.task_id",
        "a task keeps its id",
    )
    yield refuse(
        "tasks_stay",
        "BEFORE DELETE ON orchestration_tasks",
        f"OLD.task_id NOT LIKE '{FALLBACK_PREFIX}%'",
        "tasks are never deleted",
    )
    yield ignore(  # a late raw heartbeat changes nothing and needs no error
        "tasks_complete_is_final",
        "BEFORE UPDATE OF state, session_id, worked_by, started_at, last_heartbeat, completed_at, retry_count,"
        " last_error, report_path, claim_epoch ON orchestration_tasks",
        f"{TASK_ROW} AND OLD.state = '{State.COMPLETE}' AND NEW.state = '{State.COMPLETE}'",
    )


def _legality() -> Iterator[Guard]:
    for row, where in (("task", "<>"), ("conductor", "=")):
        for source in State:
            allowed = targets(source, conductor=row == "conductor")
            names = ", ".join(state for state in State if state in allowed)
            hint = " (a correction is a new task)" if row == "task" and source is State.COMPLETE else ""
            yield refuse(
                f"{row}_from_{source}",
                _ON_CHANGE,
                f"OLD.task_id {where} '{CONDUCTOR}' AND OLD.state = '{source}' AND NEW.state <> '{source}'"
                + (f" AND NEW.state NOT IN ({state_list(allowed)})" if allowed else ""),
                f"from {source} a {row} may only become {names or 'nothing'}{hint}",
            )
    yield refuse(
        "fallback_stays_exited",
        _ON_CHANGE,
        f"{IS_FALLBACK} AND NEW.state <> OLD.state",
        "the row of a blocked session only lets it end",
    )


def _claim() -> Guard:
    instruction = (
        "EXISTS (SELECT 1 FROM orchestration_messages WHERE task_id = OLD.task_id"
        f" AND from_session = '{CONDUCTOR}' AND message_type = '{MessageType.INSTRUCTION}')"
    )
    # Fenced, its owner's processes are being ended and its work saved: nobody enters before that is done (D23).
    being_taken_over = f"OLD.session_id IS NOT NULL AND {FENCED}"
    return ignore(
        "tasks_claim",
        _ON_CHANGE,
        f"{TASK_ROW} AND NEW.state = '{State.WORKING}' AND OLD.state IN ({state_list(CLAIMABLE)})"
        f" AND ({NO_SESSION}"
        f" OR {CLAIMS} AND (NOT {instruction} OR {OWNER_LIVES} OR {being_taken_over}"
        f" OR {is_paused('OLD.plan_id')}))",
    )


def _owner() -> Guard:
    """A task changes hands by a claim, by being freed, or along with its epoch to the next id of its session."""
    newest_owner = "(SELECT session_id FROM history WHERE task_id = OLD.task_id ORDER BY id DESC LIMIT 1)"
    freed = (
        f"NEW.session_id IS NULL AND NEW.state = '{State.FIX_PROPOSED}'"
        f" AND (OLD.state <> NEW.state OR {newest_owner} IS NULL OR NOT {OWNER_LIVES} OR {FENCED})"
    )
    goes_on = (
        "NEW.claim_epoch = OLD.claim_epoch + 1 AND EXISTS (SELECT 1 FROM sessions"
        " WHERE task_id = OLD.task_id AND claim_epoch = NEW.claim_epoch AND session_id = NEW.session_id)"
    )
    conducts = f"NOT {TASK_ROW} AND (NEW.claim_epoch > OLD.claim_epoch OR NOT {OWNER_LIVES})"
    return ignore(  # it changes 0 rows, like a blocked claim
        "tasks_keep_owner",
        "BEFORE UPDATE OF session_id ON orchestration_tasks",
        f"NEW.session_id IS DISTINCT FROM OLD.session_id AND NOT ({CLAIMS} OR {freed} OR {goes_on} OR {conducts})",
    )


def _verdict() -> Guard:
    unbound = "(SELECT message_id IS NULL FROM history WHERE task_id = OLD.task_id ORDER BY id DESC LIMIT 1)"
    return refuse(
        "tasks_verdict_on_whole",
        _ON_CHANGE,
        f"{JUDGES} AND {unbound}",
        "the submission is not whole, its message is missing (to take over, send the handoff message first)",
    )


def _takeover() -> Guard:
    return refuse(
        "tasks_take_over_the_dead",
        _ON_CHANGE,
        f"{TAKES_OVER} AND {OWNER_LIVES} AND NOT {FENCED}",
        "its owner is alive, fence and end it first",
    )


def _completion() -> Iterator[Guard]:
    completes = [state for state in State if State.COMPLETE in targets(state)]
    latest = f"SELECT max(id) FROM history WHERE task_id = OLD.task_id AND to_state = '{State.NEEDS_REVIEW}'"
    # A verdict counts once its message is there, and that is younger than the submission: what was said of an earlier
    # one does not approve this one (D28).
    approved = (
        "EXISTS (SELECT 1 FROM history s JOIN history v ON v.task_id = s.task_id AND v.submission_id = s.message_id"
        f" WHERE s.id = ({latest}) AND s.message_type = '{MessageType.COMPLETION}'"
        f" AND v.to_state = '{State.REVIEW_APPROVED}' AND v.message_id > s.message_id)"
    )
    played = list_of(kind for kind in EntryKind if kind in WORK)
    moved = (
        "EXISTS (SELECT 1 FROM covered c JOIN journal j ON j.task_id = c.task_id AND j.id > c.entry_id"
        f" WHERE c.message_id = (SELECT message_id FROM history WHERE id = ({latest})) AND j.kind IN ({played}))"
    )
    yield refuse(
        "tasks_complete_covered",
        _ON_CHANGE,
        f"{TASK_ROW} AND NEW.state = '{State.COMPLETE}' AND OLD.state IN ({state_list(completes)}) AND {moved}",
        "something was played since what stands approved was submitted, submit it again",
    )
    yield refuse(
        "tasks_complete_approved",
        _ON_CHANGE,
        f"{TASK_ROW} AND NEW.state = '{State.COMPLETE}' AND OLD.state IN ({state_list(completes)}) AND NOT {approved}",
        "only an approved completion makes a task complete",
    )
