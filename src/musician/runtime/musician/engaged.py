"""The agent's session, kept open from piece to piece.

It is opened at the first piece, by an async task of its own, which closes it too. A session that is over (its
agent was lost, or did not heed an interrupt) is closed at once; the next piece is played in a new one, which
is given the token of the last.

A subagent's piece is played in a conversation of its own, so that what it reads fills the musician's no more than its
report does. One agent runs at a time: the musician's is closed meanwhile, and goes on with its token.
"""

from collections.abc import Awaitable, Callable
from dataclasses import field

import anyio
import anyio.abc

from musician.agents.hosted import unmeasured
from musician.agents.port import Agent, AgentSession, Piece, PieceKind, Stage, Tell
from musician.protocol.musician.inputs import PieceEnded, PieceEnding
from musician.protocol.values import dataclass, replace

INTERRUPT_LIMIT_S = 5.0
"""An agent that has not ended its piece by then is ended itself."""


@dataclass(slots=True, kw_only=True)
class Engaged:
    """All calls belong to one event loop; ``group`` lives as long as the session may be open."""

    agent: Agent
    stage: Callable[[bool], Stage]
    """Where it plays; whether it is a subagent that does."""
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
    _closed: anyio.Event = field(default_factory=anyio.Event)
    _is_apart: bool = False
    """The session is a subagent's: its token is not the task's."""
    _over: anyio.Event | None = None
    """Set when the piece that plays is over; None while none plays."""
    _interrupted: bool = False
    _said_apart: dict[str, None] = field(default_factory=dict)
    """What was said to subagents, and the musician has not heard."""
    _begins: bool | None = None
    """Nothing has been played in the session yet: False of one that goes on with a conversation."""

    async def play(self, piece: Piece, tell: Tell, group: anyio.abc.TaskGroup) -> PieceEnded:
        session = self._session or await group.start(self._hold)
        if piece.kind is not PieceKind.AGENT or not session.token:
            piece = self._with_said_apart(piece)
            return await self._play_in(session, await self._briefed(session, piece), tell)
        self._said_apart |= dict.fromkeys(filter(None, [piece.feedback]))
        await self.close()
        self._is_apart = True
        try:
            session = await group.start(self._hold)
            return await self._play_in(session, piece, unmeasured(tell))  # the budget is the musician's own
        finally:
            with anyio.CancelScope(shield=True):
                await self.close()
            self._is_apart = False

    async def _play_in(self, session: AgentSession, piece: Piece, tell: Tell) -> PieceEnded:
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

    def _with_said_apart(self, piece: Piece) -> Piece:
        """Add what a person, say, has said while a subagent played."""
        said, self._said_apart = self._said_apart, {}
        told = [f"Said while your subagent played:\n{text}" for text in said]
        return replace(piece, feedback="\n\n".join(filter(None, [*told, piece.feedback])))

    async def _briefed(self, session: AgentSession, piece: Piece) -> Piece:
        """Add the briefing to a piece, unless its agent has no conversation, as a shell."""
        begins, self._begins = self._begins, None
        if begins is None or not session.token:
            return piece
        return replace(piece, briefing=await self.brief(not begins))

    async def steer(self, text: str) -> bool:
        """Say something to the playing piece; False if it does not hear it, as no subagent does (D34)."""
        hears = self._session is not None and self._over is not None and not self._is_apart
        return hears and self._session is not None and await self._session.steer(text)

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
        leaving, closed = self._leaving, self._closed = anyio.Event(), anyio.Event()
        wanted = "" if self._is_apart else self.token
        try:
            async with self.agent.open(replace(self.stage(self._is_apart), token=wanted)) as session:
                self._session = session
                self._begins = session.token != wanted
                await self._keep(session)
                task_status.started(session)
                await leaving.wait()
        finally:
            closed.set()

    async def close(self) -> None:
        """End the session that is open, and wait for its end."""
        if self._session is not None:
            self._leave()
            await self._closed.wait()

    async def _keep(self, session: AgentSession) -> None:
        if session.token != self.token and not self._is_apart:
            self.token = session.token
            await self.keep(self.token)

    def _leave(self) -> None:
        self._session = None
        self._leaving.set()
