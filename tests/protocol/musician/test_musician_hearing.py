"""What the conductor says reaches the piece it is meant for; what the musician asks waits for its answer."""

import pytest

from musician.protocol.journal import EntryKind
from musician.protocol.musician import inputs as i
from musician.protocol.musician import ready as r
from musician.protocol.musician.state import Mode
from musician.protocol.rules.review import Verification
from musician.protocol.states import State
from tests.protocol.musician.story import Story, at_checkpoint, check, submitted


def test_what_was_said_before_a_question_was_asked_does_not_answer_it() -> None:
    story = Story().question().done()
    assert story.state.mode is Mode.AWAITING_ANSWER
    older = i.MessageArrived(message_id=11, text="by the way", urgent=False, is_answer=False)
    assert story.tell(older).names() == []
    assert story.state.mode is Mode.AWAITING_ANSWER
    assert story.note("the first", message_id=12).only(r.PlayPiece).advice == "by the way\n\nthe first"


def test_what_was_said_of_this_session_s_context_is_no_advice_to_its_successor() -> None:
    """A handoff at the checkpoint, as agreed: the answer that agreed on it is dealt with by leaving."""
    story = Story().done().context(66).done()
    story.judged(State.FIX_PROPOSED, "only the checkpoint, then hand off", message_id=50)
    assert story.names() == ["Resume", "Verify"]
    story.verified().approved("well done", message_id=51)
    assert story.only(r.Acknowledge).message_id == 50
    assert "handoff at the checkpoint" in story.only(r.ExitClaim).reason


def test_a_normal_message_is_delivered_at_the_next_boundary() -> None:
    story = Story().note()
    assert story.names() == ["Steer"]
    assert story.done().only(r.PlayPiece).advice == "use v2"


def test_a_forecast_waits_for_the_next_boundary_and_answers_nothing() -> None:
    """D24.12: no piece is disturbed by it; a session that has asked something goes on waiting."""
    story = Story().tell(i.MessageArrived(message_id=11, text="Conflict ahead", urgent=False, forecast=True))
    assert story.names() == []
    assert story.done().only(r.PlayPiece).advice == "Conflict ahead"
    assert story.done().only(r.Acknowledge).message_id == 11
    waiting = Story().question().done()
    waiting.tell(i.MessageArrived(message_id=11, text="Conflict ahead", urgent=False, forecast=True))
    assert (waiting.names(), waiting.state.mode) == ([], Mode.AWAITING_ANSWER)
    assert waiting.note("the first", message_id=12).only(r.PlayPiece).advice == "Conflict ahead\n\nthe first"


def test_a_message_is_acknowledged_once_and_only_when_a_piece_that_heard_it_is_done() -> None:
    story = Story().note(message_id=11)
    assert "Acknowledge" not in story.done().names()
    assert story.note("and v3", message_id=12).names() == ["Steer"]
    story.done()
    assert story.only(r.Acknowledge).message_id == 11
    story.verified().approved(message_id=13)
    assert story.only(r.PlayPiece).advice == "and v3"
    assert story.done().only(r.Acknowledge).message_id == 13
    assert "Acknowledge" not in story.verified().names()


def test_advice_is_heard_again_by_the_attempt_after_a_failed_or_stopped_one() -> None:
    story = Story(advice="mind the tabs")
    assert story.failed().judged(State.FIX_PROPOSED, "once more").only(r.PlayPiece).advice == (
        "mind the tabs\n\nonce more"
    )
    story.note("stop that", urgent=True).stopped()
    assert story.only(r.PlayPiece).advice == "mind the tabs\n\nonce more\n\nstop that"
    assert story.done().only(r.PlayPiece).advice == ""


def test_what_nobody_has_acted_on_stays_unread_for_the_successor() -> None:
    story = Story().note(message_id=11).tell(i.StopAsked(reason="interrupted by SIGTERM")).stopped()
    assert story.names() == ["ExitClaim", "End"]


