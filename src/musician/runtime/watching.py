"""The two watchers as code (D11): they cost nothing, wake on the event itself, and look by themselves now and then.

One coroutine serves both of a session's modes: *background* while it plays, *pause* while it waits; so there are
never two of a kind, and it dies with its session. Each look compares what the database says with what the session
has been told, and tells it the difference. The bell is opened before the first look, so no ring is lost.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

import anyio
import anyio.to_thread

from musician import service
from musician.protocol import inputs as i
from musician.protocol.claim import Claim
from musician.protocol.liveness import HeartbeatStatus, heartbeat_status
from musician.protocol.messages import MessageType
from musician.protocol.settings import Settings
from musician.protocol.states import ACTIVE, State
from musician.service import Look
from musician.store.bell import Bell
from musician.store.port import Store

__all__ = ["Watcher"]

_TOLD = frozenset({MessageType.NOTE, MessageType.EMERGENCY})

COUNTER_EVERY_S = 1.0
"""How often the database's change counter is looked at, for writers that do not ring."""


@dataclass(slots=True, kw_only=True)
class Watcher:
    """What the session was told already, and what it waits for."""

    store: Store
    claim: Claim
    settings: Settings
    tell: Callable[[i.Input], Awaitable[None]]
    awaiting_id: int | None = None
    """The submission or report whose verdict is awaited: the mode is *pause* while it is set."""
    last_seen_id: int = 0
    exit_told: bool = False
    waited_s: float = 0.0

    def wait_for(self, message_id: int) -> None:
        """Change to *pause*: the verdict on this message is awaited."""
        self.awaiting_id = message_id
        self.waited_s = 0.0

    async def run(self) -> None:
        """Look until the claim is over."""
        counter = -1
        since_look_s = 0.0
        with Bell(self.store.path, self.claim.task_id) as bell:
            while True:
                now = await anyio.to_thread.run_sync(self.store.change_counter)
                poll_s = self._poll_s()
                if bell.drain() or now != counter or since_look_s >= poll_s:
                    counter, since_look_s = now, 0.0
                    if not await self._look():
                        return
                before = anyio.current_time()
                pace_s = min(COUNTER_EVERY_S, poll_s)
                with anyio.move_on_after(pace_s):
                    await anyio.wait_readable(bell)
                passed_s = anyio.current_time() - before
                since_look_s += passed_s
                self.waited_s += passed_s

    def _poll_s(self) -> float:
        waiting = self.settings.waiting
        return waiting.background_poll_s if self.awaiting_id is None else waiting.pause_poll_s

    async def _look(self) -> bool:
        """Tell the session what is new; False if there is nothing more to watch."""
        look = await anyio.to_thread.run_sync(
            partial(service.look, self.store, self.claim, awaiting_id=self.awaiting_id)
        )
        if not look.owns:
            await self.tell(i.ClaimWasLost())
            return False
        await self._refresh(look)
        await self._tell_messages(look)
        if look.state is State.EXIT_REQUESTED and not self.exit_told:
            self.exit_told, self.awaiting_id = True, None
            await self.tell(i.ExitWasRequested(text=look.exit_text))
        elif look.verdict is not None:
            self.awaiting_id = None
            await self.tell(
                i.VerdictArrived(state=look.verdict, text=look.verdict_text, progress=look.progress)
            )
        elif self.awaiting_id is not None:
            await self._mind_the_wait(look)
        return look.state in ACTIVE

    async def _refresh(self, look: Look) -> None:
        if heartbeat_status(look.heartbeat_age_s, self.settings) is not HeartbeatStatus.OK:
            await anyio.to_thread.run_sync(partial(service.beat, self.store, self.claim))

    async def _tell_messages(self, look: Look) -> None:
        fresh = [message for message in look.unread if message.id > self.last_seen_id]
        if not fresh:
            return
        ids = tuple(message.id for message in fresh)
        await anyio.to_thread.run_sync(partial(service.deliver, self.store, self.claim, ids))
        self.last_seen_id = ids[-1]
        for message in fresh:
            if message.message_type in _TOLD:
                await self.tell(
                    i.MessageArrived(
                        message_id=message.id,
                        text=message.message,
                        urgent=message.message_type == MessageType.EMERGENCY,
                    )
                )

    async def _mind_the_wait(self, look: Look) -> None:
        if look.waits_for_human or self.waited_s < self.settings.waiting.timeout_s:
            if look.waits_for_human:
                self.waited_s = 0.0
            return
        self.waited_s = 0.0
        fresh = heartbeat_status(look.conductor_age_s, self.settings) in (
            HeartbeatStatus.OK,
            HeartbeatStatus.REFRESH,
        )
        await self.tell(i.WaitTimedOut(conductor_is_fresh=fresh))
