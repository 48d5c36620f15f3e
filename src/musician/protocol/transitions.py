"""The state machine: which state follows which, who may change it, and on what condition (DESIGN 3).

Theory. A task is a row in one of ten states, and it changes only by an :class:`Event` of an :class:`Actor`. ``TABLE``
is the only place where legality is written. The diagram in the documentation, the database's guards and the exhaustive
tests are derived from it, so a rule is changed only here.

The table knows no rows, sessions or clocks. A :class:`Guard` only *names* a further condition; the service checks it
against the database, inside the transaction that makes the change. An event without a row changes nothing and raises
:class:`IllegalEvent`, which says what is allowed, and tells a person what to do instead.

The conductor's own row ``task-00`` is not a task; its states are in ``CONDUCTOR_TABLE`` (D13).
"""

from enum import StrEnum

from musician.protocol.errors import IllegalEvent
from musician.protocol.messages.kinds import MessageType
from musician.protocol.states import ACTIVE, CLAIMABLE, VERDICTS, WAITING, State
from musician.protocol.values import dataclass


class Actor(StrEnum):
    CONDUCTOR = "the conductor"
    CLAIMANT = "a claiming session"
    BLOCKED = "a blocked session"
    OWNER = "the owner"


class Event(StrEnum):
    OPEN = "open"
    BLOCK = "block"
    CLAIM = "claim"
    RESUME = "resume"
    SUBMIT = "submit"
    REPORT = "report"
    APPROVE = "approve"
    REJECT = "reject"
    PROPOSE_FIX = "propose_fix"
    REQUEST_EXIT = "request_exit"
    EXIT = "exit"
    COMPLETE = "complete"
    WITHDRAW = "withdraw"
    SKIP = "skip"
    REOPEN = "reopen"
    TAKE_OVER = "take_over"
    START = "start"
    INTERRUPT = "interrupt"
    FINISH = "finish"


class Guard(StrEnum):
    """A condition beside the state. Its value is the text of a refusal."""

    ID_FREE = "the id is valid and free"
    FALLBACK_ID = "the id is fallback-<session>"
    OPEN_TO_CLAIM = "an instruction exists and no live owner"
    EVIDENCE = "a whole submission with fresh verification evidence"
    LATEST_SUBMISSION = "the verdict names the latest submission or report"
    HANDOFF_STORED = "HANDOFF and reason stored"
    COMPLETION_APPROVED = "the latest completion stands approved and its report is stored"
    UNOWNED = "nobody owns it"
    OWNER_GONE = "the owner is stale or known dead, fenced and ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """One row of the table. One of the ``messages`` is written first, in the same transaction (D5)."""

    source: State | None
    event: Event
    target: State
    actor: Actor
    guard: Guard | None = None
    messages: frozenset[MessageType] = frozenset()


_VERDICT_EVENTS = {
    State.REVIEW_APPROVED: (Event.APPROVE, MessageType.APPROVAL),
    State.REVIEW_FAILED: (Event.REJECT, MessageType.REJECTION),
    State.FIX_PROPOSED: (Event.PROPOSE_FIX, MessageType.FIX_PROPOSAL),
}


def verdict_event(target: State) -> Event:
    """The event by which a conductor's verdict reaches ``target``; KeyError if it is no verdict."""
    return _VERDICT_EVENTS[target][0]


def _rows(
    sources: frozenset[State] | tuple[State | None, ...],
    event: Event,
    target: State,
    actor: Actor,
    guard: Guard | None = None,
    *messages: MessageType,
) -> tuple[Transition, ...]:
    order = {state: number for number, state in enumerate(State)}
    ordered = sorted(sources, key=lambda state: -1 if state is None else order[state])
    return tuple(
        Transition(
            source=s, event=event, target=target, actor=actor, guard=guard, messages=frozenset(messages)
        )
        for s in ordered
    )


_M = MessageType
_ANSWERED = frozenset({State.REVIEW_APPROVED, State.REVIEW_FAILED, State.FIX_PROPOSED})

