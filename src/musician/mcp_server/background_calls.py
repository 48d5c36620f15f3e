"""Tools that run tests, and so take as long as these take.

A client waits for a tool only so long (in a terminal it lets it go on in the background after two minutes, elsewhere
it gives up after half an hour), and verification may take longer. So the work is not the call's: it goes on in the
server, whoever asks again waits for the same, and an answer comes within :data:`ANSWER_WITHIN_S` in any case. A call
that is cancelled takes its work along, and so does the end of the server; its processes are ended with it (D23).
"""

from collections.abc import Awaitable, Callable
from dataclasses import field

import anyio
import anyio.abc

from musician.protocol.values import dataclass

ANSWER_WITHIN_S = 1500.0
"""Under the client's own 1,800 s, after which it would give up."""


@dataclass(slots=True)
class _BackgroundCall:
    done: anyio.Event = field(default_factory=anyio.Event)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    answer: str = ""
    trouble: Exception | None = None


class BackgroundCalls:
    """What the server is at, one of a name at most."""

    def __init__(self, group: anyio.abc.TaskGroup) -> None:
        self._group = group
        self._under_way: dict[str, _BackgroundCall] = {}

    async def answer(self, name: str, work: Callable[[], Awaitable[str]]) -> str:
        """Begin ``work``, or wait for what was begun under this name: its answer, or that it is not done yet."""
        errand = await self._wait(name, work)
        while errand.done.is_set() and errand.scope.cancelled_caught:  # whoever had begun it wants it no more
            errand = await self._wait(name, work)
        if not errand.done.is_set():
            return f"not done after {ANSWER_WITHIN_S:g} s; call {name} again to wait for it"
        if errand.trouble is not None:
            raise errand.trouble
        return errand.answer

    async def _wait(self, name: str, work: Callable[[], Awaitable[str]]) -> _BackgroundCall:
        """An errand, waited for; it is forgotten once it is done."""
        errand = self._under_way.get(name)
        if errand is None:
            errand = self._under_way[name] = _BackgroundCall()
            self._group.start_soon(self._do, errand, work)
        try:
            with anyio.move_on_after(ANSWER_WITHIN_S):
                await errand.done.wait()
        except anyio.get_cancelled_exc_class():
            errand.scope.cancel()
            with anyio.CancelScope(shield=True):
                await errand.done.wait()
            raise
        finally:
            if errand.done.is_set() and self._under_way.get(name) is errand:
                del self._under_way[name]
        return errand

    async def _do(self, errand: _BackgroundCall, work: Callable[[], Awaitable[str]]) -> None:
        try:
            with errand.scope:
                errand.answer = await work()
        except Exception as error:  # whoever waits for the errand is told
            errand.trouble = error
        finally:
            errand.done.set()