def test_what_the_conductor_said_at_the_start_is_acknowledged_when_a_piece_has_heard_it() -> None:
    story = Story(advice="take over", last_message_id=5)
    assert "Acknowledge" not in story.names()
    assert story.done().only(r.Acknowledge).message_id == 5


def test_an_urgent_message_stops_the_running_piece_at_once_and_the_next_attempt_hears_it() -> None:
    story = Story().note("wrong branch", urgent=True)
    assert story.names() == ["StopPiece"]
    assert story.stopped().only(r.PlayPiece).play.item == "step 1"
    assert story.only(r.PlayPiece).advice == "wrong branch"


def test_a_piece_that_was_done_before_the_stop_reached_it_is_done() -> None:
    story = Story().note("wrong branch", urgent=True).done()
    assert story.kinds() == [EntryKind.COMPLETED, EntryKind.LAUNCHED]
    assert story.only(r.PlayPiece).advice == "wrong branch"


def test_a_piece_that_failed_before_the_stop_reached_it_is_noted_and_begun_anew() -> None:
    story = Story().note("wrong branch", urgent=True).failed()
    assert story.kinds() == [EntryKind.FAILED, EntryKind.STARTED]
    assert story.state.errors == 0


@pytest.mark.parametrize("outcome", [Verification.GREEN, Verification.RED, None])
def test_an_urgent_message_at_a_checkpoint_is_acted_on_before_anything_is_submitted(
    outcome: Verification | None,
) -> None:
    story = at_checkpoint().note("the interface changed", urgent=True)
    assert story.names() == ["StopPiece"]
    story = story.stopped() if outcome is None else story.verified(outcome)
    assert story.only(r.ReworkPiece).feedback.endswith("the interface changed")
    assert story.done().only(r.Verify).check.item == "checkpoint 1"
    assert story.only(r.Acknowledge).message_id == 11


def test_a_rework_that_was_stopped_is_begun_anew_with_its_feedback_and_the_message() -> None:
    story = submitted().judged(State.REVIEW_FAILED, "too broad")
    name = story.only(r.ReworkPiece).item
    story.note("mind the edge", urgent=True).stopped()
    assert story.only(r.ReworkPiece) == r.ReworkPiece(
        check=check(1), item=name, feedback="too broad\n\nmind the edge"
    )
    assert story.state.mode is Mode.REWORKING


def test_a_message_while_a_verdict_is_awaited_starts_nothing() -> None:
    assert submitted().note().names() == []
    assert submitted().note(urgent=True).names() == []


# -- steering -----------------------------------------------------------------------------------------------------


def test_a_note_is_said_to_the_piece_that_plays_and_settled_with_it_once_it_is_heard() -> None:
    story = Story().note("use v2", message_id=11)
    assert story.acts == (r.Steer(text="use v2", message_id=11),)
    story.tell(i.Steered(message_id=11)).done()
    assert story.only(r.Acknowledge).message_id == 11
    assert story.only(r.PlayPiece).advice == ""


def test_a_note_that_the_piece_did_not_hear_is_the_next_ones() -> None:
    assert Story().note("use v2").done().only(r.PlayPiece).advice == "use v2"


def test_a_rework_is_steered_and_a_verification_is_not() -> None:
    assert submitted().judged(State.REVIEW_FAILED, "too broad").note().names() == ["Steer"]
    assert at_checkpoint().note().names() == []


def test_notes_are_settled_in_order_and_what_was_heard_out_of_it_is_said_again() -> None:
    story = Story().note("one", message_id=11).note("two", message_id=12)
    assert story.tell(i.Steered(message_id=12)).done().only(r.PlayPiece).advice == "one\n\ntwo"
    story = Story().note("one", message_id=11).tell(i.PauseLifted(message_id=12)).note("two", message_id=13)
    story.tell(i.Steered(message_id=11)).tell(i.Steered(message_id=13)).done()
    assert story.only(r.Acknowledge).message_id == 13
    assert not story.state.heard


