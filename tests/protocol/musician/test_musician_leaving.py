"""A session leaves when it is asked to, must, was fenced off, or hears nothing for too long."""

import pytest

from musician.protocol.musician import inputs as i
from musician.protocol.musician import ready as r
from musician.protocol.musician.engine import step
from musician.protocol.musician.playing import MOST_REDS
from musician.protocol.musician.state import Mode, MusicianState
from musician.protocol.rules.deviations import Severity
from musician.protocol.rules.review import Verification
from musician.protocol.settings import Settings
from musician.protocol.states import State
from tests.protocol.musician.story import PROGRAM, Story, at_checkpoint, submitted, tight


def test_an_exit_request_lets_the_piece_end_and_leaves_at_the_boundary() -> None:
    story = Story().exit_request()
    assert story.names() == []
    assert story.done().names() == ["Write", "Acknowledge", "ExitClaim", "End"]
    leave = story.only(r.ExitClaim)
    assert (leave.reason, leave.last_completed) == ("conductor requested", "step 1")
    assert leave.remaining[0] == "step 2 agent 1 (do step 2 agent 1)"


def test_an_urgent_exit_request_stops_the_piece_at_once_and_is_no_advice_to_the_successor() -> None:
    story = Story().note("stop now", message_id=11, urgent=True).exit_request("stop now", message_id=12)
    assert story.names() == []
    assert story.stopped().names() == ["Acknowledge", "ExitClaim", "End"]
    assert story.only(r.Acknowledge).message_id == 12


def test_an_urgent_exit_request_stops_the_piece_that_began_between_its_two_messages() -> None:
    story = Story().note("stop now", urgent=True).stopped()
    assert story.only(r.PlayPiece)
    assert story.exit_request("stop now").names() == ["StopPiece"]
    story = Story().question().done().note("stop now", urgent=True)
    assert story.exit_request("stop now").names() == ["StopPiece"]


def test_an_exit_request_does_not_lose_a_note_that_nobody_has_acted_on() -> None:
    story = Story().note("use v2", message_id=11).exit_request(message_id=12).done()
    assert story.names() == ["Write", "ExitClaim", "End"]


def test_an_exit_request_without_a_text_is_not_taken_for_an_urgent_one() -> None:
    story = Story().note("", urgent=True).stopped()
    assert story.exit_request("").names() == []


@pytest.mark.parametrize("outcome", list(Verification))
def test_from_exit_requested_nothing_is_submitted_any_more(outcome: Verification) -> None:
    story = at_checkpoint().exit_request()
    assert story.names() == []
    assert story.verified(outcome).names() == ["Write", "Acknowledge", "ExitClaim", "End"]


def test_from_exit_requested_nothing_is_reported_any_more() -> None:
    assert Story().exit_request().failed().names() == ["Write", "Acknowledge", "ExitClaim", "End"]
    story = at_checkpoint()
    for _ in range(MOST_REDS - 1):
        story.verified(Verification.RED).done()
    assert story.exit_request().verified(Verification.RED).names() == [
        "Write",
        "Acknowledge",
        "ExitClaim",
        "End",
    ]


def test_a_second_exit_request_changes_nothing_and_a_signal_makes_it_urgent() -> None:
    story = Story().exit_request().exit_request("again", message_id=22)
    assert story.names() == []
    assert story.tell(i.StopAsked(reason="SIGTERM")).names() == ["StopPiece"]
    assert story.stopped().only(r.ExitClaim).reason == "conductor requested"


def test_an_exit_request_while_waiting_leaves_at_once() -> None:
    assert submitted().exit_request().names() == ["Acknowledge", "ExitClaim", "End"]
    assert Story().question().done().exit_request().names() == ["Acknowledge", "ExitClaim", "End"]


@pytest.mark.parametrize("waits", ["submission", "error", "context"])
def test_a_process_that_must_end_while_a_verdict_is_awaited_leaves_its_handoff_and_its_row_as_it_is(
    waits: str,
) -> None:
    """AUDIT-P16."""
    story = {"submission": submitted, "error": lambda: Story().failed(), "context": tight}[waits]()
    assert story.tell(i.StopAsked(reason="SIGTERM")).names() == ["ExitClaim", "End"]
    assert story.only(r.End) == r.End(kind=r.EndKind.WAITING, reason="SIGTERM")


