"""A session that is told to stand still with its phase, or with its plan, and to go on (PLAN-21, S-PAR-3, PLAN-23)."""

from typing import TypeVar

import pytest

from musician.protocol.journal import Entry, EntryKind, Progress
from musician.protocol.musician import inputs as i
from musician.protocol.musician import ready as r
from musician.protocol.musician.engine import step
from musician.protocol.musician.program import CheckpointItem, Play, Program
from musician.protocol.musician.state import Mode, MusicianState
from musician.protocol.rules.review import Verification
from musician.protocol.settings import Settings
from musician.protocol.states import State
from tests.said import evidence

R = TypeVar("R")
CHECK = CheckpointItem(
    item="checkpoint 1", number=1, of=1, title="it works", commands=(), rework=(), final=True
)
STEPS = tuple(Play(item=f"step {number}", title="t", prose="", scripts=(), step=number) for number in (1, 2))
PROGRAM = Program(task_id="task-01", title="Greet", items=(*STEPS, CHECK))
WHY = "task-02 has come to a checkpoint"


class Story:
    """A session being told things; ``records`` and ``acts`` are what the last input led to."""

    def __init__(self, *, pause: str = "", done: tuple[str, ...] = ()) -> None:
        self.state = MusicianState(program=PROGRAM, settings=Settings())
        progress = Progress().after(Entry(kind=EntryKind.COMPLETED, item=item) for item in done)
        self.tell(
            i.Started(progress=progress, errors_so_far=0, retry_limit=5, report_path="r.md", pause=pause)
        )

    def tell(self, given: i.Input) -> "Story":
        self.state, ready = step(self.state, given)
        self.records, self.acts = ready.records, ready.acts
        return self

    def done(self) -> "Story":
        return self.tell(i.PieceEnded(item=self.state.item, ending=i.PieceEnding.DONE))

    def pause(self, text: str = WHY, message_id: int = 11) -> "Story":
        return self.tell(i.PauseAsked(text=text, message_id=message_id))

    def lift(self, message_id: int = 12) -> "Story":
        return self.tell(i.PauseLifted(message_id=message_id))

    def verified(self) -> "Story":
        return self.tell(
            i.VerificationEnded(
                outcome=Verification.GREEN,
                verified=evidence(),
                tests="3 passed",
                failing="",
                files_modified=2,
                key_outputs=(),
            )
        )

    def judged(self, state: State) -> "Story":
        return self.tell(i.VerdictArrived(state=state, text="v", progress=self.state.progress))

    def only(self, kind: type[R]) -> R:
        (found,) = [each for each in (*self.records, *self.acts) if isinstance(each, kind)]
        return found

    @property
    def entries(self) -> list[Entry]:
        return [entry for record in self.records for entry in getattr(record, "entries", ())]


def test_what_runs_is_played_to_its_end_and_nothing_is_begun_after_it() -> None:
    story = Story().pause()
    assert (story.records, story.acts) == ((), ())
    assert story.state.mode == "playing"
    story.done()
    assert [entry.kind for entry in story.entries] == [EntryKind.COMPLETED, EntryKind.PAUSED]
    assert story.entries[-1].text == WHY
    assert story.acts == ()
    assert story.state.mode is Mode.PAUSED


def test_it_goes_on_where_it_was_as_soon_as_it_may_and_says_so() -> None:
    story = Story().pause().done().lift()
    assert story.entries[0] == Entry(kind=EntryKind.NOTE, text="goes on after the pause")
    assert story.only(r.PlayPiece).play.item == "step 2"
    assert story.done().only(r.Acknowledge).message_id == 12


def test_a_pause_that_is_lifted_before_the_boundary_leaves_no_trace() -> None:
    story = Story().pause().lift().done()
    assert story.only(r.PlayPiece).play.item == "step 2"
    assert EntryKind.PAUSED not in [entry.kind for entry in story.entries]


def test_a_session_that_begins_during_a_pause_begins_with_it() -> None:
    story = Story(pause=WHY)
    assert story.state.mode is Mode.PAUSED
    assert story.lift().only(r.PlayPiece).play.item == "step 1"


def test_a_pause_without_a_reason_is_one() -> None:
    assert Story().pause("").done().state.mode is Mode.PAUSED


@pytest.mark.parametrize("verdict", [State.REVIEW_FAILED, State.FIX_PROPOSED])
def test_after_a_verdict_it_pauses_before_it_plays(verdict: State) -> None:
    story = Story(done=("step 1", "step 2")).verified().pause().judged(verdict)
    assert story.state.mode is Mode.PAUSED
    assert story.acts == ()
    assert isinstance(story.lift().only(r.ReworkPiece), r.ReworkPiece)


