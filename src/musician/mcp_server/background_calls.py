"""Runs the tools that run tests, which may take longer than a client waits.

A client limits a tool call: in a terminal it moves the call to the background after two minutes, elsewhere it gives up
after half an hour. So the work belongs to the server and not to the call. It goes on when the call has been answered,
a second call under the same name waits for the same work, and every call is answered within :data:`ANSWER_WITHIN_S`.
Cancelling a call, or ending the server, cancels the work and ends its processes (D23).
"""

from collections.abc import Awaitable, Callable
from dataclasses import field

import anyio
import anyio.abc

from musician.protocol.values import dataclass

ANSWER_WITHIN_S = 1500.0
"""Less than the 1,800 s after which the client gives up."""


@dataclass(slots=True)
class _BackgroundCall:
    done: anyio.Event = field(default_factory=anyio.Event)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    answer: str = ""
    error: Exception | None = None


class BackgroundCalls:
    """The calls that are running in a server, at most one of each name."""

    def __init__(self, group: anyio.abc.TaskGroup) -> None:
        self._group = group
        self._running: dict[str, _BackgroundCall] = {}

    async def answer(self, name: str, work: Callable[[], Awaitable[str]]) -> str:
        """Start ``work``, or join the call of this name that is running.

        Returns its answer, or a text that says that it is not done yet.
        """
        call = await self._wait(name, work)
        while (
            call.done.is_set() and call.scope.cancelled_caught
        ):  # the request that had started it was cancelled
            call = await self._wait(name, work)
        if not call.done.is_set():
            return f"not done after {ANSWER_WITHIN_S:g} s; call {name} again to wait for it"
        if call.error is not None:
            raise call.error
        return call.answer

    async def _wait(self, name: str, work: Callable[[], Awaitable[str]]) -> _BackgroundCall:
        """Wait for the call of this name, and start it if none is running. A call that is done is forgotten."""
        call = self._running.get(name)
        if call is None:
            call = self._running[name] = _BackgroundCall()
            self._group.start_soon(self._run, call, work)
        try:
            with anyio.move_on_after(ANSWER_WITHIN_S):
                await call.done.wait()
        except anyio.get_cancelled_exc_class():
            call.scope.cancel()
            with anyio.CancelScope(shield=True):
                await call.done.wait()
            raise
        finally:
            if call.done.is_set() and self._running.get(name) is call:
                del self._running[name]
        return call

    async def _run(self, call: _BackgroundCall, work: Callable[[], Awaitable[str]]) -> None:
        try:
            with call.scope:
                call.answer = await work()
        except Exception as error:  # raised in every request that waits for this call
            call.error = error
        finally:
            call.done.set()
