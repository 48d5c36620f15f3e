"""Streams of a real server: pages that come and go leave nothing, and who was away hears once of what he missed."""

import http.client
import signal
import socket
import struct
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psutil
import pytest

from musician import service
from musician.project import Project
from musician.testing.waiting import HANG_S, until
from tests.surroundings import Call
from tests.web.conftest import Served

DROPS = 200


class Browser:
    """What a browser keeps: the address and the key that it was let in with."""

    def __init__(self, desk: Served) -> None:
        self.host = desk.base.removeprefix("http://")
        with closing(http.client.HTTPConnection(self.host, timeout=HANG_S)) as line:
            line.request("GET", desk.address.removeprefix(desk.base))
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
    """B42: 200 of them; by their looks at files, too; and a stop waits for none that is open."""
    with Served(ready, command) as desk:
        browser, seen = Browser(desk), psutil.Process(desk.process.pid)
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
        with browser.stream() as one, browser.stream() as other:
            one.hear(), other.hear()
            assert desk.end() == 0


def test_who_was_away_hears_of_the_gap_once_whatever_became_of_the_server(
    ready: Path, call: Call, command: tuple[str, ...]
) -> None:
    """B42"""
    with Served(ready, command) as desk:
        browser = Browser(desk)
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
