"""A repository with a locked plan, a seat in it for a session, and a server as a client starts it."""

import contextlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from musician import project as context
from musician import service
from musician.config import load_settings
from musician.mcp_server import acts, verifying
from musician.mcp_server.served_session import ServedSession
from musician.mcp_server.tools import TOOLS
from musician.processes.life_lock import lock_path
from musician.protocol.states import State
from musician.runtime.locking import lock_plan_file
from musician.store.rows import MessageRow
from musician.store.sqlite.store import SqliteStore
from musician.testing.waiting import HANG_S
from musician.trees.root import exclude_private, find_root
from tests.surroundings import GREETER, begin

PLAN = (
    GREETER.format(test="bash check.sh")
    + """\
### task-01: Add the greeting
#### Step 1: Write it
Write greeter.py.
##### Agent 1: Document it
#### Checkpoint 1: it greets
- test: `bash check.sh`
#### Step 2: Polish it

### task-02: Add the farewell
#### Step 1: Write it
"""
)

CHECK = """\
test -f greeter.py || { echo "greeter.py is missing"; exit 1; }
gate=$(dirname "$(git rev-parse --path-format=absolute --git-common-dir)")/temp/gate
if test -p "$gate"; then echo $$ > "$gate.here"; read -r _ < "$gate"; fi
"""
"""The project's tests; they stand at the gate, a FIFO, while there is one."""


class Project:
    """A repository that is set up, with its plan locked."""

    def __init__(self, folder: Path) -> None:
        self.folder = begin(folder / "My Proj (é) $x", {"PLAN.md": PLAN, "check.sh": CHECK})
        self.root = find_root(self.folder)
        self.root.temp_dir.mkdir()
        exclude_private(self.root)
        self.root.musician_dir.mkdir()
        self.store = SqliteStore.create(self.root.database, busy_timeout_s=30)
        self.settings = load_settings(self.root.config)
        lock_plan_file(self.root, self.store, self.folder / "PLAN.md", self.settings)

    @property
    def tree(self) -> Path:
        """Where task-01 is played."""
        return self.root.trees_dir / "greeter" / "task-01"

    @property
    def lock(self) -> Path:
        """The life lock of task-01."""
        return lock_path(self.root.locks_dir, "task-01")

    @property
    def gate(self) -> Path:
        return self.root.temp_dir / "gate"

    def view(self, task_id: str = "task-01") -> service.TaskView:
        return service.task_view(self.store, task_id)

    def state(self) -> State:
        return self.view().row.state

    def journal(self) -> list[tuple[str, str, str]]:
        return [(row.kind, row.item, row.text) for row in self.view().journal]

    def said(self) -> MessageRow:
        """The newest message of task-01."""
        return service.messages_of(self.store, "task-01")[-1]

    def judge(self, verdict: State = State.REVIEW_APPROVED, text: str = "so be it") -> None:
        service.judge(self.store, "task-01", verdict, text)


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    made = Project(tmp_path)
    yield made
    made.store.close()


class Tools:
    """The tools of one session, called in this process as the server calls them."""

    def __init__(self, project: Project, environ: dict[str, str]) -> None:
        self.place = context.Project(str(project.folder))
        self.served = ServedSession(environ, self.place)

    def __call__(self, name: str, **given: object) -> str:
        """What the tool answers; raises what it refuses."""
        arguments = TOOLS[name].parse(given)
        if TOOLS[name].runs_tests:
            return str(anyio.run(partial(getattr(verifying, name), self.served, **arguments)))
        reply = getattr(acts, name)(self.served, **arguments)
        if isinstance(reply, acts.Reply):
            reply.once_delivered()
            return reply.text
        return str(reply)

    def close(self) -> None:
        self.served.close()
        self.place.close()


@pytest.fixture
def seated(project: Project) -> Iterator[Callable[..., Tools]]:
    """Tools for a session: ``seated("s1")`` of a host, ``seated(CLAUDE_CODE_SESSION_ID="s1")`` of a client."""
    made: list[Tools] = []

    def served(session_id: str | None = None, **environ: str) -> Tools:
        own = {} if session_id is None else {"MUSICIAN_SESSION": session_id}
        made.append(Tools(project, {**own, **environ}))
        return made[-1]

    yield served
    for each in made:
        each.close()


@pytest.fixture
def tools(seated: Callable[..., Tools]) -> Tools:
    """Session s1, which holds task-01 and has read its instruction."""
    mine = seated("s1")
    mine("claim", task="1")
    mine("inbox")
    return mine


class Server:
    """The server as a client starts it, spoken to line by line. Every line it writes is kept."""

    def __init__(self, folder: Path, environ: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "musician", "mcp"],
            cwd=folder,
            env={**os.environ, **environ},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.bells = environ["XDG_RUNTIME_DIR"]
        self.lines: list[str] = []
        self.log = ""
        self._replies: queue.Queue[dict[str, Any]] = queue.Queue()
        self._asked = 0
        self._readers = [
            threading.Thread(target=each, daemon=True) for each in (self._read_replies, self._read_log)
        ]
        for reader in self._readers:
            reader.start()

    def _read_replies(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.decode())
            self._replies.put(json.loads(line))

    def _read_log(self) -> None:
        assert self.process.stderr is not None
        self.log = self.process.stderr.read().decode()

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, method: str, params: dict[str, Any] | None = None) -> int:
        """A request; its id."""
        self._asked += 1
        request = {"jsonrpc": "2.0", "id": self._asked, "method": method, "params": params or {}}
        self.write(json.dumps(request).encode() + b"\n")
        return self._asked

    def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        note = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        self.write(json.dumps(note).encode() + b"\n")

    def reply(self) -> dict[str, Any]:
        return self._replies.get(timeout=HANG_S)

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        asked = self.send(method, params)
        reply = self.reply()
        assert reply["id"] == asked
        return reply

    def begin(self) -> dict[str, Any]:
        client = {"name": "test", "version": "1"}
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
        begun: dict[str, Any] = self.ask("initialize", hello)["result"]
        self.notify("notifications/initialized")
        return begun

    def call(self, tool: str, **given: object) -> tuple[str, bool]:
        """What a tool answers, and whether that is an error."""
        result = self.ask("tools/call", {"name": tool, "arguments": given})["result"]
        [content] = result["content"]
        return str(content["text"]), bool(result.get("isError"))

    def end(self) -> int:
        """Close its input; the exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        code = self.process.wait(HANG_S)
        for reader in self._readers:
            reader.join(HANG_S)
        return code

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
        for reader in self._readers:
            reader.join(HANG_S)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            with contextlib.suppress(OSError):
                stream.close()


@pytest.fixture
def served() -> Iterator[Callable[..., Server]]:
    """Start a server in a folder: ``served(folder, CLAUDE_CODE_SESSION_ID="s1")``."""
    with _servers() as start:
        yield start


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Project, Server]]:
    """A project and a greeted server in it, where session s1 holds task-01."""
    project = Project(tmp_path_factory.mktemp("shared"))
    with _servers() as start:
        server = start(project.folder, CLAUDE_CODE_SESSION_ID="s1")
        server.begin()
        server.call("claim", task="task-01")
        yield project, server
    project.store.close()


@contextlib.contextmanager
def _servers() -> Iterator[Callable[..., Server]]:
    started: list[Server] = []
    with tempfile.TemporaryDirectory(prefix="bells-", dir="/tmp") as bells:  # a socket's path must be short

        def start(folder: Path, **environ: str) -> Server:
            started.append(Server(folder, {"XDG_RUNTIME_DIR": bells, **environ}))
            return started[-1]

        yield start
        for each in started:
            each.kill()
