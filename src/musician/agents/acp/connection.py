"""The protocol's messages, over the pipes of a program on a leash.

Framing, ids and pending requests are the official library's. What an agent sends is taken as plain documents, not as
the library's models: an agent of another version adds kinds of updates and fields, and none of them may end a piece.
What it sends is put in one queue in the order in which it came, its requests among them, each with a way to answer.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

import anyio
from acp.connection import Connection

from musician.agents.hosted import messages
from musician.processes.spawn import Spoken

Document = Mapping[str, Any]
Heard = Callable[[str, Document], Awaitable[Any]]
"""A method and its parameters; the answer, where it is a request."""


class _Pipes:
    """Implements the library's transport: one JSON document a line."""

    def __init__(self, program: Spoken) -> None:
        self._program = program
        self._messages = messages(program)

    async def send(self, message: dict[str, Any]) -> None:
        try:
            await self._program.write(json.dumps(message).encode() + b"\n")
        except BrokenPipeError as error:
            raise ConnectionError("it listens no more") from error

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message; None at the end."""
        return await anext(self._messages, None)

    async def close(self) -> None:
        """Do nothing: whoever started the program ends it."""


class Wire:
    """Our side of the conversation. Each request ends with one call of ``on_end``, whether answered or
    refused.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._begun: set[asyncio.Task[Any]] = set()

    async def request(self, method: str, **params: Any) -> Document:
        """Send a request and return its answer; RequestError if that is an error, ConnectionError if the
        agent is gone.
        """
        answer = await self._connection.send_request(method, params)
        return answer if isinstance(answer, dict) else {}

    def begin(self, method: str, params: dict[str, Any], on_end: Callable[["Answer"], None]) -> None:
        task = asyncio.ensure_future(self.request(method, **params))
        self._begun.add(task)
        task.add_done_callback(partial(self._ended, on_end))

    async def notify(self, method: str, **params: Any) -> None:
        """Send a notification; do nothing if the agent is gone, which whoever waits for it is told anyway."""
        with suppress(ConnectionError):
            await self._connection.send_notification(method, params)

    def _ended(self, on_end: Callable[["Answer"], None], task: asyncio.Task[Any]) -> None:
        self._begun.discard(task)
        if not task.cancelled():
            error = task.exception()
            on_end(task.result() if error is None else error)


Answer = Document | BaseException


@asynccontextmanager
async def connected(program: Spoken, heard: Heard) -> AsyncIterator[Wire]:
    """Open a wire to a running program; ``heard`` is called for each message, in order."""

    async def handle(method: str, params: Any, is_notification: bool) -> Any:  # noqa: ARG001, FBT001 - the library's
        return await heard(method, params if isinstance(params, dict) else {})

    connection = Connection(handle, _Pipes(program))
    try:
        yield Wire(connection)
    finally:
        with anyio.CancelScope(shield=True):
            await connection.close()
