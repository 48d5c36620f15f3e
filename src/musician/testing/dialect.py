"""A provider's API, as far as a scripted model speaks it.

Scripts use the Messages API; every other API is translated from and to it.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from musician.protocol.values import dataclass
from musician.testing.script import Reply, ScriptedFailure

Document = dict[str, Any]


class Body(Protocol):
    def __call__(self, reply: Reply, *, number: int, asked: Mapping[str, Any]) -> Document:
        """Return the whole answer to a request, in the API's own format."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    read: Callable[[Document], Document]
    """A request, as the Messages API would have it."""
    body: Body
    events: Callable[[Document], Iterator[bytes]]
    """The same answer, streamed."""
    failure: Callable[[ScriptedFailure], Document]


def text_block(text: str) -> Document:
    return {"type": "text", "text": text}


def texts(content: object) -> list[Document]:
    """Return text blocks from the content of OpenAI's APIs: a string, or parts of several types."""
    if isinstance(content, str):
        return [text_block(content)] if content else []
    parts = content if isinstance(content, list) else []
    return [text_block(part["text"]) for part in parts if isinstance(part, dict) and "text" in part]


def result_block(use_id: str, content: object) -> Document:
    return {"type": "tool_result", "tool_use_id": use_id, "content": texts(content)}


def use_block(use_id: str, name: str, given: object) -> Document:
    return {"type": "tool_use", "id": use_id, "name": name, "input": given}


def joined(messages: list[tuple[str, list[Document]]]) -> list[Document]:
    """Merge successive messages of the same role."""
    found: list[Document] = []
    for role, blocks in messages:
        if found and found[-1]["role"] == role:
            found[-1]["content"] += blocks
        else:
            found.append({"role": role, "content": list(blocks)})
    return found
