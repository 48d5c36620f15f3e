"""Takes in what a playing agent prints: text, the tags in it, and the transcript that keeps all of it."""

import re
from collections import deque
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from musician.agents.port import (
    AgentEvent,
    Complained,
    GaveUp,
    Output,
    Piece,
    Tell,
    ToolAnswered,
    ToolUsed,
)
from musician.agents.tags import Line, LineReader
from musician.processes.output import one_line, printable
from musician.processes.transcript import Kind, Transcript
from musician.protocol.musician.inputs import ContextTold, QuestionTold
from musician.protocol.spending import Usage

MAX_TAIL_LINES = 20
_MAX_TAIL_LINE_CHARS = 400
_MAX_COMPLAINTS = 20
_MAX_QUESTION_CHARS = 1000


class Hearing:
    """Text in, events out. ``last_words`` is the last line that is neither blank nor a tag.

    ``gave_up`` is why the piece cannot be done, "" if nothing said so.
    """

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._reader = LineReader()
        self._tail: deque[str] = deque(maxlen=MAX_TAIL_LINES)
        self._complaints: list[str] = []
        self.last_words = ""
        self.gave_up = ""
        self._asked = ""
        self._paragraph: list[str] = []
        self._is_new_paragraph = False

    async def hear(self, data: bytes) -> None:
        await self._tell(Output(data=data))
        await self._read(self._reader.feed(data))

    async def close(self) -> None:
        """End the text, and tell the complaints about it, within bounds."""
        await self._read(self._reader.close())
        complaints, self._complaints = self._complaints, []
        for complaint in complaints:
            await self._tell(Complained(text=complaint))

    def _note_question(self, line: Line) -> None:
        """Track the open question: later text takes it back, another tag does not. A paragraph ends with an
        empty line.
        """
        if isinstance(line.event, QuestionTold):
            self._asked = line.event.text
        elif not line.is_tag and line.text.strip():
            if self._is_new_paragraph:
                self._paragraph.clear()
            self._is_new_paragraph = False
            self._asked = ""
            self._paragraph = [*self._paragraph[1 - MAX_TAIL_LINES :], line.text[:_MAX_TAIL_LINE_CHARS]]
        elif not line.is_tag:
            self._is_new_paragraph = True

    def tail(self) -> str:
        """Return the last lines."""
        return printable("\n".join(self._tail))

    @property
    def asks(self) -> str:
        """Return the question the text ends with: a ``::question`` tag, or a last line with a sentence that
        asks.
        """
        if self._asked or not any(map(_ASKS.search, self._paragraph[-1:])):
            return self._asked
        return one_line(" ".join(self._paragraph), _MAX_QUESTION_CHARS)

    async def _read(self, lines: list[Line]) -> None:
        for line in lines:
            self._tail.append(line.text[:_MAX_TAIL_LINE_CHARS])
            if line.text and not line.is_tag:
                self.last_words = line.text
            self._note_question(line)
            if line.complaint is not None and len(self._complaints) < _MAX_COMPLAINTS:
                self._complaints.append(line.complaint)
            match line.event:
                case None:
                    pass
                case GaveUp(text=text):
                    self.gave_up = text
                case event:
                    await self._tell(event)


_ASKS = re.compile(r"""[?？](?=[\s"'`*_)]|$)""")

_KINDS: dict[type[object], Kind] = {
    ToolUsed: Kind.TOOL_USE,
    ToolAnswered: Kind.TOOL_RESULT,
    Complained: Kind.REMARK,
    ContextTold: Kind.USAGE,
    Usage: Kind.USAGE,
}
_ONLY_READ = ToolUsed | ToolAnswered | Complained


def kept(transcript: Transcript, piece: Piece, tell: Tell) -> Tell:
    """Return a ``tell`` that keeps every event in ``transcript``, and passes on those that are not only for
    readers.
    """
    transcript.piece = piece.item
    transcript.write(Kind.PROMPT, of=piece.kind, **plain(piece))

    async def keep(event: AgentEvent) -> None:
        if isinstance(event, Output):
            transcript.say(event.data)
            return
        kind = _KINDS.get(type(event), Kind.TOLD)
        name = {"what": type(event).__name__} if kind is Kind.TOLD else {}
        transcript.write(kind, **name, **plain(event))
        if not isinstance(event, _ONLY_READ):
            await tell(event)

    return keep


def plain(event: Any) -> dict[str, Any]:
    """Return an event's fields that are text or numbers, or made of them, without those that every line has
    already.
    """
    named = {field.name: getattr(event, field.name) for field in fields(event)}
    return {name: value for name, value in named.items() if name not in ("item", "kind") and _is_plain(value)}


def _is_plain(value: object) -> bool:
    if isinstance(value, tuple):
        return all(isinstance(each, str) for each in value)
    return isinstance(value, str | int | float | Mapping)
