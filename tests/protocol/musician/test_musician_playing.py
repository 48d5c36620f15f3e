"""A task is played in its document's order, after whatever the conductor orders to be mended first."""

import pytest

from musician.protocol.journal import Entry, EntryKind, Progress
from musician.protocol.messages.corrections import with_corrections
from musician.protocol.messages.submissions import Completion, ReviewRequest
from musician.protocol.musician import ready as r
from musician.protocol.musician.program import Play, ordered
from musician.protocol.musician.since import Since
from musician.protocol.musician.state import Mode
from musician.protocol.rules.deviations import Severity
from musician.protocol.states import State
from tests.protocol.musician.story import PROGRAM, Story, submitted
from tests.said import evidence


def test_a_task_is_played_in_document_order_to_its_approved_completion() -> None:
    story = Story()
    assert story.only(r.PlayPiece).play.item == "step 1"
    assert story.only(r.PlayPiece).attempt == 1
    assert story.kinds() == [EntryKind.STARTED]
    assert story.done().only(r.PlayPiece).play.item == "step 2 agent 1"
    assert story.kinds() == [EntryKind.COMPLETED, EntryKind.LAUNCHED]
    assert story.done().only(r.Verify).check.item == "checkpoint 1"
    assert story.kinds() == [EntryKind.RETURNED]
    submit = story.verified().only(r.Submit)
    assert isinstance(submit.message, ReviewRequest)
    assert submit.message.checkpoint is not None
    assert submit.verified == evidence()
    assert story.kinds() == [EntryKind.VERIFIED, EntryKind.SUBMITTED]
    assert not story.acts
    assert story.approved().only(r.PlayPiece).play.item == "step 3"
    assert story.kinds() == [EntryKind.APPROVED, EntryKind.STARTED]
    assert isinstance(story.done().verified().only(r.Submit).message, Completion)
    assert story.approved("thank you").names() == ["Write", "CompleteTask", "End"]
    assert story.only(r.End) == r.End(kind=r.EndKind.COMPLETE, reason="complete")


def test_what_is_written_down_as_done_is_never_played_again() -> None:
    progress = Progress().after([Entry(kind=EntryKind.COMPLETED, item="step 1")])
    assert Story(progress=progress).only(r.PlayPiece).play.item == "step 2 agent 1"


def test_a_completed_piece_is_written_with_the_commit_that_keeps_it() -> None:
    entries = Story().done().records[0]
    assert isinstance(entries, r.Write)
    assert (entries.entries[0].item, entries.entries[0].commit_id) == ("step 1", "c1")


def test_an_approval_that_outlived_its_session_completes_the_task_at_once() -> None:
    done = [
        Entry(kind=EntryKind.COMPLETED, item=each.item) for each in PROGRAM.items if isinstance(each, Play)
    ]
    approved = [Entry(kind=EntryKind.APPROVED, item=f"checkpoint {number}") for number in (1, 2)]
    deviations = [Entry(kind=EntryKind.DEVIATION, text=str(n), severity=Severity.LOW) for n in range(3)]
    story = Story(
        progress=Progress().after([*done, *approved, *deviations]), advice="well done", last_message_id=4
    )
    assert story.names() == ["Acknowledge", "CompleteTask", "End"]


def test_a_session_that_resumes_with_a_rejection_not_acted_on_mends_first() -> None:
    progress = Progress().after(
        [
            Entry(kind=EntryKind.COMPLETED, item="step 1"),
            Entry(kind=EntryKind.RETURNED, item="step 2 agent 1"),
            Entry(kind=EntryKind.SUBMITTED, item="checkpoint 1"),
            Entry(kind=EntryKind.SENT_BACK, item="checkpoint 1"),
        ]
    )
    story = Story(progress=progress, since=Since(feedback="too broad"), advice="take over")
    assert story.only(r.ReworkPiece).feedback == "too broad\n\ntake over"
    assert story.done().only(r.Verify).check.item == "checkpoint 1"


def test_a_rejection_before_a_step_is_not_feedback_to_that_step() -> None:
    assert Story(since=Since(feedback="old")).only(r.PlayPiece).advice == ""