TABLE: tuple[Transition, ...] = (
    *_rows((None,), Event.OPEN, State.WATCHING, Actor.CONDUCTOR, Guard.ID_FREE, _M.INSTRUCTION),
    *_rows((None,), Event.BLOCK, State.EXITED, Actor.BLOCKED, Guard.FALLBACK_ID, _M.CLAIM_BLOCKED),
    *_rows(CLAIMABLE, Event.CLAIM, State.WORKING, Actor.CLAIMANT, Guard.OPEN_TO_CLAIM),
    *_rows(_ANSWERED, Event.RESUME, State.WORKING, Actor.OWNER),
    *_rows(
        _ANSWERED | {State.WORKING},
        Event.SUBMIT,
        State.NEEDS_REVIEW,
        Actor.OWNER,
        Guard.EVIDENCE,
        _M.REVIEW_REQUEST,
        _M.COMPLETION,
    ),
    *_rows(
        frozenset({State.WORKING, State.NEEDS_REVIEW}),
        Event.REPORT,
        State.ERROR,
        Actor.OWNER,
        None,
        _M.ERROR,
        _M.CONTEXT_WARNING,
    ),
    *(
        row
        for target in State
        if target in VERDICTS
        for row in _rows(
            WAITING,
            _VERDICT_EVENTS[target][0],
            target,
            Actor.CONDUCTOR,
            Guard.LATEST_SUBMISSION,
            _VERDICT_EVENTS[target][1],
        )
    ),
    *_rows(ACTIVE, Event.REQUEST_EXIT, State.EXIT_REQUESTED, Actor.CONDUCTOR, None, _M.EXIT_REQUEST),
    *_rows(ACTIVE, Event.EXIT, State.EXITED, Actor.OWNER, Guard.HANDOFF_STORED, _M.HANDOFF),
    *_rows(
        frozenset({State.WORKING, State.REVIEW_APPROVED}),
        Event.COMPLETE,
        State.COMPLETE,
        Actor.OWNER,
        Guard.COMPLETION_APPROVED,
        _M.COMPLETED,
    ),
    *_rows(CLAIMABLE, Event.WITHDRAW, State.EXITED, Actor.CONDUCTOR, Guard.UNOWNED, _M.SYSTEM),
    *_rows(CLAIMABLE, Event.SKIP, State.EXITED, Actor.CONDUCTOR, Guard.UNOWNED, _M.SKIPPED),
    *_rows((State.EXITED,), Event.REOPEN, State.FIX_PROPOSED, Actor.CONDUCTOR, None, _M.HANDOFF),
    *_rows(ACTIVE, Event.TAKE_OVER, State.FIX_PROPOSED, Actor.CONDUCTOR, Guard.OWNER_GONE, _M.HANDOFF),
)

CONDUCTOR_TABLE: tuple[Transition, ...] = (
    *_rows((None, State.EXIT_REQUESTED, State.COMPLETE), Event.START, State.WORKING, Actor.CONDUCTOR),
    *_rows((State.WORKING,), Event.INTERRUPT, State.EXIT_REQUESTED, Actor.CONDUCTOR),
    *_rows((State.WORKING,), Event.FINISH, State.COMPLETE, Actor.CONDUCTOR),
)

_ANSWERING = frozenset({Event.APPROVE, Event.REJECT, Event.PROPOSE_FIX, Event.REOPEN})
_INDEX = {(row.source, row.event): row for row in TABLE}
_CONDUCTOR_INDEX = {(row.source, row.event): row for row in CONDUCTOR_TABLE}


def find(source: State | None, event: Event, *, task_id: str, actor: Actor) -> Transition:
    """Return the row for an event in a state. Raises :class:`IllegalEvent` if there is none for this actor."""
    row = _INDEX.get((source, event))
    if row is None or row.actor is not actor:
        raise IllegalEvent(
            task_id=task_id, state=source, event=event, actor=actor, allowed=allowed_from(source)
        )
    return row


def allowed_from(source: State | None) -> tuple[str, ...]:
    """Return what is possible in a state, as "event by actor", in the table's order."""
    return tuple(f"{row.event} by {row.actor}" for row in TABLE if row.source is source)


def targets(source: State | None, *, conductor: bool = False) -> frozenset[State]:
    """Return all states that may follow ``source`` by any actor: the database allows a raw writer these (D6)."""
    index = _CONDUCTOR_INDEX if conductor else _INDEX
    return frozenset(row.target for (state, _), row in index.items() if state is source)


def is_failure(message_type: str | None, came_from: State | None) -> bool:
    """Whether a report is about work that failed, and not about a wait that timed out."""
    return message_type == MessageType.ERROR and came_from is State.WORKING


def open_verdicts(
    state: State, *, message_type: str | None, came_from: State | None, is_in_conflict: bool = False
) -> tuple[State, ...]:
    """Return the verdicts that a person may give in ``state``, reached from ``came_from`` with such a message.

    Without a message nothing can be judged yet (D5). A failure cannot be approved, because nothing was submitted; nor
    can work that ``is_in_conflict`` with what is merged, because it would be complete but never merged (D24). Approving
    a context warning accepts its proposal (D15); approving a wait that timed out lets the session wait on (D11). A fix
    for an exited task opens it again.
    """
    return tuple(
        row.target
        for row in TABLE
        if row.source is state
        and row.event in _ANSWERING
        and (row.guard is not Guard.LATEST_SUBMISSION or message_type is not None)
        and (row.event is not Event.APPROVE or not (is_in_conflict or is_failure(message_type, came_from)))
    )
