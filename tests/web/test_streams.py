"""Streams of a real server: pages that come and go leave nothing, and who was away hears once of what he missed."""

import asyncio
import gc
import http.client
import os
import signal
import socket
import struct
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from itertools import pairwise
from pathlib import Path
from types import AsyncGeneratorType

import psutil
import pytest

from musician import service
from musician.project import Project
from musician.testing.waiting import HANG_S, until
from musician.web import connection
from musician.web.news import News
from musician.web.server import serve
from tests.surroundings import Call
from tests.web.conftest import Served

DROPS, OPEN = 200, 50
ROUNDS = 6
"""What pages leave grows in each; one more thread, or a file of Python's that is read late, in one of them."""
MOST_LEFT_BYTES = 100
"""Of a page that was dropped; its stream alone takes thousands."""


class Browser:
    """What a browser keeps: the address and the key that it was let in with."""

    def __init__(self, address: str) -> None:
        self.host, _, entrance = address.removeprefix("http://").partition("/")
        with closing(http.client.HTTPConnection(self.host, timeout=HANG_S)) as line:
            line.request("GET", f"/{entrance}")
            cookie = line.getresponse().getheader("Set-Cookie") or ""
        self.headers = {"Cookie": cookie.partition(";")[0]}

    def load(self, path: str) -> str:
        with closing(http.client.HTTPConnection(self.host, timeout=HANG_S)) as line:
            line.request("GET", path, headers=self.headers)
            return line.getresponse().read().decode()

    @contextmanager
    def stream(self, last_seen: str = "") -> Iterator["Stream"]:
        with closing(http.client.HTTPConnection(self.host, timeout=HANG_S)) as line:
            line.request("GET", "/events", headers={**self.headers, "Last-Event-ID": last_seen})
            yield Stream(line)


class Stream:
    def __init__(self, line: http.client.HTTPConnection) -> None:
        self._line, self._answer = line, line.getresponse()

    def hear(self) -> tuple[str, str]:
        """The next event: its kind, and its id."""
        found: dict[str, str] = {}
        while "event" not in found:
            while (text := self._answer.readline().decode().strip()) != "":
                name, _, value = text.partition(":")
                found[name] = value.strip()
        return found["event"], found["id"]

    def hear_up_to(self, seq: str) -> list[str]:
        """The events up to it, which come when the server has heard of it itself: their kinds."""
        found = [self.hear()]
        while found[-1][1] != seq:
            found.append(self.hear())
        return [kind for kind, _ in found]

    def drop(self) -> None:
        """As a machine that goes away: without a word."""
        assert self._line.sock is not None
        self._line.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._line.sock.close()


@pytest.mark.deep
def test_pages_that_come_and_go_leave_nothing_behind(ready: Path, command: tuple[str, ...]) -> None:
    """B42: 200 of them; by their looks at files, too; and a stop ends fifty that are open, and cuts none off."""
    with Served(ready, command) as desk:
        browser, seen = Browser(desk.address), psutil.Process(desk.process.pid)
        with browser.stream() as first:
            first.hear()
        before = until(seen.num_fds)
        for number in range(DROPS):
            with browser.stream() as stream:
                if number % 2:
                    stream.hear()
                if number % 3:
                    stream.drop()
        until(lambda: seen.num_fds() <= before, told=lambda: f"{seen.num_fds()} descriptors, {before} before")
        with ExitStack() as opened:
            for _ in range(OPEN):
                opened.enter_context(browser.stream()).hear()
            assert desk.end() == 0
    assert desk.complaints == "", "it says so where it has to cut a stream off"


