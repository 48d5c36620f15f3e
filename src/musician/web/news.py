"""Tells open pages that something has happened: one listener for all of them, whatever their number.

An event has the ``seq`` of the one order as its id and no content. A page that comes back after a gap sends the id of
the last event it has seen; if anything has happened since, it is told at once. A beat in between lets pages show the
age of heartbeats as it is now, and tells a page that its server lives.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import suppress

import anyio
from anyio.to_thread import run_sync

from musician import service
from musician.protocol.errors import MusicianError
from musician.store.listening import Listener
from musician.store.port import Store

BEAT_S = 10.0
RETRY_MS = 1000
"""When a page that has lost the server asks again."""
PACE_S = 0.1
"""How long what follows upon news is gathered: pages ask for themselves at each, and the machine has other work."""
LOOK_S = 0.2
"""How often it is looked whether what is no row has grown."""


class News:
    """Run :meth:`listen` beside the server; :meth:`stop` ends it and every stream."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._changed = anyio.Event()
        self._is_stopped = False
        self._ear: Listener | None = None
        self.seq, self.beats = 0, 0

    async def listen(self) -> None:
        with self._store.listen(journals=True) as ear:
            self._ear = ear
            while not self._is_stopped:
                with suppress(MusicianError):  # a page that asks is told; here it is tried again
                    self.seq = await run_sync(service.newest_seq, self._store)
                self._tell()
                await anyio.sleep(PACE_S)
                if not await ear.heard(BEAT_S):
                    self.beats += 1

    def stop(self) -> None:
        """From the event loop's thread, as :meth:`look`."""
        self._is_stopped = True
        self.look()
        self._tell()

    def look(self) -> None:
        """Have it look now: what this server itself has written is no news to its listener."""
        if self._ear is not None:
            self._ear.nudge()

    async def stream(self, last_seen: int, stamp: Callable[[], object] | None = None) -> AsyncIterator[str]:
        """Yield server-sent events for one page that has seen everything up to ``last_seen``.

        ``stamp`` is of a page that shows more than rows: it tells by another value that this has grown.
        """
        yield f"retry: {RETRY_MS}\n\n"
        while not self._is_stopped:
            changed, before = self._changed, stamp and stamp()
            kind = "news" if self.seq != last_seen else "beat"
            last_seen = self.seq
            yield f"id: {last_seen}\nevent: {kind}\ndata:\n\n"
            if stamp is None:
                await changed.wait()
                continue
            while not changed.is_set() and stamp() == before:
                with anyio.move_on_after(LOOK_S):
                    await changed.wait()

    def _tell(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()


def seen_before(value: str | None) -> int:
    """Return the id that a page has sent of its last event; -1, which is none, if it sent no number."""
    return (
        int(value) if value is not None and value.isascii() and value.isdecimal() and len(value) < 20 else -1
    )
