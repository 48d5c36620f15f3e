"""Counts what a session uses, and says when a ceiling is reached (``protocol/rules/ceilings``).

It looks before each piece, whenever the agent tells what it has used, before each tool call it asks leave for, and by
itself: time passes, and others use up what is the plan's and the day's.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
from anyio.to_thread import run_sync

from musician import service
from musician.protocol.claim import Claim
from musician.protocol.rules.ceilings import (
    Accounts,
    Amounts,
    Bound,
    Measure,
    left_of,
    measures_of,
    reached,
    within_budget,
)
from musician.protocol.settings import Ceilings
from musician.protocol.spending import Usage
from musician.protocol.values import dataclass
from musician.runtime.tasks import raising_one
from musician.store.port import Store

LOOK_EVERY_S = 15.0
_LEAST_WAIT_S = 0.05


@dataclass(slots=True, kw_only=True)
class Meter:
    store: Store
    claim: Claim
    ceilings: Ceilings
    budget: Amounts
    """What the plan gives the task."""
    reached: Bound | None = None
    """What the last look has found."""
    _played_from_s: float = 0.0
    _accounts: Accounts | None = None

    @property
    def is_needed(self) -> bool:
        return bool(measures_of(self.ceilings, self.budget))

    async def used(self, item: str, usage: Usage) -> None:
        await run_sync(service.record_usage, self.store, self.claim, item, usage)

    async def look(self) -> Bound | None:
        if self.is_needed:
            found = await run_sync(service.accounts_of_task, self.store, self.claim.task_id)
            self._accounts = within_budget(found, self.budget)
            self.reached = reached(self._accounts, self.ceilings)
        return self.reached

    @asynccontextmanager
    async def running(self, halt: Callable[[], None]) -> AsyncIterator[None]:
        """Count the time of the block, in which an agent plays; call ``halt`` once a ceiling is reached meanwhile."""
        self._played_from_s = anyio.current_time()
        try:
            with raising_one():
                async with anyio.create_task_group() as group:
                    if self.is_needed:
                        group.start_soon(self._watch, halt)
                    yield
                    group.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await self._count_time()

    async def _watch(self, halt: Callable[[], None]) -> None:
        while not self.reached:
            left_s = () if self._accounts is None else left_of(Measure.TIME, self._accounts, self.ceilings)
            await anyio.sleep(max(_LEAST_WAIT_S, min((LOOK_EVERY_S, *left_s))))
            await self._count_time()
            if await self.look():
                halt()

    async def _count_time(self) -> None:
        now_s = anyio.current_time()
        played_s, self._played_from_s = now_s - self._played_from_s, now_s
        await run_sync(service.record_playtime, self.store, self.claim, played_s)
