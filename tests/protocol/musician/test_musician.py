"""The musician's rules, each test named after the sentence it holds the engine to."""

from dataclasses import replace
from typing import TypeVar

import pytest

from musician.protocol.journal import Entry, Kind, Progress, status_line
from musician.protocol.messages.corrections import with_corrections
from musician.protocol.messages.submissions import Completion, ReviewRequest
from musician.protocol.messages.types import ContextWarning, ErrorReport
from musician.protocol.musician import inputs as i
from musician.protocol.musician import ready as r
from musician.protocol.musician.engine import MOST_REWORKS, Mode, MusicianState, Since, step
from musician.protocol.musician.program import Check, Play, Program, ordered
from musician.protocol.rules.budget import answer_by_rule
from musician.protocol.rules.delegation import Extent
from musician.protocol.rules.deviations import Deviation, Severity
from musician.protocol.rules.review import Verification
from musician.protocol.settings import Settings
from musician.protocol.states import State

R = TypeVar("R")


def play(item: str, *, is_agent: bool = False) -> Play:
    return Play(item=item, title=f"do {item}", prose="", scripts=(), step=1, is_agent=is_agent)


def check(number: int, *, of: int = 2) -> Check:
    return Check(
        item=f"checkpoint {number}",
        number=number,
        of=of,
        title="it works",
        commands=("true",),
        rework=(),
        final=number == of,
    )


PROGRAM = Program(
    task_id="task-01",
    title="Greet",
    items=(play("step 1"), play("step 2 agent 1", is_agent=True), check(1), play("step 3"), check(2)),
)


class Story:
    """A session being told things; ``records`` and ``acts`` are what the last input led to."""

    def __init__(
        self, *, progress: Progress | None = None, program: Program = PROGRAM, **started: object
    ) -> None:
        self.state = MusicianState(program=program, settings=Settings())
        self.records: tuple[r.Record, ...] = ()
        self.acts: tuple[r.Act, ...] = ()
        given = {"errors_so_far": 0, "retry_limit": 5, "report_path": "reports/task-01.md", **started}
        self.tell(i.Started(progress=progress or Progress(), **given))  # type: ignore[arg-type]

    def tell(self, given: i.Input) -> "Story":
        self.state, ready = step(self.state, given)
        self.records, self.acts = ready.records, ready.acts
        return self

    def done(self) -> "Story":
        return self.tell(i.PieceEnded(item=self.state.item, ending=i.PieceEnding.DONE, commit_id="c1"))

    def failed(self, detail: str = "no such file") -> "Story":
        return self.tell(i.PieceEnded(item=self.state.item, ending=i.PieceEnding.FAILED, detail=detail))

    def lost(self) -> "Story":
        return self.tell(i.PieceEnded(item=self.state.item, ending=i.PieceEnding.LOST))

    def stopped(self) -> "Story":
        return self.tell(i.PieceEnded(item=self.state.item, ending=i.PieceEnding.STOPPED))

    def verified(self, outcome: Verification = Verification.GREEN) -> "Story":
        found = i.VerificationEnded(
            outcome=outcome,
            verification_id=7,
            tests="3 passed",
            failing="test_x fails",
            files_modified=2,
            key_outputs=(),
        )
        return self.tell(found)

    def judged(self, state: State, text: str = "", *, message_id: int = 0) -> "Story":
        verdict = i.VerdictArrived(
            state=state, text=text, progress=self.state.progress, message_id=message_id
        )
        return self.tell(verdict)

    def approved(self, text: str = "", *, message_id: int = 0) -> "Story":
        return self.judged(State.REVIEW_APPROVED, text, message_id=message_id)

    def note(self, text: str = "use v2", *, message_id: int = 11, urgent: bool = False) -> "Story":
        return self.tell(i.MessageArrived(message_id=message_id, text=text, urgent=urgent))

    def context(self, used_pct: float | None) -> "Story":
        return self.tell(i.ContextTold(used_pct=used_pct))

    def question(self, text: str = "which file?") -> "Story":
        return self.tell(i.QuestionTold(text=text))

    def exit_request(self, text: str = "hand off", *, message_id: int = 20) -> "Story":
        return self.tell(i.ExitWasRequested(text=text, message_id=message_id))

    def timeout(self, *, fresh: bool = False) -> "Story":
        return self.tell(i.WaitTimedOut(conductor_is_fresh=fresh))

    def only(self, kind: type[R]) -> R:
        """The one record or act of this kind that the last input led to."""
        (found,) = [each for each in (*self.records, *self.acts) if isinstance(each, kind)]
        return found

    def kinds(self) -> list[Kind]:
        """The journal entries that the last input led to."""
        return [entry.kind for record in self.records for entry in getattr(record, "entries", ())]

    def names(self) -> list[str]:
        """What the last input led to, in order."""
        return [type(each).__name__ for each in (*self.records, *self.acts)]


