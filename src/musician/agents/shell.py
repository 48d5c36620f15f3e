"""The agent that is no model: it runs the plan's own blocks (DESIGN 7).

A piece's scripts are run in order by ``bash -eu``, each from a file outside the tree, so that a script may
be of any length and its error messages name a file and a line. The first that fails ends the piece. The
agent knows nothing of tasks' states and believes nothing: what a script prints is kept in the log, tags in
it are told as they come, and the exit code alone says whether the piece is done.

A script that fails has said no (FAILED). One that was killed or ran out of time has not said anything (LOST). Where
the plan has no script there is nothing to run (UNPLAYABLE).
"""

import os
import signal
from collections import deque
from pathlib import Path

import anyio

from musician.agents.port import Outcome, OutcomeKind, Piece, PieceKind, Stage
from musician.agents.tags import Line, LineReader
from musician.processes.output import OutputLog, one_line, printable
from musician.processes.scratch import ScratchFolder
from musician.processes.spawn import run_program

MAX_FEEDBACK_BYTES = 32 * 1024
"""In $MUSICIAN_FEEDBACK (the kernel takes 128 KiB); $MUSICIAN_FEEDBACK_FILE names a file with all of it."""

MAX_TAIL_LINES = 20
_MAX_TAIL_LINE_CHARS = 400
_MAX_DETAIL_CHARS = 300
_MAX_COMPLAINTS = 20
_KILLED = {
    128 + number: number.name for number in (signal.SIGHUP, signal.SIGINT, signal.SIGKILL, signal.SIGTERM)
}
"""Exit codes of what somebody else ended; any other signal is the script's own failure."""


_MISSING = {
    PieceKind.REWORK: "the plan has no `rework` block for it",
    PieceKind.REVIEW: "the plan names no `reviewer`",
}


class ShellAgent:
    """Implements :class:`musician.agents.port.Agent`. It keeps nothing from piece to piece."""

    async def play(self, piece: Piece, stage: Stage) -> Outcome:
        """Run the piece's scripts; cancelling ends them and everything they started."""
        if not piece.scripts:
            what = _MISSING.get(piece.kind, "the plan has no `run` block for it")
            return Outcome(kind=OutcomeKind.UNPLAYABLE, detail=what)
        try:
            with (
                OutputLog(stage.log) as log,
                ScratchFolder("play") as folder,
            ):
                log.remark(f"== {piece.label}: {one_line(piece.title, _MAX_DETAIL_CHARS)}")
                return await _Performance(piece, stage, log, Path(folder)).play()
        except OSError as error:
            return Outcome(kind=OutcomeKind.LOST, detail=f"it could not be played: {error}")


class _Performance:
    """One piece being played: what was heard so far."""

    def __init__(self, piece: Piece, stage: Stage, log: OutputLog, folder: Path) -> None:
        self._piece, self._stage, self._log, self._folder = piece, stage, log, folder
        self._reader = LineReader()
        self._tail: deque[str] = deque(maxlen=MAX_TAIL_LINES)
        self._last_words = ""
        self._complaints: list[str] = []

    async def play(self) -> Outcome:
        env = _environment(self._piece, self._stage, self._folder)
        deadline_s = anyio.current_time() + self._stage.time_limit_s
        for number, script in enumerate(self._piece.scripts, start=1):
            failure = await self._run(number, script, env, deadline_s - anyio.current_time())
            if failure is not None:
                kind, what = failure
                detail = one_line(f"block {number} {what}", _MAX_DETAIL_CHARS)
                return Outcome(kind=kind, detail=detail, tail=self._tail_text())
        return Outcome(kind=OutcomeKind.DONE, tail=self._tail_text())

    async def _run(
        self, number: int, script: str, env: dict[str, str], time_limit_s: float
    ) -> tuple[OutcomeKind, str] | None:
        """None if the script ended well, else what to make of it and what happened."""
        if time_limit_s <= 0:
            return self._out_of_time
        path = self._folder / f"block-{number}.sh"
        path.write_text(script, encoding="utf-8", errors="surrogateescape")
        self._last_words = ""
        ended = await run_program(
            ["bash", "-eu", str(path)],
            cwd=self._stage.tree,
            env=env,
            on_output=self._hear,
            time_limit_s=time_limit_s,
            on_process=self._stage.on_process,
        )
        await self._tell(self._reader.close())
        self._write_complaints()
        if ended.timed_out:
            return self._out_of_time
        if ended.returncode == 0:
            return None
        words = f": {self._last_words}" if self._last_words else ""
        if ended.returncode in _KILLED:
            return OutcomeKind.LOST, f"was ended by {_KILLED[ended.returncode]}{words}"
        return OutcomeKind.FAILED, f"ended with exit code {ended.returncode}{words}"

    @property
    def _out_of_time(self) -> tuple[OutcomeKind, str]:
        return OutcomeKind.LOST, f"ran out of time ({self._stage.time_limit_s:g} s for the piece)"

    async def _hear(self, data: bytes) -> None:
        self._log.write(data)
        await self._tell(self._reader.feed(data))

    async def _tell(self, lines: list[Line]) -> None:
        for line in lines:
            self._tail.append(line.text[:_MAX_TAIL_LINE_CHARS])
            if line.text and not line.is_tag:
                self._last_words = line.text
            if line.complaint is not None and len(self._complaints) < _MAX_COMPLAINTS:
                self._complaints.append(line.complaint)
            if line.event is not None:
                await self._stage.on_event(line.event)

    def _write_complaints(self) -> None:
        for complaint in self._complaints:
            self._log.remark(f"[musician: {complaint}]")
        self._complaints.clear()

    def _tail_text(self) -> str:
        return printable("\n".join(self._tail))


def _environment(piece: Piece, stage: Stage, folder: Path) -> dict[str, str]:
    """The whole environment of a script: ours, the stage's, and the feedback."""
    feedback = piece.feedback.replace("\0", "").encode("utf-8", "replace")
    path = folder / "feedback.txt"
    path.write_bytes(feedback)
    return {
        **os.environ,
        **stage.env,
        "MUSICIAN_FEEDBACK": feedback[:MAX_FEEDBACK_BYTES].decode("utf-8", "ignore"),
        "MUSICIAN_FEEDBACK_FILE": str(path),
    }
