"""What an agent's session has used: the tokens of each turn, and the cost of the session so far, as far as it says.

The known agents report a turn's tokens at its end, codex for all its calls and opencode for its
last; the cost is a total that goes on with the session. Where that was loaded and does not say what it had
cost before, the first piece has no price. What is not reported at all is estimated from the text, and marked:
each call gives the whole conversation to the model again, so it is too little.
"""

from collections.abc import Mapping
from typing import Any

from musician.protocol.spending import Usage, price, token_count
from musician.protocol.values import replace


class Bill:
    def __init__(self) -> None:
        self._cost_usd: float | None = None
        self._told_usd: float | None = 0.0
        """None where it is not known what the session had cost before it was loaded."""
        self._turns: list[Usage] = []
        self._told_tokens = 0
        self._calls = Usage(is_estimated=True)
        """Of the model in this piece, by the readings of the window after each: some agents give one."""
        self._told_calls = Usage()

    def take_up(self) -> None:
        """Note that the session is a resumed one."""
        self._told_usd = None

    def updated(self, update: Mapping[str, Any], *, plays: bool) -> None:
        """Take in an update. ``plays`` is False for the history of a session that is being loaded."""
        match update:
            case {"sessionUpdate": "usage_update", "used": said} if plays and (used := token_count(said)):
                tokens, turns = self._calls.input_tokens + used, self._calls.turns + 1
                self._calls = replace(self._calls, input_tokens=tokens, turns=turns)
        match update:
            case {
                "sessionUpdate": "usage_update",
                "cost": {"amount": said, "currency": "USD"},
            } if (total := price(said)) is not None:
                self._cost_usd = total
                if not plays:
                    self._told_usd = self._cost_usd

    def answered(self, result: Mapping[str, Any]) -> None:
        """Take in the end of a turn."""
        match result.get("usage"):
            case {"inputTokens": given, "outputTokens": said, **more} if token_count(given):
                usage = Usage(
                    input_tokens=token_count(given),
                    output_tokens=token_count(said),
                    cache_read_tokens=token_count(more.get("cachedReadTokens")),
                    cache_write_tokens=token_count(more.get("cachedWriteTokens")),
                )
                self._turns.append(usage)

    def meanwhile(self) -> Usage:
        """Return the estimated usage of the calls since the last time; at the end the rest of the piece is told."""
        return self._new(self._calls)

    def since(self, tokens: int) -> Usage:
        """Return the rest of a piece that is over. ``tokens`` is the estimate of the whole conversation."""
        turns, self._turns = self._turns, []
        estimate, self._told_tokens = max(0, tokens - self._told_tokens), tokens
        used = self._calls
        if turns:
            used = replace(
                turns[0],
                input_tokens=sum(each.input_tokens for each in turns),
                output_tokens=sum(each.output_tokens for each in turns),
                cache_read_tokens=sum(each.cache_read_tokens for each in turns),
                cache_write_tokens=sum(each.cache_write_tokens for each in turns),
                turns=self._calls.turns or len(turns),
            )
        elif not used.turns:
            used = Usage(input_tokens=estimate, turns=1, is_estimated=True)
        new = self._new(used)
        if self._told_usd is None:  # the piece has no price, and the next begins here
            self._told_usd = self._cost_usd
        self._calls, self._told_calls = Usage(is_estimated=True), Usage()
        return new

    def _new(self, used: Usage) -> Usage:
        """Return what of this piece's usage was not told yet, and the price of it."""
        told, self._told_calls = self._told_calls, used
        cost_usd = None
        if self._cost_usd is not None and self._told_usd is not None:
            cost_usd = max(0.0, self._cost_usd - self._told_usd)
            self._told_usd = self._cost_usd
        return replace(
            used,
            input_tokens=used.input_tokens - told.input_tokens,
            turns=used.turns - told.turns,
            cost_usd=cost_usd,
        )
