"""Translates an agent's requests for permission into the policy's terms, and the answers into the agent's
(D21).

The policy knows tools by their names in Claude Code. Options are chosen by their kind, never by their id, and
permission is given once only: after "always" the agent would not ask about later calls. A request that cannot
be read is refused (D36).
"""

import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from musician.agents.port import ToolCall

_TOOLS = {
    "execute": "Bash",
    "edit": "Edit",
    "delete": "Edit",
    "move": "Edit",
    "read": "Read",
    "search": "Grep",
    "fetch": "WebFetch",
}
_WRITING = frozenset({"edit", "delete", "move"})
_PATH_NAMES = ("file_path", "filePath", "filepath", "path")


def tool_name(call: Mapping[str, Any]) -> str:
    """Return the tool's name as the policy, and a person who reads the log, know it."""
    return _TOOLS.get(str(call.get("kind")), _title(call) or "a tool")


def purpose(call: Mapping[str, Any]) -> str:
    """Return what the tool is used for, in one line."""
    return _command(call) or ", ".join(_paths(call)) or _title(call)


PRINTED = "musician printed"
"""Of a call: what its command has printed so far; no name of the protocol's."""


def answer_of(call: Mapping[str, Any]) -> str:
    """Return the tool's result as text."""
    parts = [part.get("content") for part in _parts(call, "content")]
    texts = [str(part["text"]) for part in parts if isinstance(part, dict) and "text" in part]
    return "\n".join(texts) or call.get(PRINTED, "") or str(call.get("rawOutput") or "")


def asked_for(call: Mapping[str, Any]) -> tuple[tuple[ToolCall, ...], str]:
    """Return the calls that must all be allowed, and a reason to refuse without asking the policy, else "".

    ``call`` holds all that is known of it, from earlier updates and from the request.
    """
    kind = str(call.get("kind"))
    if kind == "switch_mode":
        return (), "the mode of the session is not the agent's to choose"
    if kind == "execute" or _command(call):
        command = _command(call)
        return ((ToolCall(name="Bash", given={"command": command}),), "") if command else ((), _unsaid("run"))
    if kind in _WRITING:
        paths = tuple(_paths(call))
        calls = tuple(ToolCall(name="Edit", given={"file_path": path}) for path in paths)
        return calls, "" if calls else _unsaid("write")
    given = call.get("rawInput")
    return (ToolCall(name=tool_name(call), given=given if isinstance(given, dict) else {}),), ""


def answer(options: Iterable[object], *, is_allowed: bool) -> dict[str, Any]:
    """Return the result of the request; cancelled if there is no option of the kind."""
    wanted = "allow_once" if is_allowed else "reject_once"
    for option in options:
        match option:
            case {"kind": kind, "optionId": str(chosen)} if kind == wanted:
                return {"outcome": {"outcome": "selected", "optionId": chosen}}
    return {"outcome": {"outcome": "cancelled"}}


def _unsaid(what: str) -> str:
    return f"it does not say what it would {what}"


def _title(call: Mapping[str, Any]) -> str:
    return str(call.get("title") or "")


def _command(call: Mapping[str, Any]) -> str:
    match call.get("rawInput"):
        case {"command": str(command)} | {"cmd": str(command)}:
            return command
        case {"command": [*words]} if words and all(isinstance(word, str) for word in words):
            return shlex.join(words)
    return ""


def _parts(call: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the documents of a list; none if it is no list."""
    found = call.get(name)
    return [part for part in found if isinstance(part, dict)] if isinstance(found, list) else []


def _paths(call: Mapping[str, Any]) -> Iterator[str]:
    """Yield every file that is named anywhere in the call, once."""
    given = call.get("rawInput")
    named = [given.get(name) for name in _PATH_NAMES] if isinstance(given, dict) else []
    changes = given.get("changes") if isinstance(given, dict) else None
    named += list(changes) if isinstance(changes, dict) else []
    named += [part.get("path") for name in ("locations", "content") for part in _parts(call, name)]
    yield from dict.fromkeys(path for path in named if isinstance(path, str) and path)
