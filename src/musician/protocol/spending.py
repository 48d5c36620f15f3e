"""Adds up what agents have used, and what it cost.

Theory. An agent reports per model what a piece has used; nothing is asked of anybody else, and prices are the agent's.
A sum keeps three things that a number alone would hide: whether part of it is estimated, whether part of it has no
price, and which models it is of. A cost is "at least" where a part has no price, and unknown where no part has one.
"""

from collections.abc import Iterable
from typing import Protocol

from musician.protocol.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What one model has used, in tokens.

    ``input_tokens`` are those that were neither read from a cache nor written to one. ``model`` is "" and ``cost_usd``
    None where the agent does not say. ``turns`` are answers of the model.
    """

    model: str = ""
    input_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    is_estimated: bool = False
    turns: int = 0


MOST_TOKENS = 10**12
"""Of one reading; what is more is no number of tokens, and would fit into no database."""


def token_count(said: object) -> int:
    """Return a number of tokens as an agent says it; 0 of what can be none."""
    return said if isinstance(said, int) and _is_amount(said) else 0


def price(said: object) -> float | None:
    """Return an amount of money as an agent says it; None of what can be none."""
    return float(said) if isinstance(said, int | float) and _is_amount(said) else None


def _is_amount(said: float) -> bool:
    return not isinstance(said, bool) and 0 <= said <= MOST_TOKENS  # and so no NaN


class Used(Protocol):
    """A :class:`Usage`, or a row of one."""

    @property
    def model(self) -> str: ...
    @property
    def input_tokens(self) -> int: ...
    @property
    def cache_read_tokens(self) -> int: ...
    @property
    def cache_write_tokens(self) -> int: ...
    @property
    def output_tokens(self) -> int: ...
    @property
    def cost_usd(self) -> float | None: ...
    @property
    def is_estimated(self) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """``tokens_in`` counts what was read from a cache or written to one, too."""

    tokens_in: int = 0
    tokens_cached: int = 0
    """Of ``tokens_in``, read from a cache."""
    tokens_out: int = 0
    cost_usd: float | None = None
    has_unpriced: bool = False
    is_estimated: bool = False
    models: tuple[str, ...] = ()


def spending_of(usages: Iterable[Used]) -> Spending | None:
    """Return the sum; None of nothing."""
    found = tuple(usages)
    if not found:
        return None
    priced = [each.cost_usd for each in found if each.cost_usd is not None]
    cached = sum(each.cache_read_tokens for each in found)
    return Spending(
        tokens_in=sum(each.input_tokens + each.cache_write_tokens for each in found) + cached,
        tokens_cached=cached,
        tokens_out=sum(each.output_tokens for each in found),
        cost_usd=sum(priced) if priced else None,
        has_unpriced=len(priced) < len(found),
        is_estimated=any(each.is_estimated for each in found),
        models=tuple(sorted({each.model for each in found if each.model})),
    )