def test_an_approved_task_is_completed_without_a_pause() -> None:
    story = Story(done=("step 1", "step 2")).verified().pause().judged(State.REVIEW_APPROVED)
    assert story.only(r.End).kind is r.EndKind.COMPLETE


def test_a_note_does_not_end_a_pause_and_is_heard_after_it() -> None:
    story = Story().pause().done().tell(i.MessageArrived(message_id=13, text="use v2", urgent=True))
    assert story.state.mode is Mode.PAUSED
    assert story.lift(message_id=14).only(r.PlayPiece).advice == "use v2"


def test_a_question_is_answered_first_and_then_it_pauses() -> None:
    story = Story().tell(i.QuestionTold(text="which?")).pause().done()
    assert story.state.mode == "awaiting answer"
    story.tell(i.MessageArrived(message_id=13, text="this", urgent=False))
    assert story.state.mode is Mode.PAUSED


@pytest.mark.parametrize(
    "leaves",
    [
        i.StopAsked(reason="interrupted by SIGTERM"),
        i.ExitWasRequested(text="hand off", message_id=13),
        i.ContextTold(used_pct=80.0),
    ],
)
def test_a_pause_keeps_nobody_from_leaving(leaves: i.Input) -> None:
    story = Story().pause().done().tell(leaves)
    assert story.only(r.ExitClaim)
    assert story.only(r.End).kind is r.EndKind.EXITED


def test_a_conductor_that_is_silent_while_all_pause_is_reported_and_at_last_left() -> None:
    story = Story().pause().done().tell(i.WaitTimedOut(conductor_is_fresh=True))
    assert (story.records, story.acts) == ((), ())
    story.tell(i.WaitTimedOut(conductor_is_fresh=False))
    assert story.only(r.ReportProblem).last_error == "conductor timeout"
    again = Story().pause().done().tell(i.WaitTimedOut(conductor_is_fresh=False))
    assert again.judged(State.FIX_PROPOSED).state.mode is Mode.PAUSED, "nobody has lifted it"
    assert story.tell(i.WaitTimedOut(conductor_is_fresh=False)).only(r.ExitClaim)


# -- with its plan --------------------------------------------------------------------------------------------------

PAUSED = i.PlanPaused(text="the plan greeter is paused by ada: lunch")
RESUMED = i.PlanResumed()


def test_with_its_plan_it_plays_what_runs_to_its_end_and_goes_on_where_it_was() -> None:
    """PLAN-25."""
    story = Story().tell(PAUSED)
    assert (story.records, story.acts) == ((), ())
    story.done()
    assert [entry.kind for entry in story.entries] == [EntryKind.COMPLETED, EntryKind.PAUSED]
    assert story.entries[-1].text == PAUSED.text
    assert story.acts == ()
    assert story.tell(RESUMED).only(r.PlayPiece).play.item == "step 2"


def test_two_pauses_of_the_plan_are_one() -> None:
    """PLAN-24."""
    story = Story().tell(PAUSED).done().tell(PAUSED)
    assert (story.records, story.acts) == ((), ())
    assert story.tell(RESUMED).only(r.PlayPiece)
    assert story.tell(RESUMED).records == ()


@pytest.mark.parametrize("first", ["plan", "phase"])
def test_it_goes_on_once_neither_its_plan_nor_its_phase_pauses(first: str) -> None:
    """PLAN-26: a task that is paused for another reason stays paused until that is over."""
    story = Story().tell(PAUSED).pause().done()
    story = story.tell(RESUMED) if first == "plan" else story.lift()
    assert story.state.mode is Mode.PAUSED
    assert story.acts == ()
    story = story.lift(message_id=13) if first == "plan" else story.tell(RESUMED)
    assert story.only(r.PlayPiece).play.item == "step 2"


@pytest.mark.parametrize("verdict", [State.REVIEW_FAILED, State.FIX_PROPOSED])
def test_a_persons_verdict_is_taken_and_nothing_is_played_before_the_plan_goes_on(verdict: State) -> None:
    story = Story(done=("step 1", "step 2")).verified().tell(PAUSED).judged(verdict)
    assert story.state.mode is Mode.PAUSED
    assert story.acts == ()
    assert isinstance(story.tell(RESUMED).only(r.ReworkPiece), r.ReworkPiece)


def test_a_limit_that_is_over_is_no_reason_to_play_while_the_plan_is_paused() -> None:
    limited = i.PieceEnded(item="step 1", ending=i.PieceEnding.LIMITED)
    story = Story().tell(limited).tell(PAUSED).tell(i.LimitLifted())
    assert story.state.mode is Mode.PAUSED
    assert story.tell(RESUMED).only(r.PlayPiece).play.item == "step 1"
