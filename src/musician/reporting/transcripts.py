"""Reading transcripts (``processes/transcript.py``), those of a task's sessions one after the other, live if wanted.

What is being written, or was torn by a crash, is no line yet and is read when it has become one; what is no event is
passed over. A reader never fails because of what is in a file.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
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
) -> Iterator[tuple[SessionRow, Event | None]]:
    """Every event of a task's sessions, or of one, in order; None stands for a session without a transcript.

    ``live``: to the end of the task, or of that one session. :class:`UnknownTask`; :class:`BadField` for a session
    that is none of its.
    """
    readings: dict[int, Reading] = {}
    looks: Counter[int] = Counter()  # at each session; 0: after the end of the last
    with store.listen(task_id) as ear:
        while True:
            view = service.task_view(store, task_id)
            sessions = [each for each in view.sessions if session_id in (None, each.session_id)]
            if session_id is not None and not sessions:
                raise BadField(
                    field="session", value=session_id, reason=f"no session of {task_id} has this id"
                )
            for row in sessions:
                looks[row.claim_epoch] += 1
                is_late = live and row.ended_at is None and looks[row.claim_epoch] < _LATE_LOOKS
                yield from _fresh(readings, root, row, is_late=is_late)
            is_over = view.row.state == State.COMPLETE or session_id is not None
            if is_over and all(row.ended_at is not None for row in sessions):
                looks[0] += 1
                is_said = any(readings[row.claim_epoch].is_at_end for row in sessions[-1:])
                live = live and looks[0] < _LATE_LOOKS and not is_said
            if not live:
                return
            ear.wait(LOOK_S)


def _fresh(
    readings: dict[int, Reading], root: Root, row: SessionRow, *, is_late: bool
) -> Iterator[tuple[SessionRow, Event | None]]:
    """``is_late``: a transcript that is not there may still be begun."""
    reading = readings.get(row.claim_epoch)
    if reading is None:
        reading = Reading(root.transcript(row.task_id, row.claim_epoch, row.session_id))
        is_there = reading.path.exists()
        if not is_there and is_late:
            return
        readings[row.claim_epoch] = reading
        if not is_there:
            yield row, None
    for event in reading.fresh():
        yield row, event


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