def test_a_stop_ends_the_piece_first_and_only_then_comes_the_terminal_record() -> None:
    story = Story().tell(i.StopAsked(reason="SIGTERM"))
    assert story.names() == ["StopPiece"]
    assert story.tell(i.StopAsked(reason="again")).names() == []
    assert story.stopped().names() == ["ExitClaim", "End"]
    assert story.only(r.End) == r.End(kind=r.EndKind.EXITED, reason="SIGTERM")


def test_a_stop_while_an_answer_is_awaited_hands_off() -> None:
    assert Story().question().done().tell(i.StopAsked(reason="SIGTERM")).names() == ["ExitClaim", "End"]


def test_a_stop_while_a_piece_is_being_stopped_leaves_when_it_has_ended() -> None:
    story = Story().note("x", urgent=True).tell(i.StopAsked(reason="SIGTERM"))
    assert story.names() == []
    assert story.stopped().only(r.ExitClaim).reason == "SIGTERM"


@pytest.mark.parametrize(
    ("where", "acts"),
    [
        (MusicianState(program=PROGRAM, settings=Settings()), ["End"]),
        (Story().state, ["StopPiece", "End"]),
        (at_checkpoint().verified(Verification.RED).state, ["StopPiece", "End"]),
        (at_checkpoint().state, ["StopPiece", "End"]),
        (Story().note(urgent=True).state, ["End"]),
        (submitted().state, ["End"]),
        (Story().question().done().state, ["End"]),
    ],
    ids=lambda value: value.mode if isinstance(value, MusicianState) else "",
)
def test_a_session_that_was_fenced_off_writes_nothing_more_whatever_it_is_at(
    where: MusicianState, acts: list[str]
) -> None:
    after, ready = step(where, i.ClaimWasLost())
    assert not ready.records
    assert [type(act).__name__ for act in ready.acts] == acts
    assert ready.acts[-1] == r.End(kind=r.EndKind.LOST, reason="the claim was taken over")
    assert after.mode is Mode.ENDED


# -- silence ------------------------------------------------------------------------------------------------------


def test_a_conductor_that_lives_is_waited_for() -> None:
    story = submitted().timeout(fresh=True).timeout(fresh=True).timeout(fresh=True)
    assert story.names() == []


def test_needs_review_becomes_error_with_a_timeout_message_and_a_second_time_it_leaves() -> None:
    story = submitted().timeout()
    report = story.only(r.ReportProblem)
    assert report.last_error == "conductor timeout"
    assert not report.is_reminder
    assert story.timeout().names() == ["ExitClaim", "End"]
    assert story.only(r.ExitClaim).reason == "conductor unresponsive"


@pytest.mark.parametrize("verdict", [State.REVIEW_APPROVED, State.FIX_PROPOSED])
def test_the_answer_to_a_timeout_is_none_to_the_submission_which_is_submitted_anew(verdict: State) -> None:
    story = submitted().timeout().judged(verdict, "I am back")
    assert story.only(r.Verify).check.item == "checkpoint 1"
    assert story.verified().only(r.Submit)


def test_an_error_stays_one_and_is_reminded_of() -> None:
    story = Story().failed().timeout()
    assert story.only(r.ReportProblem).is_reminder
    assert story.judged(State.FIX_PROPOSED).only(r.PlayPiece)


def test_a_context_warning_that_timed_out_is_still_answered_as_one() -> None:
    story = tight().timeout()
    assert story.only(r.ReportProblem).is_reminder
    assert story.judged(State.REVIEW_FAILED).only(r.ExitClaim).reason.startswith("context exhaustion")


def test_an_unanswered_question_times_out_as_well() -> None:
    story = Story().question().done().timeout()
    assert not story.only(r.ReportProblem).is_reminder
    assert story.judged(State.FIX_PROPOSED, "the second").only(r.PlayPiece).advice == "the second"
    assert Story().question().done().timeout().timeout().only(r.ExitClaim)


def test_each_wait_has_its_own_patience() -> None:
    story = Story().failed().timeout().judged(State.FIX_PROPOSED).failed()
    assert story.timeout().only(r.ReportProblem)


@pytest.mark.parametrize(
    ("verdict", "deviations"), [(State.REVIEW_FAILED, 1), (State.FIX_PROPOSED, 0), (State.REVIEW_APPROVED, 0)]
)
def test_a_rejection_is_recorded_as_a_deviation_and_a_proposal_is_none(
    verdict: State, deviations: int
) -> None:
    story = submitted().judged(verdict, "1. too long")
    found = [entry.severity for record in story.records for entry in getattr(record, "entries", ())]
    assert found.count(Severity.MEDIUM) == deviations
    assert len(story.state.progress.deviations) == deviations
