"""Sums of what agents have used keep what a number would hide: estimates, and parts without a price."""

import math

import pytest

from musician.protocol.spending import MOST_TOKENS, Spending, Usage, price, spending_of, token_count

PRICED = Usage(
    model="b",
    input_tokens=10,
    cache_read_tokens=80,
    cache_write_tokens=10,
    output_tokens=5,
    cost_usd=0.5,
)
UNPRICED = Usage(input_tokens=7, is_estimated=True)


NO_AMOUNTS = (None, "7", True, -1, -0.5, math.nan, math.inf, MOST_TOKENS + 1, 10**30, [7])


@pytest.mark.parametrize("said", NO_AMOUNTS)
def test_what_can_be_no_amount_is_none(said: object) -> None:
    assert token_count(said) == 0
    assert price(said) is None


def test_an_amount_is_taken_as_it_is_said() -> None:
    assert [token_count(said) for said in (0, 7, 7.5, MOST_TOKENS)] == [0, 7, 0, MOST_TOKENS]
    assert [price(said) for said in (0, 7, 0.25)] == [0.0, 7.0, 0.25]


def test_nothing_has_no_sum() -> None:
    assert spending_of(()) is None


def test_a_sum_counts_all_that_went_in_and_names_its_models() -> None:
    assert spending_of((PRICED, Usage(model="a", cost_usd=0.25), PRICED)) == Spending(
        tokens_in=200,
        tokens_cached=160,
        tokens_out=10,
        cost_usd=1.25,
        models=("a", "b"),
    )


def test_a_part_without_a_price_or_that_is_estimated_is_not_hidden() -> None:
    found = spending_of((PRICED, UNPRICED))
    assert found is not None
    assert (found.cost_usd, found.has_unpriced, found.is_estimated) == (0.5, True, True)
    alone = spending_of((UNPRICED,))
    assert alone is not None
    assert (alone.cost_usd, alone.models) == (None, ())
