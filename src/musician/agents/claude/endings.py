"""Translates the end of a client's turn into the end of a piece. A provider's failure is no failure of the
work (D3).
"""

from claude_agent_sdk import AssistantMessage, RateLimitEvent, ResultMessage

from musician.agents.hearing import Hearing
from musician.agents.hosted import ending_of_status, report_of
from musician.agents.port import Piece
from musician.processes.output import one_line
from musician.protocol.musician.inputs import PieceEnded, PieceEnding

_MOST_DETAIL_CHARS = 300

_PROVIDER = {
    "authentication_failed": PieceEnding.REFUSED,
    "oauth_org_not_allowed": PieceEnding.REFUSED,
    "billing_error": PieceEnding.REFUSED,
    "rate_limit": PieceEnding.LIMITED,
    "overloaded": PieceEnding.LIMITED,
    "server_error": PieceEnding.LIMITED,
}
"""By the client's own name for what went wrong."""
_SPENT = ("error_max_budget_usd", "error_max_turns")
"""The client's own ceilings, by its options."""
_CUT_OFF = ("aborted_streaming", "aborted_tools")


class Provider:
    """What is known of the provider in one turn."""

    def __init__(self) -> None:
        self._error = ""
        self._said = ""
        self._resets_at_s: int | None = None

    def failed(self, message: AssistantMessage, text: str) -> None:
        """Note an error of the API, which the client puts into the conversation as if the model had said it."""
        self._error, self._said = str(message.error), text

    def limited(self, event: RateLimitEvent) -> None:
        if event.rate_limit_info.status == "rejected":
            self._resets_at_s = event.rate_limit_info.resets_at

    def ending(self, result: ResultMessage) -> PieceEnding | None:
        """Return how the provider ends the piece; None if it answered normally."""
        if not (self._error or result.api_error_status):
            return None
        return _PROVIDER.get(self._error) or ending_of_status(result.api_error_status or 0)

    def wait_s(self, now_s: float) -> float | None:
        """Return how long to wait for the limit. ``now_s`` is the wall-clock time, in which the client says
        when it is over.
        """
        return None if self._resets_at_s is None else max(0.0, self._resets_at_s - now_s)

    @property
    def detail(self) -> str:
        return one_line(self._said or self._error, _MOST_DETAIL_CHARS)


def ending_of(
    piece: Piece,
    result: ResultMessage,
    hearing: Hearing,
    provider: Provider,
    *,
    is_interrupted: bool,
    now_s: float,
) -> PieceEnded:
    """Return the end of a piece from its last result."""

    def ended(ending: PieceEnding, detail: str = "", wait_s: float | None = None) -> PieceEnded:
        return PieceEnded(
            item=piece.item, ending=ending, detail=one_line(detail, _MOST_DETAIL_CHARS), wait_s=wait_s
        )

    if is_interrupted and (result.is_error or result.terminal_reason in _CUT_OFF):
        return ended(PieceEnding.STOPPED)
    by_provider = provider.ending(result)
    if by_provider is PieceEnding.LIMITED:
        return ended(by_provider, provider.detail, provider.wait_s(now_s))
    if by_provider is not None:
        return ended(by_provider, provider.detail)
    if result.subtype in _SPENT:
        return ended(
            PieceEnding.SPENT, f"the client's own: {'; '.join(result.errors or ()) or result.subtype}"
        )
    if result.is_error or result.subtype != "success":
        why = "; ".join(result.errors or ()) or result.result or result.subtype
        return ended(PieceEnding.FAILED, why)
    if hearing.gave_up:
        return ended(PieceEnding.FAILED, hearing.gave_up)
    report = report_of(piece, hearing)
    return PieceEnded(item=piece.item, ending=PieceEnding.DONE, detail=report, asked=hearing.asks)
