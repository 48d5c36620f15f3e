"""Bells that may be missing: where none can be hung, the slow look stands alone (D11)."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio

from musician.store.bell import Bell


@contextmanager
def hang_bell(database: Path, task_id: str) -> Iterator[Bell | None]:
    """A bell for a ``with`` block; None where there is no private folder for one."""
    try:
        bell = Bell(database, task_id)
    except OSError:
        yield None
        return
    with bell:
        yield bell


async def rings(bell: Bell | None) -> None:
    """Return when it rings; never, without one."""
    if bell is None:
        await anyio.sleep_forever()
    else:
        await anyio.wait_readable(bell)


def has_rung(bell: Bell | None) -> bool:
    """Whether it was rung since it was asked last."""
    return bell is not None and bell.drain()
