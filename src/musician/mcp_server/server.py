"""Serves the tools on standard input and output, from the first request to the end of input (B17).

Modules that the list of tools does not need are imported only after the client has got that list.

At the end of input all requests are cancelled, and the programs they have started end with them. Threads cannot be
cancelled and are not waited for beyond :data:`EXIT_WITHIN_S`: each runs a transaction, a git command or a leashed
program, and all of these survive being cut off.
"""

import logging
import os
import re
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, TypeVar, TypeVarTuple

import anyio
from anyio.to_thread import run_sync

from musician.mcp_server.background_calls import BackgroundCalls
from musician.mcp_server.dialogue import Dialogue, ToolResult
from musician.mcp_server.tools import CONDUCTORS_TOOLS, TOOLS, Tool
from musician.mcp_server.wire import Wire
from musician.processes import client_line
from musician.processes.output import one_line
from musician.processes.signals import stop_requested
from musician.project import Project
from musician.protocol.errors import BadField, CallerError, MusicianError

if TYPE_CHECKING:
    from musician.mcp_server.served_session import ServedSession
    from musician.store.port import Store

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

NAME = "comms-link"
EXIT_WITHIN_S = 1.0
"""How long the server may take to exit after the end of input."""

MOST_REFUSAL_CHARS = 1000
RETRY_AFTER_S = 15.0
"""How often a server that cannot read the database or its settings tries again."""

_WAIT = re.compile(r"`musician wait [^`]*`")
_TOOL_OF = {"exit": "handoff"}
"""Commands whose tools have another name."""

_COMMAND = re.compile(r"`musician ([a-z-]+)[^`]*`")


def serve(environ: Mapping[str, str], project: Project, *, answer_hook: Callable[[bytes], bytes]) -> int:
    """Serve until the client is gone, and return the exit code.

    ``answer_hook`` answers the hooks of the same client, which ask this process instead of starting their own.
    """
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="musician mcp: %(message)s")
    service = _Service(environ, project, answer_hook)
    try:
        anyio.run(service.run)
    finally:
        service.close()
    return 0


