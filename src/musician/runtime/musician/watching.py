"""The two watchers as code (D11): they cost nothing, wake on the event itself, and look by themselves now and then.

One coroutine serves both of a session's modes: *background* while it plays, *pause* while it waits; so there are
never two of a kind, and it dies with its session. Each look compares what the database says with what the session
has heard, and tells it the difference.
"""

import math
from collections.abc import Awaitable, Callable
from dataclasses import field
from functools import partial

import anyio
import anyio.to_thread

from musician import service
from musician.protocol.claim import Claim
from musician.protocol.errors import ClaimLost
from musician.protocol.messages.kinds import MessageType
from musician.protocol.musician import inputs as i
from musician.protocol.rules.liveness import HeartbeatStatus, heartbeat_status, is_fresh
from musician.protocol.settings import Settings
from musician.protocol.states import ACTIVE, State
from musician.protocol.values import dataclass
from musician.service import Observation
from musician.store.listening import Listener
from musician.store.port import Store
from musician.store.rows import MessageRow

PERSON_POLL_S = 0.5
"""How soon it is noticed that a person gives the agent back, or was killed."""

_TOLD = frozenset(
    {MessageType.NOTE, MessageType.EMERGENCY, MessageType.PAUSE, MessageType.GO_ON, MessageType.FORECAST}
)


@dataclass(slots=True, kw_only=True)
class Watcher:
    """Remembers what the session was told already, and what it waits for."""

    store: Store
    claim: Claim
    settings: Settings
    tell: Callable[[i.Input], Awaitable[None]]
    wanted_by: Callable[[], str] = lambda: ""
    """The signature of whoever holds the lock to speak with the agent; "" if nobody does."""
    awaiting_id: int | None = None
    """The submission or report whose verdict is awaited."""
    is_paused: bool = False
    """The session waits, for a verdict or an answer, and plays nothing meanwhile."""
    last_seen_id: int = 0
    plan_pause: str = ""
    """Why its plan is paused, as the session knows it."""
    exit_told: bool = False
    person: str = ""
    """Who was seen to hold it last."""
    _since_s: float = math.inf
    """When the wait began that lasts, or was last looked into."""
    _ear: Listener | None = None
    _delivering: anyio.Lock = field(default_factory=anyio.Lock)

    def wait_for(self, message_id: int) -> None:
        """Await the verdict on this message."""
        self.awaiting_id = message_id
        self._since_s = anyio.current_time()
        if self._ear is not None:
            self._ear.nudge()  # its verdict may have been looked past before it was awaited

    def pause(self, is_paused: bool) -> None:  # noqa: FBT001  # the mode itself
        """Change between *background* and *pause*."""
        if is_paused and not self.is_paused:
            self._since_s = anyio.current_time()
        self.is_paused = is_paused

    async def delivered(self) -> None:
        """Return when everything that was told is written down as delivered, which comes before acknowledged (D12)."""
        async with self._delivering:
            return

    async def run(self) -> None:
        """Watch until the claim is over."""
        with self.store.listen(self.claim.task_id) as self._ear:
            while await self._look_once():
                await self._ear.heard(self._poll_s())

    def _poll_s(self) -> float:
        waiting = self.settings.waiting
        if self.person:
            return PERSON_POLL_S  # a lock that is let go rings nobody
        return waiting.pause_poll_s if self.is_paused else waiting.background_poll_s

    async def _look_once(self) -> bool:
        """As :meth:`_look`, for a claim that may be lost at any moment."""
        try:
            return await self._look()
        except ClaimLost:
            await self.tell(i.ClaimWasLost())
            return False

    async def _look(self) -> bool:
        """Tell the session what is new; False if there is nothing more to watch."""
        asked = self.awaiting_id
        look = await anyio.to_thread.run_sync(
            partial(service.observe, self.store, self.claim, awaiting_id=asked)
        )
        if not look.owns:
            await self.tell(i.ClaimWasLost())
            return False
        await self._refresh(look)
        await self._mind_person()
        await self._mind_plan(look)
        async with self._delivering:
            await self._hand_over(look, asked)
        return look.state in ACTIVE

    async def _mind_person(self) -> None:
        before, self.person = self.person, self.wanted_by()
        if before and self.person != before:  # another may have come between two looks
            await self.tell(i.PersonLeft())
        if self.person and self.person != before:
            await self.tell(i.PersonCame())

    async def _mind_plan(self, look: Observation) -> None:
        """Say that the plan was paused, or goes on; the session looks itself before it begins anything (PLAN-23)."""
        if look.plan_pause != self.plan_pause:
            await self.tell(i.PlanPaused(text=look.plan_pause) if look.plan_pause else i.PlanResumed())

    async def _hand_over(self, look: Observation, asked: int | None) -> None:
        """Tell what is new, a verdict first, because the session waits for it; then record the delivery."""
        fresh = [message for message in look.unread if message.id > self.last_seen_id]
        notes = [message for message in fresh if message.message_type in _TOLD]
        if notes:
            await self._deliver(fresh)
            await self._tell(notes, exit_text=look.exit_text if look.state is State.EXIT_REQUESTED else None)
        if look.state is State.EXIT_REQUESTED and not self.exit_told:
            self.exit_told, self.awaiting_id = True, None
            await self.tell(i.ExitWasRequested(text=look.exit_text, message_id=look.exit_id))
        elif look.verdict is not None:
            if self.awaiting_id == asked:
                self.awaiting_id = None
            await self.tell(
                i.VerdictArrived(
                    state=look.verdict,
                    text=look.verdict_text,
                    progress=look.progress,
                    since=look.since,
                    message_id=look.verdict_id,
                )
            )
        elif self.is_paused and not notes:
            await self._mind_the_wait(look)
        if fresh and not notes:
            await self._deliver(fresh)

    async def _refresh(self, look: Observation) -> None:
        if heartbeat_status(look.heartbeat_age_s, self.settings) is not HeartbeatStatus.OK:
            await anyio.to_thread.run_sync(partial(service.beat, self.store, self.claim))

    async def _deliver(self, messages: list[MessageRow]) -> None:
        ids = tuple(message.id for message in messages)
        await anyio.to_thread.run_sync(partial(service.deliver, self.store, self.claim, ids))
        self.last_seen_id = ids[-1]

    async def _tell(self, notes: list[MessageRow], *, exit_text: str | None) -> None:
        for note in notes:
            exits = note.message_type == MessageType.EMERGENCY and note.message == exit_text
            await self.tell(_heard(note, exits=exits))

    async def _mind_the_wait(self, look: Observation) -> None:
        now_s = anyio.current_time()
        if look.waits_for_human:
            self._since_s = now_s
        if now_s - self._since_s < self.settings.waiting.timeout_s:
            return
        self._since_s = now_s
        await self.tell(i.WaitTimedOut(conductor_is_fresh=is_fresh(look.conductor_age_s, self.settings)))


def _heard(note: MessageRow, *, exits: bool) -> i.Input:
    match note.message_type:
        case MessageType.PAUSE:
            return i.PauseAsked(message_id=note.id, text=note.message)
        case MessageType.GO_ON:
            return i.PauseLifted(message_id=note.id)
    return i.MessageArrived(
        message_id=note.id,
        text=note.message,
        urgent=note.message_type == MessageType.EMERGENCY,
        forecast=note.message_type == MessageType.FORECAST,
        exits=exits,
    )
