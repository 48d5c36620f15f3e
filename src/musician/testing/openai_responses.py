"""OpenAI's Responses API, which Codex speaks."""

import json
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from musician.testing.dialect import Dialect, Document, joined, result_block, texts, use_block
from musician.testing.script import Reply, ScriptedFailure, ToolUse

_OWN_REQUEST = "This is an app-generated request"
"""The client asks for itself, and offers its tools all the same."""


def _read(body: Document) -> Document:
    messages = joined([spoken for item in body["input"] if (spoken := _spoken(item)) is not None])
    last = messages[-1]["content"][-1] if messages else {}
    is_own = str(last.get("text", "")).startswith(_OWN_REQUEST)
    return {
        "model": body["model"],
        "stream": body.get("stream"),
        "system": body.get("instructions", ""),
        "messages": messages,
        "tools": [] if is_own else [tool for tool in body.get("tools", ()) if "name" in tool],
    }


def _spoken(item: Document) -> tuple[str, list[Document]] | None:
    match item:
        case {"type": "message", "role": "assistant"}:
            return "assistant", texts(item["content"])
        case {"type": "message"} | {"role": "user"}:
            return "user", texts(item["content"])
        case {"type": "function_call", "call_id": number, "name": name}:
            return "assistant", [use_block(number, name, json.loads(item["arguments"]))]
        case {"type": "custom_tool_call", "call_id": number, "name": name}:
            return "assistant", [use_block(number, name, {"input": item["input"]})]
        case {"type": "function_call_output" | "custom_tool_call_output", "call_id": number}:
            return "user", [result_block(number, item["output"])]
    return None


def _body(reply: Reply, *, number: int, asked: Mapping[str, Any]) -> Document:
    plain = {tool["name"] for tool in asked.get("tools", ()) if tool.get("type") == "custom"}
    words = {"type": "output_text", "text": reply.text, "annotations": []}
    said = {"type": "message", "id": f"msg_{number}", "role": "assistant", "content": [words]}
    items = [said] if reply.text else []
    items += [_use(use, f"call_{number:04d}_{at}", plain) for at, use in enumerate(reply.uses)]
    usage = reply.usage
    read = usage.context
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 0,
        "model": asked["model"],
        "status": "completed",
        "output": [{**item, "status": "completed"} for item in items],
        "usage": {
            "input_tokens": read,
            "input_tokens_details": {"cached_tokens": usage.cache_read},
            "output_tokens": usage.output,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": read + usage.output,
        },
    }


def _use(use: ToolUse, number: str, plain: set[str]) -> Document:
    """Return a tool call; a plain-text tool gets its one input unchanged."""
    number = use.id or number
    if use.name in plain:
        return {
            "type": "custom_tool_call",
            "id": f"ctc_{number}",
            "call_id": number,
            "name": use.name,
            "input": use.input["input"],
        }
    arguments = json.dumps(dict(use.input))
    return {
        "type": "function_call",
        "id": f"fc_{number}",
        "call_id": number,
        "name": use.name,
        "arguments": arguments,
    }


def _events(body: Document) -> Iterator[bytes]:
    numbers = count()

    def event(kind: str, **fields: Any) -> bytes:
        document = {"type": kind, "sequence_number": next(numbers), **fields}
        return f"event: {kind}\ndata: {json.dumps(document)}\n\n".encode()

    begun = {**body, "status": "in_progress", "output": [], "usage": None}
    yield event("response.created", response=begun)
    for at, item in enumerate(body["output"]):
        is_said = item["type"] == "message"
        added = {**item, "content": []} if is_said else item
        yield event("response.output_item.added", output_index=at, item=added)
        if is_said:
            text = item["content"][0]["text"]
            where = {"item_id": item["id"], "output_index": at, "content_index": 0}
            yield event("response.output_text.delta", delta=text, **where)
        yield event("response.output_item.done", output_index=at, item=item)
    yield event("response.completed", response=body)


def failure(failure: ScriptedFailure) -> Document:
    """Return an error document, the same in both of OpenAI's APIs."""
    return {"error": {"type": failure.kind, "code": failure.kind, "message": failure.message}}


RESPONSES = Dialect(read=_read, body=_body, events=_events, failure=failure)
