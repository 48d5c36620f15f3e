"""One connection of a browser: it has a request for us in time, or is ended.

The server itself waits for ever for the head of a request. Whatever runs on this machine could so take all the
descriptors that a process may have, and the page with them.
"""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_S = 10.0
"""From the beginning of a connection, or the end of an answer, to the next whole head of a request."""


class PromptConnection(H11Protocol):
    """Streams, and bodies of requests, take as long as they like."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._forget()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.conn.their_state is h11.IDLE:
            self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        super().connection_lost(exc)

    def _expect(self) -> None:
        self._forget()
        self._deadline = asyncio.get_running_loop().call_later(HEAD_S, self.transport.close)

    def _forget(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
