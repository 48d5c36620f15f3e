"""The agent that is no model: it runs the plan's own blocks (DESIGN 7).

A piece's scripts are run in order by ``bash -eu``, each from a file outside the tree, so that a script may
be of any length and its error messages name a file and a line. The first that fails ends the piece. The
agent knows nothing of tasks' states and believes nothing: what a script prints is passed on as it comes, tags in it
too, and the exit code alone says whether the piece is done.

A script that fails is FAILED. One that was killed or ran out of time is LOST: it has not said anything. If
the plan has no script there is nothing to run (UNPLAYABLE). A script hears nothing while it runs: it cannot be steered.
"""

import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from musician.agents.hearing import Hearing
from musician.agents.port import AgentSession, Piece, PieceKind, Stage, Tell, out_of_time
from musician.processes.output import one_line
from musician.processes.scratch import ScratchFolder
from musician.processes.spawn import run_program
from musician.protocol.musician.inputs import PieceEnded, PieceEnding
from musician.protocol.values import replace

MAX_FEEDBACK_BYTES = 32 * 1024
"""In $MUSICIAN_FEEDBACK (the kernel takes 128 KiB); $MUSICIAN_FEEDBACK_FILE names a file with all of it."""

_MAX_DETAIL_CHARS = 300
_KILLED = {
    128 + number: number.name for number in (signal.SIGHUP, signal.SIGINT, signal.SIGKILL, signal.SIGTERM)
}
"""Exit codes of what somebody else ended; any other signal is the script's own failure."""

_MISSING = {
    PieceKind.REWORK: "the plan has no `rework` block for it",
    PieceKind.REVIEW: "the plan names no `reviewer`",
    PieceKind.ANSWER: "the plan names no `answerer`",
}


class ShellAgent:
    """Implements :class:`musician.agents.port.Agent`."""

    tells_price = True

    @asynccontextmanager
    async def open(self, stage: Stage) -> AsyncIterator[AgentSession]:
        yield _ShellSession(stage)


class _ShellSession:
    """Keeps nothing from piece to piece, so there is nothing to close or to resume."""

    token = ""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._playing = anyio.CancelScope()

    async def play(self, piece: Piece, tell: Tell) -> PieceEnded:
        if not piece.scripts:
            what = _MISSING.get(piece.kind, "the plan has no `run` block for it")
            return PieceEnded(item=piece.item, ending=PieceEnding.UNPLAYABLE, detail=what)
        with anyio.CancelScope() as self._playing:
            try:
                with ScratchFolder("play") as folder:
                    return await _Performance(piece, self._stage, tell, Path(folder)).play()
            except OSError as error:
                what = f"it could not be played: {error}"
                return PieceEnded(item=piece.item, ending=PieceEnding.LOST, detail=what)
        return PieceEnded(item=piece.item, ending=PieceEnding.STOPPED)

    async def steer(self, _text: str) -> bool:
        return False

    async def interrupt(self) -> None:
        self._playing.cancel()


class _Performance:
    """One piece being played."""

    def __init__(self, piece: Piece, stage: Stage, tell: Tell, folder: Path) -> None:
        self._piece, self._stage, self._folder = piece, stage, folder
        self._hearing = Hearing(tell)

    async def play(self) -> PieceEnded:
        env = _environment(self._piece, self._stage, self._folder)
        deadline_s = anyio.current_time() + self._piece.time_limit_s
        for number, script in enumerate(self._piece.scripts, start=1):
            failure = await self._run(number, script, env, deadline_s - anyio.current_time())
            if failure is not None:
                return replace(
                    failure, detail=one_line(f"block {number} {failure.detail}", _MAX_DETAIL_CHARS)
                )
        told = self._hearing.tail() if self._piece.kind is PieceKind.AGENT else ""
        return PieceEnded(item=self._piece.item, ending=PieceEnding.DONE, detail=told)

    async def _run(
        self, number: int, script: str, env: dict[str, str], time_limit_s: float
    ) -> PieceEnded | None:
        """Run a script; return None if it succeeded, else how the piece ends."""
        if time_limit_s <= 0:
            return out_of_time(self._piece)
        path = self._folder / f"block-{number}.sh"
        path.write_text(script, encoding="utf-8", errors="surrogateescape")
        self._hearing.last_words = ""
        ended = await run_program(
            ["bash", "-eu", str(path)],
            cwd=self._stage.tree,
            env=env,
            on_output=self._hearing.hear,
            time_limit_s=time_limit_s,
            on_process=self._stage.on_process,
        )
        await self._hearing.close()
        if ended.timed_out:
            return out_of_time(self._piece)
        if ended.returncode == 0:
            return None
        words = f": {self._hearing.last_words}" if self._hearing.last_words else ""
        if ended.returncode in _KILLED:
            ending, what = PieceEnding.LOST, f"was ended by {_KILLED[ended.returncode]}"
        else:
            ending, what = PieceEnding.FAILED, f"ended with exit code {ended.returncode}"
        return PieceEnded(item=self._piece.item, ending=ending, detail=what + words)


def _environment(piece: Piece, stage: Stage, folder: Path) -> dict[str, str]:
    """Return the whole environment of a script: ours, the stage's, what is played, and the feedback."""
    feedback = piece.feedback.replace("\0", "").encode("utf-8", "replace")
    path = folder / "feedback.txt"
    path.write_bytes(feedback)
    return {
        **os.environ,
        **stage.env,
        "MUSICIAN_ITEM": piece.item,
        "MUSICIAN_FEEDBACK": feedback[:MAX_FEEDBACK_BYTES].decode("utf-8", "ignore"),
        "MUSICIAN_FEEDBACK_FILE": str(path),
    }
