"""Handles what the conductor says: messages, verdicts, exit requests, and its silence (D7, D11, D12, D15).

A message is passed to the next piece and acknowledged when that piece is done. So if the session dies in between, the
message stays unread for its successor. Any message answers an open question that was asked before it.
"""

from typing import cast

from musician.protocol.journal import CONDUCTOR_TIMEOUT, Entry, EntryKind
from musician.protocol.musician import inputs as i
from musician.protocol.musician import ready as r
from musician.protocol.musician.agreement import granted_text
from musician.protocol.musician.boundary import exit_claim, exit_soon, go_on, leave_as_agreed, release
from musician.protocol.musician.program import CheckpointItem
from musician.protocol.musician.since import SENT_BACK
from musician.protocol.musician.state import BUSY, Mode, PendingInstruction, Waiting
from musician.protocol.musician.turn import Turn
from musician.protocol.musician.writing import timeout_report
from musician.protocol.rules.deviations import REJECTED
from musician.protocol.states import State
from musician.protocol.values import replace


def message(turn: Turn, given: i.MessageArrived) -> None:
    """Handle a message. A note is passed to the running piece, or at the next boundary if that does not take it.

    An emergency stops the piece, so that the boundary is now. Correction steps are played as items of their own.
    """
    if given.forecast:
        turn.hear(PendingInstruction(text=given.text, message_id=given.message_id))
        return
    orders = turn.orders(given.text, given.message_id)
    if orders:
        turn.write(*orders)
    turn.hear(PendingInstruction(text=given.text, message_id=given.message_id, urgent=given.urgent))
    if given.exits:
        if turn.state.mode in BUSY:
            turn.stop_what_runs()
        return
    turn.set(question_open=turn.state.question_open and not given.is_answer)
    if turn.state.mode is Mode.AWAITING_ANSWER:
        if given.is_answer:
            go_on(turn)
    elif given.urgent and turn.state.mode is Mode.LIMITED:  # the sender may know that the limit is over
        entry = turn.entry(EntryKind.NOTE, text="tries again, as the conductor says")
        turn.records.append(r.Lift(entries=(entry,)))
        go_on(turn)
    elif given.urgent and turn.state.mode in BUSY:
        turn.stop_what_runs()
    elif turn.state.mode in (Mode.PLAYING, Mode.REWORKING) and not orders:
        turn.acts.append(r.Steer(text=given.text, message_id=given.message_id))


def pause_asked(turn: Turn, given: i.PauseAsked) -> None:
    """Pause: the running piece is played to its end, and nothing is begun after it."""
    turn.hear(PendingInstruction(text="", message_id=given.message_id))
    turn.set(pause=given.text or "the conductor says so")


def pause_lifted(turn: Turn, given: i.PauseLifted) -> None:
    turn.hear(PendingInstruction(text="", message_id=given.message_id))
    turn.set(pause="")
    _go_on_after_pause(turn)


def plan_paused(turn: Turn, given: i.PlanPaused) -> None:
    turn.set(plan_pause=given.text)


def plan_resumed(turn: Turn, _: i.PlanResumed) -> None:
    turn.set(plan_pause="")
    _go_on_after_pause(turn)


def _go_on_after_pause(turn: Turn) -> None:
    """Go on unless something else holds the session still."""
    if turn.state.mode is Mode.PAUSED and not turn.state.held:
        turn.write(turn.entry(EntryKind.NOTE, text="goes on after the pause"))
        go_on(turn)


def person_came(turn: Turn, _: i.PersonCame) -> None:
    """Stop what runs, and release the conversation at the boundary that follows; a verdict is awaited first."""
    turn.set(is_wanted=True)
    if turn.state.mode in BUSY:
        turn.stop_what_runs()
    elif turn.state.mode not in (Mode.STOPPING, Mode.AWAITING_VERDICT):
        release(turn)


def person_left(turn: Turn, given: i.PersonLeft) -> None:
    turn.set(is_wanted=False)
    if turn.state.mode is not Mode.WITH_PERSON:
        return
    given_back = turn.entry(EntryKind.GIVEN_BACK, commit_id=given.commit_id)
    if turn.state.leave_reason:  # in one record: whoever gave it back sees at once that nothing goes on
        exit_claim(turn, entries=(turn.note(given_back),))
    else:
        turn.write(given_back)
        go_on(turn)


def limit_lifted(turn: Turn, _: i.LimitLifted) -> None:
    go_on(turn)


def exit_requested(turn: Turn, given: i.ExitWasRequested) -> None:
    """Handle an exit request: from now on this session may only exit (D2).

    An urgent request consists of an emergency and an exit request with the same text; exiting answers both.
    """
    heard = turn.state.heard
    is_urgent = any(word.urgent and word.text and word.text == given.text for word in heard)
    silenced = (replace(word, text="") if word.text == given.text else word for word in heard)
    turn.set(heard=(*silenced, PendingInstruction(text="", message_id=given.message_id)), question_open=False)
    waits_for_context = turn.state.waiting is Waiting.CONTEXT
    reason = (
        "context exhaustion (exit requested by the conductor)" if waits_for_context else "conductor requested"
    )
    exit_soon(turn, reason, at_once=is_urgent)


