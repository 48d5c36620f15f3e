"""What the MCP server costs: the time until a session has its tools, and one call of a tool.

Ready is from the start of the process to the answer to ``initialize``, and to ``tools/list``, as a client waits for
them. A call is asked and answered over the same pipes, in a server that runs.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.figures import Figure
from benchmarks.measuring import in_turn, medians, seconds
from benchmarks.orchestra import scratch
from benchmarks.task import prepare, surroundings

__all__ = ["TINY", "Size", "a_server", "measure"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    rounds: int = 11
    calls: int = 200


TINY = Size(rounds=1, calls=2)

_BARE = (sys.executable, "-I", "-S", "-c", "pass")
_SERVER = (sys.executable, "-I", "-X", "utf8", "-m", "musician", "mcp")
_SESSION = "benchmark-1"
_CLIENT = {"name": "benchmark", "version": "1"}
_HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": _CLIENT}
_CALLS: dict[str, dict[str, object]] = {
    "siblings": {},
    "query": {"sql": "SELECT task_id, state FROM orchestration_tasks"},
    "deviation": {"severity": "Low", "text": "as planned, nearly"},
}
"""One that reads, one that is somebody's own SQL, one that writes."""


def measure(size: Size) -> tuple[Figure, ...]:
    with scratch() as folder:
        project = folder / "project"
        prepare(project, steps=1)
        environment = {**surroundings(folder), "CLAUDE_CODE_SESSION_ID": _SESSION}
        return (*_ready(size, project, environment), *_called(size, project, environment))


def _ready(size: Size, project: Path, environment: dict[str, str]) -> Iterator[Figure]:
    start = partial(seconds, partial(_run, _BARE, project, environment))
    start()
    _until_ready(project, environment)
    rounds = []
    for _ in range(size.rounds):
        rounds.append((start(), *_until_ready(project, environment)))
    bare, greeted, listed = medians(rounds)
    yield Figure(what="start: python -I -S -c pass", median=bare * 1e3, unit="ms")
    for what, each in (
        ("mcp: initialize answered", greeted),
        ("mcp: tools/list answered", listed),
    ):
        yield Figure(what=what, median=each * 1e3, unit="ms", ratio=each / bare, against="bare python")


def _called(size: Size, project: Path, environment: dict[str, str]) -> Iterator[Figure]:
    with a_server(project, environment) as server:
        server.greet()
        arms = [partial(server.ask, "ping", {})]
        arms += [partial(server.call, name, given) for name, given in _CALLS.items()]
        server.call("claim", {"task": "task-01"})
        for arm in arms:
            arm()
        ping, *others = in_turn(size.calls, [partial(seconds, arm) for arm in arms])
    yield Figure(what="mcp call: ping, which does nothing", median=ping * 1e3, unit="ms")
    for name, each in zip(_CALLS, others, strict=True):
        yield Figure(
            what=f"mcp call: {name}", median=each * 1e3, unit="ms", ratio=each / ping, against="ping"
        )


def _until_ready(project: Path, environment: dict[str, str]) -> tuple[float, float]:
    began = perf_counter()
    with a_server(project, environment) as server:
        server.ask("initialize", _HELLO)
        greeted = perf_counter() - began
        server.note("notifications/initialized")
        listed = server.ask("tools/list", {})
        ready = perf_counter() - began
        assert listed["tools"]
    return greeted, ready


class _Server:
    """A client's end of the pipes."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self._asked = 0

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._asked += 1
        self._write({"jsonrpc": "2.0", "id": self._asked, "method": method, "params": params})
        assert self._process.stdout is not None
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())["result"]
        return answer

    def greet(self) -> None:
        self.ask("initialize", _HELLO)
        self.note("notifications/initialized")

    def call(self, name: str, given: dict[str, object]) -> dict[str, Any]:
        answer = self.ask("tools/call", {"name": name, "arguments": given})
        assert not answer.get("isError"), answer
        return answer

    def note(self, method: str) -> None:
        self._write({"jsonrpc": "2.0", "method": method})

    def _write(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()


@contextmanager
def a_server(project: Path, environment: dict[str, str]) -> Iterator[_Server]:
    with subprocess.Popen(
        _SERVER,
        cwd=project,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            yield _Server(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()


def _run(command: tuple[str, ...], folder: Path, environment: dict[str, str]) -> None:
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
