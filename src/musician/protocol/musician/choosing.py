"""Handles the choices of a session by hand (D30).

Theory. A driven session begins the next item by itself. A session by hand says which item it begins and which it has
ended, and stands at a boundary in between. The same rules decide whether its choice is allowed. A choice that is not
raises an error that names the command to give, and changes nothing.
"""

from musician.protocol.errors import BadField, EvidenceMissing
from musician.protocol.journal import Entry, EntryKind
from musician.protocol.musician import inputs as i
from musician.protocol.musician import ready as r
from musician.protocol.musician.boundary import (
    complete_task,
    exit_claim,
    play,
    report_failure,
    rework,
    warn,
    warn_if_tight,
)
from musician.protocol.musician.program import CheckpointItem, Play
from musician.protocol.musician.state import Mode, MusicianState
from musician.protocol.musician.turn import Turn
from musician.protocol.rules.budget import Stance, evaluate
from musician.protocol.rules.deviations import SKIPPED_BY_ITSELF


def begin(turn: Turn, given: i.BeginningChosen) -> None:
    """Begin an item. After a verdict this sets the task to working again."""
    _check_free(turn.state)
    _check_corrected(turn.state)
    _check_known(turn.state, given.item)
    _check_context(turn.state)
    if not turn.state.progress.is_done(given.item):  # a finished item may be begun again, to mend it
        _check_in_order(turn.state, given.item)
    _go_back_to_work(turn)
    play(turn, turn.state.program.play(given.item))


def end(turn: Turn, given: i.EndingChosen) -> None:
    """End an item: it is committed first, and then done."""
    state = turn.state
    _check_known(state, given.item)
    if given.item not in state.begun and not state.progress.is_done(given.item):
        raise _refusal(
            state,
            f"{given.item} was not started",
            "start it first (`musician step {task} start N`), then play it",
        )
    _keep(turn, state.program.play(given.item))


def correct(turn: Turn, _: i.CorrectionChosen) -> None:
    """End the conductor's next correction step: it is committed first, and then done (D17)."""
    following = turn.state.next_item
    if not isinstance(following, Play) or following.correction is None:
        raise _refusal(
            turn.state,
            "no correction step waits to be done",
            "`musician status {task}` says where it stands",
        )
    _go_back_to_work(turn)
    _keep(turn, following)


def skip(turn: Turn, given: i.SkippingChosen) -> None:
    """Skip an item. The judge of the next submission rules on the reason (D29)."""
    _check_known(turn.state, given.item)
    if turn.state.progress.is_done(given.item):
        raise BadField(field="item", value=given.item, reason="it is done already")
    _go_back_to_work(turn)
    turn.write(turn.entry(EntryKind.SKIPPED, given.item, given.why, severity=SKIPPED_BY_ITSELF))


def submit(turn: Turn, given: i.CheckpointChosen) -> None:
    """Verify a checkpoint. Its context check comes first (REF-4, D15).

    What was done since it was rejected or red is committed as its rework.
    """
    _check_free(turn.state)
    _check_corrected(turn.state)
    check = _check(turn.state, given)
    _check_in_order(turn.state, check.item)
    _go_back_to_work(turn)
    if warn_if_tight(turn):
        return
    turn.set(current=check)
    if turn.state.mends_next:
        rework(turn, check)
    else:
        turn.set(mode=Mode.VERIFYING)
        turn.acts.append(r.Verify(check=check))


def fail(turn: Turn, given: i.FailureChosen) -> None:
    """Report a failure. There is no retry: a session by hand has retried before it reports, with subagents too."""
    _go_back_to_work(turn)
    item = turn.state.item or turn.state.program.task_id
    turn.write(turn.entry(EntryKind.FAILED, item, given.text))
    report_failure(turn, item, given.text, report=given.report)


def warn_of_context(turn: Turn, _: i.WarningChosen) -> None:
    if turn.state.used_pct is None:
        raise BadField(
            field="context", value="", reason="a context warning says how much is used: --context PCT"
        )
    _go_back_to_work(turn)
    warn(turn)


def leave(turn: Turn, given: i.LeavingChosen) -> None:
    """Exit, whatever it stands at."""
    turn.set(leave_reason=given.reason)
    exit_claim(turn, handoff=given.handoff, notes=given.notes)


