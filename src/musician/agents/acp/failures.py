"""Why an agent's provider does not answer, as each adapter words it, and what that means for the work (D3).

Codex's adapter reports it beside the end of its turn, if it was told that we understand; others refuse the
prompt with an internal error whose data has a name. None of them says when a limit is over.

What Codex's adapter reports is a category, what may be done about it, and a title. A category covers more than one
thing: an overload and a refused request are both a *service*'s, a lost connection and an unpaid bill both a
*connection*'s. The title has the rest: the status, or the body of the answer.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from acp.exceptions import RequestError

from musician.agents.hosted import ending_of_status
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

_CATEGORIES = {
    "access": PieceEnding.REFUSED,
    "connection": PieceEnding.LIMITED,
    "limit": PieceEnding.LIMITED,
    "request": PieceEnding.FAILED,
    "service": PieceEnding.LIMITED,
}
"""Codex's. An invalid login is mostly reported as an error of the request instead."""
_STATUS = re.compile(r"unexpected status ([1-5][0-9]{2})\b")
_IS_ANOTHERS = "new_session"
"""An act that helps against a limit of the session's own, such as a full context."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderFailure:
    """``is_over``: the agent has given up; otherwise it tries again by itself.

    ``is_conversations``: it is about this conversation, which is full, say, and not to be gone on with.
    """

    ending: PieceEnding
    detail: str
    is_over: bool = True
    is_conversations: bool = False


def told_beside(meta: object) -> ProviderFailure | None:
    """Read the failure from ``_meta`` of a turn's end, or of an update; a warning of another kind is none."""
    match meta:
        case {"jetbrains": {"air": {"sessionFailure": {"category": str(category), **rest}}}}:
            title = str(rest.get("title") or category)
            if rest.get("severity") != "warning":
                ending = _ending(category, title, rest.get("actions"))
                is_conversations = category == "limit" and ending is PieceEnding.LOST
                return ProviderFailure(
                    ending=ending, detail=_detail(title), is_conversations=is_conversations
                )
            if category in _CATEGORIES:
                why = _detail(f"its provider does not answer ({category}): {title}")
                return ProviderFailure(ending=PieceEnding.LIMITED, detail=why, is_over=False)
    return None


def _ending(category: str, title: str, actions: object) -> PieceEnding:
    status = _STATUS.search(title)
    if status is not None:
        return ending_of_status(int(status[1]))
    if category == "limit" and isinstance(actions, list) and _IS_ANOTHERS in actions:
        return PieceEnding.LOST
    if category == "service" and _is_document(title):
        return PieceEnding.FAILED
    return _CATEGORIES.get(category, PieceEnding.LOST)


def _is_document(text: str) -> bool:
    """Whether it is the body with which a request was refused: what is said of a service itself is a sentence."""
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


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
