"""Reading transcripts (``processes/transcript.py``): those of a task's sessions, and of the agents that were asked to
review it or to answer it, as one story in the order of time, live if wanted.

What is being written, or was torn by a crash, is no line yet and is read when it has become one; what is no event is
passed over. A reader never fails because of what is in a file.
"""

import heapq
import json
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from musician import service
from musician.processes.transcript import Kind
from musician.protocol.errors import BadField
from musician.protocol.states import State
from musician.protocol.values import dataclass
from musician.store.port import Store
from musician.store.rows import SessionRow
from musician.trees.root import Root

LOOK_S = 0.2
"""How long a line may have stood in the file before who follows sees it."""
LATE_S = 3.0
"""How late after its claim a session may begin its transcript, and after its end write the last line."""

_LATE_LOOKS = round(LATE_S / LOOK_S)
_END_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One line. ``kind`` is a :class:`Kind`, or that of a program newer than this one."""

    seq: int
    at: str
    kind: str
    piece: str
    said: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Speaker:
    """Whose transcript it is: a session's, or that of an agent that was ``asked`` about a message (``review 12``)."""

    task_id: str
    session: SessionRow | None = None
    asked: str = ""


Heard = tuple[Speaker, Event | None]
"""None stands for a session without a transcript."""


class Reading:
    """One file, from its beginning on; each call of :meth:`fresh` goes on where the last has stopped."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.is_at_end = False
        """Its session has ended, and said so."""
        self._offset = 0

    def fresh(self) -> Iterator[Event]:
        with suppress(OSError), self.path.open("rb") as file:
            file.seek(self._offset)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self._offset += len(line)
                event = read_event(line)
                if event is not None:
                    self.is_at_end = event.kind == Kind.END
                    yield event


def read_event(line: bytes) -> Event | None:
    """None for what is no event."""
    try:
        found: Any = json.loads(line)
        match found:
            case {"seq": int(seq), "at": str(at), "kind": str(kind), **rest}:
                said = {str(name): value for name, value in rest.items() if name != "piece"}
                return Event(seq=seq, at=at, kind=kind, piece=str(found.get("piece", "")), said=said)
    except (ValueError, RecursionError):
        pass
    return None


def follow(
    store: Store, root: Root, task_id: str, *, session_id: str | None = None, live: bool = False
) -> Iterator[Heard]:
    """All that a task's sessions, and the agents asked about them, said and did; or one session's part of it.

    ``live``: to the end of the task, or of that one session. :class:`UnknownTask`; :class:`BadField` for a session
    that is none of its.
    """
    reader = Reader(root, task_id)
    looks: Counter[int] = Counter()  # by session; 0 counts those after the last session's end
    with store.listen(task_id) as ear:
        while True:
            view = service.task_view(store, task_id)
            sessions = [each for each in view.sessions if session_id in (None, each.session_id)]
            if session_id is not None and not sessions:
                raise BadField(
                    field="session", value=session_id, reason=f"no session of {task_id} has this id"
                )
            is_over = view.row.state == State.COMPLETE or session_id is not None
            looks[0] += is_over and all(row.ended_at is not None for row in sessions)
            is_said = any(map(reader.has_ended, sessions[-1:]))
            is_last_look = not live or looks[0] > _LATE_LOOKS or (looks[0] and is_said)
            looks.update(row.claim_epoch for row in sessions)
            late = {
                row.claim_epoch
                for row in sessions
                if live and row.ended_at is None and looks[row.claim_epoch] < _LATE_LOOKS
            }
            yield from reader.fresh(sessions, late=late, with_asked=session_id is None)
            if is_last_look:
                return
            ear.wait(LOOK_S)


_Timed = tuple[str, Speaker, Event | None]


class Reader:
    """Reads a task's transcripts on and on: each call of :meth:`fresh` tells what none before has told."""

    def __init__(self, root: Root, task_id: str) -> None:
        self._root, self._task_id = root, task_id
        self._readings: dict[Path, tuple[Speaker, Reading]] = {}

    def fresh(
        self, sessions: Iterable[SessionRow], *, late: Container[int] = (), with_asked: bool = True
    ) -> Iterator[Heard]:
        """``late`` are the claims whose transcript may still be begun."""
        begun = [each for row in sessions for each in self._begun(row, is_late=row.claim_epoch in late)]
        if with_asked:
            for path in self._root.asked_transcripts(self._task_id):
                speaker = Speaker(task_id=self._task_id, asked=path.stem.replace(".", " "))
                self._readings.setdefault(path, (speaker, Reading(path)))
        # All are read before any is shown, or their lines would be out of order.
        fresh = [
            [(event.at, speaker, event) for event in reading.fresh()]
            for speaker, reading in self._readings.values()
        ]
        for _, speaker, event in heapq.merge(begun, *fresh, key=lambda each: each[0]):
            yield speaker, event

    def has_ended(self, row: SessionRow) -> bool:
        """Whether the transcript of this session was read to its end."""
        return (found := self._readings.get(self._path(row))) is not None and found[1].is_at_end

    def _begun(self, row: SessionRow, *, is_late: bool) -> Iterator[_Timed]:
        path = self._path(row)
        is_there = path.exists()
        if path not in self._readings and (is_there or not is_late):
            speaker = Speaker(task_id=row.task_id, session=row)
            self._readings[path] = speaker, Reading(path)
            if not is_there:
                yield row.started_at.replace(" ", "T"), speaker, None

    def _path(self, row: SessionRow) -> Path:
        return self._root.transcript(row.task_id, row.claim_epoch, row.session_id)


def sizes_of(root: Root, task_id: str) -> tuple[int, ...]:
    """Return what is another value as soon as there is more to read."""
    found = []
    for path in sorted(root.transcripts(task_id)):
        with suppress(OSError):
            found.append(path.stat().st_size)
    return tuple(found)


def end_of_text(path: Path, most_chars: int) -> str | None:
    """What was last said, or answered to a tool, in the newest piece; None where nothing was, or checks came later."""
    said: list[str] = []
    with suppress(OSError), path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _END_BYTES))
        for event in filter(None, map(read_event, file)):
            if event.kind in (Kind.PROMPT, Kind.VERIFICATION):
                said.clear()
            elif event.kind in (Kind.TEXT, Kind.TOOL_RESULT):
                said.append(str(event.said.get("text", "")))
    return "".join(said)[-most_chars:] or None
