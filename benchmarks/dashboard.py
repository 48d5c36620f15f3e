"""The dashboard under load: 1,000 tasks, 100,000 messages and 50 open pages, on a server that is a process of its own.

An open page is what the page's script is to the server: a stream, and the page again at every news. One of them is
shown by a real browser. From the commit of an event it is measured until the last stream has told of it, until the
last page has it, and until the browser has it on its screen. Before that pages come and go, and at the end the server
is stopped while all are open.
"""

import asyncio
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

import psutil

from benchmarks.figures import Figure
from benchmarks.orchestra import claim_of, claim_task, play_task, scratch
from benchmarks.task import prepare, surroundings
from musician import service
from musician.protocol.journal import Entry, EntryKind
from musician.store.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from playwright.async_api import CDPSession
    from playwright.async_api import Page as Tab

__all__ = ["TINY", "Size", "measure"]

PAINT_S, EVENT_S = 0.3, 0.2
_LIMIT_S = 60.0
_PHASES = 10
_EVENT = re.compile(rb"event \d+ of the benchmark")

_PLAN_HEAD = """\
---
plan: benchmark
test: "true"
agent: shell
---
# A benchmark's plan

## Overview
More than anybody looks at.
"""
_TASK = """
### task-{number:04d}: Do what is to be done
#### Step 1: Do it
```bash run
true
```
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    tasks: int = 1000
    messages: int = 100_000
    pages: int = 50
    events: int = 20
    drops: int = 200
    first_drops: int = 2000
    """What a server makes once and keeps is there after them."""


TINY = Size(tasks=10, messages=20, pages=2, events=2, drops=2, first_drops=2)


def measure(size: Size) -> tuple[Figure, ...]:
    with scratch() as folder:
        project = folder / "project"
        store = SqliteStore.open(_fill(project, size))
        with _server(project, surroundings(folder)) as server:
            figures = asyncio.run(_measure(server, store, size))
        store.close()
    return figures


def _fill(project: Path, size: Size) -> Path:
    """One task in twenty is at work, four in ten are done, the others not begun; the messages are everywhere."""
    each = size.tasks // _PHASES
    text = _PLAN_HEAD + "".join(
        f"\n## Phase {phase + 1}: One of them\n"
        + "".join(_TASK.format(number=phase * each + number + 1) for number in range(each))
        for phase in range(_PHASES)
    )
    database = prepare(project, steps=0, plan=text)
    store = SqliteStore.open(database)
    store.connection.pragma("synchronous", "OFF")
    ids = [f"task-{number + 1:04d}" for number in range(each * _PHASES)]
    for task_id in ids[: size.tasks * 4 // 10]:
        play_task(store, task_id)
    for task_id in ids[size.tasks * 4 // 10 :][: max(size.tasks // 20, 1)]:
        claim_task(store, task_id)
    store.connection.execute("BEGIN IMMEDIATE")
    store.connection.executemany(
        "INSERT INTO orchestration_messages (task_id, from_session, message_type, message)"
        " VALUES (?, 'task-00', 'instruction', 'Look at the second file, too, before you go on.')",
        ((ids[number % len(ids)],) for number in range(size.messages)),
    )
    store.connection.execute("COMMIT")
    store.close()
    return database


@dataclass(frozen=True, slots=True, kw_only=True)
class _Server:
    process: "subprocess.Popen[str]"
    address: str

    @property
    def port(self) -> int:
        return int(self.address.split(":")[2].partition("/")[0])

    @property
    def held(self) -> tuple[int, float]:
        """Its open descriptors, and its memory in MiB."""
        seen = psutil.Process(self.process.pid)
        return seen.num_fds(), seen.memory_info().rss / 2**20


@contextmanager
def _server(project: Path, environment: dict[str, str]) -> Iterator[_Server]:
    argv = (sys.executable, "-m", "musician", "dashboard")
    with subprocess.Popen(argv, cwd=project, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield _Server(process=process, address=process.stdout.readline().split()[-1])
        finally:
            process.kill()


class _Page:
    """What is open in a browser, without the browser."""

    def __init__(self, port: int, path: str, cookie: str) -> None:
        self._port, self.path, self._cookie = port, path, cookie
        self.heard: dict[bytes, float] = {}
        self.shown: dict[bytes, float] = {}
        self.loads = 0
        self._changed = asyncio.Event()

    async def open(self) -> None:
        self._reader, self.writer = await self.connect()
        self._news, self.ear = await self.connect()
        self.ear.write(self.request("/events"))
        await self._news.readuntil(b"\r\n\r\n")
        self._tasks = [asyncio.create_task(self._listen()), asyncio.create_task(self._load_again())]

    def check(self) -> None:
        for task in self._tasks:
            if task.done():
                task.result()

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for writer in (self.writer, self.ear):
            writer.close()

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self._port)

    def request(self, path: str) -> bytes:
        return (
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\nCookie: {self._cookie}\r\n\r\n".encode()
        )

    async def load(self) -> bytes:
        self.writer.write(self.request(self.path))
        try:
            head = await self._reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:  # the server keeps no idle connection for long
            self.writer.close()
            self._reader, self.writer = await self.connect()
            return await self.load()
        assert b" 200 " in head.partition(b"\r\n")[0], head
        length = re.search(rb"content-length: (\d+)", head)
        assert length is not None
        return await self._reader.readexactly(int(length[1]))

    async def _listen(self) -> None:
        while told := await self._news.readuntil(b"\n\n"):
            if b"id: " in told:
                self.heard.setdefault(told.partition(b"id: ")[2].partition(b"\n")[0], perf_counter())
                self._changed.set()

    async def _load_again(self) -> None:
        while await self._changed.wait():
            self._changed.clear()
            text = await self.load()
            self.loads += 1
            now = perf_counter()
            for event in _EVENT.findall(text):
                self.shown.setdefault(event, now)


async def _measure(server: _Server, store: SqliteStore, size: Size) -> tuple[Figure, ...]:
    cookie = await _enter(server)
    figures = await _drops(server, size, cookie)
    played = f"task-{size.tasks * 4 // 10 + 1:04d}"
    path = f"/tasks/{played}"
    async with AsyncExitStack() as opened:
        pages = [_Page(server.port, ("/", "/timeline", path)[n % 3], cookie) for n in range(size.pages)]
        paints: dict[str, list[float]] = {}
        screen = await opened.enter_async_context(_browser(server, cookie))
        if screen is not None:
            paints["one page"] = [await screen.paint("/") for _ in range(5)]
        for page in pages:
            await page.open()
            opened.push_async_callback(page.close)
        if screen is not None:
            paints[f"{size.pages} open"] = [await screen.paint("/") for _ in range(5)]
            await screen.show("/timeline")
        for what, values in paints.items():
            figures.append(_against(f"dashboard: first paint, {what}", median(values), PAINT_S))
        figures += await _events(server, store, size, pages, screen, played)
        began = perf_counter()
        server.process.send_signal(signal.SIGINT)
        code = await asyncio.to_thread(server.process.wait, _LIMIT_S)
        assert code == 0, code
        figures.append(
            Figure(what="dashboard: stop with pages open", median=(perf_counter() - began) * 1e3, unit="ms")
        )
    return tuple(figures)


def _against(what: str, took_s: float, goal_s: float) -> Figure:
    return Figure(
        what=what,
        median=took_s * 1e3,
        unit="ms",
        ratio=took_s / goal_s,
        against=f"{goal_s * 1e3:g} ms",
        goal="page",
        at_most=1.0,
    )


async def _enter(server: _Server) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    path = server.address.partition(str(server.port))[2]
    writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode())
    head = await reader.readuntil(b"\r\n\r\n")
    writer.close()
    found = re.search(rb"set-cookie: ([^;]+)", head)
    assert found is not None, head
    return found[1].decode()


async def _events(
    server: _Server, store: SqliteStore, size: Size, pages: list[_Page], screen: "_Screen | None", played: str
) -> list[Figure]:
    """Messages and steps by turns; a step rings nobody who waits for a task."""
    told, had, seen, work = [], [], [], []
    on_timeline = [page for page in pages if page.path == "/timeline"] or pages
    cpu_s = sum(psutil.Process(server.process.pid).cpu_times()[:2])
    for number in range(size.events):
        text = f"event {number} of the benchmark"
        if number % 2:
            service.record(store, claim_of(played), Entry(kind=EntryKind.NOTE, text=text))
        else:
            service.send(store, played, text)
        began = perf_counter()
        worked_s = 0.0 if screen is None else await screen.worked_s()
        seq, sought = str(service.newest_seq(store)).encode(), text.encode()
        told.append(await _last(pages, lambda page: page.heard.get(seq)) - began)  # noqa: B023
        had.append(await _last(on_timeline, lambda page: page.shown.get(sought)) - began)  # noqa: B023
        if screen is not None:
            seen.append(await screen.shown(text) - began)
        await asyncio.sleep(1.0)
        if screen is not None:
            work.append(await screen.worked_s() - worked_s)
    loads = sum(page.loads for page in pages)
    cpu_s = sum(psutil.Process(server.process.pid).cpu_times()[:2]) - cpu_s
    figures = [
        _against("dashboard: an event told to the last stream", median(told), EVENT_S),
        _against("dashboard: the same, slowest event", max(told), EVENT_S),
        _against("dashboard: an event had by the last page", median(had), EVENT_S),
    ]
    if seen:
        figures.append(_against("dashboard: an event on the screen", median(seen), EVENT_S))
        figures.append(
            Figure(what="dashboard: Chromium's own work for it", median=median(work) * 1e3, unit="ms")
        )
    figures.append(
        Figure(
            what=f"dashboard: CPU of an event ({loads} loads)", median=cpu_s / size.events * 1e3, unit="ms"
        )
    )
    return figures


async def _last(pages: list[_Page], time_of: Callable[[_Page], float | None]) -> float:
    until = perf_counter() + _LIMIT_S
    while None in (found := [time_of(page) for page in pages]):
        for page in pages:
            page.check()
        assert perf_counter() < until, "it never came"
        await asyncio.sleep(0.001)
    return max(each for each in found if each is not None)


async def _drops(server: _Server, size: Size, cookie: str) -> list[Figure]:
    """Pages that come and go, without a goodbye."""

    async def come_and_go() -> None:
        page = _Page(server.port, "/timeline", cookie)
        await page.open()
        for writer in (page.writer, page.ear):
            writer.transport.abort()
        await page.close()

    for _ in range(size.first_drops):
        await come_and_go()
    await asyncio.sleep(1)
    descriptors, memory = server.held
    for _ in range(size.drops):
        await come_and_go()
    await asyncio.sleep(1)
    more_descriptors, more_memory = server.held
    return [
        Figure(
            what="dashboard: descriptors left by drops",
            median=max(more_descriptors - descriptors, 0),
            unit="",
        ),
        Figure(what="dashboard: memory left by drops", median=max(more_memory - memory, 0), unit="MiB"),
        Figure(what="dashboard: memory", median=more_memory, unit="MiB"),
    ]


class _Screen:
    """A page in a real browser."""

    def __init__(self, tab: "Tab", base: str, inspector: "CDPSession") -> None:
        self._tab, self._base, self._inspector = tab, base, inspector

    async def worked_s(self) -> float:
        """How long its main thread has worked so far."""
        metrics = (await self._inspector.send("Performance.getMetrics"))["metrics"]
        return float(next(each["value"] for each in metrics if each["name"] == "TaskDuration"))

    async def paint(self, path: str) -> float:
        await self._tab.goto(self._base + path)
        until = perf_counter() + _LIMIT_S
        while perf_counter() < until:
            found = await self._tab.evaluate(
                "performance.getEntriesByName('first-contentful-paint').map(e => e.startTime)"
            )
            if found:
                return float(found[0]) / 1e3
            await asyncio.sleep(0.01)
        raise AssertionError("nothing was painted")

    async def show(self, path: str) -> None:
        await self._tab.goto(self._base + path)

    async def shown(self, text: str) -> float:
        await self._tab.wait_for_function(
            "text => document.body.innerText.includes(text)", arg=text, polling=5
        )
        return perf_counter()


@asynccontextmanager
async def _browser(server: _Server, cookie: str) -> AsyncIterator[_Screen | None]:
    chromium = shutil.which("chromium")
    if chromium is None:
        yield None
        return
    from playwright.async_api import async_playwright

    base = f"http://127.0.0.1:{server.port}"
    async with async_playwright() as driver:
        program = await driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        context = await program.new_context()
        name, _, value = cookie.partition("=")
        await context.add_cookies([{"name": name, "value": value, "url": base}])
        tab = await context.new_page()
        inspector = await context.new_cdp_session(tab)
        await inspector.send("Performance.enable")
        yield _Screen(tab, base, inspector)
        await program.close()
