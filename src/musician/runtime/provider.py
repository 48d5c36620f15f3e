"""The provider of a session's account, when it limits: waits for the limit's end, and asks again one session at a time.

All waits look at the database's clock, which may be set, and may stand still while the machine sleeps.
"""

from functools import partial

import anyio
from anyio.to_thread import run_sync

from musician import service
from musician.agents import port
from musician.protocol.musician.inputs import PieceEnded, PieceEnding
from musician.protocol.rules.breaker import Leave
from musician.protocol.values import dataclass, replace
from musician.store.port import Store

LOOK_AT_LIMIT_S = 30.0
"""How often one who waits for a provider looks whether the limit is over."""
LOOK_AT_PROBE_S = 1.0
"""How often the others look whether the first that asked was given something."""


@dataclass(slots=True, kw_only=True)
class Provider:
    store: Store
    account: str
    session_id: str
    _is_probed: bool = False
    """This session is the first to ask after a limit."""

    async def limit_over(self) -> None:
        """Return when no limit holds any more."""
        while (left_s := await self._limited_for_s()) > 0:
            await anyio.sleep(min(left_s, LOOK_AT_LIMIT_S))

    async def leave_to_ask(self) -> float:
        """Wait while another session asks first whether a limit is over; return how long one holds, 0 if none does."""
        ask = partial(service.leave_to_ask, self.store, self.account, self.session_id)
        while (leave := await run_sync(ask)) is Leave.WAIT:
            if (limited_s := await self._limited_for_s()) > 0:
                return limited_s
            await anyio.sleep(LOOK_AT_PROBE_S)
        self._is_probed = leave is Leave.PROBE
        return 0.0

    def proving(self, tell: port.Tell) -> port.Tell:
        """Return a ``tell`` that writes down that the provider gives again, once it has given something."""

        async def proved(event: port.AgentEvent) -> None:
            if self._is_probed and isinstance(event, port.Output | port.ToolUsed):
                self._is_probed = False
                await run_sync(service.prove, self.store, self.account)
            await tell(event)

        return proved

    async def told(self, ended: PieceEnded) -> PieceEnded:
        """Return how a piece has ended; a limit that was waited for in vain too often is a person's to know of."""
        if ended.ending is not PieceEnding.LIMITED:
            return ended
        why = await run_sync(service.why_not_wait, self.store, self.account)
        return replace(ended, ending=PieceEnding.REFUSED, detail=f"{why}: {ended.detail}") if why else ended

    async def _limited_for_s(self) -> float:
        return await run_sync(service.limited_for_s, self.store, self.account)
