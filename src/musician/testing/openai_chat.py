"""OpenAI's chat completions, which OpenCode and most others speak to any server."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from musician.testing.dialect import Dialect, Document, joined, result_block, texts, use_block
from musician.testing.openai_responses import failure
from musician.testing.script import Reply


def _read(body: Document) -> Document:
    spoken = [_spoken(each) for each in body["messages"] if each["role"] not in ("system", "developer")]
    system = [each["content"] for each in body["messages"] if each["role"] == "system"]
    return {
        "model": body["model"],
        "stream": body.get("stream"),
        "system": [block for content in system for block in texts(content)],
        "messages": joined(spoken),
        "tools": [tool["function"] for tool in body.get("tools") or ()],
    }


def _spoken(message: Document) -> tuple[str, list[Document]]:
    if message["role"] == "tool":
        return "user", [result_block(message["tool_call_id"], message["content"])]
    uses = [
        use_block(call["id"], call["function"]["name"], json.loads(call["function"]["arguments"] or "{}"))
        for call in message.get("tool_calls") or ()
    ]
    return message["role"], [*texts(message.get("content")), *uses]


def _body(reply: Reply, *, number: int, asked: Mapping[str, Any]) -> Document:
    calls = [
        {
            "index": at,
            "id": use.id or f"call_{number:04d}_{at}",
            "type": "function",
            "function": {"name": use.name, "arguments": json.dumps(dict(use.input))},
        }
        for at, use in enumerate(reply.uses)
    ]
    message = {"role": "assistant", "content": reply.text or None, **({"tool_calls": calls} if calls else {})}
    usage = reply.usage
    read = usage.context
    finish = "tool_calls" if calls else "stop"
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 0,
        "model": asked["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": read,
            "completion_tokens": usage.output,
            "total_tokens": read + usage.output,
        },
    }


def _events(body: Document) -> Iterator[bytes]:
    (choice,) = body["choices"]
    rest = {**body, "object": "chat.completion.chunk"}
    for delta, reason in ((choice["message"], None), ({}, choice["finish_reason"])):
        yield _event(
            {**rest, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}], "usage": None}
        )
    yield _event({**rest, "choices": []})
    yield b"data: [DONE]\n\n"


def _event(document: Document) -> bytes:
    return f"data: {json.dumps(document)}\n\n".encode()


CHAT = Dialect(read=_read, body=_body, events=_events, failure=failure)
