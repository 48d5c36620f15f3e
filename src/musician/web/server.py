"""Puts the dashboard together and serves it on this machine until it is told to stop.

A stop ends the open streams first: the server would wait for them, as they end only with their pages.
"""

import secrets
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from functools import partial
from typing import Any

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from musician.interruption import STOP_SIGNALS, heeded
from musician.project import Project
from musician.protocol.errors import CommitGone, MusicianError, UnknownPlan, UnknownTask
from musician.web import orders, pages
from musician.web.connection import PromptConnection
from musician.web.desk import Desk
from musician.web.guard import ENTRANCE, Guard
from musician.web.keys import LOOPBACK, Keys

NAMES = (LOOPBACK, "localhost")
_TOKEN_BYTES = 32
_KEPT = "dashboard.json"
_STOP_S = 3


def application(desk: Desk, *, port: int, keys: Keys, token: str) -> Guard:
    """Return the dashboard as an ASGI application that answers at ``port`` to loopback's names and its own."""

    @asynccontextmanager
    async def beside(_app: Starlette) -> AsyncIterator[None]:
        async with anyio.create_task_group() as group:
            group.start_soon(desk.news.listen)
            yield
            desk.news.stop()

    task = "/tasks/{task_id}"
    files = "/changes/{old}/{new}/{number}"
    looks: tuple[tuple[str, Callable[[Request], Response]], ...] = (
        ("/", pages.home),
        ("/timeline", pages.timeline),
        (task, pages.task),
        (f"{task}/review", pages.review),
        (f"{task}/log", pages.log),
        (files, pages.changed_file),
    )
    routes = [
        *(Route(path, page) for path, page in looks),
        Route("/events", pages.events),
        Route("/syntax.css", pages.syntax),
        Route("/plans", pages.plans),
        Route("/fleet", pages.fleet),
        Mount("/plans/{plan_id}", routes=[Route(path, pages.of_an_archive(page)) for path, page in looks]),
        Route("/decided", pages.decided),
        Route("/proposals", pages.proposals),
        *(
            Route(f"{of}/{{name}}/{verb.__name__}", orders.order(verb, back=back), methods=["POST"])
            for of, back, verbs in (
                (
                    "/tasks",
                    "/tasks/{}",
                    (orders.judge, orders.send, orders.stop, orders.handoff, orders.retry, orders.skip),
                ),
                ("/tasks", "/tasks/{}/review", (orders.comment, orders.drop)),
                ("/proposals", "/proposals", (orders.accept, orders.reject)),
                ("/plan", "/", (orders.pause, orders.resume)),
            )
            for verb in verbs
        ),
        Mount("/static", StaticFiles(packages=[("musician.web", "static")])),
    ]
    handlers: dict[Any, Any] = {
        UnknownTask: pages.not_found,
        UnknownPlan: pages.not_found,
        CommitGone: pages.not_found,
        404: pages.not_found,
        MusicianError: pages.trouble,
    }
    app = Starlette(routes=routes, lifespan=beside, exception_handlers=handlers)
    app.state.desk = desk
    return Guard(
        app, keys=keys, token=token, port=port, hosts={keys.address, *NAMES}, read_only=desk.read_only
    )


class _Server(uvicorn.Server):
    """Ends the streams when a signal asks it to stop."""

    def __init__(self, config: uvicorn.Config, on_stop: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_stop = on_stop

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take SIGHUP as well, and leave what was ignored when this program started."""
        before = {number: signal.signal(number, self.handle_exit) for number in heeded(*STOP_SIGNALS)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: Any) -> None:  # noqa: ARG002
        """Take the signal as a wish to end, which is no failure; whoever sends a second one will not wait."""
        self.force_exit = self.should_exit
        self.should_exit = True
        self._on_stop()


def serve(project: Project, *, port: int | None, read_only: bool, on_ready: Callable[[str], None]) -> None:
    """Serve until a signal asks to stop. ``on_ready`` is told the address to open; OSError if the port is taken.

    Main thread only.
    Without a ``port`` it takes the one of the last time, or a free one. It listens at 127.0.0.1, for who forwards that
    from another machine, and at the repository's own address, where a cookie meets nobody else (``keys``).
    """
    keys = Keys(project.root.musician_dir / _KEPT)
    with ExitStack() as opened:
        listening = [_listening(opened, LOOPBACK, keys.port, port)]
        found: int = listening[0].getsockname()[1]
        address = keys.address
        try:
            listening.append(_listening(opened, address, found, found))
        except OSError:  # some machines have one such address alone, and the port may be taken at all of them
            address = LOOPBACK
        keys.serve_at(found, address)
        desk = Desk(project, read_only=read_only)
        guard = application(desk, port=found, keys=keys, token=secrets.token_hex(_TOKEN_BYTES))
        config = uvicorn.Config(
            guard,
            log_level="warning",
            access_log=False,
            server_header=False,
            lifespan="on",
            timeout_graceful_shutdown=_STOP_S,
            ws="none",
            http=PromptConnection,
        )
        server = _Server(config, desk.news.stop)
        with server.capture_signals():  # whoever has read the address may ask it to end
            on_ready(f"http://{address}:{found}{ENTRANCE}?token={guard.token}")
            anyio.run(partial(server.serve, sockets=listening))


def _listening(opened: ExitStack, address: str, last: int, port: int | None) -> socket.socket:
    """Return a socket that listens at ``port``; without one at the ``last``, or a free one."""
    found = opened.enter_context(socket.socket())
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((address, last if port is None else port))
    except OSError:
        if port is not None:
            raise
        found.bind((address, 0))
    found.listen()
    return found
