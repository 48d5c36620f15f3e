"""The SDK's messages over the pipes of a client on a leash.

The SDK can start the client itself, but then the client runs before anybody has recorded its process (D23), and what
it leaves is nobody's to end.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from claude_agent_sdk import CLIConnectionError, Transport

from musician.processes.spawn import Spoken

MOST_MESSAGE_BYTES = 64 * 1024 * 1024
"""A line that is longer ends the conversation."""
_KEPT_ERROR_BYTES = 4096
_END_LIMIT_S = 2.0


class LeashedTransport(Transport):
    """``last_words`` is the end of what the client printed to its standard error."""

    def __init__(self, program: Spoken) -> None:
        self._program = program
        self._kept = b""

    @asynccontextmanager
    async def complaints_read(self) -> AsyncIterator[None]:
        """A client whose complaints nobody reads comes to a stop."""
        reading = asyncio.ensure_future(self._read_errors())
        try:
            yield
        finally:
            reading.cancel()

    async def _read_errors(self) -> None:
        while chunk := await self._program.read_error():
            self._kept = (self._kept + chunk)[-_KEPT_ERROR_BYTES:]

    @property
    def last_words(self) -> str:
        return "".join(self._kept.decode("utf-8", "replace").strip().splitlines()[-1:])

    async def connect(self) -> None:
        """It runs already."""

    async def write(self, data: str) -> None:
        try:
            await self._program.write(data.encode("utf-8", "replace"))
        except BrokenPipeError as error:
            raise CLIConnectionError("the client listens no more") from error

    async def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        """Each line that is a JSON object; others are not the protocol's."""
        rest = bytearray()
        while chunk := await self._program.read():
            *ended, open_line = chunk.split(b"\n")
            for line in ended:
                message = _object(bytes(rest) + line)
                rest.clear()
                if message is not None:
                    yield message
            rest += open_line
            if len(rest) > MOST_MESSAGE_BYTES:
                return

    async def close(self) -> None:
        """A client that hears nothing more writes its conversation to the end, and ends; else its starter ends it."""
        self._program.end_input()
        with anyio.move_on_after(_END_LIMIT_S):
            await self._program.wait()

    def is_ready(self) -> bool:
        return True

    async def end_input(self) -> None:
        """Its input ends with it."""


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
