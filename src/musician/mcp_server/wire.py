"""Reads and writes JSON-RPC messages, one to a line, on the standard streams of this process (B17).

Both streams are duplicated first. Then descriptor 1 is redirected to standard error, so that nothing which this process
or a child prints reaches the client; and descriptor 0 is made empty, so that no child consumes a request. Reading waits
without a thread if the system allows it, because a thread blocked in a read would keep the process from ending.

Invalid lines are answered here (``requests``) and not passed on.
"""

import json
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Any

import anyio
from anyio.to_thread import run_sync

from musician.mcp_server.requests import Wrong, checked

MOST_LINE_BYTES = 32 * 1024 * 1024
"""The size of one request. No client sends a longer one, so it ends the connection."""

_CHUNK_BYTES = 64 * 1024


class Wire:
    """The two streams. ``closed`` is set when either has ended or :meth:`close` was called."""

    def __init__(self) -> None:
        self._in, self._out = os.dup(0), os.dup(1)
        empty = os.open(os.devnull, os.O_RDONLY)
        os.dup2(empty, 0)
        os.close(empty)
        os.dup2(2, 1)
        self.closed, self._writing = anyio.Event(), anyio.Lock()
        self._reading = anyio.CancelScope()

    def close(self) -> None:
        """Stop reading, as if the input had ended."""
        self.closed.set()
        self._reading.cancel()

    async def messages(self) -> AsyncIterator[dict[str, Any]]:
        """Yield the client's messages until the end of input."""
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
        """Write one message. Return whether it was written completely, and so delivered (D12)."""
        data = memoryview(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        try:
            async with self._writing:
                while data and not self.closed.is_set():
                    data = data[await run_sync(os.write, self._out, data) :]
        except OSError:  # nobody reads the answer
            self.close()
        return not data

    async def _read(self) -> bytes:
        """Return the next bytes, b"" at the end."""
        self._reading = anyio.CancelScope()
        with self._reading, suppress(OSError):
            if not self.closed.is_set():
                await _readable(self._in)
                return os.read(self._in, _CHUNK_BYTES)
        return b""


async def _readable(descriptor: int) -> None:
    """Wait until there is something to read. A regular file is always readable and cannot be waited for."""
    with suppress(PermissionError):
        await anyio.wait_readable(descriptor)
