"""Handles what running pieces and verifications report, and how they end."""

from typing import cast

from musician.protocol.journal import CEILING_REACHED, PROVIDER_REFUSES, Entry, EntryKind
from musician.protocol.musician import inputs as i
from musician.protocol.musician import ready as r
from musician.protocol.musician.boundary import (
    exit_claim,
    exit_soon,
    go_on,
    leave_as_agreed,
    release,
    report_failure,
    wait_for,
)
from musician.protocol.musician.choosing import absorbed
from musician.protocol.musician.program import CheckpointItem, Play
from musician.protocol.musician.since import IS_RED
from musician.protocol.musician.state import Mode, PendingInstruction, Waiting
from musician.protocol.musician.turn import Turn
from musician.protocol.musician.writing import question, submission
from musician.protocol.rules.budget import Stance, evaluate, reading_from_pct
from musician.protocol.rules.delegation import Attempts, NextAttempt, PieceFailure, next_attempt
from musician.protocol.rules.deviations import Severity, open_deviations
from musician.protocol.rules.review import Verification, Verified
from musician.protocol.values import replace

LOST = "it vanished and said nothing"

MOST_REDS = 3
"""A checkpoint that is red this many times in a row is reported to the conductor as an error (D29)."""


# -- pieces -------------------------------------------------------------------------------------------------------


def piece_ended(turn: Turn, given: i.PieceEnded) -> None:
    if given.ending is i.PieceEnding.DONE:
        if given.asked and not turn.state.attempts.answered and not turn.state.leave_reason:
            _ask_first(turn, given)
        else:
            _note_done(turn, given)
        go_on(turn)
        return
    if given.ending is i.PieceEnding.LIMITED:
        _wait_for_provider(turn, given)
        return
    if given.ending is i.PieceEnding.REFUSED:
        _leave_to_person(turn, given)
        return
    if given.ending is i.PieceEnding.SPENT:
        _leave_for_means(turn, given)
        return
    was_stopping = turn.state.mode is Mode.STOPPING
    if given.ending is i.PieceEnding.UNPLAYABLE and not was_stopping:
        _report_unplayable(turn, given)
        return
    if given.ending is not i.PieceEnding.STOPPED:
        retries = len(turn.state.attempts.failures)
        which = f" retry {retries}" if retries and not turn.state.attempts.absorbed else ""
        turn.write(turn.entry(EntryKind.FAILED, f"{given.item}{which}", given.detail or LOST))
    turn.set(rework_item="")
    if was_stopping:  # if the session stays, the piece begins again, with the message that stopped it
        go_on(turn)
    elif not _try_agent_again(turn, given):
        turn.set(attempts=Attempts())
        report_failure(turn, given.item, given.detail or LOST)


def _ask_first(turn: Turn, given: i.PieceEnded) -> None:
    """Ask first if a piece ends in a question and has changed nothing: it is played again, once, with the answer.

    A model may ask in words what it should have reported by the tag; nobody else would read them.
    """
    if not turn.state.attempts.asked:
        reported(turn, i.QuestionTold(text=given.asked))
    turn.set(rework_item="", attempts=replace(turn.state.attempts, answered=True))


def _wait_for_provider(turn: Turn, given: i.PieceEnded) -> None:
    """Wait for a usage limit to end. This is no error and no retry; the piece is due again afterwards (D3)."""
    entry = turn.entry(EntryKind.LIMITED, given.item, given.detail or "it says no more")
    own_s = turn.state.settings.waiting.limit_s
    turn.records.append(r.Limit(said_s=given.wait_s, own_s=own_s, entries=(entry,)))
    turn.set(rework_item="")
    if turn.state.leave_reason:
        exit_claim(turn)
    elif turn.state.is_wanted:
        release(turn)
    else:
        turn.set(mode=Mode.LIMITED)
        turn.acts.append(r.AwaitLimit())


