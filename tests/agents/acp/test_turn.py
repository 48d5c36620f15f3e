"""A turn is a state: of version 1, of the drafts of version 2, and of a provider that gives nothing."""

from typing import Any

import pytest

from musician.agents.acp.turn import Turn, TurnState
from musician.protocol.musician.inputs import PieceEnding


def _failure(category: str, severity: str) -> dict[str, Any]:
    failure = {"category": category, "severity": severity, "title": "Try later"}
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


@pytest.mark.parametrize(
    ("category", "ending"),
    [
        ("limit", PieceEnding.LIMITED),
        ("connection", PieceEnding.LIMITED),
        ("what nobody knows", PieceEnding.LOST),
    ],
)
def test_a_failure_told_beside_the_end_is_typed(category: str, ending: PieceEnding) -> None:
    turn = Turn()
    turn.prompted()
    turn.answered({"stopReason": "end_turn", **_failure(category, "error")})
    assert turn.failure is not None
    assert (turn.failure.ending, turn.failure.detail) == (ending, "Try later")


def test_one_that_tries_again_has_not_failed_yet_and_its_work_takes_that_back() -> None:
    turn = Turn()
    turn.prompted()
    turn.updated({"sessionUpdate": "session_info_update", **_failure("limit", "warning")})
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
