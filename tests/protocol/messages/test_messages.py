"""What a message says, what it may not say, and what is refused with field and line (D14)."""

import math
from dataclasses import fields
from typing import Any

import pytest

from musician.protocol.errors import BadField, CallerError, UnreadableMessage
from musician.protocol.messages.checks import MOST_COUNTED, check_said
from musician.protocol.messages.forms import Message
from musician.protocol.messages.kinds import VERDICT_OF, MessageType
from musician.protocol.messages.particulars import (
    AgentsRemaining,
    Counted,
    Deviations,
    KeyOutput,
    Nth,
    OutputKind,
    SelfCorrection,
)
from musician.protocol.messages.submissions import Completion, ReviewRequest
from musician.protocol.messages.types import (
    ClaimBlockedNotice,
    ContextWarning,
    ErrorReport,
    HandoffNotice,
    Resumption,
)
from musician.protocol.rules.deviations import Severity
from musician.protocol.states import VERDICTS
from tests.said import REPORTS, SUBMISSIONS

TYPES: tuple[type[Any], ...] = (
    ReviewRequest,
    Completion,
    ErrorReport,
    ContextWarning,
    ClaimBlockedNotice,
    HandoffNotice,
    Resumption,
)


def review(**changes: Any) -> ReviewRequest:
    """A whole review request."""
    whole: dict[str, Any] = {
        "checkpoint": Nth(number=1, of=2),
        "context_usage_pct": 35.5,
        "self_correction": SelfCorrection(happened=False),
        "deviations": Deviations(count=1, worst=Severity.LOW, description="a word"),
        "agents_remaining": AgentsRemaining(count=3, each_pct=8, total_pct=24),
        "proposal": None,
        "summary": "first\nSummary: second\n\n  Tests: third",
        "files_modified": 2,
        "tests": "All passing (14 tests)",
        "smoothness": 4,
        "reason": "checkpoint",
        "key_outputs": (KeyOutput(path="src/a.py", kind=OutputKind.MODIFIED),),
    }
    return ReviewRequest(**(whole | changes))


def completion(**changes: Any) -> Completion:
    """A whole completion."""
    whole = {
        each.name: getattr(review(), each.name) for each in fields(ReviewRequest) if each.name != "reason"
    }
    return Completion(**(whole | {"checkpoint": Nth(number=2, of=2), "report": "docs/r.md"} | changes))


def test_a_review_request_is_laid_out_as_the_sources_show() -> None:
    assert review().render() == (
        "REVIEW REQUEST (Smoothness: 4/9):\n"
        "  Checkpoint: 1 of 2\n"
        "  Context Usage: 35.5%\n"
        "  Self-Correction: NO\n"
        "  Deviations: 1 (Low — a word)\n"
        "  Agents Remaining: 3 (~8% each, ~24% total)\n"
        "  Proposal: N/A\n"
        "  Summary: first\n"
        "    Summary: second\n"
        "    \n"
        "      Tests: third\n"
        "  Files Modified: 2\n"
        "  Tests: All passing (14 tests)\n"
        "  Reason: checkpoint\n"
        "  Key Outputs:\n"
        "    - src/a.py (modified)"
    )


def test_a_completion_says_that_it_is_final_and_where_its_report_is() -> None:
    text = completion().render()
    assert "  Reason: final\n" in text
    assert "  Report: docs/r.md\n" in text
    assert text.startswith("TASK COMPLETE (Smoothness: 4/9):\n  Checkpoint: 2 of 2\n")


@pytest.mark.parametrize(
    ("change", "label"),
    [
        ({"smoothness": None}, "Smoothness"),
        ({"checkpoint": None}, "Checkpoint"),
        ({"self_correction": SelfCorrection(happened=None)}, "Self-Correction"),
        ({"deviations": Deviations(count=None)}, "Deviations"),
        ({"agents_remaining": AgentsRemaining(count=None)}, "Agents Remaining"),
        ({"summary": " \n"}, "Summary"),
        ({"files_modified": None}, "Files Modified"),
        ({"tests": ""}, "Tests"),
        ({"reason": ""}, "Reason"),
    ],
)
def test_a_submission_names_what_a_judge_cannot_do_without(change: dict[str, Any], label: str) -> None:
    assert review(**change).missing == (label,)


