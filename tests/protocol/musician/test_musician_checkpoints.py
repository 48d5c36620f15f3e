"""Checkpoints: verified, submitted, sent back and mended."""

from dataclasses import replace

import pytest

from musician.protocol.journal import Entry, EntryKind
from musician.protocol.messages.corrections import with_corrections
from musician.protocol.messages.submissions import Completion
from musician.protocol.musician import inputs as i
from musician.protocol.musician import ready as r
from musician.protocol.musician.playing import MOST_REDS
from musician.protocol.musician.since import Since
from musician.protocol.rules.deviations import Deviation, Severity
from musician.protocol.rules.review import Verification
from musician.protocol.states import State
from tests.protocol.musician.story import Story, at_checkpoint, final_submitted, submitted


@pytest.mark.parametrize("verdict", [State.REVIEW_FAILED, State.FIX_PROPOSED])
def test_what_is_sent_back_is_mended_verified_and_submitted_again(verdict: State) -> None:
    story = submitted().judged(verdict, "cross reference", message_id=31)
    assert story.only(r.ReworkPiece).feedback == "cross reference"
    assert story.kinds() == [EntryKind.SENT_BACK]
    assert story.done().only(r.Verify).check.item == "checkpoint 1"
    assert story.kinds() == [EntryKind.REWORKED]
    assert story.only(r.Acknowledge).message_id == 31
    message = story.verified().only(r.Submit).message
    assert message.smoothness == 0, "a verdict is nothing that the musician did"


def test_a_completion_that_is_sent_back_loops_back_to_the_final_verification() -> None:
    story = final_submitted().judged(State.REVIEW_FAILED)
    assert story.only(r.ReworkPiece).feedback == "sent back"
    assert isinstance(story.done().verified().only(r.Submit).message, Completion)


def test_the_notes_of_an_approval_are_heard_by_the_next_step() -> None:
    assert submitted().approved("rename it next").only(r.PlayPiece).advice == "rename it next"


def test_rulings_that_came_with_a_verdict_count() -> None:
    story = Story().context(10).done().context(14).done().verified()
    ruled = replace(
        story.state.progress,
        deviations=(Deviation(severity=Severity.LOW, text="x", ruled=True),),
    )
    story.tell(i.VerdictArrived(state=State.REVIEW_APPROVED, text="", progress=ruled))
    assert story.state.progress.deviations[0].ruled


# -- verification -------------------------------------------------------------------------------------------------


def test_a_red_checkpoint_is_mended_before_anybody_reviews_it() -> None:
    story = at_checkpoint().verified(Verification.RED)
    assert story.names() == ["Write", "ReworkPiece"]
    assert story.only(r.ReworkPiece).feedback == "test_x fails"
    assert story.kinds() == [EntryKind.NOT_VERIFIED]


@pytest.mark.parametrize("outcome", [Verification.FLAKY, Verification.CANNOT_RUN])
def test_flaky_and_what_cannot_run_is_submitted_for_somebody_to_decide(outcome: Verification) -> None:
    assert at_checkpoint().verified(outcome).only(r.Submit)


def test_every_rework_of_a_session_has_a_name_of_its_own() -> None:
    story, names = at_checkpoint(), []
    for _ in range(MOST_REDS - 1):
        names.append(story.verified(Verification.RED).only(r.ReworkPiece).item)
        story.done()
    story.verified().judged(State.REVIEW_FAILED, "no")
    names.append(story.only(r.ReworkPiece).item)
    assert len(set(names)) == len(names)


def test_a_checkpoint_red_three_times_in_a_row_is_an_error_and_then_mended_again() -> None:
    """AUDIT-V17, D29.5: in a row, whoever plays; an answer begins the row anew."""
    story = at_checkpoint()
    for _ in range(MOST_REDS - 1):
        story.verified(Verification.RED).done()
    report = story.verified(Verification.RED).only(r.ReportProblem)
    assert report.last_error == "checkpoint 1: red 3 times in a row: test_x fails"
    assert story.judged(State.FIX_PROPOSED, "pin the version").only(r.ReworkPiece).feedback == (
        "test_x fails\n\npin the version"
    )


def test_an_error_at_a_checkpoint_that_is_approved_verifies_it_again_without_mending() -> None:
    story = at_checkpoint().verified(Verification.RED).failed().approved("the network is back")
    assert story.only(r.Verify).check.item == "checkpoint 1"


def test_a_rework_that_failed_is_begun_anew_with_its_feedback() -> None:
    story = submitted().judged(State.REVIEW_FAILED, "too broad").failed().judged(State.FIX_PROPOSED, "again")
    assert story.only(r.ReworkPiece).feedback == "too broad\n\nagain"


