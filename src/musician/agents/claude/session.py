"""Pieces played in one session of the client.

A piece is one prompt of ours and whatever the client makes of it: turns, until it rests. What is said to it meanwhile
reaches the running turn with its next tool result, or is a further turn of the same piece where that has ended. So a
piece is over when the client says that it is idle, and not with the first result.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import anyio
import anyio.to_thread
from claude_agent_sdk import (
    AssistantMessage,
    ClaudeSDKClient,
    ClaudeSDKError,
    HookContext,
    Message,
    RateLimitEvent,
    ResultMessage,
    SystemMessage,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)

from musician.agents.claude.bill import Bill, Totals
from musician.agents.claude.endings import Provider, ending_of
from musician.agents.hearing import Hearing
from musician.agents.hosted import end_what_came, unmeasured
from musician.agents.port import Piece, Stage, Tell, ToolAnswered, ToolCall, ToolUsed, out_of_time
from musician.agents.prompts import prompt_of
from musician.processes.ending import members_of
from musician.processes.identity import ProcessIdentity
from musician.processes.output import one_line
from musician.protocol.musician.inputs import ContextTold, PieceEnded, PieceEnding
from musician.protocol.spending import Usage
from musician.protocol.values import replace

_ANSWER_LIMIT_S = 5.0
"""How long the client may take to say how full its context is."""
_MOST_PURPOSE_CHARS = 200
_MOST_TROUBLE_CHARS = 300
_PURPOSES = ("command", "file_path", "pattern", "url", "description", "prompt")


class ClaudeSession:
    """``last_words`` says why the client is gone."""

    def __init__(
        self, stage: Stage, token: str, identity: ProcessIdentity, last_words: Callable[[], Awaitable[str]]
    ) -> None:
        self.client: ClaudeSDKClient
        self.token = token
        self._stage, self._identity, self.last_words = stage, identity, last_words
        self._window_tokens = 0
        self.bill = Bill()
        self._owed: tuple[Usage, ...] = ()
        self._playing: _Performance | None = None

    async def play(self, piece: Piece, tell: Tell) -> PieceEnded:
        known = await anyio.to_thread.run_sync(members_of, self._identity)
        playing = self._playing = _Performance(piece, tell, self)
        ended = None
        try:
            with anyio.move_on_after(piece.time_limit_s):
                ended = await playing.play()
        except ClaudeSDKError as error:
            why = one_line(str(error), _MOST_TROUBLE_CHARS)
            ended = PieceEnded(item=piece.item, ending=PieceEnding.LOST, detail=why)
        finally:
            self._playing = None
            playing.leave()
        if ended is None:
            with anyio.move_on_after(_ANSWER_LIMIT_S), suppress(ClaudeSDKError, KeyError):
                await playing.tell_usage(await self.totals())
            return out_of_time(piece)
        if ended.ending is PieceEnding.STOPPED:
            await end_what_came(self._identity, known)
        return ended

    async def steer(self, text: str) -> bool:
        """Say something to the running piece; True once the model has it: with the next tool's result, or in
        a further turn.
        """
        playing = self._playing
        return playing is not None and not playing.is_over and await playing.steer(text)

    async def interrupt(self) -> None:
        playing = self._playing
        if playing is not None and not playing.is_over:
            playing.is_interrupted = True
            await self.client.interrupt()

    async def allow(self, given: Any, call_id: str | None, _context: HookContext) -> dict[str, Any]:
        """Answer the client, which asks before every tool call, a subagent's too; any error here refuses
        (D21, D36).
        """
        why = "nothing is played now"
        if self._playing is not None:
            try:
                call = ToolCall(name=str(given["tool_name"]), given=dict(given["tool_input"]))
                await self._playing.has_heard(str(call_id))
                await self._playing.tell_usage(await self.totals())
                why = await self._stage.may(call)
            except Exception as error:  # an unhandled exception would let the call through
                why = f"it cannot be judged: {one_line(str(error), _MOST_TROUBLE_CHARS)}"
        answer = {"permissionDecision": "deny", "permissionDecisionReason": why} if why else {}
        answer = answer or {"permissionDecision": "allow"}
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **answer}}

    async def take_up(self) -> None:
        """Leave out of the bill what the conversation had used before it was resumed, but for what is not told yet."""
        with anyio.move_on_after(_ANSWER_LIMIT_S), suppress(ClaudeSDKError, KeyError):
            self._owed = tuple(
                self.bill.take_up(await self.totals())
            )  # else the first result counts too much

    async def tell_owed(self, tell: Tell) -> None:
        """Tell what others have used of the conversation, once."""
        owed, self._owed = self._owed, ()
        for usage in owed:
            await tell(usage)

    async def totals(self) -> Totals:
        """Return what the conversation has used so far; in the middle of a turn, too."""
        query: Any = self.client._query  # the SDK has no name for this question yet
        used = await query._send_control_request({"subtype": "get_usage"})
        totals: Totals = used["session"]["model_usage"]
        return totals

    async def measured(self) -> ContextTold:
        """Return how full the context is, by the client's own count (D15)."""
        with anyio.move_on_after(_ANSWER_LIMIT_S):
            usage = await self.client.get_context_usage()
            self._window_tokens = int(usage["rawMaxTokens"])
            return self.used(int(usage["totalTokens"]))
        return ContextTold(used_pct=None)

    def used(self, tokens: int) -> ContextTold:
        """Return how full the window is; None if its size is not known yet, or smaller than what is in it."""
        fits = 0 <= tokens <= self._window_tokens and self._window_tokens > 0
        return ContextTold(used_pct=100 * tokens / self._window_tokens if fits else None)

    @property
    def knows_its_window(self) -> bool:
        return self._window_tokens > 0


