"""The agent's session, kept open from piece to piece.

It is opened at the first piece, by an async task of its own, which closes it too. A session that is over (its
agent was lost, or did not heed an interrupt) is closed at once; the next piece is played in a new one, which
is given the token of the last.
"""

from collections.abc import Awaitable, Callable
from dataclasses import field

import anyio
import anyio.abc

from musician.agents.port import Agent, AgentSession, Piece, Stage, Tell
from musician.protocol.musician.inputs import PieceEnded, PieceEnding
from musician.protocol.values import dataclass, replace

INTERRUPT_LIMIT_S = 5.0
"""An agent that has not ended its piece by then is ended itself."""


@dataclass(slots=True, kw_only=True)
class Engaged:
    """All calls belong to one event loop; ``group`` lives as long as the session may be open."""

    agent: Agent
    stage: Callable[[], Stage]
    keep: Callable[[str], Awaitable[None]]
    """Is told the token of each session once that is known, and must have kept it before anything is played."""
    brief: Callable[[bool], Awaitable[str]]
    """What the first piece of a conversation begins with; whether the last conversation is gone on with."""
    token: str = ""
    """Of the session that plays or played last, or of the one to go on with."""
    told_to_stop: anyio.Event = field(default_factory=anyio.Event)
    """Set when the playing piece was interrupted, and its agent knows."""
    _session: AgentSession | None = None
    _leaving: anyio.Event = field(default_factory=anyio.Event)
    _over: anyio.Event | None = None
    """Set when the piece that plays is over; None while none plays."""
    _interrupted: bool = False
    _begins: bool | None = None
    """Nothing has been played in the session yet: False of one that goes on with a conversation."""

    async def play(self, piece: Piece, tell: Tell, group: anyio.abc.TaskGroup) -> PieceEnded:
        session = self._session or await group.start(self._hold)
        piece = await self._briefed(session, piece)
        over = self._over = anyio.Event()
        self.told_to_stop = anyio.Event()
        self._interrupted = is_over = False
        try:
            ended: PieceEnded = await session.play(piece, tell)
            is_over = ended.ending is not PieceEnding.LOST
            await self._keep(session)
        finally:
            self._over = None
            over.set()
            if not is_over:
                self._leave()
        if ended.ending is PieceEnding.STOPPED and not self._interrupted:
            return replace(ended, ending=PieceEnding.LOST, detail="it stopped, and nobody had told it to")
        return ended

    async def _briefed(self, session: AgentSession, piece: Piece) -> Piece:
        """Add the briefing to a piece, unless its agent has no conversation, as a shell."""
        begins, self._begins = self._begins, None
        if begins is None or not session.token:
            return piece
        return replace(piece, briefing=await self.brief(not begins))

    async def steer(self, text: str) -> bool:
        """Say something to the playing piece; False if it does not hear it."""
        return self._session is not None and self._over is not None and await self._session.steer(text)

    def interrupt(self, group: anyio.abc.TaskGroup, scope: anyio.CancelScope) -> None:
        """Make the playing piece end; cancel ``scope``, around it, if none plays or it does not react."""
        if self._over is None:
            scope.cancel()
        else:
            self._interrupted = True
            group.start_soon(self._interrupt, self._over, scope)

    async def _interrupt(self, over: anyio.Event, scope: anyio.CancelScope) -> None:
        with anyio.move_on_after(INTERRUPT_LIMIT_S):
            if self._session is not None and not over.is_set():
                await self._session.interrupt()
                self.told_to_stop.set()
            await over.wait()
        if not over.is_set():
            scope.cancel()

    async def _hold(self, *, task_status: anyio.abc.TaskStatus[AgentSession]) -> None:
        leaving = self._leaving = anyio.Event()
        wanted = self.token
        async with self.agent.open(replace(self.stage(), token=wanted)) as session:
            self._session = session
            self._begins = session.token != wanted
            await self._keep(session)
            task_status.started(session)
            await leaving.wait()

    async def _keep(self, session: AgentSession) -> None:
        if session.token != self.token:
            self.token = session.token
            await self.keep(self.token)

    def _leave(self) -> None:
        self._session = None
        self._leaving.set()
