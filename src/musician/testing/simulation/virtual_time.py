"""An event loop whose time jumps to the next event, and whose blocking calls run one at a time.

Two hours of waiting take no time. Nothing runs in parallel: a blocking call is one act, before which others
may come. If nothing can happen any more, the loop raises :class:`NothingHappens` instead of standing still.
"""

import asyncio
import random
import selectors
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar
from unittest import mock

import anyio
from anyio._backends._asyncio import AsyncIOBackend

T = TypeVar("T")

MOST_DELAY_S = 0.05
"""How long a blocking call waits for its turn at most: enough for others to come first."""


class NothingHappens(AssertionError):
    """Everybody waits, and nothing will ever wake anybody."""


class _Jumping(selectors.DefaultSelector):
    """A selector that returns what is ready now; if nothing is, it advances the time instead of waiting."""

    def __init__(self) -> None:
        super().__init__()
        self.now_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout is None:
            raise NothingHappens
        if not ready and timeout:
            self.now_s += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """``time()`` is seconds since it was made."""

    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now_s


def run_virtually(
    main: Callable[[], Awaitable[T]], dice: random.Random, call: Callable[[Callable[[], Any]], Any]
) -> T:
    """Run ``main`` to its end; each blocking call is made by ``call``, after a random delay."""
    with _in_turn(dice, call):
        return anyio.run(main, backend="asyncio", backend_options={"loop_factory": VirtualLoop})


@contextmanager
def _in_turn(dice: random.Random, call: Callable[[Callable[[], Any]], Any]) -> Iterator[None]:
    async def instead(
        func: Callable[..., T], args: tuple[Any, ...], abandon_on_cancel: bool = False, limiter: object = None
    ) -> T:
        with anyio.CancelScope(shield=not abandon_on_cancel):
            await anyio.sleep(dice.uniform(0, MOST_DELAY_S))
        done: T = call(lambda: func(*args))
        return done

    with mock.patch.object(AsyncIOBackend, "run_sync_in_worker_thread", staticmethod(instead)):
        yield
