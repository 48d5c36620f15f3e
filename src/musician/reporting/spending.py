"""Says what agents have used, and what it cost (``protocol/spending``)."""

from collections.abc import Iterable

from musician.protocol.spending import Spending, Used, spending_of
from musician.protocol.values import as_dict
from musician.store.rows.sessions import CostRow

_CENT_USD = 0.01


def say_usage(usages: Iterable[Used]) -> str:
    """Return it in a line, such as ``1.2M tokens in (90 % cached), 34k out, $0.53 (opus)``; "" of nothing."""
    spending = spending_of(usages)
    return "" if spending is None else say_spending(spending)


def spending_document(usages: Iterable[Used]) -> dict[str, object] | None:
    """Return it for ``--json``: the sum, and of each model; None of nothing."""
    found = tuple(usages)
    spending = spending_of(found)
    if spending is None:
        return None
    of_model = {
        model: spending_of(each for each in found if each.model == model) for model in spending.models
    }
    return {
        **_numbers(spending),
        "models": {model: _numbers(each) for model, each in of_model.items() if each is not None},
    }


def _numbers(spending: Spending) -> dict[str, object]:
    return {name: value for name, value in as_dict(spending).items() if name != "models"}


def say_spending(spending: Spending) -> str:
    cached = round(100 * spending.tokens_cached / spending.tokens_in) if spending.tokens_in else 0
    about = "about " if spending.is_estimated else ""
    tokens = f"{about}{_short(spending.tokens_in)} tokens in{f' ({cached} % cached)' if cached else ''}"
    models = f" ({', '.join(spending.models)})" if spending.models else ""
    return f"{tokens}, {_short(spending.tokens_out)} out, {_price(spending)}{models}"


def say_cost(rows: Iterable[CostRow]) -> str:
    """Return what tasks have cost, in a word: ``$5.12``, ``$5.12+`` if not all of it has a price, or their tokens."""
    found = tuple(rows)
    priced = [each.cost_usd for each in found if each.cost_usd is not None]
    if not priced:
        return f"{_short(sum(each.tokens for each in found))} tokens" if found else ""
    has_more = any(each.has_unpriced for each in found)
    return f"${sum(priced):.2f}{'+' if has_more else ''}"


def _price(spending: Spending) -> str:
    if spending.cost_usd is None:
        return "at no price that is known"
    least = "at least " if spending.has_unpriced else ""
    return f"{least}${spending.cost_usd:.2f}" if spending.cost_usd >= _CENT_USD else f"{least}under $0.01"


def _short(count: int) -> str:
    for unit, size in (("M", 1_000_000), ("k", 1000)):
        if count >= size:
            return f"{count / size:.3g}{unit}"
    return str(count)
