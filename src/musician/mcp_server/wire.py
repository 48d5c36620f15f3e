"""This process's own standard streams, one JSON-RPC message a line (B17).

Both are duplicated. From then on descriptor 1 is standard error, so that nothing printed on the way, by a child
neither, reaches the client; and descriptor 0 is empty, so that no child eats a request. Reading waits without a thread
where the system allows it: a thread in a read would keep the process from ending.

What is no message is answered here (``requests``), and nobody else sees it.
"""

import json
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Any

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

    def close(self) -> None:
        """Read no more, as if the input had ended."""
        self.closed.set()
        self._reading.cancel()

    async def messages(self) -> AsyncIterator[dict[str, Any]]:
        """What the client says, until it says no more."""
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

    async def write(self, message: Mapping[str, object]) -> bool:
        """Whether it has been written through, and so delivered (D12)."""
        data = memoryview(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        try:
            async with self._writing:
                while data and not self.closed.is_set():
                    data = data[await anyio.to_thread.run_sync(os.write, self._out, data) :]
        except OSError:  # nobody reads the answer
            self.close()
        return not data

    async def _read(self) -> bytes:
        """The next bytes; b"" at the end."""
        self._reading = anyio.CancelScope()
        with self._reading, suppress(OSError):
            if not self.closed.is_set():
                await _readable(self._in)
                return os.read(self._in, _CHUNK_BYTES)
        return b""


async def _readable(descriptor: int) -> None:
    """Wait for something to read; a file, which is always readable, can be waited for nowhere."""
    with suppress(PermissionError):
        await anyio.wait_readable(descriptor)