def test_a_whole_submission_misses_nothing_even_with_its_context_usage_unknown() -> None:
    assert review(context_usage_pct=None, proposal=None, key_outputs=()).missing == ()
    assert completion().missing == ()
    assert completion(report=None).missing == ("Report",)


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: review(smoothness=10), "smoothness"),
        (lambda: review(smoothness=-1), "smoothness"),
        (lambda: review(context_usage_pct=100.1), "context_usage_pct"),
        (lambda: review(context_usage_pct=-1), "context_usage_pct"),
        (lambda: review(context_usage_pct=math.nan), "context_usage_pct"),
        (lambda: review(files_modified=-1), "files_modified"),
        (lambda: review(files_modified=MOST_COUNTED + 1), "files_modified"),
        (lambda: review(proposal="/etc/passwd"), "proposal"),
        (lambda: review(proposal="N/A"), "proposal"),
        (lambda: review(summary="lone \ud800"), "summary"),
        (lambda: completion(reason="tired"), "reason"),
        (lambda: completion(checkpoint=Nth(number=1, of=2)), "checkpoint"),
        (lambda: completion(report="../r.md"), "report"),
        (lambda: Nth(number=0, of=2), "number"),
        (lambda: Nth(number=3, of=2), "number"),
        (lambda: Deviations(count=0, worst=Severity.LOW), "deviations"),
        (lambda: Deviations(count=-1), "deviations"),
        (lambda: AgentsRemaining(count=1, each_pct=math.inf), "agents_remaining"),
        (lambda: AgentsRemaining(count=1, total_pct=-0.5), "agents_remaining"),
        (lambda: Counted(count=-1), "count"),
        (lambda: ClaimBlockedNotice(task_id="../x", reason=""), "task_id"),
        (lambda: ClaimBlockedNotice(task_id="task-00", reason=""), "task_id"),
        (
            lambda: HandoffNotice(
                reason=" ",
                handoff_path=None,
                context_usage_pct=None,
                self_correction=SelfCorrection(happened=None),
                last_completed_step="",
                remaining_steps="",
            ),
            "reason",
        ),
        (
            lambda: Resumption(
                worked_by="two\nlines",
                previous_session=None,
                handoff="",
                context_usage_pct=None,
                deviations_found=Deviations(count=None),
                mismatches=Counted(count=None),
                pending_messages=Counted(count=None),
                previous_self_correction=SelfCorrection(happened=None),
                assessment="",
                verification="",
                resuming_from="",
            ),
            "worked_by",
        ),
    ],
)
def test_a_message_that_cannot_be_true_is_not_made(make: Any, field: str) -> None:
    with pytest.raises(BadField) as caught:
        make()
    assert caught.value.field == field


@pytest.mark.parametrize(
    "path",
    [
        "",
        " a",
        "a ",
        "/etc/x",
        "~/x",
        "..",
        "../x",
        "a/../x",
        "a\\..\\x",
        "\\\\host\\x",
        "C:\\x",
        "c:/x",
        "a\nb",
        "a\x00",
        "\udcff",
    ],
)
def test_a_key_output_outside_the_project_is_refused(path: str) -> None:
    with pytest.raises(BadField):
        KeyOutput(path=path, kind=OutputKind.CREATED)


@pytest.mark.parametrize(
    ("kind", "text", "field", "line"),
    [
        (ReviewRequest, "", "heading", 1),
        (ReviewRequest, "\n\n", "heading", 1),
        (ReviewRequest, "all done!", "heading", 1),
        (ReviewRequest, "\nERROR (Retry 1/5):\n  Error: x", "heading", 2),
        (ReviewRequest, "REVIEW REQUEST (Smoothness: 12/9):\n  Checkpoint: 1 of 2", "heading", 1),
        (ReviewRequest, "REVIEW REQUEST (Smoothness: 1/9):\n  Checkpoint: 3 of 2", "Checkpoint", 2),
        (ReviewRequest, "Checkpoint: 1 of 2\n\ncheckpoint: 2 of 2", "checkpoint", 3),
        (ReviewRequest, "Tests: ok\nProposal: /tmp/x.md", "Proposal", 2),
        (ReviewRequest, "Key Outputs:\n  - /etc/x (created)", "Key Outputs", 1),
        (ReviewRequest, "Tests: ok\nKey Outputs:\n  - x\n", "Key Outputs", 2),
        (Completion, "Checkpoint: 1 of 2", "heading", 1),
        (Completion, "TASK COMPLETE (Smoothness: 1/9):\n  Reason: bored", "Reason", 2),
        (Completion, "TASK COMPLETE (Smoothness: 1/9):\n  Checkpoint: 1 of 2", "Checkpoint", 2),
        (
            ContextWarning,
            "CONTEXT WARNING: 5% usage\nAgents That Fit in 650% Budget: 1",
            "Agents That Fit in 650% Budget",
            2,
        ),
        (ClaimBlockedNotice, "CLAIM BLOCKED: Guard prevented claim on task-{NN}.", "heading", 1),
    ],
)
def test_an_unreadable_text_is_refused_with_its_field_and_line(
    kind: type[Message], text: str, field: str, line: int
) -> None:
    with pytest.raises(UnreadableMessage) as caught:
        kind.parse(text)
    assert (caught.value.field, caught.value.line) == (field, line)
    assert isinstance(caught.value, CallerError)