class _Service:
    """One connection to a client, and the session it serves."""

    def __init__(
        self, environ: Mapping[str, str], project: Project, answer_hook: Callable[[bytes], bytes]
    ) -> None:
        self._environ, self._project, self._answer_hook = environ, project, answer_hook
        self._session: ServedSession | None = None
        self._making_session = threading.Lock()
        self._conducts = False
        """As the client was told last."""

    async def run(self) -> None:
        self._wire, self._asked = Wire(), anyio.Event()
        dialogue = Dialogue(self._wire, name=NAME, tools=self._list, call=self._call)
        async with anyio.create_task_group() as group:
            self._background = BackgroundCalls(group)
            for each in (self._stop_on_signal, self._end_in_time, self._watch, self._hear_hooks):
                group.start_soon(each)
            await dialogue.hold(group)
            group.cancel_scope.cancel()

    def close(self) -> None:
        if self._session is not None:
            self._session.close()
        self._project.close()

    # -- requests ------------------------------------------------------------------------------------------------

    async def _list(self) -> list[dict[str, object]]:
        offered = await _in_thread(self._offered)
        self._asked.set()
        tools = offered.values()
        return [
            {"name": each.name, "description": each.description, "inputSchema": each.schema} for each in tools
        ]

    async def _call(self, name: str, given: Mapping[str, object]) -> ToolResult:
        self._asked.set()
        try:
            return await self._do(name, given)
        except MusicianError as error:
            return ToolResult(text=_refusal(error), is_error=True)
        except OSError as error:
            return ToolResult(text=one_line(f"not done: {error}", MOST_REFUSAL_CHARS), is_error=True)
        except Exception as error:
            logging.exception("%s failed", name)
            return ToolResult(text=f"not done, a defect of Musician: {type(error).__name__}", is_error=True)

    async def _do(self, name: str, given: Mapping[str, object]) -> ToolResult:
        if name in CONDUCTORS_TOOLS:
            return await self._conduct(CONDUCTORS_TOOLS[name], given)
        if name not in TOOLS:
            raise BadField(field="tool", value=name, reason="use one of " + ", ".join(TOOLS))
        arguments = TOOLS[name].parse(given)
        served = await _in_thread(self._served)
        if TOOLS[name].runs_tests:
            from musician.mcp_server import verifying

            work = partial(getattr(verifying, name), served, **arguments)
            return ToolResult(text=await self._background.answer(name, work))
        from musician.mcp_server import acts

        reply = await _in_thread(partial(getattr(acts, name), served, **arguments))
        await _in_thread(served.beat)
        if isinstance(reply, acts.Reply):
            return ToolResult(text=reply.text, once_delivered=partial(_acknowledge, reply.once_delivered))
        return ToolResult(text=str(reply))

    async def _conduct(self, tool: Tool, given: Mapping[str, object]) -> ToolResult:
        arguments = tool.parse(given)
        served = await _in_thread(self._served)
        await _in_thread(served.check_conducts)
        from musician.mcp_server import conducting

        return ToolResult(text=await _in_thread(partial(getattr(conducting, tool.name), served, **arguments)))

    def _offered(self) -> Mapping[str, Tool]:
        """A musician's tools, until the session is known to conduct; none where Musician is not set up."""
        if not self._project.is_set_up:
            return {}
        return CONDUCTORS_TOOLS if self._conducts else TOOLS

    def _served(self) -> "ServedSession":
        from musician.mcp_server.served_session import ServedSession

        with self._making_session:
            if self._session is None:
                self._session = ServedSession(self._environ, self._project)
            return self._session

    # -- beside requests -----------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        """Hold the life locks of the session's tasks, from the moment it claims them (D2)."""
        await self._asked.wait()
        served = await _in_thread(self._served)
        while (store := await _in_thread(_opened, served)) is None:
            await anyio.sleep(RETRY_AFTER_S)
        with store.listen() as ear:
            while (pause_s := await _in_thread(_show_life, served)) is not None:
                if await _in_thread(_conducts, served) != self._conducts:
                    self._conducts = not self._conducts
                    await self._wire.write({"method": "notifications/tools/list_changed"})
                await ear.heard(pause_s)

    async def _hear_hooks(self) -> None:
        """Answer the hooks of the same client: a hook with nothing to say need not load the program to find out."""
        await self._asked.wait()
        listener = client_line.listen(os.getppid())
        if listener is None:
            return
        with socket.socket(fileno=listener.detach()) as line:
            async with anyio.create_task_group() as group:
                while True:
                    await anyio.wait_readable(line)
                    with suppress(OSError):  # the hook has ended meanwhile
                        group.start_soon(_in_thread, self._hear_hook, line.accept()[0])

    def _hear_hook(self, asking: socket.socket) -> None:
        with asking:
            question = client_line.heard(asking)
            if question is not None:
                with suppress(OSError):
                    asking.sendall(self._answer_hook(question))

    async def _stop_on_signal(self) -> None:
        await stop_requested()
        self._wire.close()

    async def _end_in_time(self) -> None:
        await self._wire.closed.wait()
        watchdog = threading.Timer(EXIT_WITHIN_S, os._exit, (0,))
        watchdog.daemon = True
        watchdog.start()


def _opened(served: "ServedSession") -> "Store | None":
    """Return the store; None if there is none yet, or if it cannot be used now."""
    with suppress(MusicianError, OSError):
        return served.store
    return None


def _show_life(served: "ServedSession") -> float | None:
    """Hold the locks and refresh the heartbeats of the session's tasks; return the seconds until the next time.

    Returns None if the server has no session: it will never own anything (D8).
    """
    try:
        served.take_up()
        served.beat(delegated=True)
        return served.settings.waiting.background_poll_s
    except CallerError:
        return None
    except (MusicianError, OSError) as error:
        logging.warning("the life lock cannot be kept up: %s", error)
        return RETRY_AFTER_S


def _conducts(served: "ServedSession") -> bool:
    with suppress(MusicianError, OSError):
        return served.conducts
    return False


async def _acknowledge(once_delivered: Callable[[], object]) -> None:
    """Acknowledge delivered messages. If that fails they are delivered again: better twice than never (D12)."""
    try:
        await _in_thread(once_delivered)
    except (MusicianError, OSError) as error:
        logging.warning("not acknowledged: %s", error)


def _refusal(error: MusicianError) -> str:
    """Describe a refusal, with commands replaced by the names of their tools."""
    text = _WAIT.sub("end your turn", str(error))
    return one_line(_COMMAND.sub(_named_here, text), MOST_REFUSAL_CHARS)


def _named_here(command: re.Match[str]) -> str:
    name = _TOOL_OF.get(command[1], command[1].replace("-", "_"))
    return f"`{name}`" if name in TOOLS else command[0]


async def _in_thread(call: Callable[[*Ts], T], *given: *Ts) -> T:
    """Call in a thread. A cancelled call is not waited for: it is one transaction, and is done whole or not at all."""
    return await run_sync(call, *given, abandon_on_cancel=True)
