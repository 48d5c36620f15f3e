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

from musician.protocol.errors import UnexpectedInput
from musician.protocol.journal import EntryKind
from musician.protocol.musician import choosing
from musician.protocol.musician import inputs as i
from musician.protocol.musician import ready as r
from musician.protocol.musician.answers import (
    exit_requested,
    judged,
    message,
    pause_asked,
    pause_lifted,
    person_came,
    person_left,
    plan_paused,
    plan_resumed,
    timed_out,
)
from musician.protocol.musician.boundary import exit_claim, exit_soon, go_on
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
_ACCEPTS: dict[type[object], frozenset[Mode]] = {
    i.Started: frozenset({Mode.NEW}),
    i.PieceEnded: _RUNNING,
    i.VerificationEnded: frozenset({Mode.VERIFYING, Mode.STOPPING}),
    i.ContextTold: _STARTED,
    i.DeviationTold: _RUNNING | _BY_HAND,
    i.SelfCorrectionTold: _RUNNING | _BY_HAND,
    i.QuestionTold: _RUNNING | _BY_HAND,
    i.PartialTold: _RUNNING,
    i.AnswerTold: _RUNNING,
    i.VerdictArrived: frozenset({Mode.AWAITING_VERDICT}),
    i.MessageArrived: _STARTED,
    i.Steered: _STARTED,
    i.PauseAsked: _STARTED,
    i.PauseLifted: _STARTED,
    i.PlanPaused: _STARTED,
    i.PlanResumed: _STARTED,
    i.ExitWasRequested: _STARTED,
    i.PersonCame: _STARTED - {Mode.CHOOSING, Mode.WITH_PERSON},
    i.PersonLeft: _STARTED,
    i.WaitTimedOut: _BY_HAND | {Mode.AWAITING_ANSWER, Mode.PAUSED},
    i.LimitLifted: frozenset({Mode.LIMITED}),
    i.StopAsked: _STARTED,
    i.ClaimWasLost: _STARTED | {Mode.NEW},
    i.BeginningChosen: _CHOOSING,
    i.EndingChosen: _BY_HAND,
    i.CorrectionChosen: _CHOOSING,
    i.SkippingChosen: _CHOOSING,
    i.CheckpointChosen: _CHOOSING,
    i.FailureChosen: _BY_HAND,
    i.LeavingChosen: _BY_HAND,
    i.WarningChosen: _BY_HAND,
    i.CompletionChosen: _CHOOSING,
}


def step(state: MusicianState, given: i.Input) -> tuple[MusicianState, r.Ready]:
    """Take one input. The records of the result must be stored before its acts are begun."""
    if not takes(state, given):
        raise UnexpectedInput(what=type(given).__name__, mode=state.mode)
    turn = Turn(state)
    _take(turn, given)
    return turn.state, r.Ready(records=tuple(turn.records), acts=tuple(turn.acts))


def takes(state: MusicianState, given: i.Input) -> bool:
    """Whether the input is possible now: the mode accepts it, and it is about the item that runs."""
    if state.mode not in _ACCEPTS[type(given)]:
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


def _take(turn: Turn, given: i.Input) -> None:
    match given:
        case i.Started():
            _start(turn, given)
        case i.PieceEnded():
            piece_ended(turn, given)
        case i.VerificationEnded():
            verification_ended(turn, given)
        case i.ContextTold():
            measure(turn, given)
        case i.DeviationTold() | i.SelfCorrectionTold() | i.QuestionTold() | i.PartialTold() | i.AnswerTold():
            reported(turn, given)
        case i.VerdictArrived():
            judged(turn, given)
        case i.MessageArrived():
            message(turn, given)
        case i.Steered():
            turn.carry(given.message_id)
        case i.PauseAsked():
            pause_asked(turn, given)
        case i.PauseLifted():
            pause_lifted(turn, given)
        case i.PlanPaused():
            plan_paused(turn, given)
        case i.PlanResumed():
            plan_resumed(turn)
        case i.ExitWasRequested():
            exit_requested(turn, given)
        case i.PersonCame():
            person_came(turn)
        case i.PersonLeft():
            person_left(turn, given)
        case i.WaitTimedOut():
            timed_out(turn, given)
        case i.LimitLifted():
            go_on(turn)
        case i.StopAsked():
            _stop(turn, given.reason)
        case i.LeavingChosen():
            turn.set(leave_reason=given.reason)
            exit_claim(turn, handoff=given.handoff, notes=given.notes)
        case i.BeginningChosen():
            choosing.begin(turn, given)
        case i.EndingChosen():
            choosing.end(turn, given)
        case i.CorrectionChosen():
            choosing.correct(turn)
        case i.SkippingChosen():
            choosing.skip(turn, given)
        case i.CheckpointChosen():
            choosing.submit(turn, given)
        case i.FailureChosen():
            choosing.fail(turn, given)
        case i.WarningChosen():
            choosing.warn_of_context(turn)
        case i.CompletionChosen():
            choosing.complete(turn)
        case _:
            _lose(turn)


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


def _stop(turn: Turn, reason: str) -> None:
    """End the process: exit, or leave the row as it is while a verdict is awaited (D7)."""
    if turn.state.mode is Mode.AWAITING_VERDICT:
        turn.set(leave_reason=ENDED_WAITING)
        turn.records.append(replace(leaving(turn.state), stays=True))
        turn.end(r.EndKind.WAITING, reason)
    else:
        exit_soon(turn, reason, at_once=True)


def _lose(turn: Turn) -> None:
    """End without writing anything: the session was fenced (D2)."""
    if turn.state.mode in BUSY:
        turn.stop_what_runs()
    turn.end(r.EndKind.LOST, "the claim was taken over")
