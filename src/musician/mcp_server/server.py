"""Serving the tools on standard input and output, from the first request to the end of input (B17).

Everything of ours that a listing of the tools does not need is imported after the client has its answer.

The end of input ends what runs: what answers a request is cancelled, and what it has started ends with it. A
thread that cannot be cancelled is not waited for beyond :data:`EXIT_WITHIN_S`; what it does is a transaction, a git
command or a leashed program, each of which survives that.
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
from typing import TYPE_CHECKING, TypeVar

import anyio
import anyio.to_thread

from musician.mcp_server.background_calls import BackgroundCalls
from musician.mcp_server.dialogue import Dialogue, Said
from musician.mcp_server.tools import TOOLS
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

NAME = "comms-link"
EXIT_WITHIN_S = 1.0
"""After the end of input, at the latest."""

MOST_REFUSAL_CHARS = 1000
LOOK_EVERY_S = 15.0
"""How often a server that cannot read the database and its settings tries again."""

_WAIT = re.compile(r"`musician wait [^`]*`")
_TOOL_OF = {"exit": "handoff"}
"""Commands whose tools have other names."""

_COMMAND = re.compile(r"`musician ([a-z-]+)[^`]*`")


def serve(environ: Mapping[str, str], project: Project, *, answer_hook: Callable[[bytes], bytes]) -> int:
    """Serve until the client has gone; the exit code. ``answer_hook`` is what a hook of the same client is told."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="musician mcp: %(message)s")
    service = _Service(environ, project, answer_hook)
    try:
        anyio.run(service.run)
    finally:
        service.close()
    return 0


class _Service:
    """One connection, and what it serves."""

    def __init__(
        self, environ: Mapping[str, str], project: Project, answer_hook: Callable[[bytes], bytes]
    ) -> None:
        self._environ, self._project, self._answer_hook = environ, project, answer_hook
        self._seat: ServedSession | None = None
        self._taking_seat = threading.Lock()

    async def run(self) -> None:
        self._wire, self._asked = Wire(), anyio.Event()
        dialogue = Dialogue(self._wire, name=NAME, tools=self._list, call=self._call)
        async with anyio.create_task_group() as group:
            self._errands = BackgroundCalls(group)
            for each in (self._stop_on_signal, self._end_in_time, self._watch, self._hear_hooks):
                group.start_soon(each)
            await dialogue.hold(group)
            group.cancel_scope.cancel()

    def close(self) -> None:
        if self._seat is not None:
            self._seat.close()
        self._project.close()

    # -- requests ------------------------------------------------------------------------------------------------

    async def _list(self) -> list[dict[str, object]]:
        tools = TOOLS.values() if await _in_thread(lambda: self._project.is_set_up) else ()
        self._asked.set()
        return [
            {"name": each.name, "description": each.description, "inputSchema": each.schema} for each in tools
        ]

    async def _call(self, name: str, given: Mapping[str, object]) -> Said:
        self._asked.set()
        try:
            return await self._do(name, given)
        except MusicianError as error:
            return Said(text=_refusal(error), is_error=True)
        except OSError as error:
            return Said(text=one_line(f"not done: {error}", MOST_REFUSAL_CHARS), is_error=True)
        except Exception as error:
            logging.exception("%s failed", name)
            return Said(text=f"not done, a defect of Musician: {type(error).__name__}", is_error=True)

    async def _do(self, name: str, given: Mapping[str, object]) -> Said:
        if name not in TOOLS:
            raise BadField(field="tool", value=name, reason="use one of " + ", ".join(TOOLS))
        arguments = TOOLS[name].parse(given)
        served = await _in_thread(self._take_seat)
        if TOOLS[name].is_errand:
            from musician.mcp_server import verifying

            work = partial(getattr(verifying, name), served, **arguments)
            return Said(text=await self._errands.answer(name, work))
        from musician.mcp_server import acts

        reply = await _in_thread(partial(getattr(acts, name), served, **arguments))
        await _in_thread(served.beat)
        if isinstance(reply, acts.Reply):
            return Said(text=reply.text, once_delivered=partial(_acknowledge, reply.once_delivered))
        return Said(text=str(reply))

    def _take_seat(self) -> "ServedSession":
        from musician.mcp_server.served_session import ServedSession

        with self._taking_seat:
            if self._seat is None:
                self._seat = ServedSession(self._environ, self._project)
            return self._seat

    # -- besides -------------------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        """Hold the life locks of what the session owns, from whatever moment on it does (D2)."""
        await self._asked.wait()
        served = await _in_thread(self._take_seat)
        while (store := await _in_thread(partial(_opened, served))) is None:
            await anyio.sleep(LOOK_EVERY_S)
        with store.listen() as ear:
            while (pause_s := await _in_thread(partial(_look, served))) is not None:
                await ear.heard(pause_s)

    async def _hear_hooks(self) -> None:
        """Hooks that have nothing to say need not find that out by themselves."""
        await self._asked.wait()
        listener = client_line.listen(os.getppid())
        if listener is None:
            return
        with socket.socket(fileno=listener.detach()) as line:
            async with anyio.create_task_group() as group:
                while True:
                    await anyio.wait_readable(line)
                    with suppress(OSError):  # it has gone meanwhile
                        group.start_soon(_in_thread, partial(self._hear_hook, line.accept()[0]))

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
    """None where nothing is set up so far, or it cannot be used now."""
    with suppress(MusicianError, OSError):
        return served.store
    return None


def _look(served: "ServedSession") -> float | None:
    """How long until the next look at the latest; None for a session that is none: it will never own anything (D8)."""
    try:
        served.take_up()
        served.beat(delegated=True)
        return served.settings.waiting.background_poll_s
    except CallerError:
        return None
    except (MusicianError, OSError) as error:
        logging.warning("the life lock is not looked after: %s", error)
        return LOOK_EVERY_S


async def _acknowledge(once_delivered: Callable[[], object]) -> None:
    """What cannot be acknowledged is given once more: better twice than never (D12)."""
    try:
        await _in_thread(once_delivered)
    except (MusicianError, OSError) as error:
        logging.warning("not acknowledged: %s", error)


def _refusal(error: MusicianError) -> str:
    """What is refused and why; a command that is a tool here is called by its tool's name."""
    text = _WAIT.sub("end your turn", str(error))
    return one_line(_COMMAND.sub(_named_here, text), MOST_REFUSAL_CHARS)


def _named_here(command: re.Match[str]) -> str:
    name = _TOOL_OF.get(command[1], command[1].replace("-", "_"))
    return f"`{name}`" if name in TOOLS else command[0]


async def _in_thread(call: Callable[[], T]) -> T:
    """A cancelled call is not waited for: what it does is a transaction, and it is done or it is not."""
    return await anyio.to_thread.run_sync(call, abandon_on_cancel=True)
