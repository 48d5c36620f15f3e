"""A person speaks with the agent: nothing is prompted meanwhile, and nothing of theirs or of the task's is lost."""

from musician.protocol.journal import EntryKind
from musician.protocol.musician import inputs as i
from musician.protocol.musician import ready as r
from musician.protocol.musician.state import Mode
from musician.protocol.states import State
from tests.protocol.musician.story import Story


def came(story: Story) -> Story:
    return story.tell(i.PersonCame())


def left(story: Story) -> Story:
    return story.tell(i.PersonLeft(commit_id="c9"))


def attached() -> Story:
    return came(Story()).stopped()


def test_what_runs_is_stopped_before_the_conversation_is_released_and_begins_again_afterwards() -> None:
    story = came(Story())
    assert story.names() == ["StopPiece"]
    assert story.stopped().names() == ["Release"]
    assert story.state.mode is Mode.WITH_PERSON
    left(story)
    written = [entry for record in story.records if isinstance(record, r.Write) for entry in record.entries]
    assert (written[0].kind, written[0].commit_id) == (EntryKind.GIVEN_BACK, "c9")
    assert story.only(r.PlayPiece).play.item == "step 1"


def test_a_piece_that_ends_by_itself_meanwhile_is_done() -> None:
    story = came(Story()).done()
    assert story.only(r.Release)
    assert left(story).only(r.PlayPiece).play.item == "step 2 agent 1"


def test_a_person_who_is_gone_before_the_release_leaves_no_trace() -> None:
    story = left(came(Story())).stopped()
    assert story.only(r.PlayPiece).play.item == "step 1"


def test_while_it_stops_for_something_else_it_is_not_stopped_twice() -> None:
    story = came(Story().note(urgent=True))
    assert story.names() == []
    assert story.stopped().names() == ["Release"]


def test_who_waits_for_an_answer_or_for_its_provider_is_released_at_once_and_waits_again() -> None:
    story = came(Story().question().done())
    assert story.names() == ["Release"]
    assert left(story).state.mode is Mode.AWAITING_ANSWER
    assert came(Story().limited()).names() == ["Release"]
    assert came(Story()).limited().names() == ["Limit", "Release"]


def test_a_verdict_is_awaited_first() -> None:
    story = Story().done().done().verified()
    assert came(story).names() == []
    assert story.judged(State.REVIEW_FAILED, "again").names()[-1] == "Release"
    assert left(story).only(r.ReworkPiece).feedback == "again"


def test_what_is_approved_is_completed_and_not_released() -> None:
    story = Story().done().done().verified().judged(State.REVIEW_APPROVED, "good").done().verified()
    assert "CompleteTask" in came(story).judged(State.REVIEW_APPROVED, "good").names()


def test_an_exit_waits_until_it_is_given_back_unless_it_is_urgent() -> None:
    story = attached().tell(i.ExitWasRequested(text="hand off", message_id=20))
    assert story.names() == []
    assert story.state.mode is Mode.WITH_PERSON
    assert "ExitClaim" in left(story).names()
    story = attached().note("hand off", urgent=True).tell(i.ExitWasRequested(text="hand off", message_id=20))
    assert story.names() == ["TakeBack"]
    assert "PlayPiece" not in left(story).names()
    story = attached().tell(i.StopAsked(reason="SIGTERM"))
    assert story.names() == ["TakeBack"]
    exit_claim = left(story).only(r.ExitClaim)
    assert [(entry.kind, entry.commit_id) for entry in exit_claim.entries] == [(EntryKind.GIVEN_BACK, "c9")]
