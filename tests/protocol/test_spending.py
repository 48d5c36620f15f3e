"""Sums of what agents have used keep what a number would hide: estimates, and parts without a price."""

from musician.protocol.spending import Spending, Usage, spending_of

PRICED = Usage(
    model="b",
    input_tokens=10,
    cache_read_tokens=80,
    cache_write_tokens=10,
    output_tokens=5,
    cost_usd=0.5,
)
UNPRICED = Usage(input_tokens=7, is_estimated=True)


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
