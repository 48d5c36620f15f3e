"""Why an agent's provider does not answer, as each adapter words it, and what that means for the work (D3).

Codex's adapter reports it beside the end of its turn, if it was told that we understand; others refuse the
prompt with an internal error whose data has a name. None of them says when a limit is over.
"""

from collections.abc import Mapping
from typing import Any

from acp.exceptions import RequestError

from musician.processes.output import one_line
from musician.protocol.musician.inputs import PieceEnding
from musician.protocol.values import dataclass

UNDERSTOOD: Mapping[str, Any] = {
    "jetbrains": {"air": {"version": 1, "capabilities": ["sessionFailure"]}},
    "terminal_output_delta": True,
}
"""Said at the start: without it Codex's adapter tells of a limit as if the model had said it, and keeps to itself what
a command printed."""

_AUTH_REQUIRED = -32000
_MOST_DETAIL_CHARS = 300

_ENDINGS = {
    # Codex's categories; an invalid login is reported as an error of the request instead
    "limit": PieceEnding.LIMITED,
    "connection": PieceEnding.LIMITED,
    # claude-agent-acp's kinds
    "rate_limit": PieceEnding.LIMITED,
    "overloaded": PieceEnding.LIMITED,
    "server_error": PieceEnding.LIMITED,
    "authentication_failed": PieceEnding.REFUSED,
    "billing_error": PieceEnding.REFUSED,
    # OpenCode's names; it retries temporary failures by itself, without a word
    "ProviderAuthError": PieceEnding.REFUSED,
    "APIError": PieceEnding.REFUSED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderFailure:
    """``is_over``: the agent has given up; otherwise it tries again by itself."""

    ending: PieceEnding
    detail: str
    is_over: bool = True


def told_beside(meta: object) -> ProviderFailure | None:
    """Read the failure from ``_meta`` of a turn's end, or of an update."""
    match meta:
        case {"jetbrains": {"air": {"sessionFailure": {"category": str(category), **rest}}}}:
            return ProviderFailure(
                ending=_ENDINGS.get(category, PieceEnding.LOST),
                detail=_detail(str(rest.get("title") or category)),
                is_over=rest.get("severity") != "warning",
            )
    return None


def of_refused_request(error: RequestError) -> ProviderFailure:
    """Read the failure from the error with which the agent answered a prompt, or the opening of a session."""
    match error.data:
        case {"errorKind": str(name)} | {"errorName": str(name)}:
            ending = _ENDINGS.get(name, PieceEnding.LOST)
        case _:
            ending = PieceEnding.REFUSED if error.code == _AUTH_REQUIRED else PieceEnding.LOST
    return ProviderFailure(ending=ending, detail=_detail(f"{error}{_more(error.data)}"))


def _more(data: object) -> str:
    match data:
        case {"message": str(text)} | {"details": str(text)}:
            return f": {text}"
    return ""


def _detail(text: str) -> str:
    return one_line(text, _MOST_DETAIL_CHARS)