def at_checkpoint() -> Story:
    return Story().done().done()


def submitted() -> Story:
    return at_checkpoint().verified()


def in_step_3() -> Story:
    return submitted().approved()


def final_submitted() -> Story:
    return in_step_3().done().verified()


# -- playing in order ---------------------------------------------------------------------------------------------


def test_a_task_is_played_in_document_order_to_its_approved_completion() -> None:
    story = Story()
    assert story.only(r.PlayPiece).play.item == "step 1"
    assert story.only(r.PlayPiece).attempt == 1
    assert story.kinds() == [Kind.STARTED]
    assert story.done().only(r.PlayPiece).play.item == "step 2 agent 1"
    assert story.kinds() == [Kind.COMPLETED, Kind.LAUNCHED]
    assert story.done().only(r.Verify).check.item == "checkpoint 1"
    assert story.kinds() == [Kind.RETURNED]
    submit = story.verified().only(r.Submit)
    assert isinstance(submit.message, ReviewRequest)
    assert submit.message.checkpoint is not None
    assert submit.verification_id == 7
    assert story.kinds() == [Kind.VERIFIED, Kind.SUBMITTED]
    assert not story.acts
    assert story.approved().only(r.PlayPiece).play.item == "step 3"
    assert story.kinds() == [Kind.APPROVED, Kind.STARTED]
    assert isinstance(story.done().verified().only(r.Submit).message, Completion)
    assert story.approved("thank you").names() == ["Write", "Finish", "End"]
    assert story.only(r.End) == r.End(kind=r.EndKind.COMPLETE, reason="complete")


def test_what_is_written_down_as_done_is_never_played_again() -> None:
    progress = Progress().after([Entry(kind=Kind.COMPLETED, item="step 1")])
    assert Story(progress=progress).only(r.PlayPiece).play.item == "step 2 agent 1"


def test_a_completed_piece_is_written_with_the_commit_that_keeps_it() -> None:
    entries = Story().done().records[0]
    assert isinstance(entries, r.Write)
    assert (entries.entries[0].item, entries.entries[0].commit_id) == ("step 1", "c1")


def test_an_approval_that_outlived_its_session_completes_the_task_at_once() -> None:
    done = [Entry(kind=Kind.COMPLETED, item=each.item) for each in PROGRAM.items if isinstance(each, Play)]
    approved = [Entry(kind=Kind.APPROVED, item=f"checkpoint {number}") for number in (1, 2)]
    deviations = [Entry(kind=Kind.DEVIATION, text=str(n), severity=Severity.LOW) for n in range(3)]
    story = Story(
        progress=Progress().after([*done, *approved, *deviations]), advice="well done", last_message_id=4
    )
    assert story.names() == ["Acknowledge", "Finish", "End"]


def test_a_session_that_resumes_with_a_rejection_not_acted_on_mends_first() -> None:
    progress = Progress().after(
        [
            Entry(kind=Kind.COMPLETED, item="step 1"),
            Entry(kind=Kind.RETURNED, item="step 2 agent 1"),
            Entry(kind=Kind.SUBMITTED, item="checkpoint 1"),
            Entry(kind=Kind.SENT_BACK, item="checkpoint 1"),
        ]
    )
    story = Story(progress=progress, feedback="too broad", advice="take over")
    assert story.only(r.ReworkPiece).feedback == "too broad\n\ntake over"
    assert story.done().only(r.Verify).check.item == "checkpoint 1"


def test_a_rejection_before_a_step_is_not_feedback_to_that_step() -> None:
    assert Story(feedback="old").only(r.PlayPiece).advice == ""


@pytest.mark.parametrize(("deviations", "ownerless", "asks"), [(2, 2, False), (3, 0, True), (0, 3, True)])
def test_more_than_two_deviations_or_ownerless_tasks_ask_before_resuming(
    deviations: int, ownerless: int, asks: bool
) -> None:
    entries = [Entry(kind=Kind.DEVIATION, text=f"d{n}", severity=Severity.LOW) for n in range(deviations)]
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
    entry = Entry(kind=Kind.DEVIATION, text="d", severity=Severity.HIGH, ruled=True)
    assert Story(progress=Progress().after([entry] * 5)).state.mode is Mode.PLAYING


# -- correction steps -----------------------------------------------------------------------------------------------

