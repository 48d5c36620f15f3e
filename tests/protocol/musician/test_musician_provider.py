"""What an agent's provider does is no failure of the work: a limit is waited for, a refusal goes to a person."""

from musician.protocol.journal import CEILING_REACHED, PROVIDER_REFUSES, EntryKind
from musician.protocol.musician import inputs as i
from musician.protocol.musician import ready as r
from musician.protocol.musician.state import Mode
from musician.protocol.settings import Settings
from musician.protocol.states import State
from tests.protocol.musician.story import Story, submitted


def test_a_limit_costs_no_retry_and_what_was_played_is_due_again() -> None:
    story = Story().limited(90)
    assert story.names() == ["Limit", "AwaitLimit"]
    assert (story.only(r.Limit).said_s, story.only(r.Limit).own_s) == (90, Settings().waiting.limit_s)
    assert story.kinds() == [EntryKind.LIMITED]
    assert (story.state.mode, story.state.errors) == (Mode.LIMITED, 0)
    assert story.tell(i.LimitLifted()).only(r.PlayPiece).play.item == "step 1"
    assert story.state.errors == 0


def test_a_limit_is_no_failure_of_a_subagent_either() -> None:
    story = Story().done().limited().tell(i.LimitLifted())
    assert story.only(r.PlayPiece).attempt == 1


def test_a_rework_that_was_limited_is_begun_anew_with_its_feedback() -> None:
    story = submitted().judged(State.REVIEW_FAILED, "too broad").limited().tell(i.LimitLifted())
    assert story.only(r.ReworkPiece).feedback == "too broad"


def test_what_the_conductor_says_meanwhile_is_heard_when_it_goes_on() -> None:
    story = Story().limited().note("use v2")
    assert story.names() == []
    assert story.tell(i.LimitLifted()).only(r.PlayPiece).advice == "use v2"


def test_an_urgent_word_tries_again_at_once_and_lifts_what_is_stored() -> None:
    story = Story().limited().note("I have paid", urgent=True)
    assert story.names()[0] == "Lift"
    assert story.only(r.PlayPiece).advice == "I have paid"


def test_who_waits_for_a_provider_leaves_when_it_is_told_to() -> None:
    story = Story().limited().exit_request()
    assert story.only(r.ExitClaim).reason == "conductor requested"
    story = Story().exit_request().limited()
    assert story.names() == ["Limit", "Acknowledge", "ExitClaim", "End"]
    assert Story().limited().tell(i.StopAsked(reason="interrupted by SIGTERM")).only(r.ExitClaim)


def test_who_waits_and_is_stopped_lifts_nothing_and_begins_nothing() -> None:
    """LIMIT-16: the limit was the account's, and all on it asked again."""
    stop = i.MessageArrived(message_id=19, text="stop now", urgent=True, exits=True)
    story = Story().limited().tell(stop)
    assert story.names() == []
    assert story.state.mode is Mode.LIMITED
    assert story.exit_request("stop now").names()[-2:] == ["ExitClaim", "End"]
    story = Story().tell(i.QuestionTold(text="which?")).done().tell(stop)
    assert not story.names()
    assert Story().tell(stop).names() == ["StopPiece"]


def test_who_is_to_stop_and_is_limited_waits_with_the_word() -> None:
    story = Story().note("wrong branch", urgent=True).limited()
    assert story.state.mode is Mode.LIMITED
    assert story.tell(i.LimitLifted()).only(r.PlayPiece).advice == "wrong branch"


def test_a_refusal_ends_the_session_without_an_error_and_says_why() -> None:
    story = Story().refused("the login has expired")
    assert story.names() == ["Refuse", "ExitClaim", "End"]
    assert story.only(r.ExitClaim).reason == f"{PROVIDER_REFUSES}the login has expired"
    assert story.state.errors == 0
    assert Story().refused("").only(r.ExitClaim).reason.startswith(PROVIDER_REFUSES)


def test_who_is_leaving_for_a_reason_of_its_own_keeps_it() -> None:
    assert Story().exit_request().refused().only(r.ExitClaim).reason == "conductor requested"


def test_who_may_use_no_more_leaves_with_a_handoff_and_nothing_has_failed() -> None:
    """CEIL-7."""
    story = Story().spent()
    assert story.names() == ["Write", "ExitClaim", "End"]
    reason = f"{CEILING_REACHED}it has used $5.00 of $5.00"
    assert story.only(r.ExitClaim).reason == reason
    assert story.kinds() == [EntryKind.NOTE]
    assert story.state.errors == 0
    assert Story().exit_request().spent().only(r.ExitClaim).reason == "conductor requested"


def test_a_rework_and_a_subagents_piece_that_stop_at_a_ceiling_are_no_failures_either() -> None:
    """CEIL-7."""
    assert (
        submitted()
        .judged(State.REVIEW_FAILED, "too broad")
        .spent()
        .only(r.ExitClaim)
        .reason.startswith(CEILING_REACHED)
    )
    assert Story().done().spent().only(r.ExitClaim).reason.startswith(CEILING_REACHED)
