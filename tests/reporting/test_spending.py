"""What was used, said in a line and for programs."""

import pytest

from musician.protocol.spending import Usage
from musician.reporting.spending import say_usage, spending_document

PRICED = Usage(
    model="opus", input_tokens=20_000, cache_read_tokens=180_000, output_tokens=3_400, cost_usd=0.531
)
ESTIMATED = Usage(input_tokens=950, is_estimated=True)


@pytest.mark.parametrize(
    ("used", "said"),
    [
        ((), ""),
        ((PRICED,), "200k tokens in (90 % cached), 3.4k out, $0.53 (opus)"),
        ((PRICED, ESTIMATED), "about 201k tokens in (90 % cached), 3.4k out, at least $0.53 (opus)"),
        ((ESTIMATED,), "about 950 tokens in, 0 out, at no price that is known"),
        ((Usage(input_tokens=2_500_000, cost_usd=0.001),), "2.5M tokens in, 0 out, under $0.01"),
    ],
)
def test_a_line_hides_nothing(used: tuple[Usage, ...], said: str) -> None:
    assert say_usage(used) == said


def test_a_program_gets_the_sum_and_each_model() -> None:
    assert spending_document(()) is None
    found = spending_document((PRICED, PRICED, ESTIMATED))
    assert found is not None
    assert found["tokens_in"] == 400_950
    assert found["has_unpriced"]
    assert found["is_estimated"]
    assert found["models"] == {
        "opus": {
            "tokens_in": 400_000,
            "tokens_cached": 360_000,
            "tokens_out": 6_800,
            "cost_usd": pytest.approx(1.062),
            "has_unpriced": False,
            "is_estimated": False,
        }
    }