def test_a_verification_that_could_not_begin_is_an_error() -> None:
    story = at_checkpoint().failed("set-up ended with exit code 1")
    assert story.only(r.ReportProblem).last_error == "checkpoint 1: set-up ended with exit code 1"
    assert story.judged(State.FIX_PROPOSED).only(r.Verify)


def test_smoothness_counts_what_made_the_path_rough_since_the_last_submission() -> None:
    story = Story().failed().judged(State.FIX_PROPOSED).tell(i.SelfCorrectionTold(text="rewrote it")).done()
    story.lost().done().verified(Verification.RED).done().verified()
    assert story.only(r.Submit).message.smoothness == 2 + 2 + 1 + 1  # error, self-correction, retry, red
    assert story.approved().done().verified().only(r.Submit).message.smoothness == 0


def test_a_session_that_resumes_scores_what_the_one_before_lived_through() -> None:
    before = [
        Entry(kind=EntryKind.NOT_VERIFIED),
        Entry(kind=EntryKind.SUBMITTED, item="checkpoint 1"),
        Entry(kind=EntryKind.ERROR),
        Entry(kind=EntryKind.NOT_VERIFIED),
        Entry(kind=EntryKind.SELF_CORRECTION),
        Entry(kind=EntryKind.RETRIED),
        Entry(kind=EntryKind.NOTE),
    ]
    since = Since().after(before)
    lived = Since(failed_verifications=1, reds=1, errors=1, agent_retries=1, self_corrected=True)
    assert since == replace(lived, is_red=True)
    assert since.after([Entry(kind=EntryKind.CLAIMED)]) == lived, "it verifies anew before it mends"
    assert Story(since=since).done().done().verified().only(r.Submit).message.smoothness == 6


RED = Entry(kind=EntryKind.NOT_VERIFIED)
SENT_BACK = Entry(kind=EntryKind.SENT_BACK, text="too broad")


@pytest.mark.parametrize("kind", [EntryKind.REWORKED, EntryKind.WAIVED, EntryKind.SUBMITTED])
def test_what_is_mended_or_waived_is_not_mended_again(kind: EntryKind) -> None:
    """D30.2: a session by hand knows it from the journal, as a driven one knows it from what it did."""
    found = Since().after([SENT_BACK, RED])
    assert (found.feedback, found.is_red) == ("too broad", True)
    after = found.after([Entry(kind=kind)])
    assert (after.feedback, after.is_red) == ("", False)


def test_a_person_who_judges_does_not_mend() -> None:
    before = Since().after([SENT_BACK, RED])
    after = before.after([Entry(kind=EntryKind.NOTE, judged_by_person=True)])
    assert after == replace(before, failed_verifications=0, reds=0)


def test_steps_and_a_green_verification_leave_a_rejection_to_be_mended() -> None:
    kinds = (EntryKind.COMPLETED, EntryKind.VERIFIED)
    found = Since().after([SENT_BACK, RED, *(Entry(kind=kind) for kind in kinds)])
    assert (found.feedback, found.is_red) == ("too broad", False)


@pytest.mark.parametrize(
    ("verdict", "text", "kind"),
    [
        (State.REVIEW_APPROVED, "as you were", EntryKind.WAIVED),
        (State.FIX_PROPOSED, "mend it", EntryKind.NOTE),
        (State.FIX_PROPOSED, with_corrections("not so", ["true"]), EntryKind.WAIVED),
    ],
)
def test_the_answer_to_an_error_says_whether_anything_is_mended(
    verdict: State, text: str, kind: EntryKind
) -> None:
    """D30.2"""
    story = at_checkpoint().verified(Verification.RED).done().verified(Verification.RED).done()
    story.verified(Verification.RED).judged(verdict, text)
    assert story.kinds()[0] is kind
    assert bool(story.state.feedback) is (kind is EntryKind.NOTE)


def test_what_is_submitted_again_answers_each_point_that_was_sent_back() -> None:
    """AUDIT-V16."""
    story = submitted().judged(State.REVIEW_FAILED, "1. wrong link\n2. broad assertions")
    story.tell(i.AnswerTold(number=2, text="asks for the value"))
    assert story.kinds() == [EntryKind.ANSWER]
    summary = story.done().verified().only(r.Submit).message.summary
    assert summary.splitlines()[1:] == [
        "Resubmitted after it was sent back:",
        '1. "wrong link": not answered; rework 1.1 was played since',
        '2. "broad assertions": asks for the value',
    ]
    assert "sent back" not in story.approved().done().verified().only(r.Submit).message.summary


def test_what_a_person_judged_clears_what_counted_before_it() -> None:
    """AUDIT-V18"""
    before = [
        Entry(kind=EntryKind.SELF_CORRECTION, text="twice"),
        Entry(kind=EntryKind.NOTE, judged_by_person=True),
    ]
    assert Since().after(before) == Since()
