"""What fails: errors, retries, subagents that are lost, deviations."""

from dataclasses import replace

import pytest

from musician.protocol.journal import EntryKind, Progress, status_line
from musician.protocol.messages.types import ErrorReport
from musician.protocol.musician import inputs as i
from musician.protocol.musician import ready as r
from musician.protocol.musician.program import Play, Program
from musician.protocol.rules.delegation import Extent
from musician.protocol.rules.deviations import Deviation, Severity
from musician.protocol.rules.review import Verification
from musician.protocol.states import State
from tests.protocol.musician.story import PROGRAM, Story, at_checkpoint, check, play


def test_a_failing_step_is_an_error_that_is_answered_before_anything_else_is_played() -> None:
    story = Story().context(35).failed()
    assert story.names() == ["Write", "ReportProblem"]
    message = story.only(r.ReportProblem).message
    assert isinstance(message, ErrorReport)
    assert message.render().startswith("ERROR (Retry 1/5):\n  Context Usage: 35%")
    assert story.kinds() == [EntryKind.FAILED, EntryKind.ERROR]
    assert story.judged(State.FIX_PROPOSED, "in docs/").only(r.PlayPiece).play.item == "step 1"


@pytest.mark.parametrize("verdict", [State.REVIEW_APPROVED, State.REVIEW_FAILED, State.FIX_PROPOSED])
def test_an_error_report_however_answered_goes_on_with_what_the_conductor_says(verdict: State) -> None:
    story = Story().failed().judged(verdict, "it is in docs/")
    assert story.names() == ["Resume", "Write", "PlayPiece"]
    assert story.only(r.PlayPiece).advice == "it is in docs/"


@pytest.mark.parametrize("earlier", [0, 3])
def test_the_fifth_failure_over_all_sessions_hands_off_and_exits_as_retry_exhaustion(earlier: int) -> None:
    story = Story(errors_so_far=earlier)
    for number in range(earlier + 1, 5):
        assert story.failed().only(r.ReportProblem).message.render().startswith(f"ERROR (Retry {number}/5)")
        story.judged(State.FIX_PROPOSED)
    assert story.failed("gone").names() == ["Write", "ExitClaim", "End"]
    assert story.only(r.ExitClaim).reason == "retry exhaustion: step 1: gone"


def test_the_conductor_may_grant_more_retries() -> None:
    assert Story(errors_so_far=4, retry_limit=7).failed().only(r.ReportProblem)


def test_context_warnings_and_timeouts_are_no_retries() -> None:
    story = Story().context(66).done()
    assert story.only(r.ReportProblem).last_error == "context_exhaustion_warning"
    assert story.timeout().only(r.ReportProblem).message.render().startswith("ERROR (no retry)")
    assert story.state.errors == 0
    assert story.state.since.errors == 0


def test_a_lost_subagent_is_retried_with_the_same_prompt_and_a_failed_one_with_an_adjusted_one() -> None:
    story = Story().note("mind the tabs").done()
    assert story.only(r.PlayPiece).advice == "mind the tabs"
    again = story.lost().only(r.PlayPiece)
    assert (again.attempt, again.advice) == (2, "mind the tabs")
    adjusted = story.failed("no colspan").only(r.PlayPiece)
    assert (adjusted.attempt, adjusted.advice) == (3, "mind the tabs\n\nno colspan")


def test_after_two_retries_the_subagents_piece_is_escalated_and_begins_anew_once_answered() -> None:
    story = Story().done().lost().failed("a").failed("b")
    assert story.only(r.ReportProblem).last_error == "step 2 agent 1: b"
    assert story.judged(State.FIX_PROPOSED).only(r.PlayPiece).attempt == 1


def agent_story(play: Play) -> Story:
    return Story(program=replace(PROGRAM, items=(play, *PROGRAM.items[2:])))


def attempted(story: Story, lines: int, *files: str) -> Story:
    """It fails, and leaves so much behind."""
    left = Extent(lines=lines, files=frozenset(files))
    return story.tell(
        i.PieceEnded(item=story.state.item, ending=i.PieceEnding.FAILED, detail="no colspan", left=left)
    )


