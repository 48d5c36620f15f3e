"""What is heard of an agent that plays: the text it prints, its tags among it, and the log that keeps it."""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from musician.agents.port import AgentEvent, Complained, GaveUp, Piece, Said, Tell, ToolUsed
from musician.agents.tags import Line, LineReader
from musician.processes.output import OutputLog, one_line, printable

MAX_TAIL_LINES = 20
_MAX_TAIL_LINE_CHARS = 400
_MAX_TITLE_CHARS = 300
_MAX_COMPLAINTS = 20


class Hearing:
    """Text in, events out. ``last_words`` is the last line that says something and is no tag.

    ``gave_up`` is why the piece cannot be done, "" where nothing says so.
    """

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._reader = LineReader()
        self._tail: deque[str] = deque(maxlen=MAX_TAIL_LINES)
        self._complaints: list[str] = []
        self.last_words = ""
        self.gave_up = ""

    async def hear(self, data: bytes) -> None:
        await self._tell(Said(data=data))
        await self._read(self._reader.feed(data))

    async def close(self) -> None:
        """The text is at an end: what is wrong with it is said after it, within bounds."""
        await self._read(self._reader.close())
        complaints, self._complaints = self._complaints, []
        for complaint in complaints:
            await self._tell(Complained(text=complaint))

    def tail(self) -> str:
        """The last lines."""
        return printable("\n".join(self._tail))

    async def _read(self, lines: list[Line]) -> None:
        for line in lines:
            self._tail.append(line.text[:_MAX_TAIL_LINE_CHARS])
            if line.text and not line.is_tag:
                self.last_words = line.text
            if line.complaint is not None and len(self._complaints) < _MAX_COMPLAINTS:
                self._complaints.append(line.complaint)
            match line.event:
                case None:
                    pass
                case GaveUp(text=text):
                    self.gave_up = text
                case event:
                    await self._tell(event)


@contextmanager
def logged(path: Path, piece: Piece, tell: Tell) -> Iterator[Tell]:
    """A ``tell`` that keeps in the log at ``path`` what is only to be read, and passes on the rest."""
    with OutputLog(path) as log:
        log.remark(f"== {piece.item}: {one_line(piece.title, _MAX_TITLE_CHARS)}")

        async def keep(event: AgentEvent) -> None:
            match event:
                case Said(data=data):
                    log.write(data)
                case ToolUsed(name=name, what=what):
                    log.remark(f"[{one_line(f'{name}: {what}', _MAX_TITLE_CHARS)}]")
                case Complained(text=text):
                    log.remark(f"[musician: {text}]")
                case _:
                    await tell(event)

        yield keep
