"""Boundaries: decides what a musician does next when nothing is running.

Theory. A session decides how to go on only between two pieces, in this order: it exits if it has to; it leaves its
agent to a person who wants to speak with it; it waits if it has asked something; it pauses while its plan or its phase
does; it warns if the context will not reach to the next verification (before a checkpoint is verified, REF-4); and
only then it begins the next item. The next item depends on the journal alone, so
after a stop, a failure or a verdict the same boundary begins the same item again.
"""

from musician.protocol.journal import AWAITS_ANSWER, Entry, EntryKind
from musician.protocol.musician import ready as r
from musician.protocol.musician.program import CheckpointItem, Play
from musician.protocol.musician.state import BUSY, Mode, MusicianState, Waiting
from musician.protocol.musician.turn import Turn
from musician.protocol.musician.writing import context_warning, cost_pct, error_report, leaving
from musician.protocol.rules.budget import (
    WARNING_STANCES,
    Stance,
    agents_that_fit,
    evaluate,
    project,
)
from musician.protocol.rules.delegation import Attempts, PieceFailure
from musician.protocol.values import replace


def go_on(turn: Turn) -> None:
    """Go on at a boundary: exit, wait, pause, warn or begin the next item. A session by hand chooses that itself."""
    state = turn.state
    if state.leave_reason and not state.chooses:
        exit_claim(turn)
    elif state.is_wanted and not state.is_approved:  # what is approved is not changed any more
        release(turn)
    elif state.question_open:
        turn.write(turn.entry(EntryKind.NOTE, text=AWAITS_ANSWER))
        turn.set(mode=Mode.AWAITING_ANSWER, timeouts=0)
    elif state.held and state.next_item is not None:
        turn.write(turn.entry(EntryKind.PAUSED, text=state.held))
        turn.set(mode=Mode.CHOOSING if state.chooses else Mode.PAUSED, timeouts=0)
    elif state.chooses:
        turn.set(mode=Mode.CHOOSING)
    elif not warn_if_tight(turn):
        _begin_next(turn)


def exit_claim(turn: Turn, *, handoff: str = "", notes: str = "", entries: tuple[Entry, ...] = ()) -> None:
    """Write the terminal record, and nothing after it (D1).

    Messages that nobody has acted on stay unread for the successor (D12).
    """
    turn.settle(_leading_silent(turn))
    turn.records.append(replace(leaving(turn.state), handoff=handoff, notes=notes, entries=entries))
    turn.end(r.EndKind.EXITED, turn.state.leave_reason)


def release(turn: Turn) -> None:
    """Leave the conversation to a person until it is given back."""
    turn.set(mode=Mode.WITH_PERSON)
    turn.acts.append(r.Release())


def exit_soon(turn: Turn, reason: str, *, at_once: bool) -> None:
    """Exit at the next boundary, or now with ``at_once``. The first reason counts.

    What a person has is given back before the boundary comes, or taken back ``at_once``.
    """
    if not turn.state.leave_reason:
        turn.set(leave_reason=reason)
    if turn.state.mode in BUSY:
        if at_once:
            turn.stop_what_runs()
    elif turn.state.mode is Mode.WITH_PERSON:
        if at_once:
            turn.acts.append(r.TakeBack())
    elif turn.state.mode is not Mode.STOPPING:
        exit_claim(turn)


def leave_as_agreed(turn: Turn) -> None:
    """Exit at the next boundary if the agreed point of the context is reached."""
    turn.set(leave_reason=turn.state.leave_reason or turn.state.agreement.reached)


def wait_for(turn: Turn, waiting: Waiting) -> None:
    turn.set(mode=Mode.AWAITING_VERDICT, waiting=waiting, timeouts=0)


def report_failure(turn: Turn, item: str, detail: str, *, report: str = "") -> None:
    """Report a failure and wait for the answer; exit if it was the last retry of the task (D3)."""
    what = f"{item}: {detail}"
    turn.set(errors=turn.state.errors + 1)
    if turn.state.errors >= turn.state.retry_limit and not turn.state.leave_reason:
        turn.set(leave_reason=f"retry exhaustion: {what}")
    if turn.state.leave_reason:
        exit_claim(turn)
        return
    message = error_report(turn.state, item=item, detail=detail, report=report)
    entry = turn.entry(EntryKind.ERROR, item, what)
    turn.records.append(r.ReportProblem(message=message, last_error=what, entries=(entry,)))
    wait_for(turn, Waiting.ERROR)


# -- what is next -------------------------------------------------------------------------------------------------


