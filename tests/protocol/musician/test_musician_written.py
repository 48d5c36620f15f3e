"""What each input has the session write: the kind of the entry, its item and its words, and the rest of its record.

Other tests tell what happens next. Here is what remains of it: a resumption, a reviewer and the timeline read nothing
else.
"""

from collections.abc import Callable
from dataclasses import replace

import pytest

from musician.protocol.journal import (
    CEILING_REACHED,
    CONDUCTOR_TIMEOUT,
    PROVIDER_REFUSES,
    Entry,
    EntryKind,
    Progress,
)
from musician.protocol.messages.types import ContextWarning, ErrorReport
from musician.protocol.musician import inputs as i
from musician.protocol.musician import ready as r
from musician.protocol.musician.agreement import granted_text
from musician.protocol.musician.choosing import absorbed
from musician.protocol.musician.program import Play, Program
from musician.protocol.musician.since import Since
from musician.protocol.musician.state import Mode
from musician.protocol.musician.writing import context_warning
from musician.protocol.rules.delegation import Attempts
from musician.protocol.rules.review import Verification
from musician.protocol.states import State
from tests.protocol.musician.story import (
    PROGRAM,
    Story,
    at_checkpoint,
    check,
    final_submitted,
    long_program,
    play,
    submitted,
    tight,
)
from tests.said import evidence

Written = list[tuple[EntryKind, str, str]]

ENTRIES: dict[str, tuple[Callable[[], Story], Written]] = {
    "a limit": (lambda: Story().limited(), [(EntryKind.LIMITED, "step 1", "rate limit")]),
    "a limit without a word": (
        lambda: Story().limited(detail=""),
        [(EntryKind.LIMITED, "step 1", "it says no more")],
    ),
    "a refusal": (
        lambda: Story().refused(),
        [(EntryKind.NOTE, "", f"step 1: {PROVIDER_REFUSES}no credit")],
    ),
    "a refusal without a word": (
        lambda: Story().refused(""),
        [(EntryKind.NOTE, "", f"step 1: {PROVIDER_REFUSES}it says no more")],
    ),
    "a ceiling": (
        lambda: Story().spent("no more"),
        [(EntryKind.NOTE, "", f"step 1: {CEILING_REACHED}no more")],
    ),
    "what cannot be played": (
        lambda: Story().unplayable(),
        [
            (EntryKind.UNPLAYABLE, "step 1", "there is no block"),
            (EntryKind.ERROR, "step 1", "step 1: there is no block"),
        ],
    ),
    "a rework that cannot be played": (
        lambda: submitted().judged(State.REVIEW_FAILED, "too broad\nsee x").unplayable(),
        [
            (EntryKind.UNPLAYABLE, "rework 1.1", "there is no block"),
            (
                EntryKind.ERROR,
                "checkpoint 1",
                "checkpoint 1: too broad; nothing mends it: there is no block\nsee x",
            ),
        ],
    ),
    "a part": (
        lambda: Story().tell(i.PartialTold(text="no tables")),
        [
            (EntryKind.PARTIAL, "step 1", "no tables"),
            (EntryKind.DEVIATION, "step 1", "partial: no tables"),
        ],
    ),
    "a question": (lambda: Story().question("which?"), [(EntryKind.QUESTION, "step 1", "which?")]),
    "an answer to a point": (
        lambda: Story().tell(i.AnswerTold(number=2, text="renamed")),
        [(EntryKind.ANSWER, "step 1", "2. renamed")],
    ),
    "a rejection": (
        lambda: submitted().judged(State.REVIEW_FAILED, "too broad"),
        [(EntryKind.SENT_BACK, "checkpoint 1", "too broad")],
    ),
    "the end": (
        lambda: final_submitted().approved(),
        [(EntryKind.APPROVED, "checkpoint 2", ""), (EntryKind.NOTE, "", "task complete")],
    ),
    "a warning": (
        tight,
        [
            (EntryKind.COMPLETED, "step 1", ""),
            (EntryKind.CONTEXT, "", "EVALUATION triggered: ask"),
        ],
    ),
    "no answer": (lambda: submitted().timeout(), [(EntryKind.NOTE, "", CONDUCTOR_TIMEOUT)]),
}


@pytest.mark.parametrize("what", ENTRIES)
def test_what_happens_is_written_down_with_its_item_and_its_words(what: str) -> None:
    told, written = ENTRIES[what]
    assert told().entries() == written


MENDING: dict[str, Callable[[], Story]] = {
    "a limit": lambda: _reworking().limited(),
    "a refusal": lambda: _reworking().refused(),
    "a ceiling": lambda: _reworking().spent(),
    "what cannot be played": lambda: _reworking().unplayable(),
    "a question": lambda: _reworking().asked(),
}


def _reworking() -> Story:
    return submitted().judged(State.REVIEW_FAILED, "too broad")


@pytest.mark.parametrize("what", MENDING)
def test_a_rework_that_ends_without_having_mended_is_over(what: str) -> None:
    """It is begun anew under its own name, and nothing else is taken for it meanwhile."""
    ended = MENDING[what]().state
    assert ended.rework_item in ("", "rework 1.1")
    assert (ended.rework_item == "rework 1.1") is (ended.mode is Mode.REWORKING)


def test_a_piece_that_cannot_be_played_leaves_no_failed_attempts_to_the_next() -> None:
    story = Story().done().failed().unplayable()
    assert story.state.attempts == Attempts()


