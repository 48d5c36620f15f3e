"""What Claude's totals say of a piece."""

from musician.agents.claude.bill import Bill


def _totals(given: int, said: int, cost: float) -> dict[str, dict[str, float]]:
    cached = {"cacheReadInputTokens": 0, "cacheCreationInputTokens": 0}
    return {"opus": {"inputTokens": given, "outputTokens": said, "costUSD": cost, **cached}}


def test_each_time_only_what_came_to_the_totals_is_told() -> None:
    bill = Bill()
    assert [each.input_tokens for each in bill.since(_totals(100, 10, 1.0))] == [100]
    assert [each.input_tokens for each in bill.since(_totals(150, 20, 1.5))] == [50]
    assert list(bill.since(_totals(150, 20, 1.5))) == []


def test_totals_that_begin_anew_give_nothing_back() -> None:
    bill = Bill()
    tuple(bill.since(_totals(100, 10, 1.0)))
    (found,) = bill.since(_totals(30, 5, 0.25))
    assert (found.input_tokens, found.output_tokens, found.cost_usd) == (30, 5, 0.25)


def test_what_a_person_has_used_of_the_conversation_is_told_when_it_is_taken_back() -> None:
    bill = Bill()
    assert list(bill.take_up(_totals(500, 50, 5.0))) == [], "of what was before nothing is known"
    tuple(bill.since(_totals(600, 60, 6.0)))
    (found,) = bill.take_up(_totals(1600, 80, 7.0))
    assert (found.input_tokens, found.output_tokens, found.cost_usd) == (1000, 20, 1.0)
    assert list(bill.take_up(_totals(1600, 80, 7.0))) == []


def test_a_client_that_was_killed_and_has_forgotten_the_last_is_billed_for_nothing_twice() -> None:
    bill = Bill()
    tuple(bill.since(_totals(600, 60, 6.0)))
    assert list(bill.take_up(_totals(500, 50, 5.0))) == []
    assert [each.input_tokens for each in bill.since(_totals(700, 60, 6.0))] == [200]


def test_what_can_be_no_amount_is_none() -> None:
    (found,) = Bill().since(_totals(10**30, 5, float("nan")))
    assert (found.input_tokens, found.output_tokens, found.cost_usd) == (0, 5, 0.0)