@pytest.mark.parametrize(("deviations", "ownerless", "asks"), [(2, 2, False), (3, 0, True), (0, 3, True)])
def test_more_than_two_deviations_or_ownerless_tasks_ask_before_resuming(
    deviations: int, ownerless: int, asks: bool
) -> None:
    entries = [
        Entry(kind=EntryKind.DEVIATION, text=f"d{n}", severity=Severity.LOW) for n in range(deviations)
    ]
    story = Story(progress=Progress().after(entries), ownerless_tasks=ownerless)
    assert (story.state.mode is Mode.AWAITING_ANSWER) is asks
    assert (story.names()[0] == "Ask") is asks
    if asks:
        assert "task-01" in story.only(r.Ask).text
        assert story.note("revert step 1 first").only(r.PlayPiece).advice == "revert step 1 first"


def test_what_a_resumption_found_doubtful_is_asked_before_anything_is_played() -> None:
    story = Story(doubts=("approved before, and red now: checkpoint 1",))
    assert story.state.mode is Mode.AWAITING_ANSWER
    assert "- approved before, and red now: checkpoint 1" in story.only(r.Ask).text
    assert story.note("go on").names() == ["Write", "PlayPiece"]


def test_a_ruled_deviation_asks_nobody_again() -> None:
    entry = Entry(kind=EntryKind.DEVIATION, text="d", severity=Severity.HIGH, ruled=True)
    assert Story(progress=Progress().after([entry] * 5)).state.mode is Mode.PLAYING


# -- correction steps -----------------------------------------------------------------------------------------------

ONE_DONE = Progress().after([Entry(kind=EntryKind.COMPLETED, item="step 1", commit_id="c1")])
ORDERS = with_corrections("Put it right.", ["revert step 1", "skip step 3", "printf hello > x"])


def test_correction_steps_are_played_before_anything_else_and_each_is_written_down_once() -> None:
    """D17.6: the answer to a resumption's question."""
    story = Story(progress=ONE_DONE, doubts=("red now",)).note(ORDERS, message_id=30)
    assert story.names() == ["Write", "Write", "PlayPiece"]
    [orders, _] = [record for record in story.records if isinstance(record, r.Write)]
    kinds = [(entry.kind, entry.item) for entry in orders.entries]
    assert kinds == [(EntryKind.CORRECTION, f"correction 30.{number}") for number in (1, 2, 3)]
    played = story.only(r.PlayPiece).play
    assert (played.item, played.undoes) == ("correction 30.1", "step 1")
    done = story.done().records[0]
    assert isinstance(done, r.Write)
    assert [(entry.kind, entry.item) for entry in done.entries] == [
        (EntryKind.COMPLETED, "correction 30.1"),
        (EntryKind.UNDONE, "step 1"),
    ]
    second = story.only(r.PlayPiece).play
    assert story.state.progress.is_done("step 3")
    assert (second.item, second.scripts, second.undoes) == ("correction 30.3", ("printf hello > x",), "")
    assert story.done().only(r.PlayPiece).play.item == "step 1"
    assert ordered(Progress().after(orders.entries), ORDERS, 30) == ()


def test_a_submission_may_be_sent_back_with_correction_steps_which_mend_it() -> None:
    story = submitted().judged(State.FIX_PROPOSED, ORDERS, message_id=40)
    assert story.only(r.PlayPiece).play.item == "correction 40.1"
    assert not story.state.feedback
    story.failed("conflict").judged(State.FIX_PROPOSED, "skip", message_id=41)
    assert story.only(r.PlayPiece).play.item == "correction 40.1", "what failed is tried again"
    story.failed("conflict").judged(
        State.FIX_PROPOSED, with_corrections("Otherwise.", ["true"]), message_id=42
    )
    assert story.only(r.PlayPiece).play.item == "correction 42.1", "unless other steps take its place"


def test_a_step_that_is_reverted_and_skipped_is_not_played_again() -> None:
    text = with_corrections("Leave it.", ["revert step 1 and skip it"])
    story = Story(progress=ONE_DONE, doubts=("red now",)).note(text, message_id=30).done()
    assert story.state.progress.is_done("step 1")
    assert story.state.progress.completed == ()
