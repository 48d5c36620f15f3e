"""A turn is a state: of version 1, of the drafts of version 2, and of a provider that gives nothing."""

from typing import Any

import pytest

from musician.agents.acp.turn import Turn, TurnState
from musician.protocol.musician.inputs import PieceEnding


def _failure(
    category: str, severity: str, title: str = "Try later", actions: tuple[str, ...] = ("retry",)
) -> dict[str, Any]:
    failure = {"category": category, "severity": severity, "title": title, "actions": [*actions]}
    return {"_meta": {"jetbrains": {"air": {"version": 1, "sessionFailure": failure}}}}


def _state(state: str, **more: str) -> dict[str, str]:
    return {"sessionUpdate": "state_update", "state": state, **more}


def test_in_version_1_the_answer_to_the_prompt_ends_it() -> None:
    turn = Turn()
    turn.prompted()
    turn.updated({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "x"}})
    assert (turn.state, turn.is_over) == (TurnState.RUNNING, False)
    turn.answered({"stopReason": "max_tokens"})
    assert (turn.is_over, turn.stop_reason) == (True, "max_tokens")


def test_in_version_2_the_answer_says_only_that_it_was_heard() -> None:
    turn = Turn()
    turn.prompted()
    turn.answered({})
    turn.updated(_state("running"))
    turn.updated(_state("requires_action"))
    assert (turn.state, turn.is_over) == (TurnState.REQUIRES_ACTION, False)
    turn.updated(_state("running"))
    assert not turn.is_over
    turn.updated(_state("idle", stopReason="end_turn"))
    assert (turn.is_over, turn.stop_reason) == (True, "end_turn")


def test_a_prompt_that_joined_it_has_to_be_answered_too() -> None:
    turn = Turn()
    turn.prompted()
    turn.prompted()
    turn.answered({"stopReason": "end_turn"})
    assert not turn.is_over
    turn.answered({"stopReason": "end_turn"})
    assert turn.is_over


STATUS = "unexpected status {}: no, url: http://127.0.0.1/v1/responses"
BODY = '{"error": {"type": "invalid_request_error", "message": "no"}}'


@pytest.mark.parametrize(
    ("category", "title", "actions", "ending"),
    [
        ("limit", "You have hit your limit", (), PieceEnding.LIMITED),
        ("limit", "exceeded retry limit", ("retry",), PieceEnding.LIMITED),
        ("limit", "the context is full", ("new_session",), PieceEnding.LOST),
        ("connection", "stream disconnected", ("retry", "new_session"), PieceEnding.LIMITED),
        ("connection", STATUS.format("402 Payment Required"), ("retry", "new_session"), PieceEnding.REFUSED),
        ("connection", STATUS.format("403 Forbidden"), ("retry", "new_session"), PieceEnding.REFUSED),
        ("connection", STATUS.format("404 Not Found"), ("retry", "new_session"), PieceEnding.REFUSED),
        ("connection", STATUS.format("413 Payload Too Large"), ("retry", "new_session"), PieceEnding.FAILED),
        ("connection", STATUS.format("529"), ("retry", "new_session"), PieceEnding.LIMITED),
        ("service", "Selected model is at capacity", ("retry",), PieceEnding.LIMITED),
        ("service", "high demand", ("retry", "new_session"), PieceEnding.LIMITED),
        ("service", BODY, ("retry",), PieceEnding.FAILED),
        ("service", "[" * 100_000, ("retry",), PieceEnding.LIMITED),
        ("request", "not allowed", (), PieceEnding.FAILED),
        ("access", "log in", ("login",), PieceEnding.REFUSED),
        ("what nobody knows", "Try later", (), PieceEnding.LOST),
    ],
)
def test_a_failure_told_beside_the_end_is_typed(
    category: str, title: str, actions: tuple[str, ...], ending: PieceEnding
) -> None:
    turn = Turn()
    turn.prompted()
    turn.answered({"stopReason": "end_turn", **_failure(category, "error", title, actions)})
    assert turn.failure is not None
    assert turn.failure.ending is ending
    assert turn.failure.detail[:100] == title[:100]


def test_a_warning_of_something_else_is_no_failure() -> None:
    """It told of a model without a known window, and each step counted as lost."""
    turn = Turn()
    turn.prompted()
    turn.updated({"sessionUpdate": "session_info_update", **_failure("unknown", "warning")})
    turn.answered({"stopReason": "end_turn"})
    assert turn.failure is None


@pytest.mark.parametrize("category", ["limit", "connection", "service", "request"])
def test_one_that_tries_again_has_not_failed_yet_and_its_work_takes_that_back(category: str) -> None:
    turn = Turn()
    turn.prompted()
    turn.updated({"sessionUpdate": "session_info_update", **_failure(category, "warning")})
    assert turn.tries_again
    turn.updated({"sessionUpdate": "agent_message_chunk"})
    assert not turn.tries_again
    assert turn.failure is None


@pytest.mark.parametrize(("reason", "is_kept"), [("end_turn", False), ("cancelled", True)])
def test_what_it_waited_for_is_the_reason_if_it_was_cancelled_meanwhile(reason: str, is_kept: bool) -> None:
    turn = Turn()
    turn.prompted()
    turn.updated({"sessionUpdate": "session_info_update", **_failure("limit", "warning")})
    turn.answered({"stopReason": reason})
    assert (turn.failure is not None) is is_kept
