"""Implements the part of the Model Context Protocol that a server of tools needs.

Each request is answered by a task of its own, so a long one delays no other. A request that the client cancels is not
answered. The official library is not used because it takes most of a second to import, and every session would wait
that long for its tools. Its client and the official inspector are in the tests.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
import anyio.abc

from musician import __version__
from musician.mcp_server.wire import Wire
from musician.protocol.values import dataclass

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Versions of MCP, the newest first. They do not differ for a server whose tools have no result schemas."""

_NO_METHOD, _NO_PARAMETERS = -32601, -32602


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The answer of a tool call. ``once_delivered`` is awaited when the client has got it."""

    text: str
    is_error: bool = False
    once_delivered: Callable[[], Awaitable[None]] | None = None


class _NoAnswer(Exception):
    """A request cannot be answered. Its code is one of JSON-RPC's."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.error = {"code": code, "message": text}


class Dialogue:
    """Answers the requests of one client."""

    def __init__(
        self,
        wire: Wire,
        *,
        name: str,
        tools: Callable[[], Awaitable[list[dict[str, object]]]],
        call: Callable[[str, Mapping[str, object]], Awaitable[ToolResult]],
    ) -> None:
        self._wire, self._name, self._tools, self._call = wire, name, tools, call
        self._asked: dict[object, anyio.CancelScope] = {}

    async def hold(self, group: anyio.abc.TaskGroup) -> None:
        """Read requests until the input ends, and answer them in ``group``."""
        async for message in self._wire.messages():
            params = message.get("params", {})
            if message.get("method") == "notifications/cancelled":
                self._cancel(params.get("requestId"))
            elif "method" in message and "id" in message:
                scope = self._asked[message["id"]] = anyio.CancelScope()
                group.start_soon(self._answer, scope, message["id"], message["method"], params)

    def _cancel(self, request_id: object) -> None:
        if isinstance(request_id, (str, int)) and (scope := self._asked.get(request_id)) is not None:
            scope.cancel()

    async def _answer(
        self, scope: anyio.CancelScope, request_id: object, method: str, params: Mapping[str, Any]
    ) -> None:
        with scope:
            once_delivered = None
            try:
                if method == "tools/call":
                    called = await self._call(*_called(params))
                    once_delivered = called.once_delivered
                    content = {"content": [{"type": "text", "text": called.text}]}
                    answer = {"result": {**content, "isError": True} if called.is_error else content}
                else:
                    answer = {"result": await self._result_of(method, params)}
            except _NoAnswer as problem:
                answer = {"error": problem.error}
            if await self._wire.write({"id": request_id, **answer}) and once_delivered is not None:
                await once_delivered()
        if self._asked.get(request_id) is scope:
            del self._asked[request_id]

    async def _result_of(self, method: str, params: Mapping[str, Any]) -> dict[str, object]:
        match method:
            case "initialize":
                asked = params.get("protocolVersion")
                return {
                    "protocolVersion": asked if asked in VERSIONS else VERSIONS[0],
                    "capabilities": {"tools": {"listChanged": True}},
                    "serverInfo": {"name": self._name, "version": __version__},
                }
            case "ping":
                return {}
            case "tools/list":
                return {"tools": await self._tools()}
        raise _NoAnswer(_NO_METHOD, f"no method {method!r:.80}")


def _called(params: Mapping[str, Any]) -> tuple[str, Mapping[str, object]]:
    name, given = params.get("name"), params.get("arguments") or {}
    if not isinstance(name, str) or not isinstance(given, dict):
        raise _NoAnswer(_NO_PARAMETERS, "a call has a name, and arguments that are an object")
    return name, given
