"""A session that is played by hand says what it begins and ends; the rules are a driven one's (D30)."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from musician.protocol.errors import BadField, EvidenceMissing
from musician.protocol.journal import Entry, EntryKind, Progress
from musician.protocol.messages.corrections import with_corrections
from musician.protocol.musician import inputs as i
from musician.protocol.musician import ready as r
from musician.protocol.musician.engine import step
from musician.protocol.musician.program import Play, Program, ordered
from musician.protocol.musician.state import Mode, MusicianState, Waiting
from musician.protocol.rules.deviations import SKIPPED_BY_ITSELF
from musician.protocol.rules.review import Verification
from musician.protocol.settings import Settings
from musician.protocol.states import State
from tests.protocol.musician.story import check, play
from tests.said import evidence
from tests.well_typed import check_fields

PROGRAM = Program(
    task_id="task-01",
    title="Greet",
    items=(
        play("step 1"),
        replace(play("step 2 agent 1", is_agent=True), step=2),
        check(1),
        replace(play("step 3"), step=3),
        check(2),
    ),
)
BEGUN = frozenset({"step 1"})
PLAYED = Progress(completed=("step 1", "step 2 agent 1"))
AT = MusicianState(program=PROGRAM, settings=Settings(), mode=Mode.CHOOSING, chooses=True)
WHOLE = Program(
    task_id="task-01",
    title="",
    items=(play("step 1"), play("step 1 agent 1", is_agent=True), check(1, of=1)),
)


def chosen(given: i.Input, **at: object) -> tuple[MusicianState, r.Ready]:
    state, ready = step(replace(AT, **at), given)  # type: ignore[arg-type]
    check_fields((state, *ready.records, *ready.acts))
    return state, ready


def kinds(ready: r.Ready) -> list[tuple[str, list[EntryKind]]]:
    return [
        (type(record).__name__, [entry.kind for entry in getattr(record, "entries", ())])
        for record in ready.records
    ]


def reported(ready: r.Ready) -> str:
    return "".join(each.message.render() for each in ready.records if isinstance(each, r.ReportProblem))


def ordered_to(text: str) -> Progress:
    return Progress().after(ordered(Progress(), with_corrections("not so", [text]), 7))


def test_a_step_is_begun_kept_and_done_and_then_nothing_begins_by_itself() -> None:
    begun, ready = chosen(i.BeginningChosen(item="step 1"))
    assert (begun.mode, kinds(ready)) == (Mode.PLAYING, [("Write", [EntryKind.STARTED])])
    keeping, ready = chosen(i.EndingChosen(item="step 1"), begun=BEGUN)
    assert [type(act) for act in ready.acts] == [r.KeepPiece]
    done, ready = step(keeping, i.PieceEnded(item="step 1", ending=i.PieceEnding.DONE, commit_id="c1"))
    assert (done.mode, kinds(ready), ready.acts) == (Mode.CHOOSING, [("Write", [EntryKind.COMPLETED])], ())


def test_what_is_done_may_be_begun_and_ended_again_to_mend_it() -> None:
    assert kinds(chosen(i.BeginningChosen(item="step 1"), progress=PLAYED)[1])
    assert chosen(i.EndingChosen(item="step 1"), progress=PLAYED)[1].acts


def test_a_piece_that_the_plan_has_not_written_is_a_subagents() -> None:
    _, ready = chosen(i.BeginningChosen(item="step 1 agent 9"))
    assert kinds(ready) == [("Write", [EntryKind.LAUNCHED])]


def test_a_step_that_is_played_as_a_whole_is_done_with_its_pieces() -> None:
    keeping, _ = chosen(i.EndingChosen(item="step 1"), program=WHOLE, begun=BEGUN)
    _, ready = step(keeping, i.PieceEnded(item="step 1", ending=i.PieceEnding.DONE))
    assert kinds(ready) == [("Write", [EntryKind.COMPLETED, EntryKind.COMPLETED])]


@pytest.mark.parametrize(
    ("waiting", "heard"),
    [
        (Waiting.SUBMISSION, [EntryKind.SENT_BACK]),
        (Waiting.ERROR, [EntryKind.NOTE]),
        (Waiting.CONTEXT, [EntryKind.NOTE, EntryKind.GRANTED]),
    ],
)
def test_a_verdict_is_heard_as_a_driven_session_hears_it_and_then_what_is_begun_is_chosen(
    waiting: Waiting, heard: list[EntryKind]
) -> None:
    """D30.1, D30.2"""
    verdict = i.VerdictArrived(state=State.FIX_PROPOSED, text="try v2", progress=Progress())
    state, ready = chosen(verdict, mode=Mode.AWAITING_VERDICT, waiting=waiting, current=check(1))
    assert (state.mode, kinds(ready)) == (Mode.CHOOSING, [("Resume", heard)])
    assert kinds(step(state, i.BeginningChosen(item="step 1"))[1]) == [("Write", [EntryKind.STARTED])]


def test_a_handoff_that_was_decided_is_left_to_whoever_chooses() -> None:
    """D30.1: nothing is begun any more, and the session writes its own HANDOFF."""
    verdict = i.VerdictArrived(state=State.REVIEW_FAILED, text="now", progress=Progress())
    state, ready = chosen(verdict, mode=Mode.AWAITING_VERDICT, waiting=Waiting.CONTEXT)
    assert ready == r.Ready()
    with pytest.raises(EvidenceMissing, match="handoff now"):
        step(state, i.BeginningChosen(item="step 1"))
    assert step(state, i.LeavingChosen(reason="context"))[0].mode is Mode.ENDED


def test_what_was_sent_back_is_kept_as_a_rework_before_it_is_verified_again() -> None:
    """D30.1"""
    state, ready = chosen(i.CheckpointChosen(number=None), progress=PLAYED, feedback="too broad")
    assert [(type(act), act.item) for act in ready.acts if isinstance(act, r.ReworkPiece)] == [
        (r.ReworkPiece, "rework 1.1")
    ]
    mended, ready = step(state, i.PieceEnded(item="rework 1.1", ending=i.PieceEnding.DONE, commit_id="c1"))
    assert kinds(ready) == [("Write", [EntryKind.REWORKED])]
    assert step(mended, i.CheckpointChosen(number=None))[1].acts == (r.Verify(check=check(1)),)


def test_whoever_goes_on_after_an_approved_completion_says_so_first() -> None:
    """D30.1: the row stands approved until then."""
    verdict = i.VerdictArrived(state=State.REVIEW_APPROVED, text="", progress=Progress())
    at = {"mode": Mode.AWAITING_VERDICT, "waiting": Waiting.SUBMISSION, "current": check(2)}
    state, ready = chosen(verdict, **at)
    assert (kinds(ready), state.is_approved) == ([("Write", [EntryKind.APPROVED])], True)
    begun, ready = step(state, i.BeginningChosen(item="step 1"))
    assert kinds(ready) == [("Resume", []), ("Write", [EntryKind.STARTED])]
    assert not begun.is_approved


CANNOT: dict[str, tuple[i.Input, dict[str, object], str, str]] = {
    "while it has asked": (
        i.BeginningChosen(item="step 1"),
        {"question_open": True},
        "its question to the conductor is not answered",
        "`musician wait task-01`",
    ),
    "while all pause": (
        i.BeginningChosen(item="step 1"),
        {"pause": "all pause"},
        "all pause",
        "`musician wait task-01`",
    ),
    "while its plan is paused": (
        i.BeginningChosen(item="step 1"),
        {"plan_pause": "paused by ada", "pause": "all pause"},
        "paused by ada",
        "end your turn, or `musician wait task-01`",
    ),
    "when a handoff was agreed": (
        i.BeginningChosen(item="step 1"),
        {"leave_reason": "agreed"},
        "agreed",
        "`musician exit task-01 --reason context`",
    ),
    "before a correction": (
        i.BeginningChosen(item="step 1"),
        {"progress": ordered_to("use v2")},
        "comes before anything else",
        "`musician correction task-01`",
    ),
    "out of order": (
        i.BeginningChosen(item="step 3"),
        {},
        "before step 3 comes what is not done yet",
        "`musician step task-01 skipped 1 WHY`",
    ),
    "before a piece": (
        i.BeginningChosen(item="step 3"),
        {"progress": Progress(completed=("step 1",))},
        "step 2 agent 1",
        "`musician step task-01 skipped 2 --agent 1 WHY`",
    ),
    "before a checkpoint": (
        i.BeginningChosen(item="step 3"),
        {"progress": PLAYED},
        "checkpoint 1",
        "`musician checkpoint task-01`",
    ),
    "with no context left": (
        i.BeginningChosen(item="step 1"),
        {"used_pct": 75.0},
        "nothing is begun",
        "`musician exit task-01 --reason context`",
    ),
    "not begun": (
        i.EndingChosen(item="step 1"),
        {},
        "was not started",
        "`musician step task-01 start N`",
    ),
    "no correction": (
        i.CorrectionChosen(),
        {},
        "no correction step waits to be done",
        "`musician status task-01`",
    ),
    "a checkpoint too early": (
        i.CheckpointChosen(number=1),
        {},
        "before checkpoint 1 comes",
        "`musician step task-01 skipped 1 WHY`",
    ),
    "no such checkpoint": (i.CheckpointChosen(number=9), {}, "there is no checkpoint 9", "1 to 2"),
    "all approved": (
        i.CheckpointChosen(number=None),
        {"progress": replace(PLAYED, approved=frozenset({"checkpoint 1", "checkpoint 2"}))},
        "every checkpoint stands approved",
        "`musician complete`",
    ),
    "complete before a correction": (
        i.CompletionChosen(),
        {"progress": ordered_to("x")},
        "comes before",
        "`musician correction task-01`",
    ),
}


@pytest.mark.parametrize("why", CANNOT)
def test_what_cannot_be_is_refused_with_a_way_out(why: str) -> None:
    """D30.2"""
    given, at, missing, command = CANNOT[why]
    with pytest.raises(EvidenceMissing, match=missing) as refused:
        chosen(given, **at)
    assert refused.value.task_id == "task-01"
    assert command in refused.value.remedy


@pytest.mark.parametrize(
    "given", [i.BeginningChosen, i.EndingChosen, lambda item: i.SkippingChosen(item=item, why="")]
)
def test_only_what_the_task_has_is_played(given: Callable[..., i.Input]) -> None:
    with pytest.raises(BadField, match="the task has step 1, step 2, step 3") as refused:
        chosen(given(item="step 99"))
    assert (refused.value.field, refused.value.value) == ("item", "step 99")


def test_what_nobody_can_read_may_have_anything() -> None:
    unread = Program(task_id="task-01", title="", items=(check(1, of=1),), is_read=False)
    assert kinds(chosen(i.BeginningChosen(item="step 99"), program=unread)[1])


def test_an_item_is_left_out_as_a_deviation_unless_it_is_done() -> None:
    given = i.SkippingChosen(item="step 1", why="not needed")
    (record,) = chosen(given)[1].records
    assert record == r.Write(
        entries=(Entry(kind=EntryKind.SKIPPED, item="step 1", text="not needed", severity=SKIPPED_BY_ITSELF),)
    )
    with pytest.raises(BadField, match="done already") as refused:
        chosen(given, progress=PLAYED)
    assert (refused.value.field, refused.value.value) == ("item", "step 1")


def test_a_correction_is_done_once_it_is_kept() -> None:
    state, ready = chosen(i.CorrectionChosen(), progress=ordered_to("use v2"))
    assert isinstance(state.current, Play)
    assert [type(act) for act in ready.acts] == [r.KeepPiece]
    done, ready = step(state, i.PieceEnded(item=state.item, ending=i.PieceEnding.DONE))
    assert (kinds(ready), done.progress.corrections) == ([("Write", [EntryKind.COMPLETED])], ())


def test_the_next_checkpoint_is_verified_and_submitted() -> None:
    state, ready = chosen(i.CheckpointChosen(number=None), progress=PLAYED)
    assert ready.acts == (r.Verify(check=check(1)),)
    green = i.VerificationEnded(
        outcome=Verification.GREEN,
        verified=evidence(),
        tests="3 passed",
        failing="",
        files_modified=2,
        key_outputs=(),
    )
    assert kinds(step(state, green)[1]) == [("Submit", [EntryKind.VERIFIED, EntryKind.SUBMITTED])]
    red = replace(green, outcome=Verification.RED, failing="test_x fails")
    stands, ready = step(state, red)
    assert (stands.mode, ready.acts) == (Mode.CHOOSING, ())


def test_what_stands_approved_and_is_not_what_is_there_is_submitted_again() -> None:
    progress = replace(
        PLAYED, completed=(*PLAYED.completed, "step 3"), approved=frozenset({"checkpoint 1", "checkpoint 2"})
    )
    _, ready = chosen(i.CheckpointChosen(number=None, is_overtaken=True), progress=progress)
    assert ready.acts == (r.Verify(check=check(2)),)


def test_a_context_check_goes_before_the_checkpoint_it_falls_together_with() -> None:
    state, ready = chosen(i.CheckpointChosen(number=None), progress=PLAYED, used_pct=70.0)
    assert (state.waiting, kinds(ready), ready.acts) == (
        Waiting.CONTEXT,
        [("ReportProblem", [EntryKind.CONTEXT])],
        (),
    )


def test_a_failure_is_the_items_or_the_tasks() -> None:
    for current, item in ((play("step 1"), "step 1"), (None, "task-01")):
        _, ready = chosen(i.FailureChosen(text="broke", report="docs/mine.md"), current=current)
        assert "- docs/mine.md (created)" in reported(ready)
        assert kinds(ready) == [("Write", [EntryKind.FAILED]), ("ReportProblem", [EntryKind.ERROR])]
        (entry,) = ready.records[0].entries
        assert entry == Entry(kind=EntryKind.FAILED, item=item, text="broke")
        assert f"{item}: broke" in reported(ready)


def test_a_warning_says_how_much_is_used_and_what_is_in_doubt() -> None:
    with pytest.raises(BadField, match="how much is used: --context PCT") as refused:
        chosen(i.WarningChosen())
    assert (refused.value.field, refused.value.value) == ("context", "")
    for used_pct in (20.0, 70.0):
        state, ready = chosen(i.WarningChosen(), used_pct=used_pct)
        assert (state.waiting, kinds(ready)) == (Waiting.CONTEXT, [("ReportProblem", [EntryKind.CONTEXT])])


def test_the_last_failure_leaves_and_completion_ends() -> None:
    state, _ = chosen(i.FailureChosen(text="broke"), errors=4)
    assert state.mode is Mode.ENDED
    assert chosen(i.CompletionChosen())[0].mode is Mode.ENDED


def test_a_question_and_a_pause_are_stood_still_for_once_a_step_is_done() -> None:
    for at, kind in (({"question_open": True}, EntryKind.NOTE), ({"pause": "all pause"}, EntryKind.PAUSED)):
        keeping, _ = chosen(i.EndingChosen(item="step 1"), begun=BEGUN, **at)
        _, ready = step(keeping, i.PieceEnded(item="step 1", ending=i.PieceEnding.DONE))
        assert kinds(ready) == [("Write", [EntryKind.COMPLETED]), ("Write", [kind])]


@pytest.mark.parametrize("mode", [Mode.CHOOSING, Mode.AWAITING_VERDICT])
def test_a_silent_conductor_is_reported_once_and_then_left(mode: Mode) -> None:
    """D11.6, D11.7, D30.5: one that lives is waited for."""
    silent = i.WaitTimedOut(conductor_is_fresh=False)
    told, ready = chosen(silent, mode=mode)
    assert (told.mode, kinds(ready)) == (Mode.AWAITING_VERDICT, [("ReportProblem", [EntryKind.NOTE])])
    assert [type(record) for record in chosen(silent, mode=mode, timeouts=1)[1].records] == [r.ExitClaim]
    assert chosen(i.WaitTimedOut(conductor_is_fresh=True), mode=mode, timeouts=1)[1] == r.Ready()
