"""Parses and checks the lines of a client.

A client waits for an answer to every request. So a line that is not a valid message becomes a JSON-RPC error, with the
request's id if one can be read. Lone surrogates, which occur in a model's text that was cut, are replaced: the rest of
the request is valid.
"""

import json
import re
from typing import Any, cast

_NO_JSON, _NO_REQUEST, _NO_PARAMETERS = -32700, -32600, -32602
_HALVES = re.compile("[\ud800-\udfff]")
_ID = re.compile(
    rb'^\s*\{\s*"jsonrpc"\s*:\s*"2.0"\s*,\s*"id"\s*:\s*(?P<first>\d{1,15}|"[^"\\]{1,99}")\s*,'
    rb'|"id"\s*:\s*(?P<last>\d{1,15}|"[^"\\]{1,99}")\s*\}\s*$'
)
"""Finds the id, where clients put it, in a line that is not JSON."""


MOST_DEPTH = 100
"""The deepest nesting of objects and lists. No tool's arguments need more."""


class Wrong(Exception):
    """The line is not a message that can be served. ``reply`` is the answer; None if the client expects none."""

    def __init__(self, code: int, text: str, *, id: object, is_awaited: bool = True) -> None:  # noqa: A002  # JSON-RPC's word
        super().__init__(text)
        self.reply = {"id": id, "error": {"code": code, "message": text}} if is_awaited else None


def checked(line: bytes) -> dict[str, Any]:
    """Parse a line. Raises :class:`Wrong` if it is not a message."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Wrong(
            _NO_JSON, f"this cannot be read as JSON: {type(error).__name__}", id=_id_in(line)
        ) from None
    _check(message)
    if line.count(b"[") + line.count(b"{") > MOST_DEPTH and _depth(message) > MOST_DEPTH:
        raise Wrong(_NO_REQUEST, "nested too deep", id=message.get("id"), is_awaited="id" in message)
    if b"\\ud" in line.lower() or b"\xed" in line:
        message = json.loads(_HALVES.sub("\ufffd", json.dumps(message, ensure_ascii=False)))
    return cast("dict[str, Any]", message)


def _check(message: Any) -> None:
    if not isinstance(message, dict):
        raise Wrong(_NO_REQUEST, "a message is one object", id=None)
    named = message.get("id")
    is_id = isinstance(named, (str, int)) and not isinstance(named, bool)
    if "method" not in message and is_id and ("result" in message or "error" in message):
        return
    problem = ""
    if message.get("jsonrpc") != "2.0":
        problem = "jsonrpc is 2.0"
    elif not isinstance(message.get("method"), str):
        problem = "a request names its method"
    elif "id" in message and not is_id:
        problem = "an id is a text or a whole number"
    if problem:
        raise Wrong(_NO_REQUEST, problem, id=named if is_id else None)
    if not isinstance(message.get("params", {}), dict):
        raise Wrong(_NO_PARAMETERS, "parameters are an object", id=named, is_awaited="id" in message)


def _depth(message: Any) -> int:
    depth, level = 0, [message]
    while level:
        depth += 1
        inner = (each.values() if isinstance(each, dict) else each for each in level)
        level = [part for parts in inner for part in parts if isinstance(part, (dict, list))]
    return depth


def _id_in(line: bytes) -> object:
    found = _ID.search(line)
    return None if found is None else json.loads(found["first"] or found["last"])
