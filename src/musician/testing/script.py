"""The steps of a scripted model: replies of text and tool uses, or failures of the API.

A script is a list of steps, taken one by one by the main conversation, or a function from the request to a step. A
step of a list may be such a function too, so that an answer can take up what the request has brought.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from musician.protocol.values import dataclass
from musician.testing.received import Received

_LEAST_FAILURE = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens, as the API reports them. ``context`` is the sum of the first three."""

    input: int = 1000
    cache_read: int = 0
    cache_creation: int = 0
    output: int = 20

    def __post_init__(self) -> None:
        if min(self.input, self.cache_read, self.cache_creation, self.output) < 0:
            raise ValueError("no usage is negative")

    @property
    def context(self) -> int:
        """What the model has read: all but its output."""
        return self.input + self.cache_read + self.cache_creation

    def as_json(self) -> dict[str, int]:
        """Return the usage as a message contains it."""
        return {
            "input_tokens": self.input,
            "cache_read_input_tokens": self.cache_read,
            "cache_creation_input_tokens": self.cache_creation,
            "output_tokens": self.output,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    """One call of a tool; ``id`` "" means: one that the server makes up."""

    name: str
    input: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One message of the model. ``hold``: answer only once it is set. ``delay_s``: how slow the model is."""

    text: str = ""
    uses: tuple[ToolUse, ...] = ()
    usage: Usage = Usage()
    hold: threading.Event | None = None
    delay_s: float = 0.0

    def __post_init__(self) -> None:
        if not self.text and not self.uses:
            raise ValueError("a reply says something or uses a tool")

    @property
    def stop_reason(self) -> str:
        """Why the model stopped."""
        return "tool_use" if self.uses else "end_turn"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedFailure:
    """An error of the API. The client asks again after 400 (with fewer features), 429 and 5xx; 402 ends its turn.

    ``headers`` are sent with it, such as ``x-should-retry: false``.
    """

    status: int = 402
    kind: str = "billing_error"
    message: str = "scripted"
    headers: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.status < _LEAST_FAILURE:
            raise ValueError(f"{self.status} is no failure")


Step = Reply | ScriptedFailure
Script = Sequence[Step | Callable[[Received], Step]] | Callable[[Received], Step]


def say(text: str, *, usage: Usage | None = None, hold: threading.Event | None = None) -> Reply:
    """Return a reply with which the model ends its turn."""
    return Reply(text=text, usage=usage or Usage(), hold=hold)


def use(
    name: str, *, usage: Usage | None = None, hold: threading.Event | None = None, **tool_input: Any
) -> Reply:
    """Return a reply that uses one tool. For more than one: ``Reply(uses=(…))``."""
    return Reply(uses=(ToolUse(name=name, input=tool_input),), usage=usage or Usage(), hold=hold)
