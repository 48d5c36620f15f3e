"""Steps in the Messages API's own form: one JSON document, or the events of a stream."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from musician.testing.dialect import Dialect, texts, use_block
from musician.testing.script import Reply, ScriptedFailure


def message_body(reply: Reply, *, number: int, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the whole message. Ids follow from the request's number."""
    uses = [
        use_block(each.id or f"toolu_{number:04d}_{at}", each.name, dict(each.input))
        for at, each in enumerate(reply.uses)
    ]
    return {
        "id": f"msg_{number:04d}",
        "type": "message",
        "role": "assistant",
        "model": asked["model"],
        "content": [*texts(reply.text), *uses],
        "stop_reason": reply.stop_reason,
        "stop_sequence": None,
        "usage": reply.usage.as_json(),
    }


def failure_body(failure: ScriptedFailure) -> dict[str, Any]:
    """Return an error document."""
    return {"type": "error", "error": {"type": failure.kind, "message": failure.message}}


def events(message: dict[str, Any]) -> Iterator[bytes]:
    """Yield the same message as a stream: each item is one server-sent event."""
    yield _event("message_start", message={**message, "content": [], "stop_reason": None})
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield _event("content_block_start", index=index, content_block=empty)
        yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    yield _event(
        "message_delta",
        delta={"stop_reason": message["stop_reason"], "stop_sequence": None},
        usage={"output_tokens": message["usage"]["output_tokens"]},
    )
    yield _event("message_stop")


def _event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


MESSAGES = Dialect(read=lambda body: body, body=message_body, events=events, failure=failure_body)