def complete(turn: Turn, _: i.CompletionChosen) -> None:
    _check_corrected(turn.state)
    complete_task(turn)


def absorbed(state: MusicianState, item: str) -> tuple[Entry, ...]:
    """Return entries for the subagent pieces of a step that the session has played itself."""
    return tuple(
        Entry(kind=EntryKind.COMPLETED, item=piece.item, text="by the musician, with its step")
        for piece in state.program.pieces_of(item)
        if piece.item not in state.begun and not state.progress.is_done(piece.item)
    )


def _keep(turn: Turn, piece: Play) -> None:
    turn.set(mode=Mode.PLAYING, current=piece)
    turn.acts.append(r.KeepPiece(play=piece))


def _go_back_to_work(turn: Turn) -> None:
    """Set the task's row back to working, after an approved completion."""
    if turn.state.is_approved:
        turn.records.append(r.Resume(entries=()))
        turn.set(is_approved=False)


# -- refusals -----------------------------------------------------------------------------------------------------


def _refusal(state: MusicianState, missing: str, remedy: str) -> EvidenceMissing:
    task_id = state.program.task_id
    return EvidenceMissing(task_id=task_id, missing=missing, remedy=remedy.replace("{task}", task_id))


def _check_free(state: MusicianState) -> None:
    """Refuse to begin anything if the session must exit, has asked, or pauses with its plan or its phase.

    (D11, D15, PLAN-23, PLAN-21)
    """
    if state.leave_reason:
        raise _refusal(state, state.leave_reason, "hand off: `musician exit {task} --reason context`")
    if state.plan_pause:
        raise _refusal(
            state,
            state.plan_pause,
            "end your turn, or `musician wait {task}`: it goes on once a person has the plan go on",
        )
    missing = "its question to the conductor is not answered" if state.question_open else state.pause
    if missing:
        raise _refusal(state, missing, "`musician wait {task}`, then read its inbox")


def _check_corrected(state: MusicianState) -> None:
    for first in state.progress.corrections[:1]:
        raise _refusal(
            state,
            f"{first.item} comes before anything else: {first.title}",
            "`musician correction {task}` once that is done; it does a revert itself",
        )


def _check_known(state: MusicianState, item: str) -> None:
    """Refuse an item that the task does not have (D29)."""
    if not state.program.knows(item):
        steps = dict.fromkeys(f"step {each.step}" for each in state.program.items if isinstance(each, Play))
        raise BadField(field="item", value=item, reason=f"the task has {', '.join(steps) or 'no step'}")


def _check_context(state: MusicianState) -> None:
    """Refuse to begin anything from the exit threshold on, whatever was granted (D35)."""
    if evaluate(state.used_pct, None, state.settings) is Stance.EXIT:
        exit_pct = state.settings.context.exit_from_pct
        raise _refusal(
            state,
            f"{state.used_pct:.0f} % of the context is used, and from {exit_pct:.0f} % on nothing is begun",
            "hand off: `musician exit {task} --reason context`",
        )


def _check_in_order(state: MusicianState, item: str) -> None:
    """Refuse to begin or submit an item while one before it is open (D29)."""
    missing = state.program.open_before(item, state.progress)
    if not missing:
        return
    first = missing[0]
    number = first.removeprefix("step ").replace(" agent ", " --agent ")
    remedy = "submit it first: `musician checkpoint {task}`"
    if first.startswith("step "):
        remedy = f"play it; or leave it out, and say why: `musician step {{task}} skipped {number} WHY`"
    raise _refusal(state, f"before {item} comes what is not done yet: {', '.join(missing)}", remedy)


def _check(state: MusicianState, given: i.CheckpointChosen) -> CheckpointItem:
    checks = state.program.checkpoints
    for check in checks:
        if check.number == given.number or (
            given.number is None and check.item not in state.progress.approved
        ):
            return check
    if given.number is not None:
        raise _refusal(state, f"there is no checkpoint {given.number}", f"there are 1 to {len(checks)}")
    if not given.is_overtaken:
        raise _refusal(state, "every checkpoint stands approved", "`musician complete` is next")
    return checks[-1]