class _Performance:
    """One piece being played."""

    def __init__(self, piece: Piece, tell: Tell, session: ClaudeSession) -> None:
        self._piece, self._tell, self._session = piece, tell, session
        self._hearing = Hearing(unmeasured(tell))
        self._provider = Provider()
        self._result: ResultMessage | None = None
        self._told_pct: float | None = None
        self.is_interrupted = False
        self.is_over = False
        self._answers: set[str | None] = set()
        self._told_answers = 0
        self._calls: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._untaken: list[tuple[str, asyncio.Future[bool]]] = []
        """What was said to the piece and its model was not given."""

    async def steer(self, text: str) -> bool:
        taken: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._untaken.append((text, taken))
        await self._session.client.query(text)
        return await taken

    def leave(self) -> None:
        """Accept nothing more."""
        for _, taken in self._untaken:
            if not taken.done():
                taken.set_result(False)

    def _is_taken(self, text: str) -> None:
        """Note that the model has a message: the client repeats each when it passes it on."""
        found = next((each for each in self._untaken if each[0] == text), None)
        if found is not None:
            self._untaken.remove(found)
            if not found[1].done():
                found[1].set_result(True)

    async def play(self) -> PieceEnded:
        client = self._session.client
        if not self._session.knows_its_window:
            await self._session.measured()
        await self._session.tell_owed(self._tell)
        await client.query(prompt_of(self._piece))
        async for message in client.receive_messages():
            await self._take(message)
            if self.is_over:
                break
        await self._hearing.close()
        if self._result is None or not self.is_over:
            detail = await self._session.last_words()
            return PieceEnded(item=self._piece.item, ending=PieceEnding.LOST, detail=detail)
        await self.tell_usage(self._result.model_usage or {})
        await self._measure(await self._session.measured())
        return ending_of(
            self._piece,
            self._result,
            self._hearing,
            self._provider,
            is_interrupted=self.is_interrupted,
            now_s=time.time(),
        )

    async def tell_usage(self, totals: Totals) -> None:
        """Tell what was used since the last time, and how often the model has answered."""
        for usage in self._session.bill.since(totals):
            new, self._told_answers = len(self._answers) - self._told_answers, len(self._answers)
            await self._tell(replace(usage, turns=new))

    async def has_heard(self, call_id: str) -> None:
        """Return once the answer with this call of a tool was taken in: its call may come before it."""
        with anyio.move_on_after(_ANSWER_LIMIT_S):
            await self._calls[call_id].wait()

    async def _take(self, message: Message) -> None:
        if isinstance(message, AssistantMessage) and message.error is None:
            self._answers.add(message.message_id)  # one answer comes in several parts
        match message:
            case AssistantMessage(parent_tool_use_id=None):
                await self._hear(message)
            case AssistantMessage():  # a subagent's text is for its caller; only its tools are told
                await self._tell_tools(message)
            case UserMessage(content=str(text)):
                self._is_taken(text)
            case UserMessage():
                await self._tell_answers(message)
            case RateLimitEvent():
                self._provider.limited(message)
            case ResultMessage():
                self._result = message
            case SystemMessage(subtype="session_state_changed", data={"state": "idle"}):
                self.is_over = self._result is not None
            case SystemMessage(subtype="session_state_changed"):
                # a further turn begins: it answers what was said while the last one ended
                self._result = None

    async def _hear(self, message: AssistantMessage) -> None:
        text = "\n".join(block.text for block in message.content if isinstance(block, TextBlock))
        if message.error is not None:
            self._provider.failed(message, text)
            return
        self._provider = Provider()  # it answers: what it refused a turn of before counts no more
        if message.usage is not None:
            await self._measure(self._session.used(_context_tokens(message.usage)))
        if text:
            await self._hearing.hear(f"{text.rstrip()}\n".encode("utf-8", "replace"))
        await self._tell_tools(message)

    async def _tell_tools(self, message: AssistantMessage) -> None:
        for block in message.content:
            if isinstance(block, ToolUseBlock):
                self._calls[block.id].set()
                used = ToolUsed(name=block.name, what=_purpose(block.input), given=block.input, call=block.id)
                await self._tell(used)

    async def _tell_answers(self, message: UserMessage) -> None:
        for block in message.content:
            if isinstance(block, ToolResultBlock):
                text, failed = _text_of(block.content), bool(block.is_error)
                await self._tell(ToolAnswered(call=block.tool_use_id, text=text, failed=failed))

    async def _measure(self, told: ContextTold) -> None:
        """Report how full the window is, whenever the percentage has changed."""
        pct = told.used_pct
        if pct is not None and (self._told_pct is None or round(pct) != round(self._told_pct)):
            self._told_pct = pct
            await self._tell(told)


def _context_tokens(usage: dict[str, Any]) -> int:
    parts = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return sum(int(usage.get(part) or 0) for part in parts)


def _text_of(content: str | list[dict[str, Any]] | None) -> str:
    if not isinstance(content, list):
        return content or ""
    return "\n".join(str(part.get("text") or f"[{part.get('type')}]") for part in content)


def _purpose(given: dict[str, Any]) -> str:
    found = next((given[name] for name in _PURPOSES if given.get(name)), "")
    return one_line(str(found), _MOST_PURPOSE_CHARS)