ONE_DONE = Progress().after([Entry(kind=Kind.COMPLETED, item="step 1", commit_id="c1")])
ORDERS = with_corrections("Put it right.", ["revert step 1", "skip step 3", "printf hello > x"])


def test_correction_steps_are_played_before_anything_else_and_each_is_written_down_once() -> None:
    """D17.6: the answer to a resumption's question."""
    story = Story(progress=ONE_DONE, doubts=("red now",)).note(ORDERS, message_id=30)
    assert story.names() == ["Write", "Write", "PlayPiece"]
    [orders, _] = [record for record in story.records if isinstance(record, r.Write)]
    kinds = [(entry.kind, entry.item) for entry in orders.entries]
    assert kinds == [(Kind.CORRECTION, f"correction 30.{number}") for number in (1, 2, 3)]
    played = story.only(r.PlayPiece).play
    assert (played.item, played.undoes) == ("correction 30.1", "step 1")
    done = story.done().records[0]
    assert isinstance(done, r.Write)
    assert [(entry.kind, entry.item) for entry in done.entries] == [
        (Kind.COMPLETED, "correction 30.1"),
        (Kind.UNDONE, "step 1"),
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


# -- what the conductor says --------------------------------------------------------------------------------------


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
    assert "handoff at the checkpoint" in story.only(r.Leave).reason


def test_a_normal_message_is_delivered_at_the_next_boundary() -> None:
    story = Story().note()
    assert story.names() == []
    assert story.done().only(r.PlayPiece).advice == "use v2"


def test_a_message_is_acknowledged_once_and_only_when_a_piece_that_heard_it_is_done() -> None:
    story = Story().note(message_id=11)
    assert "Acknowledge" not in story.done().names()
    assert story.note("and v3", message_id=12).names() == []
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
    assert story.names() == ["Leave", "End"]


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
    assert story.kinds() == [Kind.COMPLETED, Kind.LAUNCHED]
    assert story.only(r.PlayPiece).advice == "wrong branch"


def test_a_piece_that_failed_before_the_stop_reached_it_is_noted_and_begun_anew() -> None:
    story = Story().note("wrong branch", urgent=True).failed()
    assert story.kinds() == [Kind.FAILED, Kind.STARTED]
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


# -- verdicts on submissions --------------------------------------------------------------------------------------


@pytest.mark.parametrize("verdict", [State.REVIEW_FAILED, State.FIX_PROPOSED])
def test_what_is_sent_back_is_mended_verified_and_submitted_again(verdict: State) -> None:
    story = submitted().judged(verdict, "cross reference", message_id=31)
    assert story.only(r.ReworkPiece).feedback == "cross reference"
    assert story.kinds() == [Kind.SENT_BACK]
    assert story.done().only(r.Verify).check.item == "checkpoint 1"
    assert story.kinds() == [Kind.REWORKED]
    assert story.only(r.Acknowledge).message_id == 31
    message = story.verified().only(r.Submit).message
    assert message.smoothness == 1
    assert story.state.progress.rounds == {"checkpoint 1": 2}


def test_a_completion_that_is_sent_back_loops_back_to_the_final_verification() -> None:
    story = final_submitted().judged(State.REVIEW_FAILED)
    assert story.only(r.ReworkPiece).feedback == "sent back"
    assert isinstance(story.done().verified().only(r.Submit).message, Completion)


def test_the_notes_of_an_approval_are_heard_by_the_next_step() -> None:
    assert submitted().approved("rename it next").only(r.PlayPiece).advice == "rename it next"


def test_rulings_that_came_with_a_verdict_count_and_the_measured_costs_stay() -> None:
    story = Story().context(10).done().context(14).done().verified()
    ruled = replace(
        story.state.progress,
        agent_costs_pct=(),
        deviations=(Deviation(severity=Severity.LOW, text="x", ruled=True),),
    )
    story.tell(i.VerdictArrived(state=State.REVIEW_APPROVED, text="", progress=ruled))
    assert story.state.progress.deviations[0].ruled
    assert story.state.progress.agent_costs_pct == (4.0,)


# -- verification -------------------------------------------------------------------------------------------------


def test_a_red_checkpoint_is_mended_before_anybody_reviews_it() -> None:
    story = at_checkpoint().verified(Verification.RED)
    assert story.names() == ["Write", "ReworkPiece"]
    assert story.only(r.ReworkPiece).feedback == "test_x fails"
    assert story.kinds() == [Kind.NOT_VERIFIED]


@pytest.mark.parametrize("outcome", [Verification.FLAKY, Verification.CANNOT_RUN])
def test_flaky_and_what_cannot_run_is_submitted_for_somebody_to_decide(outcome: Verification) -> None:
    assert at_checkpoint().verified(outcome).only(r.Submit)


def test_every_rework_of_a_session_has_a_name_of_its_own() -> None:
    story, names = at_checkpoint(), []
    for _ in range(MOST_REWORKS):
        names.append(story.verified(Verification.RED).only(r.ReworkPiece).item)
        story.done()
    story.verified().judged(State.REVIEW_FAILED, "no")
    names.append(story.only(r.ReworkPiece).item)
    assert len(set(names)) == len(names)


def test_a_checkpoint_still_red_after_three_mendings_is_an_error_and_then_mended_again() -> None:
    story = at_checkpoint()
    for _ in range(MOST_REWORKS):
        story.verified(Verification.RED).done()
    report = story.verified(Verification.RED).only(r.Report)
    assert report.last_error == "checkpoint 1: still red after 3 mendings: test_x fails"
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
    assert story.only(r.Report).last_error == "checkpoint 1: set-up ended with exit code 1"
    assert story.judged(State.FIX_PROPOSED).only(r.Verify)


def test_smoothness_counts_what_made_the_path_rough_since_the_last_submission() -> None:
    story = Story().failed().judged(State.FIX_PROPOSED).tell(i.SelfCorrectionTold(text="rewrote it")).done()
    story.lost().done().verified(Verification.RED).done().verified()
    assert story.only(r.Submit).message.smoothness == 2 + 2 + 1 + 1  # error, self-correction, retry, red
    assert story.approved().done().verified().only(r.Submit).message.smoothness == 0


def test_a_session_that_resumes_scores_what_the_one_before_lived_through() -> None:
    before = [
        Entry(kind=Kind.NOT_VERIFIED),
        Entry(kind=Kind.SUBMITTED, item="checkpoint 1"),
        Entry(kind=Kind.ERROR),
        Entry(kind=Kind.NOT_VERIFIED),
        Entry(kind=Kind.SELF_CORRECTION),
        Entry(kind=Kind.RETRIED),
        Entry(kind=Kind.NOTE),
    ]
    since = Since().after(before)
    assert since == Since(failed_verifications=1, errors=1, agent_retries=1, self_corrected=True)
    assert Story(since=since).done().done().verified().only(r.Submit).message.smoothness == 6


def test_what_is_submitted_again_answers_each_point_that_was_sent_back() -> None:
    story = submitted().judged(State.REVIEW_FAILED, "1. wrong link\n2. broad assertions")
    story.tell(i.AnswerTold(number=2, text="asks for the value"))
    assert story.kinds() == [Kind.ANSWER]
    summary = story.done().verified().only(r.Submit).message.summary
    assert summary.splitlines()[1:] == [
        "Resubmitted after it was sent back:",
        '1. "wrong link": mended in rework 1.1',
        '2. "broad assertions": asks for the value',
    ]
    assert "sent back" not in story.approved().done().verified().only(r.Submit).message.summary


# -- failures -----------------------------------------------------------------------------------------------------


def test_a_failing_step_is_an_error_that_is_answered_before_anything_else_is_played() -> None:
    story = Story().context(35).failed()
    assert story.names() == ["Write", "Report"]
    message = story.only(r.Report).message
    assert isinstance(message, ErrorReport)
    assert message.render().startswith("ERROR (Retry 1/5):\n  Context Usage: 35%")
    assert story.kinds() == [Kind.FAILED, Kind.ERROR]
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
        assert story.failed().only(r.Report).message.render().startswith(f"ERROR (Retry {number}/5)")
        story.judged(State.FIX_PROPOSED)
    assert story.failed("gone").names() == ["Write", "Leave", "End"]
    assert story.only(r.Leave).reason == "retry exhaustion: step 1: gone"


def test_the_conductor_may_grant_more_retries() -> None:
    assert Story(errors_so_far=4, retry_limit=7).failed().only(r.Report)


def test_context_warnings_and_timeouts_are_no_retries() -> None:
    story = Story().context(66).done()
    assert story.only(r.Report).last_error == "context_exhaustion_warning"
    assert story.timeout().only(r.Report).message.render().startswith("ERROR (Retry unknown)")
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
    assert story.only(r.Report).last_error == "step 2 agent 1: b"
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
        assert story.only(r.Report).last_error == "step 2 agent 1: no colspan"
        return
    act = story.only(r.PlayPiece)
    assert (act.play.item, act.play.is_agent, act.attempt) == ("step 2 agent 1", False, 4)
    assert act.advice.endswith("no colspan")
    assert story.kinds() == [Kind.FAILED, Kind.ABSORBED]
    assert story.done().kinds()[0] is Kind.COMPLETED
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
    assert agent_story(sound).lost().lost().lost().kinds() == [Kind.FAILED, Kind.ABSORBED]
    story = agent_story(replace(sound, **doubt)).lost().lost().lost()  # type: ignore[arg-type]
    assert story.kinds() == [Kind.FAILED, Kind.ERROR]


def test_an_attempt_that_has_changed_more_than_the_plan_said_is_believed() -> None:
    stated = replace(PIECE, extent=Extent(lines=20, files=frozenset({"a.py"})))
    story = attempted(agent_story(stated), 600, "a.py").lost().lost()
    assert story.kinds() == [Kind.FAILED, Kind.ERROR]


def test_a_piece_that_a_subagent_had_to_ask_about_is_not_well_defined_unless_the_plan_says_so() -> None:
    small = replace(PIECE, extent=Extent(lines=20, files=frozenset({"a.py"})))
    for play, expected in ((small, Kind.ERROR), (replace(small, well_defined=True), Kind.ABSORBED)):
        story = agent_story(play).question().lost().note("that one").lost().lost()
        assert story.kinds() == [Kind.FAILED, expected]


def test_what_the_musician_plays_itself_and_cannot_is_an_error_and_a_stop_begins_it_anew() -> None:
    small = replace(PIECE, extent=Extent(lines=20, files=frozenset({"a.py"})))
    story = agent_story(small).lost().lost().lost()
    story.note("stop", urgent=True).stopped()
    assert story.kinds() == [Kind.ABSORBED]
    assert story.failed("cannot either").kinds() == [Kind.FAILED, Kind.ERROR]
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
    assert story.only(r.Report).last_error == "context_exhaustion_warning"
    assert story.judged(State.FIX_PROPOSED).only(r.PlayPiece).attempt == 2


def test_a_subagent_that_fails_while_the_session_leaves_is_not_retried() -> None:
    story = Story().done().exit_request().lost()
    assert story.names() == ["Write", "Acknowledge", "Leave", "End"]
    assert story.only(r.Leave).reason == "conductor requested"


def test_a_partial_result_is_accepted_as_a_deviation() -> None:
    assert Story().tell(i.PartialTold(text="no tables")).kinds() == [Kind.PARTIAL, Kind.DEVIATION]


def test_a_deviation_is_written_with_its_severity_under_what_is_being_played() -> None:
    story = at_checkpoint().verified(Verification.RED)
    story.tell(i.DeviationTold(severity=Severity.MEDIUM, text="another way"))
    (entry,) = story.only(r.Write).entries
    assert (entry.item, entry.severity) == ("rework 1.1", Severity.MEDIUM)


def test_a_piece_that_is_played_again_does_not_deviate_twice() -> None:
    told = i.DeviationTold(severity=Severity.MEDIUM, text="another way")
    story = Story().tell(told).note(urgent=True).stopped().tell(told)
    assert story.names() == []
    assert story.tell(replace(told, severity=Severity.HIGH)).kinds() == [Kind.DEVIATION]
    assert story.tell(replace(told, text="yet another")).kinds() == [Kind.DEVIATION]
    ruled = Progress(deviations=(Deviation(severity=Severity.MEDIUM, text="another way", ruled=True),))
    assert Story(progress=ruled).tell(told).kinds() == [Kind.DEVIATION]


# -- context ------------------------------------------------------------------------------------------------------


def long_program(pieces: int) -> Program:
    steps = tuple(play(f"step {number}") for number in range(1, pieces + 1))
    return Program(task_id="task-01", title="Long", items=(*steps, check(1, of=1)))


@pytest.mark.parametrize(
    ("used", "pieces_left", "recommendation"),
    [
        (49.9, 9, None),
        (50, 2, None),  # 66 projected
        (54, 2, "proceed to the checkpoint, then hand off"),  # exactly 70
        (56, 3, "proceed to the checkpoint, then hand off"),  # exactly 80
        (57, 3, "play 1 more, then hand off"),
        (58, 3, "hand off now"),
        (65, 1, "hand off now"),
        (65, 0, "hand off now"),
    ],
)
def test_the_way_to_the_checkpoint_is_weighed_at_each_boundary(
    used: float, pieces_left: int, recommendation: str | None
) -> None:
    story = Story(program=long_program(pieces_left + 1)).context(used).done()
    if recommendation is None:
        assert not any(isinstance(record, r.Report) for record in story.records)
        return
    report = story.only(r.Report)
    assert isinstance(report.message, ContextWarning)
    assert report.message.recommendation == recommendation
    assert report.message.to_checkpoint_pct == pieces_left * 8
    assert not story.acts
    assert story.kinds() == [Kind.COMPLETED, Kind.CONTEXT]


def test_the_context_concern_comes_before_the_checkpoint_it_falls_together_with() -> None:
    story = Story().done().context(66).done()
    assert story.only(r.Report).last_error == "context_exhaustion_warning"
    assert not story.acts


def test_the_context_is_weighed_before_a_checkpoint_is_mended_or_verified_again() -> None:
    story = at_checkpoint().context(66).verified(Verification.RED)
    assert isinstance(story.only(r.Report).message, ContextWarning)
    story = at_checkpoint().verified(Verification.RED).context(66).done()
    assert isinstance(story.only(r.Report).message, ContextWarning)


def test_a_self_correction_makes_the_pieces_ahead_six_times_as_dear() -> None:
    story = Story(program=long_program(3)).context(51).tell(i.SelfCorrectionTold(text="step 1")).done()
    message = story.only(r.Report).message
    assert isinstance(message, ContextWarning)
    assert message.agents_remaining.each_pct == 48
    assert message.agents_that_fit.remark == "due to self-correction bloat"


def test_another_sessions_self_correction_does_not_weigh_on_this_one() -> None:
    progress = Progress().after([Entry(kind=Kind.SELF_CORRECTION, item="step 1", text="rewrote it")])
    story = Story(progress=progress).done()
    assert not story.state.self_corrected
    story.tell(i.SelfCorrectionTold(text="again"))
    assert story.state.self_corrections == ("step 2 agent 1: again",)


def test_the_sessions_own_average_replaces_the_default_cost_of_an_agent() -> None:
    story = Story().context(20).done().context(23.5).done()
    assert story.state.progress.agent_costs_pct == (3.5,)


@pytest.mark.parametrize(("before", "after"), [(None, 20), (20, None), (30, 20)])
def test_a_cost_that_cannot_be_is_not_counted(before: float | None, after: float | None) -> None:
    story = Story().context(before).done()
    if after is not None:
        story.context(after)
    story.state = replace(story.state, used_pct=after)
    assert story.done().state.progress.agent_costs_pct == ()


def tight() -> Story:
    """54 used, 70 projected: proposed is to go on to the checkpoint."""
    return Story(program=replace_last(long_program(3))).context(54).done()


def replace_last(program: Program) -> Program:
    """The same with its checkpoint not the final one."""
    steps = program.items[:-1]
    return Program(task_id="task-01", title="Long", items=(*steps, check(1), play("step 9"), check(2)))


def test_an_approval_goes_on_as_proposed_to_the_checkpoint_and_hands_off_there() -> None:
    story = tight().approved("to the checkpoint")
    assert story.only(r.PlayPiece).advice == "to the checkpoint"
    story.context(70).done().done()
    assert story.only(r.Verify).check.item == "checkpoint 1"
    story.verified().approved()
    assert story.names() == ["Resume", "Leave", "End"]
    assert story.only(r.Leave).reason == "context exhaustion (handoff at the checkpoint, as agreed)"


def test_a_checkpoint_sent_back_on_the_agreed_way_is_mended_before_the_handoff() -> None:
    story = tight().approved().done().done().verified().judged(State.REVIEW_FAILED, "no")
    assert story.only(r.ReworkPiece).feedback == "no"
    assert story.done().verified().approved().only(r.Leave)


def test_an_approval_of_fewer_pieces_plays_just_these() -> None:
    story = Story(program=long_program(4)).context(57).done()
    assert story.approved().only(r.PlayPiece).play.item == "step 2"
    assert story.done().names() == ["Write", "Leave", "End"]
    assert story.only(r.Leave).reason == "context exhaustion (handoff after the pieces agreed on)"
    assert story.only(r.Leave).remaining[0] == "step 3 (do step 3)"


def test_of_two_pieces_that_were_agreed_on_both_are_played() -> None:
    story = Story(program=long_program(10)).context(50)
    assert story.done().approved().only(r.PlayPiece).play.item == "step 2"
    assert story.state.granted_pieces == 1
    story = Story(program=long_program(10), since=Since()).context(50)
    story.state = replace(story.state, progress=replace(story.state.progress, agent_costs_pct=(5.0,)))
    assert story.done().approved().done().only(r.PlayPiece).play.item == "step 3"
    assert story.done().only(r.PlayPiece).play.item == "step 4"
    assert story.done().only(r.Leave)


def test_another_reason_to_leave_outweighs_the_pieces_agreed_on() -> None:
    story = Story(program=long_program(4)).context(57).done().approved().exit_request().done()
    assert story.only(r.Leave).reason == "conductor requested"


def test_a_fix_proposed_to_a_context_warning_is_the_changed_plan() -> None:
    story = tight().judged(State.FIX_PROPOSED, "skip the table", message_id=40)
    assert story.only(r.PlayPiece).advice == "skip the table"
    assert story.done().only(r.Acknowledge).message_id == 40


@pytest.mark.parametrize("used", [66, 57.5])
def test_a_context_warning_that_proposed_to_hand_off_does_so_when_approved(used: float) -> None:
    story = (
        Story(program=long_program(5))
        .context(max(used, 64) if used > 60 else 58)
        .done()
        .approved(message_id=41)
    )
    assert story.names() == ["Acknowledge", "Leave", "End"]
    assert story.only(r.Leave).reason == "context exhaustion (handoff now, as agreed)"


def test_do_not_proceed_prepare_the_handoff_now() -> None:
    story = tight().judged(State.REVIEW_FAILED, "no", message_id=41)
    assert story.names() == ["Acknowledge", "Leave", "End"]
    assert story.only(r.Leave).reason == "context exhaustion (handoff now, as the conductor decided)"


def test_an_exit_request_is_the_answer_to_a_context_warning_too() -> None:
    assert tight().exit_request().only(r.Leave).reason.startswith("context exhaustion")
    assert tight().judged(State.EXIT_REQUESTED, "now").only(r.Leave).reason.startswith("context exhaustion")


def test_the_rules_answer_what_the_musician_proposes() -> None:
    message = tight().only(r.Report).message
    assert isinstance(message, ContextWarning)
    answer = answer_by_rule(message.context_usage_pct, message.projected_pct, Settings())
    assert answer.state is State.REVIEW_APPROVED
    assert answer.hand_off_at_checkpoint
    assert message.recommendation == "proceed to the checkpoint, then hand off"


@pytest.mark.parametrize("where", ["playing", "reworking", "verifying"])
def test_from_75_what_runs_is_stopped_and_the_session_exits(where: str) -> None:
    story = {
        "playing": Story,
        "reworking": lambda: at_checkpoint().verified(Verification.RED),
        "verifying": at_checkpoint,
    }[where]()
    assert story.context(75).names() == ["StopPiece"]
    assert story.stopped().names() == ["Leave", "End"]
    assert story.only(r.Leave).reason == "context exhaustion"
    assert story.only(r.Leave).context_pct == 75


def test_from_75_a_session_that_waits_leaves_too() -> None:
    assert submitted().context(80).names() == ["Leave", "End"]
    assert Story().question().done().context(80).only(r.Leave).reason == "context exhaustion"


def test_from_75_nothing_that_was_granted_counts() -> None:
    assert tight().approved().context(75).names() == ["StopPiece"]


@pytest.mark.parametrize("used", [None, -1, 100.1, 180, float("nan")])
def test_a_reading_that_cannot_be_is_unknown_and_forces_nothing(used: float | None) -> None:
    """B28: a window taken too small pegs every reading."""
    story = Story().context(20).context(used)
    assert story.names() == []
    assert story.state.used_pct == 20


def test_below_75_a_piece_is_not_stopped() -> None:
    assert Story().context(74.9).names() == []


# -- leaving ------------------------------------------------------------------------------------------------------


def test_an_exit_request_lets_the_piece_end_and_leaves_at_the_boundary() -> None:
    story = Story().exit_request()
    assert story.names() == []
    assert story.done().names() == ["Write", "Acknowledge", "Leave", "End"]
    leave = story.only(r.Leave)
    assert (leave.reason, leave.last_completed) == ("conductor requested", "step 1")
    assert leave.remaining[0] == "step 2 agent 1 (do step 2 agent 1)"


def test_an_urgent_exit_request_stops_the_piece_at_once_and_is_no_advice_to_the_successor() -> None:
    story = Story().note("stop now", message_id=11, urgent=True).exit_request("stop now", message_id=12)
    assert story.names() == []
    assert story.stopped().names() == ["Acknowledge", "Leave", "End"]
    assert story.only(r.Acknowledge).message_id == 12


def test_an_urgent_exit_request_stops_the_piece_that_began_between_its_two_messages() -> None:
    story = Story().note("stop now", urgent=True).stopped()
    assert story.only(r.PlayPiece)
    assert story.exit_request("stop now").names() == ["StopPiece"]
    story = Story().question().done().note("stop now", urgent=True)
    assert story.exit_request("stop now").names() == ["StopPiece"]


def test_an_exit_request_does_not_lose_a_note_that_nobody_has_acted_on() -> None:
    story = Story().note("use v2", message_id=11).exit_request(message_id=12).done()
    assert story.names() == ["Write", "Leave", "End"]


def test_an_exit_request_without_a_text_is_not_taken_for_an_urgent_one() -> None:
    story = Story().note("", urgent=True).stopped()
    assert story.exit_request("").names() == []


@pytest.mark.parametrize("outcome", list(Verification))
def test_from_exit_requested_nothing_is_submitted_any_more(outcome: Verification) -> None:
    story = at_checkpoint().exit_request()
    assert story.names() == []
    assert story.verified(outcome).names() == ["Write", "Acknowledge", "Leave", "End"]


def test_from_exit_requested_nothing_is_reported_any_more() -> None:
    assert Story().exit_request().failed().names() == ["Write", "Acknowledge", "Leave", "End"]
    story = at_checkpoint()
    for _ in range(MOST_REWORKS):
        story.verified(Verification.RED).done()
    assert story.exit_request().verified(Verification.RED).names() == ["Write", "Acknowledge", "Leave", "End"]


def test_a_second_exit_request_changes_nothing_and_a_signal_makes_it_urgent() -> None:
    story = Story().exit_request().exit_request("again", message_id=22)
    assert story.names() == []
    assert story.tell(i.StopAsked(reason="SIGTERM")).names() == ["StopPiece"]
    assert story.stopped().only(r.Leave).reason == "conductor requested"


def test_an_exit_request_while_waiting_leaves_at_once() -> None:
    assert submitted().exit_request().names() == ["Acknowledge", "Leave", "End"]
    assert Story().question().done().exit_request().names() == ["Acknowledge", "Leave", "End"]


@pytest.mark.parametrize("waits", ["submission", "error", "context"])
def test_a_process_that_must_end_while_a_verdict_is_awaited_ends_without_a_record(waits: str) -> None:
    story = {"submission": submitted, "error": lambda: Story().failed(), "context": tight}[waits]()
    assert story.tell(i.StopAsked(reason="SIGTERM")).names() == ["End"]
    assert story.only(r.End) == r.End(kind=r.EndKind.WAITING, reason="SIGTERM")


def test_a_stop_ends_the_piece_first_and_only_then_comes_the_terminal_record() -> None:
    story = Story().tell(i.StopAsked(reason="SIGTERM"))
    assert story.names() == ["StopPiece"]
    assert story.tell(i.StopAsked(reason="again")).names() == []
    assert story.stopped().names() == ["Leave", "End"]
    assert story.only(r.End) == r.End(kind=r.EndKind.EXITED, reason="SIGTERM")


def test_a_stop_while_an_answer_is_awaited_hands_off() -> None:
    assert Story().question().done().tell(i.StopAsked(reason="SIGTERM")).names() == ["Leave", "End"]


def test_a_stop_while_a_piece_is_being_stopped_leaves_when_it_has_ended() -> None:
    story = Story().note("x", urgent=True).tell(i.StopAsked(reason="SIGTERM"))
    assert story.names() == []
    assert story.stopped().only(r.Leave).reason == "SIGTERM"


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
    report = story.only(r.Report)
    assert report.last_error == "conductor timeout"
    assert not report.is_reminder
    assert story.timeout().names() == ["Leave", "End"]
    assert story.only(r.Leave).reason == "conductor unresponsive"


@pytest.mark.parametrize("verdict", [State.REVIEW_APPROVED, State.FIX_PROPOSED])
def test_the_answer_to_a_timeout_is_none_to_the_submission_which_is_submitted_anew(verdict: State) -> None:
    story = submitted().timeout().judged(verdict, "I am back")
    assert story.only(r.Verify).check.item == "checkpoint 1"
    assert story.verified().only(r.Submit)


def test_an_error_stays_one_and_is_reminded_of() -> None:
    story = Story().failed().timeout()
    assert story.only(r.Report).is_reminder
    assert story.judged(State.FIX_PROPOSED).only(r.PlayPiece)


def test_a_context_warning_that_timed_out_is_still_answered_as_one() -> None:
    story = tight().timeout()
    assert story.only(r.Report).is_reminder
    assert story.judged(State.REVIEW_FAILED).only(r.Leave).reason.startswith("context exhaustion")


def test_an_unanswered_question_times_out_as_well() -> None:
    story = Story().question().done().timeout()
    assert not story.only(r.Report).is_reminder
    assert story.judged(State.FIX_PROPOSED, "the second").only(r.PlayPiece).advice == "the second"
    assert Story().question().done().timeout().timeout().only(r.Leave)


def test_each_wait_has_its_own_patience() -> None:
    story = Story().failed().timeout().judged(State.FIX_PROPOSED).failed()
    assert story.timeout().only(r.Report)


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
