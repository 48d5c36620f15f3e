"""What the program fills in of a musician's messages."""

from dataclasses import replace

import pytest

from musician.protocol.journal import Entry, EntryKind, Progress
from musician.protocol.messages.particulars import KeyOutput, Nth, OutputKind
from musician.protocol.messages.submissions import Completion, ReviewRequest
from musician.protocol.messages.types import ContextWarning, ErrorReport
from musician.protocol.musician.inputs import VerificationEnded
from musician.protocol.musician.program import CheckpointItem, Play, Program
from musician.protocol.musician.since import Since
from musician.protocol.musician.state import MusicianState
from musician.protocol.musician.writing import (
    context_advice,
    context_warning,
    error_report,
    leaving,
    question,
    question_asked,
    resumption_question,
    submission,
    timeout_report,
)
from musician.protocol.rules.budget import Stance
from musician.protocol.rules.deviations import Deviation, Severity
from musician.protocol.rules.review import Verification
from musician.protocol.settings import Settings
from tests.said import evidence

CHECK = CheckpointItem(
    item="checkpoint 1", number=1, of=2, title="the greeting works", commands=(), rework=()
)
LAST = replace(CHECK, item="checkpoint 2", number=2, title="final", final=True)


def play(number: int) -> Play:
    return Play(item=f"step {number}", title=f"part {number}", prose="", scripts=(), step=number)


STATE = MusicianState(
    program=Program(task_id="task-01", title="Greet", items=(play(1), play(2), CHECK, play(3), LAST)),
    settings=Settings(),
    progress=Progress().after([Entry(kind=EntryKind.COMPLETED, item="step 1")]),
    used_pct=42.0,
    report_path="docs/implementation/reports/task-01-completion.md",
)
FOUND = VerificationEnded(
    outcome=Verification.GREEN,
    verified=evidence(),
    tests="All passing (4 tests)",
    failing="",
    files_modified=3,
    key_outputs=(KeyOutput(path="src/greeter.py", kind=OutputKind.MODIFIED),),
)


def test_a_review_request_has_its_eleven_fields_from_what_the_program_knows() -> None:
    state = replace(
        STATE,
        progress=replace(
            STATE.progress,
            deviations=(Deviation(severity=Severity.LOW, text="another name"),),
            self_corrections=("step 1: rewrote it",),
            agent_costs_pct=(4.0,),
        ),
    )
    message = submission(state, CHECK, FOUND)
    assert isinstance(message, ReviewRequest)
    assert message.checkpoint == Nth(number=1, of=2)
    assert message.context_usage_pct == 42
    assert (message.self_correction.happened, message.self_correction.details) == (True, "step 1: rewrote it")
    assert (message.deviations.count, message.deviations.worst) == (1, Severity.LOW)
    assert message.deviations.description == "another name"
    remaining = message.agents_remaining
    assert (remaining.count, remaining.each_pct, remaining.total_pct) == (2, 24, 48)
    assert message.summary == "Greet: the greeting works. Played: step 1"
    assert (message.files_modified, message.tests) == (3, "All passing (4 tests)")
    assert message.reason == "checkpoint 1 of 2"
    assert message.key_outputs == FOUND.key_outputs
    assert ReviewRequest.parse(message.render()) == message


def test_the_last_checkpoint_is_a_completion_with_its_report() -> None:
    message = submission(STATE, LAST, FOUND)
    assert isinstance(message, Completion)
    assert message.report == STATE.report_path
    assert Completion.parse(message.render()) == message
    without = submission(replace(STATE, report_path=""), LAST, FOUND)
    assert isinstance(without, Completion)
    assert without.report is None


def test_a_summary_of_nothing_says_so_and_one_of_much_says_the_latest() -> None:
    assert submission(replace(STATE, progress=Progress()), CHECK, FOUND).summary.endswith("nothing new")
    many = Progress(completed=tuple(f"step {number}" for number in range(1, 13)))
    assert submission(replace(STATE, progress=many), CHECK, FOUND).summary.endswith(
        "Played: step 5, step 6, step 7, step 8, step 9, step 10, step 11, step 12"
    )


@pytest.mark.parametrize(
    ("since", "score"),
    [
        (Since(), 0),
        (Since(points=("too broad",), mended_in=("rework 1.1",)), 0),
        (Since(failed_verifications=2), 2),
        (Since(errors=1, self_corrected=True), 4),
        (Since(agent_retries=1), 1),
    ],
)
def test_smoothness_is_scored_from_what_the_musician_did_since(since: Since, score: int) -> None:
    """AUDIT-V18: a verdict is nothing that the musician did."""
    state = replace(STATE, since=since)
    assert submission(state, CHECK, FOUND).smoothness == score


