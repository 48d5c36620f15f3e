"""A dashboard without a network, and a real one with a real browser before it."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest
from starlette.testclient import TestClient

from musician.project import Project
from musician.testing.waiting import HANG_S
from musician.web.desk import Desk
from musician.web.keys import Keys, digest
from musician.web.server import application
from tests.cli.conftest import bells, claimed, command, first_ready, program, ready, repository
from tests.cli.test_cli_look_at_work import submit
from tests.needs import need
from tests.surroundings import Call

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext

__all__ = ["bells", "claimed", "command", "first_ready", "program", "ready", "repository"]

PORT = 8123
ENTERS = "let-me-in"
BASE = f"http://127.0.0.1:{PORT}"


class Open(Protocol):
    def __call__(self, *, read_only: bool = ...) -> TestClient: ...


@pytest.fixture
def open_desk(ready: Path) -> Iterator[Open]:
    """Open a dashboard on the repository, with nobody let in yet."""
    clients: list[TestClient] = []
    projects: list[Project] = []

    def open_one(*, read_only: bool = False) -> TestClient:
        projects.append(Project(os.fspath(ready)))
        desk = Desk(projects[-1], read_only=read_only)
        app = application(desk, port=PORT, keys=Keys(), token=ENTERS)
        clients.append(TestClient(app, base_url=BASE, follow_redirects=False, raise_server_exceptions=False))
        clients[-1].__enter__()
        return clients[-1]

    yield open_one
    for client in clients:
        client.__exit__(None, None, None)
    for project in projects:
        project.close()


@pytest.fixture
def desk(open_desk: Open) -> TestClient:
    """A dashboard whose user is in."""
    client = open_desk()
    enter(client)
    return client


def enter(client: TestClient) -> None:
    answer = client.get("/enter", params={"token": ENTERS})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")


def post(client: TestClient, path: str, /, **fields: str | list[str]) -> tuple[int, str]:
    """Send a form as the page itself would."""
    fields.setdefault("token", form_token_of(client))
    answer = client.post(path, data=fields, headers={"Origin": BASE})
    return answer.status_code, answer.text


def form_token_of(client: TestClient) -> str:
    return digest(client.cookies.get(f"musician-{PORT}") or "", "form")


@pytest.fixture
def submitted(claimed: Path, call: Call) -> Path:
    """task-01 waits for a verdict on its first checkpoint."""
    submit(claimed, call)
    return claimed


class Served:
    """A dashboard as a program of its own."""

    def __init__(self, folder: Path, command: tuple[str, ...], *options: str) -> None:
        self._argv, self._folder = (*command, "dashboard", *options), folder
        self.address = self.complaints = ""

    def __enter__(self) -> "Served":
        self.process = subprocess.Popen(
            self._argv, cwd=self._folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        found = re.search(r"http\S+", self.process.stdout.readline())
        assert found is not None
        self.address = found[0]
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> int:
        """As Ctrl-C does; the exit code. ``complaints`` is then what it has said of its troubles."""
        if self.process.poll() is None:
            self.process.send_signal(2)
        _, self.complaints = self.process.communicate(timeout=HANG_S)
        return self.process.returncode

    @property
    def base(self) -> str:
        return self.address.partition("/enter")[0]


@pytest.fixture
def browser() -> Iterator["BrowserContext"]:
    """A browser's window without a past. An error in a page's script fails the test."""
    chromium = need("chromium")
    from playwright.sync_api import sync_playwright

    errors: list[str] = []
    with sync_playwright() as driver:
        program = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        context = program.new_context()
        context.set_default_timeout(HANG_S * 1000)
        context.on("weberror", lambda found: errors.append(str(found.error)))
        yield context
        program.close()
    assert errors == []