def _begin_next(turn: Turn) -> None:
    item = turn.state.next_item
    turn.set(current=item)
    if item is None:
        complete_task(turn)
    elif isinstance(item, Play) and item.is_skip:
        done = turn.entry(EntryKind.COMPLETED, item.item)
        turn.write(done, *turn.counted(turn.state.program.done_with(item, turn.state.progress)))
        go_on(turn)
    elif isinstance(item, Play):
        play(turn, item)
    elif turn.state.mends_next:
        rework(turn, item)
    else:
        turn.set(mode=Mode.VERIFYING)
        turn.acts.append(r.Verify(check=item))


def play(turn: Turn, item: Play) -> None:
    attempts = turn.state.attempts if item.is_agent else Attempts()
    if attempts.absorbed:
        item = replace(item, is_agent=False)
        turn.set(current=item)
        what = f"small and well-defined, after {len(attempts.failures)} failures"
        turn.write(turn.entry(EntryKind.ABSORBED, item.item, what))
    elif attempts.failures:
        turn.write(turn.entry(EntryKind.RETRIED, item.item, _retry(attempts)))
    else:
        turn.write(
            turn.entry(EntryKind.LAUNCHED if item.is_agent else EntryKind.STARTED, item.item, item.title)
        )
    advice = _advice(turn)
    turn.acts.append(r.PlayPiece(play=item, attempt=len(attempts.failures) + 1, advice=advice))
    turn.set(mode=Mode.PLAYING)


def _retry(attempts: Attempts) -> str:
    prompt = "same prompt" if attempts.failures[-1] is PieceFailure.LOST else "adjusted prompt"
    return f"retry {len(attempts.failures)} launched ({prompt}: {attempts.last_words})"


def rework(turn: Turn, check: CheckpointItem) -> None:
    """Begin the rework of a red or rejected checkpoint. It is committed as an item of its own."""
    name = f"rework {check.number}.{turn.state.mended + 1}"
    parts = (turn.state.feedback, _advice(turn))
    feedback = "\n\n".join(part for part in parts if part)
    turn.acts.append(r.ReworkPiece(check=check, item=name, feedback=feedback))
    turn.set(mode=Mode.REWORKING, rework_item=name)


def _advice(turn: Turn) -> str:
    """Return all messages that wait to be acted on. They are passed to the piece that begins now."""
    heard = turn.state.heard
    turn.set(carried=len(heard))
    return "\n\n".join(word.text for word in heard if word.text)


def complete_task(turn: Turn) -> None:
    turn.settle(len(turn.state.heard))
    turn.records.append(r.CompleteTask(entries=(turn.entry(EntryKind.NOTE, text="task complete"),)))
    turn.end(r.EndKind.COMPLETE, "complete")


def _leading_silent(turn: Turn) -> int:
    """Count the first messages that leave nothing for a successor to act on."""
    count = 0
    for word in turn.state.heard:
        if word.text and not word.of_session:
            break
        count += 1
    return count


# -- the context budget -------------------------------------------------------------------------------------------


def warn_if_tight(turn: Turn) -> bool:
    """Report a context warning if the context will not suffice; return whether the session now waits (D15)."""
    if turn.state.agreement.holds or turn.state.next_item is None:
        return False
    stance = stance_of(turn.state)
    if stance not in WARNING_STANCES:
        return False
    warn(turn)
    return True


def stance_of(state: MusicianState) -> Stance:
    """Return the stance that the context budget requires now."""
    return evaluate(state.used_pct, _projected_pct(state), state.settings)


def warn(turn: Turn) -> None:
    """Report a context warning with the estimate and a recommendation, and wait (D15).

    If a session warns without having to, its recommendation is that of a session in doubt.
    """
    stance = stance_of(turn.state)
    if stance not in WARNING_STANCES:
        stance = Stance.ASK
    turn.set(proposed_pieces=proposal(turn.state))
    warning = context_warning(
        turn.state, cost_pct=cost_pct(turn.state), projected_pct=_projected_pct(turn.state)
    )
    entry = turn.entry(EntryKind.CONTEXT, text=f"EVALUATION triggered: {stance.replace('_', ' ')}")
    turn.records.append(
        r.ReportProblem(message=warning, last_error="context_exhaustion_warning", entries=(entry,))
    )
    wait_for(turn, Waiting.CONTEXT)


def _projected_pct(state: MusicianState) -> float | None:
    return project(state.used_pct, state.pieces_ahead, cost_pct(state))


def proposal(state: MusicianState) -> int | None:
    """Return how many pieces the session proposes to play before it hands off; None for all up to the checkpoint."""
    if stance_of(state) not in WARNING_STANCES - {Stance.ASK}:
        return None
    return agents_that_fit(state.used_pct, cost_pct(state), state.settings)
