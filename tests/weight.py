"""The size of a conversation for its model: the bytes it reads, by their origin.

Bytes of content, not of JSON: escapes and braces of the envelope are no tokens. A tool's definition weighs its name,
description and schema; a call its name and arguments; an answer its text.
"""

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from musician.protocol.values import dataclass
from musician.testing.received import Message, Received

BYTES_A_TOKEN = 4
"""The usual estimate for English and code; no tokenizer is public for every model the client plays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """Bytes. ``tools``, ``calls`` and ``answers`` are by the tool's name; ``texts`` is all other text of messages."""

    system: int
    texts: int
    tools: Mapping[str, int]
    calls: Mapping[str, int]
    answers: Mapping[str, int]

    @property
    def total(self) -> int:
        """The sum of all."""
        parts = (self.tools, self.calls, self.answers)
        return self.system + self.texts + sum(sum(part.values()) for part in parts)

    def of(self, part: str, prefix: str) -> int:
        """Return the bytes of ``tools``, ``calls`` or ``answers`` for tools whose names begin with the
        prefix.
        """
        counted: Mapping[str, int] = getattr(self, part)
        return sum(size for name, size in counted.items() if name.startswith(prefix))


def weigh(received: Received) -> Weight:
    """Return the weight of the whole conversation in one request."""
    calls: Counter[str] = Counter()
    answers: Counter[str] = Counter()
    names: dict[str, str] = {}
    texts = 0
    for message in received.messages:
        texts += _bytes(message.text)
        for block in _uses(message):
            names[block["id"]] = block["name"]
            calls[block["name"]] += _bytes(block["name"]) + _bytes(_compact(block["input"]))
        for answer in message.answers:
            answers[names.get(answer.use_id, "")] += _bytes(answer.text)
    return Weight(
        system=_bytes(received.system_text),
        texts=texts,
        tools={name: _definition(tool) for name, tool in received.tools.items()},
        calls=dict(calls),
        answers=dict(answers),
    )


def tokens(size_bytes: int) -> int:
    """Return the estimated number of tokens, rounded up."""
    return -(-size_bytes // BYTES_A_TOKEN)


def _uses(message: Message) -> list[Mapping[str, Any]]:
    return [block for block in message.content if block.get("type") == "tool_use"]


def _definition(tool: Mapping[str, Any]) -> int:
    return sum(
        _bytes(part)
        for part in (tool["name"], tool.get("description", ""), _compact(tool.get("input_schema", {})))
    )


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
