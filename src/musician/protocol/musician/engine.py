"""The musician's engine: one session that plays one task. It decides and does nothing itself.

Theory. The engine takes an input (``inputs``) and returns what must be stored and then be done (``ready``). It reads no
clock and makes no ids, so the same inputs give the same outputs. It is in one :class:`Mode` at a time. :func:`takes`
says which inputs a mode accepts; any other raises :class:`UnexpectedInput` and changes nothing.

Rules for every agent:

- Items are played in document order, each once. An item that is recorded as done is never played again.
- One piece runs at a time. Between two pieces there is a boundary, where the session exits, waits for an answer, pauses
  with its plan or its phase, checks its context (before a checkpoint is verified, REF-4) or begins the next item, in
  this order (``boundary``).
- The program verifies a checkpoint. The agent mends a red one before anybody reviews it (D16).
- A submission, report or question is answered before anything else is played (D11).
- A message is acknowledged when a piece that got it is done. A session that exits earlier leaves it unread for its
  successor (D12).
- To stop, the running piece is stopped first, then the driver sets its work aside, and then the terminal record is
  written as the last one (D1). A process that must end while it waits for a verdict only leaves its HANDOFF: the
  submission and its verdict stay valid (D7). From ``exit_requested`` on only the terminal record can be written (D2).

The handlers are grouped by the source of their inputs: ``playing`` (running pieces), ``answers`` (the conductor),
``choosing`` (a session by hand), and here (the beginning and end of the session).
"""

from collections.abc import Callable, Mapping
from typing import Any

from musician.protocol.errors import UnexpectedInput
from musician.protocol.journal import EntryKind
from musician.protocol.musician import choosing
from musician.protocol.musician import inputs as i
from musician.protocol.musician import ready as r
from musician.protocol.musician.answers import (
    exit_requested,
    judged,
    limit_lifted,
    message,
    pause_asked,
    pause_lifted,
    person_came,
    person_left,
    plan_paused,
    plan_resumed,
    timed_out,
)
from musician.protocol.musician.boundary import exit_soon, go_on
from musician.protocol.musician.playing import measure, piece_ended, reported, verification_ended
from musician.protocol.musician.program import CheckpointItem
from musician.protocol.musician.state import BUSY, Mode, MusicianState, PendingInstruction
from musician.protocol.musician.turn import Turn
from musician.protocol.musician.writing import leaving, question, resumption_question
from musician.protocol.resumption.handoff import ENDED_WAITING
from musician.protocol.states import VERDICTS, State
from musician.protocol.values import replace

_RUNNING = BUSY | {Mode.STOPPING}
_STARTED = frozenset(Mode) - {Mode.NEW, Mode.ENDED}
_CHOOSING = frozenset({Mode.CHOOSING})
_BY_HAND = _CHOOSING | {Mode.AWAITING_VERDICT}
"""The modes of a session by hand between two verbs. The engine does not see what such a session runs itself."""


def _start(turn: Turn, given: i.Started) -> None:
    turn.set(
        progress=replace(given.progress, agent_costs_pct=(), launched_at_pct=None),
        earlier_self_corrections=len(given.progress.self_corrections),
        errors=given.errors_so_far,
        retry_limit=given.retry_limit,
        report_path=given.report_path,
        since=given.since,
        pause=given.pause,
        plan_pause=given.plan_pause,
    )
    if given.advice or given.last_message_id:
        turn.hear(PendingInstruction(text=given.advice, message_id=given.last_message_id))
    upcoming = turn.state.next_item
    if isinstance(upcoming, CheckpointItem):
        turn.set(feedback=given.since.feedback)
    text = resumption_question(turn.state, given.ownerless_tasks, given.doubts)
    if upcoming is not None and text:
        turn.records.append(
            r.Ask(
                text=question(turn.state, text),
                entries=(turn.entry(EntryKind.QUESTION, text=text.splitlines()[0]),),
            )
        )
        turn.set(question_open=True)
    go_on(turn)


def _stop(turn: Turn, given: i.StopAsked) -> None:
    """End the process: exit, or leave the row as it is while a verdict is awaited (D7)."""
    if turn.state.mode is Mode.AWAITING_VERDICT:
        turn.set(leave_reason=ENDED_WAITING)
        turn.records.append(replace(leaving(turn.state), stays=True))
        turn.end(r.EndKind.WAITING, given.reason)
    else:
        exit_soon(turn, given.reason, at_once=True)