PIECE = Play(item="step 2 agent 1", title="Convert", prose="Convert it.", scripts=(), step=2, is_agent=True)


@pytest.mark.parametrize(("lines", "absorbs"), [(499, True), (500, False)])
@pytest.mark.parametrize("stated", [True, False], ids=["as the plan says", "as the attempts show"])
def test_after_two_retries_the_musician_plays_a_small_and_well_defined_piece_itself(
    lines: int, absorbs: bool, stated: bool
) -> None:
    """D19, exact at 499 and 500 lines."""
    known = Extent(lines=lines, files=frozenset({"src/a.py"}))
    story = agent_story(replace(PIECE, extent=known) if stated else PIECE)
    for _ in range(3):
        story = story.failed("no colspan") if stated else attempted(story, lines, "src/a.py")
    if not absorbs:
        assert story.only(r.ReportProblem).last_error == "step 2 agent 1: no colspan"
        return
    act = story.only(r.PlayPiece)
    assert (act.play.item, act.play.is_agent, act.attempt) == ("step 2 agent 1", False, 4)
    assert act.advice.endswith("no colspan")
    assert story.kinds() == [EntryKind.FAILED, EntryKind.ABSORBED]
    assert story.done().kinds()[0] is EntryKind.COMPLETED
    assert story.state.progress.completed == ("step 2 agent 1",)


@pytest.mark.parametrize(
    "doubt",
    [
        pytest.param({"extent": Extent(lines=20, files=frozenset({"a.py", "b.py"}))}, id="two files"),
        pytest.param({"extent": Extent(lines=20)}, id="files unknown"),
        pytest.param({"extent": Extent(files=frozenset({"a.py"}))}, id="lines unknown"),
        pytest.param({"well_defined": False}, id="said to be unclear"),
        pytest.param({"prose": ""}, id="nothing said"),
    ],
)
def test_in_doubt_a_piece_that_still_fails_is_escalated(doubt: dict[str, object]) -> None:
    sound = replace(PIECE, extent=Extent(lines=20, files=frozenset({"a.py"})))
    assert agent_story(sound).lost().lost().lost().kinds() == [EntryKind.FAILED, EntryKind.ABSORBED]
    story = agent_story(replace(sound, **doubt)).lost().lost().lost()  # type: ignore[arg-type]
    assert story.kinds() == [EntryKind.FAILED, EntryKind.ERROR]


def test_an_attempt_that_has_changed_more_than_the_plan_said_is_believed() -> None:
    stated = replace(PIECE, extent=Extent(lines=20, files=frozenset({"a.py"})))
    story = attempted(agent_story(stated), 600, "a.py").lost().lost()
    assert story.kinds() == [EntryKind.FAILED, EntryKind.ERROR]


def test_a_piece_that_a_subagent_had_to_ask_about_is_not_well_defined_unless_the_plan_says_so() -> None:
    small = replace(PIECE, extent=Extent(lines=20, files=frozenset({"a.py"})))
    for piece, expected in (
        (small, EntryKind.ERROR),
        (replace(small, well_defined=True), EntryKind.ABSORBED),
    ):
        story = agent_story(piece).question().lost().note("that one").lost().lost()
        assert story.kinds() == [EntryKind.FAILED, expected]


def test_what_the_musician_plays_itself_and_cannot_is_an_error_and_a_stop_begins_it_anew() -> None:
    small = replace(PIECE, extent=Extent(lines=20, files=frozenset({"a.py"})))
    story = agent_story(small).lost().lost().lost()
    story.note("stop", urgent=True).stopped()
    assert story.kinds() == [EntryKind.ABSORBED]
    assert story.failed("cannot either").kinds() == [EntryKind.FAILED, EntryKind.ERROR]
    assert story.judged(State.FIX_PROPOSED).only(r.PlayPiece).play.is_agent