def test_a_page_that_was_dropped_leaves_no_object_and_no_memory(ready: Path) -> None:
    """B42: what a server keeps of a page is gone with it; what it keeps for all pages is there after the first ones."""
    found: list[tuple[int, int]] = []

    def come_and_go(address: str) -> None:
        browser = Browser(address)
        for _ in range(ROUNDS):
            for number in range(DROPS // 2):
                browser.load(("/", "/timeline", "/tasks/task-01")[number % 3])
                with browser.stream() as stream:
                    if number % 2:
                        stream.hear()
                    stream.drop()
            until(all_ended)
            gc.collect()
            tasks = [each for each in gc.get_objects() if isinstance(each, asyncio.Task)]
            found.append((len(tasks), tracemalloc.get_traced_memory()[0]))
            assert not streams()
            if any(nothing_more(*two) for two in pairwise(found)):
                return
        raise AssertionError(f"each {DROPS // 2} pages left more (tasks, bytes): {found}")

    serve_here(ready, come_and_go)


def test_a_connection_without_a_request_is_ended_and_a_stream_is_not(
    ready: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one whose first request was answered, and that has only a part of the next."""
    monkeypatch.setattr(connection, "HEAD_S", 0.2)

    def dawdle(address: str) -> None:
        browser = Browser(address)
        host, _, port = browser.host.partition(":")
        request = b"GET /nowhere HTTP/1.1\r\nHost: "
        with browser.stream() as stream:
            stream.hear()
            for sent in (b"", request, request + b"x\r\n\r\n" + request):
                with socket.create_connection((host, int(port)), timeout=HANG_S) as line:
                    line.sendall(sent)
                    while line.recv(65536):
                        pass
            call("send", "1", "still here")
            stream.hear_up_to(newest_seq(ready))

    serve_here(ready, dawdle)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_who_has_read_the_address_may_end_the_server(
    ready: Path, command: tuple[str, ...], number: signal.Signals
) -> None:
    """It may not listen yet in that moment."""
    with Served(ready, command) as desk:
        desk.process.send_signal(number)
        desk.process.wait(HANG_S)
        assert desk.end() == 0
    assert desk.complaints == ""


def test_the_head_of_a_stream_has_no_stream(ready: Path, command: tuple[str, ...]) -> None:
    with Served(ready, command) as desk:
        browser = Browser(desk.address)
        with closing(http.client.HTTPConnection(browser.host, timeout=HANG_S)) as line:
            for _ in range(2):  # on one connection: the first answer has come to its end
                line.request("HEAD", "/events", headers=browser.headers)
                assert line.getresponse().read() == b""


def nothing_more(before: tuple[int, int], after: tuple[int, int]) -> bool:
    return after[0] <= before[0] and after[1] - before[1] < DROPS // 2 * MOST_LEFT_BYTES


def serve_here(folder: Path, client: Callable[[str], None]) -> None:
    """Serve in this process, where objects can be counted, until the client has ended; what it raised is raised."""
    with closing(Project(str(folder))) as project, ThreadPoolExecutor() as pool:
        asked: list[Future[None]] = []

        def begin(address: str) -> None:
            asked.append(pool.submit(client, address))
            asked[0].add_done_callback(lambda _: os.kill(os.getpid(), signal.SIGINT))

        tracemalloc.start()
        try:
            serve(project, port=0, read_only=False, on_ready=begin)
        finally:
            tracemalloc.stop()
        asked[0].result()


def streams() -> list[AsyncGeneratorType[object, object]]:
    found = (each for each in gc.get_objects() if isinstance(each, AsyncGeneratorType))
    return [each for each in found if each.ag_code is News.stream.__code__]


def all_ended() -> bool:
    return all(each.ag_frame is None for each in streams())


def test_who_was_away_hears_of_the_gap_once_whatever_became_of_the_server(
    ready: Path, call: Call, command: tuple[str, ...]
) -> None:
    """B42"""
    with Served(ready, command) as desk:
        browser = Browser(desk.address)
        with browser.stream() as stream:
            _, seen = stream.hear()
        call("send", "1", "while it was away")
        newest = newest_seq(ready)
        with browser.stream(seen) as stream:
            assert stream.hear_up_to(newest).count("news") == 1
        with browser.stream(newest) as stream:
            assert stream.hear() == ("beat", newest)
        desk.process.send_signal(signal.SIGKILL)
        desk.process.wait(HANG_S)
    call("send", "1", "while nobody served")
    with Served(ready, command) as desk, browser.stream(newest) as stream:
        assert stream.hear_up_to(newest_seq(ready))[-1] == "news"
        call("send", "1", "and now")
        assert stream.hear() == ("news", newest_seq(ready))


def newest_seq(folder: Path) -> str:
    with closing(Project(str(folder))) as project:
        return str(service.newest_seq(project.store))