@pytest.mark.parametrize(
    ("pieces", "recommendation"),
    [
        (None, "proceed to the checkpoint, then hand off"),
        (0, "hand off now"),
        (2, "play 2 more, then hand off"),
    ],
)
def test_a_context_warning_carries_the_estimate_to_the_checkpoint_and_a_recommendation(
    pieces: int | None, recommendation: str
) -> None:
    state = replace(STATE, used_pct=52.0, proposed_pieces=pieces)
    message = context_warning(state, cost_pct=8, projected_pct=71)
    assert message.recommendation == recommendation
    assert (message.to_checkpoint_pct, message.agents_that_fit.count, message.budget_pct) == (19, 1, 65)
    assert message.agents_that_fit.remark == ""
    assert ContextWarning.parse(message.render()) == message


def test_a_context_warning_without_a_projection_estimates_nothing() -> None:
    message = context_warning(replace(STATE, used_pct=None), cost_pct=8, projected_pct=None)
    assert (message.to_checkpoint_pct, message.agents_that_fit.count) == (None, None)


@pytest.mark.parametrize(
    ("errors", "limit", "retry"), [(1, 5, "1/5"), (5, 5, "5/5"), (6, 5, "6/6"), (0, 5, "1/5")]
)
def test_an_error_report_says_what_failed_and_which_retry_it_was(errors: int, limit: int, retry: str) -> None:
    message = error_report(replace(STATE, errors=errors, retry_limit=limit), item="step 2", detail="gone")
    assert message.render().startswith(f"ERROR (Retry {retry}):\n  Context Usage: 42%")
    assert message.error == "step 2: gone"


def test_a_timeout_is_reported_under_what_was_waited_for_and_is_no_retry() -> None:
    assert timeout_report(STATE).error == "task-01: conductor timeout"
    message = timeout_report(replace(STATE, current=CHECK))
    assert (message.retry, message.error) == (None, "checkpoint 1: conductor timeout")
    assert ErrorReport.parse(message.render()) == message


def test_questions_carry_the_context_usage() -> None:
    assert question(STATE, "which?") == "which?\n  Context Usage: 42%"
    assert question(replace(STATE, used_pct=None), "which?") == "which?\n  Context Usage: unknown"


def test_a_session_that_asks_before_it_resumes_lists_the_open_deviations() -> None:
    deviations = (
        Deviation(severity=Severity.HIGH, text="another module"),
        Deviation(severity=Severity.LOW, text="another name", ruled=True),
    )
    state = replace(STATE, progress=replace(STATE.progress, deviations=deviations), used_pct=None)
    assert resumption_question(state, 3).splitlines() == [
        "Resuming task-01: 1 open deviations, 3 tasks at work without a live owner. How do I go on?",
        "  - another module (High)",
    ]


def test_the_terminal_record_says_why_what_is_done_and_what_remains() -> None:
    leave = leaving(replace(STATE, leave_reason="context exhaustion"))
    assert (leave.reason, leave.last_completed, leave.context_pct) == ("context exhaustion", "step 1", 42)
    assert leave.remaining == (
        "step 2 (part 2)",
        "checkpoint 1 (the greeting works)",
        "step 3 (part 3)",
        "checkpoint 2 (final)",
    )
    assert leaving(replace(STATE, progress=Progress(), leave_reason="x")).last_completed == "none"


def test_the_terminal_record_tells_of_this_sessions_self_corrections_only() -> None:
    state = replace(STATE, progress=replace(STATE.progress, self_corrections=("theirs", "ours")))
    assert leaving(state).self_correction == "theirs; ours"
    assert leaving(replace(state, earlier_self_corrections=1)).self_correction == "ours"


def test_every_stance_but_going_on_is_advised_on() -> None:
    assert [stance for stance in Stance if not context_advice(stance)] == [Stance.GO_ON]


@pytest.mark.parametrize("used_pct", [None, 58.0])
@pytest.mark.parametrize("text", ["Red or blue?", "Which?\n  Context Usage: is what I mean\nwell?"])
def test_a_question_is_put_to_a_person_as_it_was_asked(text: str, used_pct: float | None) -> None:
    said = question(replace(STATE, used_pct=used_pct), text)
    assert said != text
    assert question_asked(said) == text
    assert question_asked(text) == text