def test_no_two_attempts_look_alike_in_the_status_file() -> None:
    small = replace(PIECE, extent=Extent(lines=20, files=frozenset({"a.py"})))
    story = agent_story(small)
    lines = []
    for tell in (story.lost, lambda: story.failed("no colspan"), story.lost, story.done):
        tell()
        lines += [status_line(entry) for record in story.records for entry in getattr(record, "entries", ())]
    assert lines == [
        "step 2 agent 1 FAILED: it vanished and said nothing",
        "step 2 agent 1 retry 1 launched (same prompt: it vanished and said nothing)",
        "step 2 agent 1 retry 1 FAILED: no colspan",
        "step 2 agent 1 retry 2 launched (adjusted prompt: no colspan)",
        "step 2 agent 1 retry 2 FAILED: it vanished and said nothing",
        "step 2 agent 1 absorbed: small and well-defined, after 3 failures",
        "step 2 agent 1 completed by musician (after 3 failures)",
    ]


def test_a_retry_of_a_subagent_weighs_the_context_first() -> None:
    story = Story().done().context(66).lost()
    assert story.only(r.ReportProblem).last_error == "context_exhaustion_warning"
    assert story.judged(State.FIX_PROPOSED).only(r.PlayPiece).attempt == 2


def test_a_subagent_that_fails_while_the_session_leaves_is_not_retried() -> None:
    story = Story().done().exit_request().lost()
    assert story.names() == ["Write", "Acknowledge", "ExitClaim", "End"]
    assert story.only(r.ExitClaim).reason == "conductor requested"


def test_a_partial_result_is_accepted_as_a_deviation() -> None:
    assert Story().tell(i.PartialTold(text="no tables")).kinds() == [EntryKind.PARTIAL, EntryKind.DEVIATION]


def test_a_deviation_is_written_with_its_severity_under_what_is_being_played() -> None:
    story = at_checkpoint().verified(Verification.RED)
    story.tell(i.DeviationTold(severity=Severity.MEDIUM, text="another way"))
    (entry,) = story.only(r.Write).entries
    assert (entry.item, entry.severity) == ("rework 1.1", Severity.MEDIUM)


def test_a_piece_that_is_played_again_does_not_deviate_twice() -> None:
    told = i.DeviationTold(severity=Severity.MEDIUM, text="another way")
    story = Story().tell(told).note(urgent=True).stopped().tell(told)
    assert story.names() == []
    assert story.tell(replace(told, severity=Severity.HIGH)).kinds() == [EntryKind.DEVIATION]
    assert story.tell(replace(told, text="yet another")).kinds() == [EntryKind.DEVIATION]
    ruled = Progress(deviations=(Deviation(severity=Severity.MEDIUM, text="another way", ruled=True),))
    assert Story(progress=ruled).tell(told).kinds() == [EntryKind.DEVIATION]


def test_a_red_checkpoint_that_nothing_mends_is_reported_with_what_failed_first() -> None:
    story = at_checkpoint().verified(Verification.RED).unplayable()
    written, report = story.records
    assert isinstance(written, r.Write)
    assert isinstance(report, r.ReportProblem)
    assert [entry.kind for entry in written.entries] == [EntryKind.UNPLAYABLE]
    assert report.last_error == "checkpoint 1: test_x fails; nothing mends it: there is no block"
    assert story.judged(State.FIX_PROPOSED).acts == (
        r.ReworkPiece(check=check(1), item="rework 1.1", feedback="test_x fails"),
    )


@pytest.mark.parametrize("is_agent", [False, True])
def test_a_piece_that_the_plan_gives_no_means_for_is_reported_and_not_tried_again(is_agent: bool) -> None:
    """Neither the ladder of a subagent's retries nor absorbing it could change anything (D19)."""
    program = Program(
        task_id="task-01", title="Greet", items=(play("step 1", is_agent=is_agent), check(1, of=1))
    )
    story = Story(program=program).unplayable()
    report = story.records[-1]
    assert isinstance(report, r.ReportProblem)
    assert report.last_error == "step 1: there is no block"
    assert story.acts == ()
