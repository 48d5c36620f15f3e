"""What a client's conversation has used, from the totals that it reports with each result.

The totals include its subagents, and continue when a conversation is resumed, if its client had ended by
itself. Reported is the difference to the last result, or to the point where the conversation was resumed; what a person
has used of it between two sessions of ours is reported with the second.
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
        for now in map(_usage, totals, totals.values()):
            before, self._known[now.model] = self._known.get(now.model, Usage()), now
            yield from _told(now if _is_anew(now, before) else _difference(now, before))

    def take_up(self, totals: Totals) -> Iterator[Usage]:
        """Yield what was used of a conversation of this bill while somebody else had it.

        Of one that is new to it nothing is known, and one whose client was killed may have forgotten the last.
        """
        is_known = bool(self._known)
        for now in map(_usage, totals, totals.values()):
            before, self._known[now.model] = self._known.get(now.model, Usage()), now
            if is_known and not _is_anew(now, before):
                yield from _told(_difference(now, before))


def _usage(model: str, total: Mapping[str, Any]) -> Usage:
    return Usage(
        model=model,
        input_tokens=token_count(total["inputTokens"]),
        cache_read_tokens=token_count(total["cacheReadInputTokens"]),
        cache_write_tokens=token_count(total["cacheCreationInputTokens"]),
        output_tokens=token_count(total["outputTokens"]),
        cost_usd=price(total["costUSD"]) or 0.0,
    )


def _told(new: Usage) -> tuple[Usage, ...]:
    return () if new == Usage(model=new.model, cost_usd=new.cost_usd) else (new,)


def _is_anew(now: Usage, before: Usage) -> bool:
    """Whether the client counts anew."""
    return now.input_tokens < before.input_tokens or now.output_tokens < before.output_tokens


def _difference(now: Usage, before: Usage) -> Usage:
    return Usage(
        model=now.model,
        input_tokens=now.input_tokens - before.input_tokens,
        cache_read_tokens=now.cache_read_tokens - before.cache_read_tokens,
        cache_write_tokens=now.cache_write_tokens - before.cache_write_tokens,
        output_tokens=now.output_tokens - before.output_tokens,
        cost_usd=(now.cost_usd or 0.0) - (before.cost_usd or 0.0),
    )
