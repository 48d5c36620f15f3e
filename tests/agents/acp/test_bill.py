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
        input_tokens=300, output_tokens=30, cache_read_tokens=50, cache_write_tokens=5, turns=2
    )
    assert bill.since(12) == Usage(input_tokens=3, turns=1, is_estimated=True), (
        "what came since the last time"
    )


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
    assert bill.meanwhile().cost_usd is None
    bill.updated(cost(3.25), plays=True)
    bill.answered(turn(10, 1))
    rest = bill.since(0)
    assert (rest.input_tokens, rest.output_tokens, rest.cost_usd) == (10 - 1, 1, None), "nor has its rest"
    bill.updated(cost(3.75), plays=True)
    assert bill.since(0).cost_usd == pytest.approx(0.5)


def test_an_agent_that_says_nothing_or_nonsense_is_estimated_and_has_no_price() -> None:
    bill = Bill()
    bill.answered({"stopReason": "end_turn", "usage": {"inputTokens": "many"}})
    bill.updated({"sessionUpdate": "usage_update", "cost": None}, plays=True)
    assert bill.since(40) == Usage(input_tokens=40, turns=1, is_estimated=True)


def read(used: int, **more: object) -> dict[str, Any]:
    return {"sessionUpdate": "usage_update", "used": used, "size": 1000, **more}


def test_what_is_told_meanwhile_and_the_rest_add_up_to_what_the_turn_says_at_its_end() -> None:
    """CEIL-8: the reading after a call of the model is what that call has used."""
    bill = Bill()
    bill.updated(read(900), plays=False)
    bill.updated(read(100), plays=True)
    assert bill.meanwhile() == Usage(input_tokens=100, turns=1, is_estimated=True)
    bill.updated(read(130, cost={"amount": 0.5, "currency": "USD"}), plays=True)
    assert bill.meanwhile() == Usage(input_tokens=130, turns=1, cost_usd=0.5, is_estimated=True)
    assert bill.meanwhile() == Usage(cost_usd=0, is_estimated=True)
    bill.answered(turn(150, 20, cachedReadTokens=60))
    rest = bill.since(1)
    assert (rest.turns, rest.cost_usd, rest.is_estimated) == (0, 0, False)
    assert 100 + 130 + rest.input_tokens == 150
    assert (rest.output_tokens, rest.cache_read_tokens) == (20, 60)
    bill.updated(read(70), plays=True)
    assert bill.since(1) == Usage(input_tokens=70, turns=1, cost_usd=0, is_estimated=True), (
        "a turn that was cut off"
    )
