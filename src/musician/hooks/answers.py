"""The answers of hooks. A hook returns None or one of these; :func:`render` makes the single document (B06)."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Answer = dict[str, Any]

MOST_CONTEXT_CHARS = 9000
"""Of one text put into a conversation. The client writes longer ones to a file and shows their beginning."""


PLANNING = (
    "a session in plan mode can neither write nor run anything, and would hold the task in vain: leave plan mode"
    " (Shift+Tab), then claim it"
)
"""Why no task is claimed there."""


def additional_context(event: str, text: str) -> "Answer":
    """Say something to the model; it arrives with the program's authority, as ``system``."""
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": _bounded(text)}}


def deny(event: str, reason: str) -> "Answer":
    """Refuse a tool call; the model sees the reason."""
    return _permission(event, "deny", reason)


def allow(event: str, reason: str) -> "Answer":
    """Let a tool call through without asking anybody."""
    return _permission(event, "allow", reason)


def with_input(event: str, tool_input: "Mapping[str, object]") -> "Answer":
    """Have a tool called with this instead of what the model gave; whether it may be is left to the client."""
    return {"hookSpecificOutput": {"hookEventName": event, "updatedInput": dict(tool_input)}}


def block(reason: str) -> "Answer":
    """Do not let the client do what it is about to: stop, compact, take a prompt."""
    return {"decision": "block", "reason": _bounded(reason)}


def notice(text: str) -> "Answer":
    """Tell the person at the terminal; the model does not see it."""
    return {"systemMessage": _bounded(text)}


def render(answer: "Answer | None") -> bytes:
    """The bytes for standard output: none, or one JSON object. ASCII, so that no encoding can spoil it."""
    if answer is None:
        return b""
    import json

    return json.dumps(answer).encode("ascii") + b"\n"


def _permission(event: str, decision: str, reason: str) -> "Answer":
    return {
        "hookSpecificOutput": {
            "hookEventName": event,
            "permissionDecision": decision,
            "permissionDecisionReason": _bounded(reason),
        }
    }


def _bounded(text: str) -> str:
    return text if len(text) <= MOST_CONTEXT_CHARS else text[: MOST_CONTEXT_CHARS - 2] + " …"