def test_what_cannot_be_played_is_not_laid_to_a_feedback_that_it_did_not_mend() -> None:
    """A step is no rework, whatever was sent back before."""
    story = Story(program=long_program(2))
    story.state = replace(story.state, feedback="too broad")
    assert story.unplayable().entries()[-1] == (EntryKind.ERROR, "step 1", "step 1: there is no block")


def test_what_a_session_says_of_its_context_goes_into_what_it_reports() -> None:
    warning = tight().only(r.ReportProblem).message
    assert isinstance(warning, ContextWarning)
    assert (warning.context_usage_pct, warning.to_checkpoint_pct, warning.budget_pct) == (54, 16, 65)
    late = submitted().context(41).timeout().only(r.ReportProblem).message
    assert isinstance(late, ErrorReport)
    assert late.context_usage_pct == 41
    unmeasured = context_warning(Story().state, cost_pct=8, projected_pct=20)
    assert unmeasured.to_checkpoint_pct == 20


def test_a_piece_that_the_plan_has_not_written_has_nothing_but_its_name() -> None:
    assert PROGRAM.play("step 1 agent 9") == Play(
        item="step 1 agent 9", title="", prose="", scripts=(), step=0, is_agent=True
    )
    assert not PROGRAM.play("step 9").is_agent


def test_a_session_that_ends_while_it_waits_keeps_its_row_as_it_is() -> None:
    assert submitted().tell(i.StopAsked(reason="SIGTERM")).only(r.ExitClaim).stays
    assert not Story().exit_request().done().only(r.ExitClaim).stays


def test_a_pause_without_a_reason_is_the_conductors_word() -> None:
    paused = Story().tell(i.PauseAsked(text="", message_id=7))
    assert paused.state.pause == "the conductor says so"
    assert [word.message_id for word in paused.state.heard] == [7]


def test_who_is_told_to_exit_has_no_open_question_any_more() -> None:
    assert not Story().question().exit_request().state.question_open


def test_the_point_that_was_granted_is_said_in_pieces_or_as_the_checkpoint() -> None:
    assert granted_text(3) == "3 more, then hand off"
    assert "checkpoint" in granted_text(None)


def _verified(outcome: Verification = Verification.GREEN, *findings: str) -> i.VerificationEnded:
    return i.VerificationEnded(
        outcome=outcome,
        verified=evidence(),
        tests="3 passed",
        failing="test_x fails",
        files_modified=2,
        key_outputs=(),
        findings=findings,
    )


def test_what_the_referee_finds_is_submitted_but_for_what_was_accepted_before() -> None:
    """A finding that a judge has accepted is not asked about again; a new one never goes missing."""
    story = at_checkpoint()
    story.state = replace(story.state, progress=replace(story.state.progress, accepted=frozenset({"known"})))
    assert story.tell(_verified(Verification.GREEN, "known", "new")).entries() == [
        (EntryKind.VERIFIED, "checkpoint 1", "3 passed"),
        (EntryKind.FINDING, "checkpoint 1", "new"),
        (EntryKind.SUBMITTED, "checkpoint 1", ""),
    ]


def test_a_red_verification_is_kept_with_its_evidence() -> None:
    story = at_checkpoint().tell(_verified(Verification.RED))
    assert story.only(r.Write).verified == evidence()
    assert story.entries() == [(EntryKind.NOT_VERIFIED, "checkpoint 1", "3 passed")]


def test_every_rework_has_a_number_of_its_own() -> None:
    story = submitted()
    for number in (1, 2, 3):
        assert story.judged(State.REVIEW_FAILED, "too broad").state.rework_item == f"rework 1.{number}"
        assert story.done().entries() == [(EntryKind.REWORKED, f"rework 1.{number}", "")]
        story.verified()


def test_who_leaves_by_hand_leaves_its_own_handoff_or_its_notes() -> None:
    told = i.LeavingChosen(reason="context", handoff="# mine", notes="the rest")
    story = Story()
    story.state = replace(story.state, mode=Mode.CHOOSING, chooses=True)
    left = story.tell(told).only(r.ExitClaim)
    assert (left.reason, left.handoff, left.notes) == ("context", "# mine", "the rest")


def test_a_person_who_judged_leaves_nothing_of_the_path_before() -> None:
    before = [Entry(kind=kind) for kind in (EntryKind.ERROR, EntryKind.NOT_VERIFIED, EntryKind.RETRIED)]
    since = Since().after(before)
    assert (since.errors, since.reds, since.is_red) == (1, 1, True)
    judged = since.after([Entry(kind=EntryKind.NOTE, judged_by_person=True)])
    assert judged == Since(is_red=True)
    assert since.after([Entry(kind=EntryKind.VERIFIED)]) == replace(since, reds=0, is_red=False)
    assert since.after([Entry(kind=EntryKind.ERROR)]) == replace(since, errors=2, reds=0)


def test_only_points_are_mended_in_something() -> None:
    done = Entry(kind=EntryKind.COMPLETED, item="step 1")
    assert Since().after([done]).mended_in == ()
    assert Since(points=("rename it",)).after([done]).mended_in == ("step 1",)


def test_a_step_that_was_played_as_a_whole_counts_its_pieces_that_nobody_began() -> None:
    pieces = tuple(play(f"step 1 agent {number}", is_agent=True) for number in (1, 2, 3))
    program = Program(task_id="task-01", title="Greet", items=(play("step 1"), *pieces, check(1, of=1)))
    state = Story(program=program).state
    state = replace(
        state, begun=frozenset({"step 1 agent 1"}), progress=Progress(completed=("step 1 agent 2",))
    )
    assert absorbed(state, "step 1") == (
        Entry(kind=EntryKind.COMPLETED, item="step 1 agent 3", text="by the musician, with its step"),
    )
