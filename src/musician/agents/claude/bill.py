"""What a client's conversation has used, from the totals that it reports with each result.

The totals include its subagents, and continue when a conversation is resumed, if its client had ended by
itself. Reported is the difference to the last result, or to the point where the conversation was resumed.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from musician.protocol.spending import Usage, price, token_count

Totals = Mapping[str, Mapping[str, Any]]
"""By model, in the client's own words."""


class Bill:
    def __init__(self) -> None:
        self._known: dict[str, Usage] = {}

    def since(self, totals: Totals) -> Iterator[Usage]:
        """Yield the usage of each model since the totals before."""
        for model, total in totals.items():
            now = Usage(
                model=model,
                input_tokens=token_count(total["inputTokens"]),
                cache_read_tokens=token_count(total["cacheReadInputTokens"]),
                cache_write_tokens=token_count(total["cacheCreationInputTokens"]),
                output_tokens=token_count(total["outputTokens"]),
                cost_usd=price(total["costUSD"]) or 0.0,
            )
            new = _difference(now, self._known.get(model, Usage()))
            self._known[model] = now
            if new != Usage(model=model, cost_usd=new.cost_usd):
                yield new


def _difference(now: Usage, before: Usage) -> Usage:
    if now.input_tokens < before.input_tokens or now.output_tokens < before.output_tokens:
        return now  # the client counts anew
    return Usage(
        model=now.model,
        input_tokens=now.input_tokens - before.input_tokens,
        cache_read_tokens=now.cache_read_tokens - before.cache_read_tokens,
        cache_write_tokens=now.cache_write_tokens - before.cache_write_tokens,
        output_tokens=now.output_tokens - before.output_tokens,
        cost_usd=(now.cost_usd or 0.0) - (before.cost_usd or 0.0),
    )
