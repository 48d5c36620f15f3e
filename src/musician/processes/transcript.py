"""A transcript: what happened in one session, an event a line, each a JSON object.

Every line has ``seq`` (counts from 1), ``at`` (UTC), ``kind`` and, while one plays, ``piece``; the rest is the event's
own. A line is written with one call, so that whoever reads while it is written, or after a crash, meets whole lines
and at most one that is torn, the last. Only its owner may read it, and the group where git shares the repository;
secrets are taken out before anything is written.

What an agent says and does is bounded: after :data:`MOST_AGENT_BYTES`, which a line of kind ``cut`` says, only the end
of each piece's text is kept. What the program itself does is always written, and is little. A transcript is for
reading, nothing is decided by it; a disk that is full ends no work, and the next line says how many are missing.
"""

import codecs
import json
import math
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from musician.processes.redaction import Redactor, is_cut

MOST_AGENT_BYTES = 64 * 1024 * 1024
MOST_VALUE_CHARS = 4000
"""Of one text in an event: an argument of a tool, a tool's answer."""
MOST_TEXT_CHARS = 32_000
"""Of what an agent said, in one event."""
MOST_END_CHARS = 4000
"""Of a piece's text, where the agent has used up its share."""
_MOST_PARTS = 50
_MOST_DEPTH = 4
_LAST_BYTES = 256 * 1024
"""Longer than any line."""


class Kind(StrEnum):
    BEGIN = "begin"
    PROMPT = "prompt"
    TEXT = "text"
    TOOL_USE = "tool_use"
    TOOL_RESULT = "tool_result"
    USAGE = "usage"
    PERMISSION = "permission"
    TOLD = "told"
    """What the engine is told besides: a deviation, a question, a proposal."""
    REMARK = "remark"
    MESSAGE = "message"
    HEARD = "heard"
    """The agent has taken a message in."""
    VERDICT = "verdict"
    INTERRUPT = "interrupt"
    LIMIT = "limit"
    VERIFICATION = "verification"
    ENDED = "ended"
    """The piece."""
    END = "end"
    """The session."""
    CUT = "cut"


_OF_AGENTS = frozenset(
    {Kind.TEXT, Kind.TOOL_USE, Kind.TOOL_RESULT, Kind.USAGE, Kind.PERMISSION, Kind.TOLD, Kind.REMARK}
)


class Transcript:
    """Appends to ``path``, made with its folder; OSError if that cannot be."""

    def __init__(self, path: Path, redact: Redactor, *, most_bytes: int = MOST_AGENT_BYTES) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        is_shared = (
            path.parent.stat().st_mode & stat.S_IWGRP
        )  # as writable as the repository is for its group (``trees/sharing``)
        mode = 0o660 if is_shared else 0o600
        self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, mode)
        self._seq, self._is_torn = _end_of(self._file)
        self._redact = redact
        self._left_bytes, self._left_out, self._missing = most_bytes, 0, 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._open = self._end = ""
        """What is said of a line that goes on; the end of what is not kept."""
        self.piece = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._flush()
        os.close(self._file)

    def say(self, data: bytes) -> None:
        """Write what an agent said, line by line, so that no secret is split into two halves."""
        text = self._open + self._decoder.decode(data)
        lines, mark, self._open = text.rpartition("\n")
        if is_cut(lines) and len(text) <= MOST_TEXT_CHARS:
            self._open = text
        elif mark:
            self._keep_text(lines + mark)
        self._open = self._open[: 2 * MOST_TEXT_CHARS]

    def write(self, kind: Kind, /, **what: object) -> None:
        """Everything that was said before stands before it."""
        self._flush()
        self._keep(kind, _Bounded(self._redact).of(what))

    def _flush(self) -> None:
        said, self._open = self._open + self._decoder.decode(b"", final=True), ""
        if said:
            self._keep_text(said)
        if self._end:
            self._append(
                {"kind": Kind.TEXT, "piece": self.piece, "text": self._end, "left_out": self._left_out}
            )
            self._end, self._left_out = "", 0

    def _keep_text(self, text: str) -> None:
        clean = self._redact(text)
        for start in range(0, len(clean), MOST_TEXT_CHARS):
            self._keep(Kind.TEXT, {"text": clean[start : start + MOST_TEXT_CHARS]})

    def _keep(self, kind: Kind, what: Mapping[str, Any]) -> None:
        is_agents = kind in _OF_AGENTS
        if is_agents and self._left_bytes <= 0:
            self._end = (
                (self._end + what.get("text", ""))[-MOST_END_CHARS:] if kind is Kind.TEXT else self._end
            )
            self._left_out += 1
            return
        written = self._append({"kind": kind, "piece": self.piece, **what})
        if is_agents:
            self._left_bytes -= written
            if self._left_bytes <= 0:
                self._append({"kind": Kind.CUT, "text": "from here on only the end of each piece is kept"})

    def _append(self, what: Mapping[str, Any]) -> int:
        """How many bytes it took."""
        self._seq += 1
        at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        event = {"seq": self._seq, "at": at, **{name: value for name, value in what.items() if value != ""}}
        if self._missing:
            event["missing"] = self._missing
        line = json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"
        data = b"\n" + line if self._is_torn else line
        try:
            self._is_torn = os.write(self._file, data) < len(data)
        except OSError:
            self._missing += 1
            return 0
        self._missing = self._missing + 1 if self._is_torn else 0
        return len(line)


class _Bounded:
    """A value of somebody's as one that JSON has, of bounded size, without secrets."""

    def __init__(self, redact: Redactor) -> None:
        self._redact = redact
        self._left = MOST_TEXT_CHARS

    def of(self, value: Mapping[str, object]) -> dict[str, Any]:
        return {name: self._any(each, 0) for name, each in value.items() if each not in ("", None, (), {})}

    def _any(self, value: object, depth: int) -> Any:
        match value:
            case bool() | int() | None:
                return value
            case float():
                return value if math.isfinite(value) else None
            case Mapping() | list() | tuple() if depth == _MOST_DEPTH or self._left <= 0:
                return "…"
            case Mapping():
                parts = list(value.items())[:_MOST_PARTS]
                return {self._text(str(name)): self._any(each, depth + 1) for name, each in parts}
            case list() | tuple():
                return [self._any(each, depth + 1) for each in value[:_MOST_PARTS]]
        return self._text(str(value))

    def _text(self, text: str) -> str:
        most = min(MOST_VALUE_CHARS, self._left)
        clean = self._redact(text[: 2 * MOST_VALUE_CHARS])
        self._left -= min(len(clean), most)
        left_out = len(clean) - most + max(0, len(text) - 2 * MOST_VALUE_CHARS)
        return clean if left_out <= 0 else f"{clean[:most]}… ({left_out} characters more)"


def _end_of(file: int) -> tuple[int, bool]:
    """The last number in it, and whether its last line is torn."""
    size = os.fstat(file).st_size
    found = os.pread(file, _LAST_BYTES, max(0, size - _LAST_BYTES))
    for line in reversed(found.splitlines()):
        with suppress(ValueError, KeyError, TypeError):
            return int(json.loads(line)["seq"]), not found.endswith(b"\n")
    return 0, bool(found) and not found.endswith(b"\n")
