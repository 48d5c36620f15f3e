"""The session's context is weighed at each boundary, and what a warning's answer leads to (D15)."""

from dataclasses import replace

import pytest

from musician.protocol.journal import Entry, EntryKind, Progress
from musician.protocol.messages.types import ContextWarning
from musician.protocol.musician import inputs as i
from musician.protocol.musician import ready as r
from musician.protocol.musician.since import Since
from musician.protocol.rules.budget import answer_by_rule
from musician.protocol.rules.review import Verification
from musician.protocol.settings import Settings
from musician.protocol.states import State
from tests.protocol.musician.story import Story, at_checkpoint, long_program, submitted, tight


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
        assert not any(isinstance(record, r.ReportProblem) for record in story.records)
        return
    report = story.only(r.ReportProblem)
    assert isinstance(report.message, ContextWarning)
    assert report.message.recommendation == recommendation
    assert report.message.to_checkpoint_pct == pieces_left * 8
    assert not story.acts
    assert story.kinds() == [EntryKind.COMPLETED, EntryKind.CONTEXT]


def test_the_context_concern_comes_before_the_checkpoint_it_falls_together_with() -> None:
    story = Story().done().context(66).done()
    assert story.only(r.ReportProblem).last_error == "context_exhaustion_warning"
    assert not story.acts


def test_the_context_is_weighed_before_a_checkpoint_is_mended_or_verified_again() -> None:
    story = at_checkpoint().context(66).verified(Verification.RED)
    assert isinstance(story.only(r.ReportProblem).message, ContextWarning)
    story = at_checkpoint().verified(Verification.RED).context(66).done()
    assert isinstance(story.only(r.ReportProblem).message, ContextWarning)


def test_a_self_correction_makes_the_pieces_ahead_six_times_as_dear() -> None:
    story = Story(program=long_program(3)).context(51).tell(i.SelfCorrectionTold(text="step 1")).done()
    message = story.only(r.ReportProblem).message
    assert isinstance(message, ContextWarning)
    assert message.agents_remaining.each_pct == 48
    assert message.agents_that_fit.remark == "due to self-correction bloat"


def test_another_sessions_self_correction_does_not_weigh_on_this_one() -> None:
    progress = Progress().after([Entry(kind=EntryKind.SELF_CORRECTION, item="step 1", text="rewrote it")])
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


def test_an_approval_goes_on_as_proposed_to_the_checkpoint_and_hands_off_there() -> None:
    story = tight().approved("to the checkpoint")
    assert story.only(r.PlayPiece).advice == "to the checkpoint"
    story.context(70).done().done()
    assert story.only(r.Verify).check.item == "checkpoint 1"
    story.verified().approved()
    assert story.names() == ["Resume", "ExitClaim", "End"]
    assert story.only(r.ExitClaim).reason == "context exhaustion (handoff at the checkpoint, as agreed)"


def test_a_checkpoint_sent_back_on_the_agreed_way_is_mended_before_the_handoff() -> None:
    story = tight().approved().done().done().verified().judged(State.REVIEW_FAILED, "no")
    assert story.only(r.ReworkPiece).feedback == "no"
    assert story.done().verified().approved().only(r.ExitClaim)


def test_an_approval_of_fewer_pieces_plays_just_these() -> None:
    story = Story(program=long_program(4)).context(57).done()
    assert story.approved().only(r.PlayPiece).play.item == "step 2"
    assert story.done().names() == ["Write", "ExitClaim", "End"]
    assert story.only(r.ExitClaim).reason == "context exhaustion (handoff after the pieces agreed on)"
    assert story.only(r.ExitClaim).remaining[0] == "step 3 (do step 3)"


def test_of_two_pieces_that_were_agreed_on_both_are_played() -> None:
    story = Story(program=long_program(10)).context(50)
    assert story.done().approved().only(r.PlayPiece).play.item == "step 2"
    assert story.state.agreement.pieces == 1
    story = Story(program=long_program(10), since=Since()).context(50)
    story.state = replace(story.state, progress=replace(story.state.progress, agent_costs_pct=(5.0,)))
    assert story.done().approved().done().only(r.PlayPiece).play.item == "step 3"
    assert story.done().only(r.PlayPiece).play.item == "step 4"
    assert story.done().only(r.ExitClaim)


def test_another_reason_to_leave_outweighs_the_pieces_agreed_on() -> None:
    story = Story(program=long_program(4)).context(57).done().approved().exit_request().done()
    assert story.only(r.ExitClaim).reason == "conductor requested"


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
    assert story.names() == ["Acknowledge", "ExitClaim", "End"]
    assert story.only(r.ExitClaim).reason == "context exhaustion (handoff now, as agreed)"


def test_do_not_proceed_prepare_the_handoff_now() -> None:
    story = tight().judged(State.REVIEW_FAILED, "no", message_id=41)
    assert story.names() == ["Acknowledge", "ExitClaim", "End"]
    assert story.only(r.ExitClaim).reason == "context exhaustion (handoff now, as the conductor decided)"


def test_an_exit_request_is_the_answer_to_a_context_warning_too() -> None:
    assert tight().exit_request().only(r.ExitClaim).reason.startswith("context exhaustion")
    assert (
        tight().judged(State.EXIT_REQUESTED, "now").only(r.ExitClaim).reason.startswith("context exhaustion")
    )


def test_the_rules_answer_what_the_musician_proposes() -> None:
    message = tight().only(r.ReportProblem).message
    assert isinstance(message, ContextWarning)
    answer = answer_by_rule(message.context_usage_pct, message.projected_pct, Settings())
    assert answer.state is State.REVIEW_APPROVED
    assert message.recommendation == "proceed to the checkpoint, then hand off"


@pytest.mark.parametrize("where", ["playing", "reworking", "verifying"])
def test_from_75_what_runs_is_stopped_and_the_session_exits(where: str) -> None:
    story = {
        "playing": Story,
        "reworking": lambda: at_checkpoint().verified(Verification.RED),
        "verifying": at_checkpoint,
    }[where]()
    assert story.context(75).names() == ["StopPiece"]
    assert story.stopped().names() == ["ExitClaim", "End"]
    assert story.only(r.ExitClaim).reason == "context exhaustion"
    assert story.only(r.ExitClaim).context_pct == 75


def test_from_75_a_session_that_waits_leaves_too() -> None:
    assert submitted().context(80).names() == ["ExitClaim", "End"]
    assert Story().question().done().context(80).only(r.ExitClaim).reason == "context exhaustion"


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