def _leave_to_person(turn: Turn, given: i.PieceEnded) -> None:
    """Exit: the work has not failed, but nothing can be played before a person acts."""
    detail = given.detail or "it says no more"
    entry = turn.entry(EntryKind.NOTE, text=f"{given.item}: {PROVIDER_REFUSES}{detail}")
    turn.records.append(r.Refuse(detail=detail, entries=(entry,)))
    turn.set(rework_item="")
    if not turn.state.leave_reason:
        turn.set(leave_reason=f"{PROVIDER_REFUSES}{detail}")
    exit_claim(turn)


def _leave_for_means(turn: Turn, given: i.PieceEnded) -> None:
    """Exit: the conductor sees the ceiling too, and has the task played on when there are means again."""
    reason = f"{CEILING_REACHED}{given.detail}"
    turn.write(turn.entry(EntryKind.NOTE, text=f"{given.item}: {reason}"))
    turn.set(rework_item="", leave_reason=turn.state.leave_reason or reason)
    exit_claim(turn)


def _report_unplayable(turn: Turn, given: i.PieceEnded) -> None:
    """Report a piece that cannot be played, without a retry. Feedback that was to be mended is reported first."""
    current, feedback = turn.state.current, turn.state.feedback
    turn.write(turn.entry(EntryKind.UNPLAYABLE, given.item, given.detail))
    turn.set(rework_item="", attempts=Attempts())
    if isinstance(current, CheckpointItem) and feedback:
        first, _, rest = feedback.partition("\n")
        report_failure(turn, current.item, f"{first}; nothing mends it: {given.detail}\n{rest}".rstrip())
    else:
        report_failure(turn, given.item, given.detail)


def _note_done(turn: Turn, given: i.PieceEnded) -> None:
    current = turn.state.current
    if turn.state.rework_item:
        kind = EntryKind.REWORKED
        turn.set(rework_item="", feedback="", mended=turn.state.mended + 1)
    elif isinstance(current, Play) and current.is_agent:
        kind = EntryKind.RETURNED
    else:
        kind = EntryKind.COMPLETED
    attempts = turn.state.attempts
    how = f"by musician (after {len(attempts.failures)} failures)" if attempts.absorbed else given.detail
    done = turn.entry(kind, given.item, how, commit_id=given.commit_id)
    also: tuple[Entry, ...] = ()
    if isinstance(current, Play) and kind is not EntryKind.REWORKED:
        also = turn.counted(turn.state.program.done_with(current, turn.state.progress))
        if turn.state.chooses:
            also += turn.counted(absorbed(turn.state, given.item))
    turn.write(done, *also)
    turn.set(attempts=Attempts())
    turn.settle(turn.state.carried)
    leave_as_agreed(turn)


def _try_agent_again(turn: Turn, given: i.PieceEnded) -> bool:
    """Retry or absorb a subagent's piece (D19). Return False for other pieces, and if it must be escalated."""
    state = turn.state
    if not (isinstance(state.current, Play) and state.current.is_agent):
        return False
    failure = PieceFailure.LOST if given.ending is i.PieceEnding.LOST else PieceFailure.EXPLAINED
    attempts = replace(
        state.attempts,
        failures=(*state.attempts.failures, failure),
        shown=state.attempts.shown.with_(given.left),
        last_words=given.detail or LOST,
    )
    following = next_attempt(
        attempts.failures,
        extent=state.current.extent.with_(attempts.shown),
        well_defined=_is_well_defined(state.current, attempts),
        settings=state.settings,
    )
    if following is NextAttempt.ESCALATE or state.leave_reason:
        return False
    if following is not NextAttempt.SAME_PROMPT and given.detail:
        turn.hear(PendingInstruction(text=given.detail))
    turn.set(attempts=replace(attempts, absorbed=following is NextAttempt.ABSORB))
    go_on(turn)
    return True


def _is_well_defined(play: Play, attempts: Attempts) -> bool:
    """Whether a piece is well defined by the plan, or else has instructions that nobody had to ask about."""
    if play.well_defined is not None:
        return play.well_defined
    return bool(play.prose or play.scripts) and not attempts.asked


# -- checkpoints --------------------------------------------------------------------------------------------------


