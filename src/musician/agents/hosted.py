"""Shared by agents that are programs speaking JSON, one document a line: Claude Code's client, and agents
over the Agent Client Protocol.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import psutil

from musician.agents.hearing import Hearing
from musician.agents.port import AgentEvent, Piece, PieceKind, Tell
from musician.processes.ending import end_newcomers
from musician.processes.identity import ProcessIdentity
from musician.processes.output import one_line
from musician.processes.sandbox import View
from musician.processes.spawn import Spoken
from musician.protocol.musician.inputs import ContextTold, PieceEnded, PieceEnding

MOST_MESSAGE_BYTES = 64 * 1024 * 1024
"""A line that is longer is no message: the conversation is at its end."""

OPEN_LIMIT_S = 60.0
"""From the start to a session; the slowest that was seen needs eight seconds on an idle machine."""

END_LIMIT_S = 2.0
_ENDING_GRACE_S = 0.3
_MOST_REPORT_CHARS = 200
_KEPT_ERROR_BYTES = 4096

_PERSONS = frozenset({401, 402, 403, 404})
"""Statuses that only a person can do something about."""
_PASSING = frozenset({408, 429})
_FIRST_SERVER_ERROR = 500


async def messages(program: Spoken) -> AsyncIterator[dict[str, Any]]:
    """Yield the program's messages; other lines are skipped, because a program may print to its output by
    mistake.
    """
    rest = bytearray()
    while (chunk := await program.read()) and len(rest) <= MOST_MESSAGE_BYTES:
        *ended, open_line = chunk.split(b"\n")
        for line in ended:
            message = _object(bytes(rest) + line)
            rest.clear()
            if message is not None:
                yield message
        rest += open_line


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


class Complaints:
    """What the program prints to standard error; the last of it says why it is gone."""

    def __init__(self, program: Spoken) -> None:
        self._program = program
        self._kept = b""

    @asynccontextmanager
    async def heard(self) -> AsyncIterator[None]:
        reading = asyncio.ensure_future(self._read())
        try:
            yield
        finally:
            reading.cancel()

    async def _read(self) -> None:
        while chunk := await self._program.read_error():
            self._kept = (self._kept + chunk)[-_KEPT_ERROR_BYTES:]

    async def last_words(self) -> str:
        code: int | None = None
        with anyio.move_on_after(END_LIMIT_S):
            code = await self._program.wait()
        said = self._kept.decode("utf-8", "replace").strip().splitlines()[-1:]
        how = "speaks no more" if code is None else f"ended with {code}"
        return f"its program {how}{''.join(f': {line}' for line in said)}"


OwnPlace = tuple[str, str, str]
"""Where an agent keeps something: the variable with the folder above, that folder below a home, the name."""


def own_folders(env: Mapping[str, str], *places: OwnPlace, sealed: Iterable[str] = ()) -> dict[Path, View]:
    """Return the folders that an agent keeps, created if missing.

    What is ``sealed`` in them its next session would run or trust, so it is read-only. A sandbox opens no path
    that does not exist.
    """
    found = [_own_path(env, place) for place in places]
    for folder in found:
        folder.mkdir(parents=True, exist_ok=True)
    return dict.fromkeys(found, View.WRITABLE) | {
        folder / name: View.READABLE for folder in found for name in sealed
    }


def leave_files(env: Mapping[str, str], files: Mapping[OwnPlace, str]) -> None:
    """Make the files of an agent's that are missing."""
    for place, text in files.items():
        path = _own_path(env, place)
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError), path.open("x", encoding="utf-8") as file:
            file.write(text)


def _own_path(env: Mapping[str, str], place: OwnPlace) -> Path:
    variable, above, name = place
    return Path(env.get(variable) or Path(env.get("HOME") or Path.home(), above), name)


class NoSession:
    """Stands in for a session that could not be opened: playing it tells why."""

    token = ""

    def __init__(self, ending: PieceEnding, detail: str) -> None:
        self._ending, self._detail = ending, detail

    async def play(self, piece: Piece, tell: Tell) -> PieceEnded:  # noqa: ARG002 - the port's
        return PieceEnded(item=piece.item, ending=self._ending, detail=self._detail)

    async def steer(self, _text: str) -> bool:
        return False

    async def interrupt(self) -> None:
        """Do nothing: nothing plays."""


def unmeasured(tell: Tell) -> Tell:
    """Return a ``tell`` that drops context readings: a model's own words, for it cannot measure, and a subagent's."""

    async def told(event: AgentEvent) -> None:
        if not isinstance(event, ContextTold):
            await tell(event)

    return told


def report_of(piece: Piece, hearing: Hearing) -> str:
    """Return what is kept of the text: all of a subagent's report, otherwise the last line."""
    return (
        hearing.tail() if piece.kind is PieceKind.AGENT else one_line(hearing.last_words, _MOST_REPORT_CHARS)
    )


def ending_of_status(status: int) -> PieceEnding:
    """Return what an error of a provider's means for a piece, by its HTTP status.

    404 is a model that the provider does not have. A request that is refused for what is in it is the piece's failure.
    """
    if status in _PERSONS:
        return PieceEnding.REFUSED
    is_limit = status in _PASSING or status >= _FIRST_SERVER_ERROR
    return PieceEnding.LIMITED if is_limit else PieceEnding.FAILED


async def end_what_came(identity: ProcessIdentity, known: Iterable[psutil.Process]) -> None:
    """End what the agent has left running, such as the shells of a turn that was cut off."""
    spared = frozenset(known)
    await anyio.to_thread.run_sync(lambda: end_newcomers(identity, spared, grace_s=_ENDING_GRACE_S))