def judged(turn: Turn, given: i.VerdictArrived) -> None:
    if given.state is State.EXIT_REQUESTED:
        exit_requested(turn, i.ExitWasRequested(text=given.text, message_id=given.message_id))
        return
    waiting = turn.state.waiting
    since = given.since or turn.state.since
    turn.set(progress=given.progress, since=since, waiting=None, question_open=False)
    if waiting is Waiting.SUBMISSION:
        _submission_judged(turn, given)
    elif waiting is Waiting.CONTEXT:
        _context_answered(turn, given)
    else:
        _error_answered(turn, given)


def _submission_judged(turn: Turn, given: i.VerdictArrived) -> None:
    check = cast("CheckpointItem", turn.state.current)  # only a checkpoint is submitted
    if given.state is not State.REVIEW_APPROVED:  # "apply feedback, re-run verification, re-submit"
        sent_back = turn.note(verdict_entry(check.item, given.state, given.text))
        orders = turn.orders(given.text, given.message_id)
        turn.records.append(r.Resume(entries=(sent_back, *orders)))
        turn.hear(PendingInstruction(text=given.text if orders else "", message_id=given.message_id))
        # correction steps are played in place of the rework
        turn.set(feedback="" if orders else given.text or SENT_BACK)
    elif check.final:
        turn.hear(PendingInstruction(text=given.text, message_id=given.message_id))
        turn.write(turn.note(verdict_entry(check.item, given.state, given.text)))
        turn.set(is_approved=True)
    else:
        turn.records.append(
            r.Resume(entries=(turn.note(verdict_entry(check.item, given.state, given.text)),))
        )
        turn.hear(PendingInstruction(text=given.text, message_id=given.message_id))
        leave_as_agreed(turn)
    go_on(turn)


def verdict_entry(item: str, state: State, text: str) -> Entry:
    """Return the journal entry for a verdict on a submission."""
    if state is State.REVIEW_APPROVED:
        return Entry(kind=EntryKind.APPROVED, item=item, text=text)
    severity = REJECTED if state is State.REVIEW_FAILED else None
    return Entry(kind=EntryKind.SENT_BACK, item=item, text=text, severity=severity)


def _context_answered(turn: Turn, given: i.VerdictArrived) -> None:
    """Handle the answer to a context warning (D15).

    ``review_approved`` accepts the proposal, ``fix_proposed`` changes it, and ``review_failed`` demands a handoff now.
    """
    is_as_proposed = given.state is State.REVIEW_APPROVED
    pieces = turn.state.proposed_pieces if is_as_proposed else None
    if given.state is State.REVIEW_FAILED or pieces == 0:
        turn.hear(PendingInstruction(text="", message_id=given.message_id))
        how = "as agreed" if is_as_proposed else "as the conductor decided"
        turn.set(leave_reason=f"context exhaustion (handoff now, {how})")
        if turn.state.chooses:
            turn.set(mode=Mode.CHOOSING)
        else:
            exit_claim(turn)
        return
    _resume(turn, given, granted=granted_text(pieces))


def _error_answered(turn: Turn, given: i.VerdictArrived) -> None:
    """Handle the answer to an error: ``review_approved`` goes on as before, the others say what to do differently."""
    _resume(turn, given, mends=given.state is not State.REVIEW_APPROVED)


def _resume(turn: Turn, given: i.VerdictArrived, *, granted: str = "", mends: bool = True) -> None:
    """Go on after an answer. ``granted`` is what a context warning was answered with; it is for this session alone.

    What was to be mended is not mended any more if not ``mends``, or if there are correction steps in its place.
    """
    agreed = (turn.entry(EntryKind.GRANTED, text=granted),) if granted else ()
    orders = turn.orders(given.text, given.message_id)
    if mends and not orders:
        said = turn.entry(EntryKind.NOTE, text=f"conductor: {given.text}")
    else:
        said = turn.entry(EntryKind.WAIVED, text=given.text)
        turn.set(feedback="")
    turn.records.append(r.Resume(entries=(said, *agreed, *orders)))
    turn.hear(
        PendingInstruction(
            text=given.text, message_id=given.message_id, of_session=bool(granted) and not orders
        )
    )
    go_on(turn)


def timed_out(turn: Turn, given: i.WaitTimedOut) -> None:
    """Handle a timeout: wait on if the conductor lives; otherwise report it once, and exit the next time (D11)."""
    if given.conductor_is_fresh:
        return
    if turn.state.timeouts:
        exit_soon(turn, "conductor unresponsive", at_once=True)
        return
    in_error = turn.state.waiting in (Waiting.ERROR, Waiting.CONTEXT)
    report = r.ReportProblem(
        message=timeout_report(turn.state),
        last_error=CONDUCTOR_TIMEOUT,
        entries=(turn.entry(EntryKind.NOTE, text=CONDUCTOR_TIMEOUT),),
        is_reminder=in_error,
    )
    turn.records.append(report)
    waiting = turn.state.waiting if in_error else Waiting.ERROR  # after an error the submission is made again
    turn.set(mode=Mode.AWAITING_VERDICT, waiting=waiting, timeouts=1)
