"""The SDK's messages over the pipes of a client on a leash.

The SDK can start the client itself, but then the client runs before its process is recorded (D23), and nobody
would end what it leaves running.
"""

from collections.abc import AsyncIterator
from typing import Any

import anyio
from claude_agent_sdk import CLIConnectionError, Transport

from musician.agents.hosted import END_LIMIT_S, messages
from musician.processes.spawn import Spoken


class LeashedTransport(Transport):
    def __init__(self, program: Spoken) -> None:
        self._program = program

    async def connect(self) -> None:
        """Do nothing: the client runs already."""

    async def write(self, data: str) -> None:
        try:
            await self._program.write(data.encode("utf-8", "replace"))
        except BrokenPipeError as error:
            raise CLIConnectionError("the client listens no more") from error

    def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        return messages(self._program)

    async def close(self) -> None:
        """Close the client's input, at which it saves its conversation and exits; otherwise its starter ends
        it.
        """
        self._program.end_input()
        with anyio.move_on_after(END_LIMIT_S):
            await self._program.wait()

    def is_ready(self) -> bool:
        return True

    async def end_input(self) -> None:
        """Do nothing: the input is closed with the transport."""
