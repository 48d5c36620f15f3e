"""An agent that plays a script, for tests: a program of its own that is spoken with, as real agents are.

For each item the script has acts, or a list of them for each time it is played (the last stands for all later ones)::

    ScriptedAgent(folder, {"step 1": [say("::context 40%"), run("echo x > x"), ask("Bash", command="git push")]})

An item that it does not name is done at once. The text it says is read for tags as a shell's output is.
"""

import json
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from musician.agents.hearing import Hearing
from musician.agents.hosted import Complaints, messages
from musician.agents.port import (
    AgentSession,
    Piece,
    PieceKind,
    Stage,
    Tell,
    ToolAnswered,
    ToolCall,
    ToolUsed,
    out_of_time,
)
from musician.own_python import own_python
from musician.processes.spawn import Spoken, speak_with
from musician.protocol.musician.inputs import PieceEnded, PieceEnding
from musician.protocol.spending import Usage
from musician.runtime.tasks import raising_one
from musician.testing import scripted_program

Act = list[Any]
"""Its name and what it is given: ``["say", "text"]``."""
Script = Mapping[str, Sequence[Act] | Sequence[Sequence[Act]]]


def say(text: str) -> Act:
    return ["say", text]


def run(command: str) -> Act:
    """Return an act that runs a command in the tree, and ignores how it ends."""
    return ["run", command]


def spend(*, model: str = "scripted", turns: int = 1, **used: float) -> Act:
    """Return an act that tells what it has used: fields of :class:`musician.protocol.spending.Usage`."""
    return ["spend", {"model": model, "turns": turns, **used}]


def ask(tool: str, **given: object) -> Act:
    """Return an act that asks for permission and says what the answer was."""
    return ["ask", tool, given]


def end(ending: PieceEnding, detail: str = "", wait_s: float | None = None) -> Act:
    return [ending.value, detail, wait_s]


HEAR: Act = ["hear"]
"""Wait to be steered, and say with what."""
RECALL: Act = ["recall"]
"""Say what the session was given to play so far."""
WAIT: Act = ["wait"]
"""Until it is interrupted."""
HANG: Act = ["hang"]
"""As :data:`WAIT`, and heed no interrupt."""
CRASH: Act = ["crash", 3]


class ScriptedAgent:
    """Implements :class:`musician.agents.port.Agent`; ``folder`` keeps the script and what its sessions remember."""

    tells_price = True

    def __init__(self, folder: Path, script: Script) -> None:
        self._script = write_script(folder, script)

    @asynccontextmanager
    async def open(self, stage: Stage) -> AsyncIterator[AgentSession]:
        argv = own_python(scripted_program.__file__, str(self._script))
        env = {**os.environ, **stage.env}
        with raising_one():
            async with (
                speak_with(argv, cwd=stage.tree, env=env, on_process=stage.on_process) as program,
                anyio.create_task_group() as group,
            ):
                session = _ScriptedSession(program, stage)
                async with session.complaints.heard():
                    with session.said, session.is_heard:
                        group.start_soon(session.read)
                        await session.begin()
                        yield session
                        group.cancel_scope.cancel()


def write_script(folder: Path, script: Script) -> Path:
    """Write the file that the program reads, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "script.json"
    playings = {item: acts if _is_each(acts) else [acts] for item, acts in script.items()}
    path.write_text(json.dumps(playings), encoding="utf-8")
    return path


def _is_each(acts: Sequence[Any]) -> bool:
    return bool(acts) and all(isinstance(act, list) for acts_of_one in acts for act in acts_of_one)


class _ScriptedSession:
    def __init__(self, program: Spoken, stage: Stage) -> None:
        self._program, self._stage = program, stage
        self._send, self.said = anyio.create_memory_object_stream[dict[str, Any]](100)
        self._steered, self.is_heard = anyio.create_memory_object_stream[bool](1)
        self.complaints = Complaints(program)
        self._calls = 0
        self.token = ""

    async def begin(self) -> None:
        await self._tell(open=self._stage.token)
        try:
            self.token = (await self.said.receive())["opened"]
        except anyio.EndOfStream as error:
            raise ConnectionError("the scripted program did not begin") from error

    async def play(self, piece: Piece, tell: Tell) -> PieceEnded:
        hearing = Hearing(tell)
        ended = None
        with anyio.move_on_after(piece.time_limit_s):
            try:
                ended = await self._played(piece, hearing, tell)
            except (anyio.EndOfStream, BrokenPipeError):
                what = await self.complaints.last_words()
                ended = PieceEnded(item=piece.item, ending=PieceEnding.LOST, detail=what)
        await hearing.close()
        return ended or out_of_time(piece)

    async def _played(self, piece: Piece, hearing: Hearing, tell: Tell) -> PieceEnded:
        await self._tell(play=piece.item)
        while True:
            match await self.said.receive():
                case {"said": str(text)}:
                    await hearing.hear(text.encode())
                case {"tool": [str(name), str(what), str(text), bool(failed)]}:
                    self._calls += 1
                    call = f"call-{self._calls}"
                    await tell(ToolUsed(name=name, what=what, given={"command": what}, call=call))
                    await tell(ToolAnswered(call=call, text=text, failed=failed))
                case {"used": dict(used)}:
                    await tell(Usage(**used))
                case {"ask": [str(name), dict(given)]}:
                    await self._tell(answer=await self._stage.may(ToolCall(name=name, given=given)))
                case {"ended": dict(ended)}:
                    return _ended(piece, hearing, ended)

    async def steer(self, text: str) -> bool:
        try:
            await self._tell(steer=text)
            return await self.is_heard.receive()
        except (anyio.EndOfStream, BrokenPipeError):
            return False

    async def interrupt(self) -> None:
        try:
            await self._tell(interrupt=True)
        except BrokenPipeError:
            return

    async def read(self) -> None:
        with self._send, self._steered:
            async for said in messages(self._program):
                if "steered" in said:
                    await self._steered.send(said["steered"])
                else:
                    await self._send.send(said)

    async def _tell(self, **what: object) -> None:
        await self._program.write(json.dumps(what).encode() + b"\n")


def _ended(piece: Piece, hearing: Hearing, ended: dict[str, Any]) -> PieceEnded:
    ending = PieceEnding(ended["ending"])
    is_told = ending is PieceEnding.DONE and piece.kind is PieceKind.AGENT
    detail = hearing.tail() if is_told else ended.get("detail", "")
    asked = hearing.asks if ending is PieceEnding.DONE else ""
    return PieceEnded(item=piece.item, ending=ending, detail=detail, wait_s=ended.get("wait_s"), asked=asked)