def test_a_line_that_is_no_field_goes_on_with_the_value_before_it() -> None:
    message = ReviewRequest.parse("Summary: one\ntwo\n   three\n   \nNote: four\nTests: ok")
    assert message.summary == "one\ntwo\n three\n \nNote: four"
    assert message.tests == "ok"
    indented = ReviewRequest.parse("  Summary: one\n \n  two\n  Tests: ok")
    assert indented.summary == "one\ntwo", "a line of less than the indent says nothing"


def test_a_label_is_known_in_any_case_and_a_final_reason_too() -> None:
    message = Completion.parse(
        "TASK COMPLETE (Smoothness: 0/9)\nREPORT: r.md\nreason: Final\nFILES MODIFIED: ~3 files"
    )
    assert (message.report, message.reason, message.files_modified) == ("r.md", "final", 3)


@pytest.mark.parametrize(
    ("said", "usage"),
    [
        ("47%", 47),
        ("~47.5 %", 47.5),
        ("18% (fresh session)", 18),
        ("1e-05%", 1e-05),
        ("100%", 100),
        ("180%", None),
        ("unknown", None),
        ("see step 3", None),
        ("٤٧%", None),
    ],
)
def test_a_usage_that_cannot_be_is_unknown(said: str, usage: float | None) -> None:
    assert ReviewRequest.parse(f"Context Usage: {said}").context_usage_pct == usage


@pytest.mark.parametrize(
    ("said", "deviations"),
    [
        ("none", Deviations(count=0)),
        ("2 (1 low, 1 High)", Deviations(count=2, worst=Severity.HIGH, description="1 low, 1 High")),
        ("0 (none so far)", Deviations(count=0, description="none so far")),
        ("3 in all", Deviations(count=3, description="3 in all")),
        ("12345678901", Deviations(count=None, description="12345678901")),
    ],
)
def test_deviations_written_by_hand_give_what_can_be_known(said: str, deviations: Deviations) -> None:
    assert ReviewRequest.parse(f"Deviations: {said}").deviations == deviations


@pytest.mark.parametrize(
    ("said", "correction"),
    [
        ("yes — rewrote it", SelfCorrection(happened=True, details="rewrote it")),
        ("no.", SelfCorrection(happened=False)),
        ("not sure", SelfCorrection(happened=None, details="not sure")),
    ],
)
def test_a_self_correction_written_by_hand_gives_what_can_be_known(
    said: str, correction: SelfCorrection
) -> None:
    assert ReviewRequest.parse(f"Self-Correction: {said}").self_correction == correction


def test_a_warning_projects_the_usage_at_the_next_checkpoint_where_it_knows_both_parts() -> None:
    text = "CONTEXT WARNING: 52% usage\n  Estimate to Checkpoint: ~19%"
    assert ContextWarning.parse(text).projected_pct == 71
    assert ContextWarning.parse(text.replace("52%", "unknown")).projected_pct is None
    assert ContextWarning.parse(text.replace("~19%", "a lot")).projected_pct is None


def test_a_warning_keeps_the_budget_it_was_measured_against() -> None:
    message = ContextWarning.parse("CONTEXT WARNING: 5% usage\nAgents That Fit in 70.5% Budget: 2")
    assert (message.budget_pct, message.agents_that_fit.count) == (70.5, 2)
    assert "  Agents That Fit in 70.5% Budget: 2\n" in message.render()


def test_each_form_belongs_to_one_type_of_message() -> None:
    assert {kind.type for kind in TYPES} == SUBMISSIONS | REPORTS | {
        MessageType.CLAIM_BLOCKED,
        MessageType.HANDOFF,
        MessageType.RESUMPTION_STATUS,
    }


def test_each_verdict_state_has_its_own_message() -> None:
    assert set(VERDICT_OF) == VERDICTS
    assert len(set(VERDICT_OF.values())) == len(VERDICTS)


def test_every_message_a_musician_sends_carries_its_context_usage() -> None:
    """D12, sources "Context Usage in All Messages"."""
    for kind in TYPES:
        said = {*kind.form.words, *(each.attribute for each in kind.form.fields)}
        assert "context_usage_pct" in said, kind


@pytest.mark.parametrize("text", ["", " \n\t", "\ud800"], ids=["empty", "blank", "half a character"])
def test_a_text_says_something(text: str) -> None:
    check_said("text", "go on")
    with pytest.raises(BadField):
        check_said("text", text)
