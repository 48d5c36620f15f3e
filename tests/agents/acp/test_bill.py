"""What a session over the Agent Client Protocol has used, from what it says, or from nothing."""

from typing import Any

import pytest

from musician.agents.acp.bill import Bill
from musician.protocol.spending import Usage


def cost(amount: float, currency: str = "USD") -> dict[str, Any]:
    return {
        "sessionUpdate": "usage_update",
        "used": 1,
        "size": 2,
        "cost": {"amount": amount, "currency": currency},
    }


def turn(given: int, said: int, **more: object) -> dict[str, Any]:
    return {"stopReason": "end_turn", "usage": {"inputTokens": given, "outputTokens": said, **more}}


def test_the_turns_of_a_piece_add_up_and_are_told_once() -> None:
    bill = Bill()
    bill.answered(turn(100, 10, cachedReadTokens=50))
    bill.answered(turn(200, 20, cachedReadTokens=None, cachedWriteTokens=5))
    assert bill.since(9) == Usage(
        input_tokens=300, output_tokens=30, cache_read_tokens=50, cache_write_tokens=5
    )
    assert bill.since(12) == Usage(input_tokens=3, is_estimated=True), "what came since the last time"


def test_the_cost_is_what_came_to_the_total() -> None:
    bill = Bill()
    bill.updated(cost(0.5), plays=True)
    assert bill.since(0).cost_usd == 0.5
    bill.updated(cost(0.75), plays=True)
    bill.updated(cost(900, "XYZ"), plays=True)
    assert bill.since(0).cost_usd == pytest.approx(0.25)
    assert bill.since(0).cost_usd == 0


def test_what_a_loaded_session_has_cost_before_is_not_counted_again() -> None:
    bill = Bill()
    bill.take_up()
    bill.updated(cost(3.0), plays=False)
    bill.updated(cost(3.25), plays=True)
    assert bill.since(0).cost_usd == pytest.approx(0.25)


def test_a_loaded_session_that_does_not_say_what_it_had_cost_has_no_price_at_first() -> None:
    bill = Bill()
    bill.take_up()
    bill.updated(cost(3.0), plays=True)
    bill.answered(turn(10, 1))
    assert bill.since(0) == Usage(input_tokens=10, output_tokens=1)
    bill.updated(cost(3.5), plays=True)
    assert bill.since(0).cost_usd == pytest.approx(0.5)


def test_an_agent_that_says_nothing_or_nonsense_is_estimated_and_has_no_price() -> None:
    bill = Bill()
    bill.answered({"stopReason": "end_turn", "usage": {"inputTokens": "many"}})
    bill.updated({"sessionUpdate": "usage_update", "cost": None}, plays=True)
    assert bill.since(40) == Usage(input_tokens=40, is_estimated=True)
