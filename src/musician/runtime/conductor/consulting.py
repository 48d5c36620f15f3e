"""Asking an agent about a task: a fresh session in a scratch clone, bounded in time.

The clone has the task's history and shares the repository's objects; whatever the agent does there is thrown away, and
the task's own tree is never touched. The agent is one behind the same port as those that play, so that a model can
take the shell agent's place.
"""

import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import anyio
from anyio.to_thread import run_sync

from musician import service
from musician.agents import port
from musician.agents.hearing import kept, plain
from musician.plans.model import TaskSpec
from musician.processes.output import one_line
from musician.processes.redaction import Redactor
from musician.processes.scratch import ScratchFolder
from musician.processes.transcript import Kind, Transcript
from musician.protocol.errors import MusicianError
from musician.protocol.musician.inputs import PieceEnded, PieceEnding
from musician.protocol.spending import Usage
from musician.protocol.values import dataclass
from musician.runtime.meter import Meter
from musician.runtime.permission import refusal_in
from musician.runtime.plantrees import PlanTrees
from musician.runtime.provider import Provider
from musician.runtime.tasks import raising_one
from musician.runtime.verifying import nobody_records, python_environment
from musician.runtime.world import World
from musician.trees.root import Root

REVIEWER = "reviewer"
"""Whose session it is, where one is named."""

_MOST_TROUBLE_CHARS = 500


class Parked(Exception):  # it is no fault
    """There were no means for an opinion, or its provider gave nothing: it is asked anew when there are, or it does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Consultation:
    """Where a session is asked, and by whose leave. What it uses is the task's, as ``item``."""

    root: Root
    trees: PlanTrees
    agent: str
    provider: Provider
    limit_s: float
    """The first pause for a limit that says nothing of its end."""
    meter: Meter
    item: str
    world: World

    async def ask(
        self,
        task: TaskSpec,
        piece: port.Piece,
        tell: port.Tell,
        *,
        tree_id: str | None,
        files: Mapping[str, tuple[str, str]],
        env: Mapping[str, str],
        log: Path,
    ) -> str:
        """Have it play ``piece``; "" if that came to its end, otherwise what kept it from it.

        :class:`Parked` if that was a ceiling, or its provider.
        ``files`` are what it reads besides the tree: a file's name and text, by the variable that says where it is.
        """
        if await self.provider.leave_to_ask() > 0:
            raise Parked
        try:
            folder = await run_sync(ScratchFolder, "review")
            try:
                place = Path(folder.name).resolve()
                tree, stopped = place / "tree", anyio.Event()
                base = await run_sync(partial(self.trees.lay_out, task.task_id, tree_id, at=tree))
                found = await run_sync(_write, place, files)
                stage = port.Stage(
                    tree=tree,
                    env={
                        **env,
                        **found,
                        "MUSICIAN_TASK": task.task_id,
                        "MUSICIAN_BASE": base,
                        "MUSICIAN_TREE": str(tree),
                        **python_environment(),
                    },
                    on_process=nobody_records,
                    may=partial(self._may, tree, stopped),
                )
                with (
                    Transcript(log, Redactor({**os.environ, **stage.env})) as transcript,
                    self.world.sandboxed(self.root, task, stage.tree),
                ):
                    async with (
                        self.world.agent(self.agent).open(stage) as session,
                        stopping(session, stopped) as halt,
                    ):
                        tell = self.provider.proving(tell)
                        hear = kept(transcript, piece, partial(self._hear, tell, halt))
                        async with self.meter.running(halt):
                            ended = await session.play(piece, hear)
                    transcript.write(Kind.ENDED, **plain(ended))
            finally:
                with anyio.CancelScope(shield=True):
                    await run_sync(folder.cleanup)
        except (MusicianError, OSError) as error:
            return one_line(str(error), _MOST_TROUBLE_CHARS)
        if ended.ending is not PieceEnding.DONE and self.meter.reached is not None:
            raise Parked
        if await run_sync(self._is_given_nothing, task, await self.provider.told(ended)):
            raise Parked
        return "" if ended.ending is PieceEnding.DONE else ended.detail or ended.ending

    def _is_given_nothing(self, task: TaskSpec, ended: PieceEnded) -> bool:
        """Write down for all on its account what its provider does not give, if that ended it."""
        store, account = self.provider.store, self.provider.account
        match ended.ending:
            case PieceEnding.LIMITED:
                service.limit_account(store, account, said_s=ended.wait_s, own_s=self.limit_s)
            case PieceEnding.REFUSED:
                service.refuse_account(store, account, task.task_id, ended.detail or "it says no more")
            case _:
                return False
        return True

    async def _hear(self, tell: port.Tell, halt: Callable[[], None], event: port.AgentEvent) -> None:
        if not isinstance(event, Usage):
            await tell(event)
            return
        await self.meter.used(self.item, event)
        if await self.meter.look():
            halt()

    async def _may(self, tree: Path, stopped: anyio.Event, call: port.ToolCall) -> str:
        """It may what a musician may, in a tree that is thrown away."""
        if self.meter.reached is not None:  # were it answered before it is stopped, its model would go on
            await stopped.wait()
            return self.meter.reached.text
        refusal = await run_sync(partial(refusal_in, self.root, tree, call, session=REVIEWER))
        return "" if refusal is None else str(refusal)


@asynccontextmanager
async def stopping(session: port.AgentSession, stopped: anyio.Event) -> AsyncIterator[Callable[[], None]]:
    """Yield what stops the session's piece; ``stopped`` is set once the session was told."""

    async def stop() -> None:
        await session.interrupt()
        stopped.set()

    def halt() -> None:
        group.start_soon(stop)

    with raising_one():
        async with anyio.create_task_group() as group:
            yield halt
            group.cancel_scope.cancel()


def _write(place: Path, files: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    for name, body in files.values():
        (place / name).write_text(body + "\n", encoding="utf-8", errors="replace")
    return {variable: str(place / name) for variable, (name, _) in files.items()}
