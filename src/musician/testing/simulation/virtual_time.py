"""An event loop whose time jumps to the next thing that is to happen, and whose blocking calls run in their turn.

Two hours of waiting take no time. Nothing runs beside anything else: a blocking call is one act, before which others
may come. Where nothing is left that could happen, the loop says so instead of standing still (:class:`NothingHappens`).
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
    """Finds what is ready now; where nothing is, the time that would have been waited is over."""

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
    """Run ``main`` to its end; each blocking call comes to its turn after a thrown delay, and is made by ``call``."""
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
