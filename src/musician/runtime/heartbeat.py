"""A heartbeat that stays fresh while something takes long: the tests of a checkpoint, above all (D10)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from anyio.to_thread import run_sync

from musician import service
from musician.protocol.claim import Claim
from musician.protocol.settings import Settings
from musician.store.port import Store


@asynccontextmanager
async def beating(store: Store, claim: Claim, settings: Settings) -> AsyncIterator[None]:
    """Refresh the claim's heartbeat at once and then again in good time; :class:`ClaimLost` when it is lost.

    An error raised inside comes in a group of one (``runtime.tasks.raising_one``).
    """

    async def beat() -> None:
        while True:
            await run_sync(service.beat, store, claim)
            await anyio.sleep(settings.heartbeat.refresh_after_s / 2)

    async with anyio.create_task_group() as group:
        group.start_soon(beat)
        yield
        group.cancel_scope.cancel()