def _lose(turn: Turn, _: i.ClaimWasLost) -> None:
    """End without writing anything: the session was fenced (D2)."""
    if turn.state.mode in BUSY:
        turn.stop_what_runs()
    turn.end(r.EndKind.LOST, "the claim was taken over")


def _carry(turn: Turn, given: i.Steered) -> None:
    turn.carry(given.message_id)


_Handler = Callable[[Turn, Any], None]
_TAKEN: Mapping[type[i.Input], tuple[frozenset[Mode], _Handler]] = {
    i.Started: (frozenset({Mode.NEW}), _start),
    i.PieceEnded: (_RUNNING, piece_ended),
    i.VerificationEnded: (frozenset({Mode.VERIFYING, Mode.STOPPING}), verification_ended),
    i.ContextTold: (_STARTED, measure),
    i.DeviationTold: (_RUNNING | _BY_HAND, reported),
    i.SelfCorrectionTold: (_RUNNING | _BY_HAND, reported),
    i.QuestionTold: (_RUNNING | _BY_HAND, reported),
    i.PartialTold: (_RUNNING, reported),
    i.AnswerTold: (_RUNNING, reported),
    i.VerdictArrived: (frozenset({Mode.AWAITING_VERDICT}), judged),
    i.MessageArrived: (_STARTED, message),
    i.Steered: (_STARTED, _carry),
    i.PauseAsked: (_STARTED, pause_asked),
    i.PauseLifted: (_STARTED, pause_lifted),
    i.PlanPaused: (_STARTED, plan_paused),
    i.PlanResumed: (_STARTED, plan_resumed),
    i.ExitWasRequested: (_STARTED, exit_requested),
    i.PersonCame: (_STARTED - {Mode.CHOOSING, Mode.WITH_PERSON}, person_came),
    i.PersonLeft: (_STARTED, person_left),
    i.WaitTimedOut: (_BY_HAND | {Mode.AWAITING_ANSWER, Mode.PAUSED}, timed_out),
    i.LimitLifted: (frozenset({Mode.LIMITED}), limit_lifted),
    i.StopAsked: (_STARTED, _stop),
    i.ClaimWasLost: (_STARTED | {Mode.NEW}, _lose),
    i.BeginningChosen: (_CHOOSING, choosing.begin),
    i.EndingChosen: (_BY_HAND, choosing.end),
    i.CorrectionChosen: (_CHOOSING, choosing.correct),
    i.SkippingChosen: (_CHOOSING, choosing.skip),
    i.CheckpointChosen: (_CHOOSING, choosing.submit),
    i.FailureChosen: (_BY_HAND, choosing.fail),
    i.LeavingChosen: (_BY_HAND, choosing.leave),
    i.WarningChosen: (_BY_HAND, choosing.warn_of_context),
    i.CompletionChosen: (_CHOOSING, choosing.complete),
}
"""In which modes each input is accepted, and what handles it."""


def step(state: MusicianState, given: i.Input) -> tuple[MusicianState, r.Ready]:
    """Take one input. The records of the result must be stored before its acts are begun."""
    if not takes(state, given):
        raise UnexpectedInput(what=type(given).__name__, mode=state.mode)
    turn = Turn(state)
    _, handle = _TAKEN[type(given)]
    handle(turn, given)
    return turn.state, r.Ready(records=tuple(turn.records), acts=tuple(turn.acts))


def takes(state: MusicianState, given: i.Input) -> bool:
    """Whether the input is possible now: the mode accepts it, and it is about the item that runs."""
    modes, _ = _TAKEN[type(given)]
    if state.mode not in modes:
        return False
    verifies = isinstance(state.current, CheckpointItem) and not state.rework_item
    match given:
        case i.PieceEnded(ending=i.PieceEnding.STOPPED):
            return state.mode is Mode.STOPPING
        case i.PieceEnded():  # a verification that has begun ends with an input of its own
            can_be = given.ending is not i.PieceEnding.DONE or not verifies
            return can_be and given.item == state.item
        case i.VerificationEnded():
            return verifies
        case i.VerdictArrived():
            return given.state in VERDICTS or given.state is State.EXIT_REQUESTED
        case _:
            return True
