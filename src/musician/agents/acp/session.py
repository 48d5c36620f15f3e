"""Pieces played in one session of an agent.

Everything the agent sends while a piece plays goes through one queue: what it said before it asked for
permission is told before the request is answered, and all of it before the piece has ended. What it sends
while nothing plays is the history of a resumed session, or idle talk, and every request is refused then.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
import anyio.to_thread
from acp.exceptions import RequestError

from musician.agents.acp import permission
from musician.agents.acp.bill import Bill
from musician.agents.acp.connection import Document, Wire
from musician.agents.acp.context import ContextGauge
from musician.agents.acp.performance import Asked, Performance
from musician.agents.acp.profiles import Profile
from musician.agents.hosted import end_what_came
from musician.agents.port import Piece, Stage, Tell, out_of_time
from musician.processes.ending import members_of
from musician.processes.identity import ProcessIdentity
from musician.protocol.musician.inputs import PieceEnded, PieceEnding

_STEER_LIMIT_S = 5.0


class AcpSession:
    """Implements :class:`musician.agents.port.AgentSession`."""

    def __init__(self, profile: Profile, stage: Stage, last_words: Callable[[], Awaitable[str]]) -> None:
        self.token = ""
        self.is_steered_by_name = False
        """The agent has said at the start that it can be."""
        self.wire: Wire
        self.identity: ProcessIdentity
        self._profile, self._stage, self._last_words = profile, stage, last_words
        self._gauge = ContextGauge()
        self.bill = Bill()
        self._playing: Performance | None = None

    async def heard(self, method: str, params: Document) -> Any:
        """Handle a message of the agent's; called in the order in which they come."""
        match method, params:
            case "session/update", {"sessionId": self.token, "update": dict() as update}:
                told = self._gauge.measured(update)
                self.bill.updated(update, plays=self._playing is not None)
                if self._playing is not None:
                    self._playing.arrived((update, told))
            case "session/update", _:
                pass  # an update of another session
            case "session/request_permission", {"toolCall": dict() as call, "options": [*options]}:
                return permission.answer(options, is_allowed=await self._may(call))
            case _ if not method.startswith("_"):
                raise RequestError.method_not_found(method)
        return None

    async def _may(self, call: Mapping[str, Any]) -> bool:
        if self._playing is None:
            return False
        asked = Asked(call)
        self._playing.arrived(asked)
        await asked.is_answered.wait()
        return asked.is_allowed

    async def play(self, piece: Piece, tell: Tell) -> PieceEnded:
        known = await anyio.to_thread.run_sync(members_of, self.identity)
        playing = self._playing = Performance(
            piece,
            tell,
            wire=self.wire,
            session_id=self.token,
            may=self._stage.may,
            gauge=self._gauge,
            bill=self.bill,
        )
        ended = None
        try:
            with anyio.move_on_after(piece.time_limit_s):
                ended = await playing.play()
        except ConnectionError:
            ended = PieceEnded(item=piece.item, ending=PieceEnding.LOST, detail=await self._last_words())
            await playing.tell_usage()
        finally:
            self._playing = None
            playing.leave()
        await playing.close()
        if ended is None:
            await playing.tell_usage()
            return out_of_time(piece)
        if playing.leaves_conversation:
            self.token = ""
        if playing.is_interrupted and ended.ending is not PieceEnding.LOST:
            await end_what_came(self.identity, known)
        return ended

    async def steer(self, text: str) -> bool:
        playing = self._playing
        if playing is None or playing.is_over:
            return False
        if self._profile.joins_prompts:
            playing.prompt(text)
            return True
        return self.is_steered_by_name and await self._steer(text)

    async def _steer(self, text: str) -> bool:
        with anyio.move_on_after(_STEER_LIMIT_S):
            try:
                answer = await self.wire.request(
                    "_session/steering",
                    sessionId=self.token,
                    prompt=[{"type": "text", "text": text}],
                    _meta={"steering": {"idleBehavior": "promptRequired"}},
                )
            except (RequestError, ConnectionError):
                return False
            return answer.get("outcome") == "injected"
        return False

    async def interrupt(self) -> None:
        if self._playing is not None and not self._playing.is_over:
            await self._playing.interrupt()