def verification_ended(turn: Turn, given: i.VerificationEnded) -> None:
    check = cast("CheckpointItem", turn.state.current)  # only a checkpoint is verified
    is_red = given.outcome is Verification.RED
    entry = turn.entry(EntryKind.NOT_VERIFIED if is_red else EntryKind.VERIFIED, check.item, given.tests)
    is_submitted = turn.state.mode is Mode.VERIFYING and not is_red and not turn.state.leave_reason
    if is_submitted and given.verified is not None:
        _submit(turn, check, given, given.verified, entry)
        return
    turn.records.append(r.Write(entries=(entry,), verified=given.verified))
    if is_red:
        _mend(turn, check, given.failing)
    else:
        go_on(turn)


def _submit(
    turn: Turn, check: CheckpointItem, given: i.VerificationEnded, verified: Verified, entry: Entry
) -> None:
    message = submission(turn.state, check, given)
    new = (found for found in given.findings if found not in turn.state.progress.accepted)
    findings = (turn.entry(EntryKind.FINDING, check.item, found) for found in new)
    entries = (entry, *findings, turn.entry(EntryKind.SUBMITTED, check.item))
    turn.records.append(r.Submit(message=message, verified=verified, entries=entries))
    wait_for(turn, Waiting.SUBMISSION)


def _mend(turn: Turn, check: CheckpointItem, failing: str) -> None:
    """A red checkpoint is mended before anybody reviews it, a bounded number of times (D16)."""
    turn.set(feedback=failing or IS_RED)
    if turn.state.since.reds < MOST_REDS or turn.state.leave_reason:
        go_on(turn)
    else:  # the musician has the whole output; the conductor gets its first line
        first = failing.partition("\n")[0]
        report_failure(turn, check.item, f"red {MOST_REDS} times in a row: {first}")


# -- what an agent reports while it plays -------------------------------------------------------------------------


def reported(
    turn: Turn,
    given: i.DeviationTold | i.SelfCorrectionTold | i.QuestionTold | i.PartialTold | i.AnswerTold,
) -> None:
    item = turn.state.item
    match given:
        case i.AnswerTold(number=number, text=text):
            turn.write(turn.entry(EntryKind.ANSWER, item, f"{number}. {text}"))
        case i.DeviationTold(severity=severity, text=text):
            _deviate(turn, severity, text)
        case i.SelfCorrectionTold(text=text):
            turn.write(turn.entry(EntryKind.SELF_CORRECTION, item, text))
        case i.QuestionTold(text=text):
            entry = turn.entry(EntryKind.QUESTION, item, text)
            turn.records.append(r.Ask(text=question(turn.state, text), entries=(entry,)))
            turn.set(question_open=True, attempts=replace(turn.state.attempts, asked=True))
        case _:
            _accept_in_part(turn, given)


def _deviate(turn: Turn, severity: Severity, text: str) -> None:
    """A piece that is played again tells the same again: what is written down and not ruled is not written twice."""
    known = open_deviations(turn.state.progress.deviations)
    if not any(each.severity is severity and each.text == text for each in known):
        turn.write(turn.entry(EntryKind.DEVIATION, turn.state.item, text, severity=severity))


def _accept_in_part(turn: Turn, given: i.PartialTold) -> None:
    """A partial result may be accepted as a deviation; what was left out is seen at the checkpoint (D17)."""
    turn.write(turn.entry(EntryKind.PARTIAL, turn.state.item, given.text))
    _deviate(turn, Severity.LOW, f"partial: {given.text}")


def measure(turn: Turn, given: i.ContextTold) -> None:
    """Context as it was measured; from ``exit_from_pct`` on the session stops and exits, whatever it is at (D15)."""
    used_pct = reading_from_pct(given.used_pct).used_pct
    if used_pct is None:
        return  # an impossible reading is ignored; the last one stands (B28)
    turn.set(used_pct=used_pct)
    if evaluate(used_pct, None, turn.state.settings) is Stance.EXIT:
        exit_soon(turn, "context exhaustion", at_once=True)
