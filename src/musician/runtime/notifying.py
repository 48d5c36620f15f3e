"""Tells a person who is not looking at a run, in the ways that the settings name.

Each way is a program that gets the message on its standard input, on a leash and within a time limit; only
the terminal is written to. What hangs or fails delays no look and no launch, and is reported once. Secrets
are taken out before anything leaves: what is told may quote what an agent wrote.
"""

import json
import os
import shutil
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from html import escape
from pathlib import Path
from typing import TypeVar

import anyio
from anyio.to_thread import run_sync

from musician.own_python import own_python
from musician.processes.output import one_line, printable
from musician.processes.redaction import Redactor
from musician.processes.spawn import speak_with
from musician.protocol.errors import MusicianError
from musician.protocol.settings import Notify
from musician.reporting.notices import Gathering, Message, Notice, notices_of
from musician.reporting.standing import Standing
from musician.runtime.tasks import raising_one
from musician.runtime.verifying import nobody_records
from musician.store.port import Store

LOOK_EVERY_S = 1.0
SEND_LIMIT_S = 10.0
"""How long one way may take."""
END_LIMIT_S = 5.0
"""How long the last message may hold up the end of the process, when everything else is done."""

_MOST_COMPLAINT_CHARS = 200
_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS")
_APPLE_SCRIPT = (
    "on run argv",
    "display notification (item 2 of argv) with title (item 1 of argv)",
    "end run",
)

T = TypeVar("T")

Way = Callable[[Message], Awaitable[str]]
"""Sends a message; returns why it could not, "" if it was sent."""


class Notifier:
    """Tells what happens in one run. ``local_minute`` is the minute of the day; ``on_trouble`` is told what
    fails.
    """

    def __init__(
        self,
        store: Store,
        settings: Notify,
        *,
        plan_id: str,
        ways: Mapping[str, Way],
        local_minute: Callable[[], int],
        on_trouble: Callable[[str], None],
    ) -> None:
        self._store, self._ways, self._local_minute, self._on_trouble = store, ways, local_minute, on_trouble
        self._gathering = Gathering(settings=settings, plan_id=plan_id)
        self._standings: tuple[Standing, ...] = ()
        self._failed: set[str] = set()

    def on_look(self, standings: tuple[Standing, ...]) -> None:
        """Take the newest snapshot. Never waits and never raises."""
        self._standings = standings

    async def beside(self, play: Callable[[], Awaitable[T]]) -> T:
        """Return what ``play`` returns, and tell what is new while it goes on; and if it fails, that."""
        try:
            with raising_one():
                async with anyio.create_task_group() as group:
                    group.start_soon(self._follow)
                    result = await play()
                    group.cancel_scope.cancel()
        except (MusicianError, OSError) as error:
            await self.tell_end(f"{self._gathering.plan_id} cannot go on: {error}")
            raise
        return result

    async def _follow(self) -> None:
        while self._ways:
            await anyio.sleep(LOOK_EVERY_S)
            now_s = anyio.current_time()
            notices = await run_sync(self._notices)
            if notices is not None:
                self._gathering.saw(now_s, notices)
            if message := self._gathering.due(now_s, self._local_minute()):
                await self._send(message, SEND_LIMIT_S)

    async def tell_end(self, ended: str) -> None:
        """Tell that the run has ended, with all that is open then."""
        if not self._ways:
            return
        notices = await run_sync(self._notices) or ()
        if message := self._gathering.at_the_end(self._local_minute(), notices, ended):
            await self._send(message, END_LIMIT_S)

    def _notices(self) -> tuple[Notice, ...] | None:
        """None where the database does not say."""
        with suppress(MusicianError, OSError):
            return tuple(notices_of(self._store, self._standings))
        return None

    async def _send(self, message: Message, limit_s: float) -> None:
        async with anyio.create_task_group() as group:
            for name, way in self._ways.items():
                group.start_soon(self._send_by, name, way, message, limit_s)

    async def _send_by(self, name: str, way: Way, message: Message, limit_s: float) -> None:
        why = f"it took longer than {limit_s:.0f} s"
        with anyio.move_on_after(limit_s):
            try:
                why = await way(message)
            except (OSError, MusicianError) as error:
                why = str(error)
        if why and name not in self._failed:
            self._failed.add(name)
            self._on_trouble(f"you could not be told by {name}: {one_line(why, _MOST_COMPLAINT_CHARS)}")


