"""This process's own standard streams, as the library's stdio transport reads and writes them (B17).

The transport gets duplicates of both. From then on descriptor 1 is standard error, so that nothing printed on the
way, by a child neither, reaches the client; and descriptor 0 is empty, so that no child eats a request. Reading
waits without a thread where the system allows it: a thread in a read would keep the process from ending.

What is no message is answered here (``requests``), and the library never sees it.

What a reply says has been delivered once its line is flushed, and not before: whoever must know leaves a note with
:meth:`Wire.after` (D12).
"""

import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress

import anyio
import anyio.to_thread

from musician.mcp_server.requests import Wrong, checked

MOST_LINE_BYTES = 32 * 1024 * 1024
"""Of one request; what is longer is no request of a client's, and ends the connection."""

_CHUNK_BYTES = 64 * 1024


class Wire:
    """Both streams, from opening on. ``closed`` is set when either has ended, or :meth:`close` was called."""

    def __init__(self) -> None:
        self._in, self._out = os.dup(0), os.dup(1)
        empty = os.open(os.devnull, os.O_RDONLY)
        os.dup2(empty, 0)
        os.close(empty)
        os.dup2(2, 1)
        self.closed, self._writing = anyio.Event(), anyio.Lock()
        self._reading = anyio.CancelScope()
        self._notes: dict[object, Callable[[], Awaitable[None]]] = {}

    def close(self) -> None:
        """Read no more, as if the input had ended."""
        self.closed.set()
        self._reading.cancel()

    def after(self, request_id: object, act: Callable[[], Awaitable[None]]) -> None:
        """Await ``act`` once the reply to this request has been written."""
        self._notes[request_id] = act

    # -- what the transport uses of a text file ------------------------------------------------------------------

    async def __aiter__(self) -> AsyncIterator[str]:
        rest = bytearray()
        while (chunk := await self._read()) and len(rest) < MOST_LINE_BYTES:
            *lines, tail = chunk.split(b"\n")
            for line in lines:
                rest += line
                try:
                    yield checked(bytes(rest))
                except Wrong as wrong:
                    if wrong.reply is not None and rest.strip():
                        await self.write(wrong.reply)
                rest.clear()
            rest += tail
        self.close()

    async def write(self, text: str) -> None:
        data = memoryview(text.encode())
        try:
            async with self._writing:
                while data and not self.closed.is_set():
                    data = data[await anyio.to_thread.run_sync(os.write, self._out, data) :]
        except OSError:  # nobody reads the answer
            self.close()
            return
        if self._notes:
            await self._note(text)

    async def flush(self) -> None:
        """Every write is written through."""

    # -- inside --------------------------------------------------------------------------------------------------

    async def _read(self) -> bytes:
        """The next bytes; b"" at the end."""
        self._reading = anyio.CancelScope()
        with self._reading, suppress(OSError):
            if not self.closed.is_set():
                await _readable(self._in)
                return os.read(self._in, _CHUNK_BYTES)
        return b""

    async def _note(self, text: str) -> None:
        with suppress(ValueError):
            act = self._notes.pop(json.loads(text).get("id"), None)
            if act is not None:
                await act()


async def _readable(descriptor: int) -> None:
    """Wait for something to read; a file, which is always readable, can be waited for nowhere."""
    with suppress(PermissionError):
        await anyio.wait_readable(descriptor)