def test_what_was_heard_by_a_piece_that_failed_is_said_to_the_next_attempt() -> None:
    story = Story().done().note("use v2").tell(i.Steered(message_id=11)).lost()
    assert "use v2" in story.only(r.PlayPiece).advice


def test_a_word_that_nobody_waits_to_have_heard_counts_for_nothing() -> None:
    assert Story().tell(i.Steered(message_id=99)).state.carried == 0


def test_correction_steps_are_played_and_not_said() -> None:
    assert "Steer" not in Story().note("CORRECTIONS, before anything else:\n1. write it anew").names()


# -- questions ----------------------------------------------------------------------------------------------------


def test_a_question_goes_to_the_conductor_with_its_context_usage_and_is_awaited_at_the_boundary() -> None:
    story = Story().context(30).question()
    assert story.only(r.Ask).text == "which file?\n  Context Usage: 30%"
    assert not story.acts
    story.done()
    assert story.state.mode is Mode.AWAITING_ANSWER
    assert not story.acts
    assert story.note("the second").only(r.PlayPiece).advice == "the second"


def test_an_answer_that_comes_while_the_piece_still_plays_is_not_awaited_again() -> None:
    assert Story().question().note("the second").done().only(r.PlayPiece).advice == "the second"


def test_what_ends_in_a_question_and_has_changed_nothing_is_played_again_with_the_answer_once() -> None:
    story = Story().asked("which port?")
    assert story.only(r.Ask).entries[0].text == "which port?"
    assert story.state.mode is Mode.AWAITING_ANSWER
    assert EntryKind.COMPLETED not in story.kinds()
    again = story.note("8080").only(r.PlayPiece)
    assert (again.play.item, again.advice) == ("step 1", "8080")
    assert story.asked("anything else?").kinds()[0] is EntryKind.COMPLETED
    assert story.only(r.PlayPiece).play.item != "step 1"
    assert story.asked("and this?").only(r.Ask), "of each piece anew"


def test_a_question_that_was_told_by_its_tag_is_not_asked_twice() -> None:
    """Not even where it was answered while the piece ran."""
    assert "Ask" not in Story().question().asked().names()
    answered = Story().question().note("8080").asked()
    assert (answered.only(r.PlayPiece).play.item, answered.only(r.PlayPiece).advice) == ("step 1", "8080")


def test_a_rework_that_only_asks_is_played_again_too() -> None:
    story = at_checkpoint().verified(Verification.RED).asked()
    assert story.state.mode is Mode.AWAITING_ANSWER
    again = story.note("the second").only(r.ReworkPiece)
    assert (again.item, again.feedback) == ("rework 1.1", "test_x fails\n\nthe second")
    assert story.done().kinds()[0] is EntryKind.REWORKED


def test_who_leaves_asks_nothing_more() -> None:
    story = Story().exit_request().asked()
    assert story.only(r.ExitClaim)
    assert "Ask" not in story.names()


def test_a_question_in_a_rework_is_answered_before_the_checkpoint_is_verified() -> None:
    story = at_checkpoint().verified(Verification.RED).question().done()
    assert story.state.mode is Mode.AWAITING_ANSWER
    assert story.note().only(r.Verify).check.item == "checkpoint 1"


def test_a_question_asked_in_a_step_that_then_fails_is_answered_by_the_verdict() -> None:
    story = Story().question().failed().judged(State.FIX_PROPOSED, "the second")
    assert story.only(r.PlayPiece).advice == "the second"


def test_a_question_asked_in_a_step_that_then_fails_is_answered_by_a_note_too() -> None:
    story = Story().question().failed().note("the second").judged(State.FIX_PROPOSED, "again")
    assert story.only(r.PlayPiece).advice == "the second\n\nagain"


def test_a_question_told_while_a_piece_is_being_stopped_is_awaited() -> None:
    story = Story().note(urgent=True).question().stopped()
    assert story.state.mode is Mode.AWAITING_ANSWER
