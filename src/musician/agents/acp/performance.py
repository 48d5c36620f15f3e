"""One piece being played: sends prompts, tells what comes back, and answers requests for permission, in
order.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
from acp.exceptions import RequestError

from musician.agents.acp.bill import Bill
from musician.agents.acp.connection import Answer, Wire
from musician.agents.acp.context import ContextGauge
from musician.agents.acp.failures import ProviderFailure, of_refused_request
from musician.agents.acp.permission import PRINTED, answer_of, asked_for, purpose, tool_name
from musician.agents.acp.turn import Turn
from musician.agents.hearing import Hearing
from musician.agents.hosted import report_of, unmeasured
from musician.agents.port import Complained, Piece, Tell, ToolAnswered, ToolCall, ToolUsed
from musician.agents.prompts import after_refusal, prompt_of
from musician.protocol.musician.inputs import ContextTold, PieceEnded, PieceEnding
from musician.protocol.values import replace

LIMIT_PATIENCE_S = 10.0
"""How long an agent may try by itself again what its provider does not give; then the session is parked."""
CANCEL_LIMIT_S = 5.0
MOST_PRINTED_CHARS = 100_000
"""Of one command, the end."""
MOST_MESSAGES = 10
"""So many messages in a row, and no tool used between, are no turn that gets anywhere: OpenCode sums its conversation
up and asks again, for ever, where its provider refuses the request as too large (413)."""
MOST_REFUSED_ROUNDS = 5
"""So often the turn may end with a refusal and not a word; it asks for the same again then."""

_UNFINISHED = {
    "max_tokens": "its answer was longer than its model gives in one",
    "max_turn_requests": "it asked its model more often than it may in one turn",
    "refusal": "its model refused to go on",
}


_GETS_NOWHERE = ProviderFailure(
    ending=PieceEnding.FAILED,
    detail=f"it says message after message ({MOST_MESSAGES}) and uses no tool: what it asks its provider for may be too"
    " large, as a step with fewer and smaller files would not be",
)


class Asked:
    """A request for permission."""

    def __init__(self, call: Mapping[str, Any]) -> None:
        self.call = call
        self.is_allowed = False
        self.is_answered = anyio.Event()


Arrived = tuple[Mapping[str, Any], ContextTold | None] | Asked | Answer
"""An update with what it measures, a question, or the answer to a prompt."""


class Performance:
    def __init__(
        self,
        piece: Piece,
        tell: Tell,
        *,
        wire: Wire,
        session_id: str,
        may: Callable[[ToolCall], Awaitable[str]],
        gauge: ContextGauge,
        bill: Bill,
    ) -> None:
        self._piece, self._tell, self._wire, self._id = piece, tell, wire, session_id
        self._may, self._gauge, self._bill = may, gauge, bill
        self._hearing = Hearing(unmeasured(tell))
        self._turn = Turn()
        self._calls: dict[str, dict[str, Any]] = {}
        self._used: set[str] = set()
        self._answered: set[str] = set()
        self._queue: asyncio.Queue[Arrived] = asyncio.Queue()
        self._messages: set[str] = set()
        """What it has said since it last used a tool or was told something."""
        self.is_interrupted = False

    @property
    def is_over(self) -> bool:
        return self._turn.is_over

    @property
    def leaves_conversation(self) -> bool:
        """Whether its conversation cannot be gone on with."""
        failure = self._turn.failure
        return failure is not None and failure.is_conversations

    def arrived(self, what: Arrived) -> None:
        self._queue.put_nowait(what)

    def prompt(self, text: str) -> None:
        """Send a prompt; if a turn runs, to that turn."""
        self._gauge.add(text)
        self._messages.clear()
        self._turn.prompted()
        params = {"sessionId": self._id, "prompt": [{"type": "text", "text": text}]}
        self._wire.begin("session/prompt", params, self.arrived)

    async def interrupt(self) -> None:
        self.is_interrupted = True
        await self._cancel()

    async def play(self) -> PieceEnded:
        """Play the piece to its end; ConnectionError if the agent is gone."""
        text = prompt_of(self._piece)
        for _ in range(MOST_REFUSED_ROUNDS):
            self.prompt(text)
            if not await self._until_it_rests():
                return self._ended(
                    PieceEnding.LOST, "its provider gave nothing, and it could not be cancelled"
                )
            refusals = self._turn.refusals
            if self._turn.failure is not None or self.is_interrupted or not refusals:
                return await self._judged()
            text = after_refusal(refusals)
            refusals.clear()
        return self._ended(PieceEnding.FAILED, f"it goes on asking for what it may not do: {text}")

    def leave(self) -> None:
        """End playing: requests for permission that are still open are refused."""
        while not self._queue.empty():
            each = self._queue.get_nowait()
            if isinstance(each, Asked):
                each.is_answered.set()

    async def close(self) -> None:
        """Take in the last of what it said."""
        await self._hearing.close()

    async def tell_usage(self) -> None:
        """Tell what was used and not told yet, as far as it is known."""
        await self._tell(self._bill.since(self._gauge.tokens))

    # -- what arrives ---------------------------------------------------------------------------------------------

    async def _until_it_rests(self) -> bool:
        """Wait for the agent to rest; False if its provider does not answer and it ignores our cancelling."""
        while not self._turn.is_over:
            arrived = await self._next(LIMIT_PATIENCE_S if self._turn.tries_again else math.inf)
            if arrived is None:
                return await self._is_given_up()
            await self._take(arrived)
            if len(self._messages) > MOST_MESSAGES:
                self._turn.failure = _GETS_NOWHERE
                return await self._is_given_up()
        return True

    async def _is_given_up(self) -> bool:
        await self._cancel()
        until_s = anyio.current_time() + CANCEL_LIMIT_S
        while (
            not self._turn.is_over
            and (arrived := await self._next(until_s - anyio.current_time())) is not None
        ):
            await self._take(arrived)
        return self._turn.is_over

    async def _next(self, within_s: float) -> Arrived | None:
        with anyio.move_on_after(within_s):
            return await self._queue.get()
        return None

    async def _take(self, what: Arrived) -> None:
        match what:
            case Asked():
                await self._answer(what)
            case RequestError():
                self._turn.refused(of_refused_request(what))
            case BaseException():
                raise what
            case (dict() as update, (ContextTold() | None) as told):
                await self._hear(update)
                if told is not None:
                    await self._tell(told)
                    await self._tell(self._bill.meanwhile())
            case dict() as result:
                self._bill.answered(result)
                self._turn.answered(result)

    async def _hear(self, update: Mapping[str, Any]) -> None:
        self._turn.updated(update)
        match update:
            case {"sessionUpdate": "agent_message_chunk", "content": {"text": str(text)}}:
                if text.strip():
                    self._turn.refusals.clear()
                    self._messages.add(str(update.get("messageId")))
                await self._hearing.hear(text.encode(errors="replace"))
            case {"sessionUpdate": "tool_call" | "tool_call_update", "toolCallId": str(number)}:
                self._messages.clear()
                call = self._known(number, update)
                await self._tell_tool(number, call)

    async def _tell_tool(self, number: str, call: Mapping[str, Any]) -> None:
        """Tell once that a tool is used, and once how the call ended."""
        status = call.get("status")
        if number not in self._used and status != "pending":  # a pending call may still lack its details
            self._used.add(number)
            given = call.get("rawInput")
            await self._tell(
                ToolUsed(
                    name=tool_name(call),
                    what=purpose(call),
                    given=given if isinstance(given, dict) else {},
                    call=number,
                )
            )
        if number not in self._answered and status in ("completed", "failed"):
            self._answered.add(number)
            await self._tell(ToolAnswered(call=number, text=answer_of(call), failed=status == "failed"))

    def _known(self, number: str, more: Mapping[str, Any]) -> dict[str, Any]:
        """Return all that is known of a call, from updates and from its request for permission."""
        call = self._calls.setdefault(number, {})
        match more.get("_meta"):
            case {"terminal_output_delta": {"data": str(printed)}}:
                call[PRINTED] = (call.get(PRINTED, "") + printed)[-MOST_PRINTED_CHARS:]
        call.update((name, value) for name, value in more.items() if value is not None)
        return call

    async def _answer(self, asked: Asked) -> None:
        try:
            calls, refusal = asked_for(self._known(str(asked.call.get("toolCallId")), asked.call))
            for call in calls:
                refusal = refusal or await self._may(call)
            if refusal:
                self._turn.refusals.append(refusal)
            asked.is_allowed = not refusal and not self.is_interrupted
        finally:
            asked.is_answered.set()

    async def _cancel(self) -> None:
        await self._wire.notify("session/cancel", sessionId=self._id)

    # -- how it ended ---------------------------------------------------------------------------------------------

    async def _judged(self) -> PieceEnded:
        await self.tell_usage()
        if not self._gauge.is_measured:
            told = self._gauge.estimated()
            await self._tell(Complained(text=f"context is estimated: {told.used_pct:.0f} %"))
            await self._tell(told)
        reason, failure = self._turn.stop_reason, self._turn.failure
        if self.is_interrupted and reason in ("cancelled", ""):
            return self._ended(PieceEnding.STOPPED, "")
        if failure is not None:
            return self._ended(failure.ending, failure.detail)
        if reason == "cancelled":
            return self._ended(PieceEnding.LOST, "it stopped, and nobody had told it to")
        await self._hearing.close()
        if reason in _UNFINISHED:
            words = f": {self._hearing.last_words}" if self._hearing.last_words else ""
            return self._ended(PieceEnding.FAILED, f"{_UNFINISHED[reason]}{words}")
        if self._hearing.gave_up:
            return self._ended(PieceEnding.FAILED, self._hearing.gave_up)
        done = self._ended(PieceEnding.DONE, report_of(self._piece, self._hearing))
        return replace(done, asked=self._hearing.asks)

    def _ended(self, ending: PieceEnding, detail: str) -> PieceEnded:
        return PieceEnded(item=self._piece.item, ending=ending, detail=detail)