def ways_of(
    settings: Notify, *, folder: Path, terminal: Path | None, env: Mapping[str, str]
) -> dict[str, Way]:
    """Return the ways that the settings name and this machine has. ``terminal`` is the run's own."""
    ways: dict[str, Way] = {}
    redact = Redactor(env)

    def piped(argv: Sequence[str], said: Callable[[Message], object]) -> Way:
        return partial(_by_program, argv, said, folder=folder, env=env, redact=redact)

    if settings.terminal and terminal is not None:
        ways["the terminal"] = partial(_by_terminal, terminal)
    if settings.desktop and (notifier := _desktop_notifier(env)):
        ways["a desktop notification"] = partial(_by_desktop, notifier, folder=folder, env=env, redact=redact)
    if settings.command:
        ways["notify.command"] = piped(("bash", "-c", settings.command), lambda message: message.document)
    if settings.webhook:
        poster = own_python("-m", "musician.processes.webhook")
        ways["notify.webhook"] = piped(
            poster, lambda message: {"url": settings.webhook, "message": message.document}
        )
    return ways


def own_terminal() -> Path | None:
    """Return the terminal that this process reports to; None if there is none."""
    with suppress(OSError, ValueError, AttributeError):
        if sys.stderr.isatty():
            return Path(os.ttyname(sys.stderr.fileno()))
    return None


async def _by_terminal(terminal: Path, message: Message) -> str:
    """Ring its bell and name the run in its title; the shell's next prompt sets the title as it likes."""
    _write_to(terminal, f"\x1b]2;{printable(message.title)}\x07\x07")
    return ""


def _write_to(terminal: Path, text: str) -> None:
    """Write if there is room: a terminal that was stopped (Ctrl-S) would keep us waiting."""
    with suppress(OSError):
        descriptor = os.open(terminal, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)
        try:
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)


def _desktop_notifier(env: Mapping[str, str]) -> str:
    """Return the program that shows a notification; "" where there is no desktop."""
    if any(env.get(name) for name in _SCREENS) and shutil.which("notify-send", path=env.get("PATH")):
        return "notify-send"
    return "osascript" if shutil.which("osascript", path=env.get("PATH")) else ""


async def _by_desktop(
    program: str, message: Message, *, folder: Path, env: Mapping[str, str], redact: Redactor
) -> str:
    title, text = redact(message.title), redact(message.text)
    if program == "notify-send":
        argv = ["notify-send", "--app-name=Musician", "--", title, escape(text, quote=False)]
    else:
        argv = ["osascript", *(part for line in _APPLE_SCRIPT for part in ("-e", line)), title, text]
    return await _by_program(argv, lambda _: "", message, folder=folder, env=env, redact=redact)


async def _by_program(
    argv: Sequence[str],
    said: Callable[[Message], object],
    message: Message,
    *,
    folder: Path,
    env: Mapping[str, str],
    redact: Redactor,
) -> str:
    """Run a program with the message as JSON on its standard input; return why it failed."""
    complaint = bytearray()

    async def drain(read: Callable[[], Awaitable[bytes]], kept: bytearray | None) -> None:
        while chunk := await read():
            if kept is not None:
                kept.extend(chunk)
                del kept[: -2 * _MOST_COMPLAINT_CHARS]

    data = json.dumps(_redacted(said(message), redact), ensure_ascii=False).encode(errors="replace")
    async with speak_with(argv, cwd=folder, env=env, on_process=nobody_records) as program:
        async with anyio.create_task_group() as group:
            group.start_soon(drain, program.read, None)
            group.start_soon(drain, program.read_error, complaint)
            with suppress(BrokenPipeError):  # the program need not read its input
                await program.write(data + b"\n")
            program.end_input()
        code = await program.wait()
    said_why = complaint.decode(errors="replace").strip()
    return "" if code == 0 else ": ".join(filter(None, (f"exit code {code}", said_why)))


def _redacted(value: object, redact: Redactor) -> object:
    match value:
        case str():
            return redact(value)
        case Mapping():
            return {key: each if key == "url" else _redacted(each, redact) for key, each in value.items()}
        case Iterable():
            return [_redacted(each, redact) for each in value]
    return value
