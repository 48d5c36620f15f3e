"""What a conversation weighs."""

from typing import Any

from musician.testing import Received
from tests.weight import tokens, weigh

TOOLS = [
    {"name": "mine", "description": "Grüßt.", "input_schema": {"type": "object"}},
    {"name": "others", "input_schema": {}},
]


def received(*messages: dict[str, Any]) -> Received:
    body = {"model": "m", "system": "be kind", "tools": TOOLS, "messages": list(messages)}
    return Received(number=1, at_s=0.0, body=body, size_bytes=0)


def test_every_byte_is_counted_where_it_comes_from() -> None:
    weight = weigh(
        received(
            {"role": "user", "content": "häh"},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "well"},
                    {"type": "tool_use", "id": "t1", "name": "mine", "input": {"a": "ö"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "t1",
                        "content": [{"type": "text", "text": "12345"}],
                    },
                    {"type": "text", "text": "\n"},
                ],
            },
        )
    )
    assert weight.system == 7
    assert weight.texts == 4 + 4 + 1
    assert weight.tools == {"mine": 4 + 8 + 17, "others": 6 + 2}
    assert weight.calls == {"mine": 4 + 10}
    assert weight.answers == {"mine": 5}
    assert weight.total == 7 + 9 + 29 + 8 + 14 + 5
    assert (weight.of("tools", "mi"), weight.of("answers", "no")) == (29, 0)


def test_tokens_are_estimated_upwards() -> None:
    assert [tokens(size) for size in (0, 1, 4, 5)] == [0, 1, 1, 2]
