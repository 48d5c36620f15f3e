"""The server as its client has it: nothing but the protocol on standard output, and gone when its client is (B17)."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from musician import service
from musician.mcp_server.server import EXIT_WITHIN_S
from musician.mcp_server.tools import TOOLS
from musician.processes.life_lock import is_held
from musician.protocol.states import State
from musician.testing import until
from musician.testing.waiting import HANG_S

Served = Callable[..., Any]

PRIVATE = "made-up-messaging-token"


def test_the_servers_own_bound_on_its_end_is_well_within_the_two_seconds() -> None:
    """B17: past it the process ends whatever still runs."""
    assert EXIT_WITHIN_S <= 1.0


def is_json_rpc(line: str) -> bool:
    message = json.loads(line)
    return message.get("jsonrpc") == "2.0" and (
        "result" in message or "error" in message or "method" in message
    )


@pytest.fixture
def served_s1(project: Any, served: Served) -> Any:
    """A server in the project for session s1, greeted."""
    server = served(project.folder, CLAUDE_CODE_SESSION_ID="s1", CLAUDE_CODE_MESSAGING_TOKEN=PRIVATE)
    server.begin()
    return server


def test_what_every_session_pays_for_is_small(shared: tuple[Any, Any]) -> None:
    listed = shared[1].ask("tools/list")["result"]["tools"]
    sizes = {tool["name"]: len(json.dumps(tool, separators=(",", ":")).encode()) for tool in listed}
    assert list(sizes) == list(TOOLS)
    assert [name for name, size in sizes.items() if size > 220] == []
    assert sum(sizes.values()) <= 2800
    assert {key for tool in listed for key in tool} == {"name", "description", "inputSchema"}


HEAVY = """
import sys
import musician.mcp_server.server
print(*sorted({"mcp", "pydantic", "apsw", "psutil", "yaml", "markdown_it", "rich"} & set(sys.modules)))
"""


def test_the_tools_are_listed_before_anything_heavy_is_imported() -> None:
    """AUDIT-C8: a session waits for its tools."""
    done = subprocess.run([sys.executable, "-c", HEAVY], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ("2024-11-05", "2024-11-05"),
        ("2025-11-25", "2025-11-25"),
        ("2099-01-01", "2025-11-25"),
        (None, "2025-11-25"),
        (["2024-11-05"], "2025-11-25"),
    ],
)
def test_a_client_is_met_in_its_version_or_offered_the_newest(
    shared: tuple[Any, Any], asked: object, given: str
) -> None:
    """CLI-23"""
    begun = shared[1].ask("initialize", {"protocolVersion": asked})["result"]
    assert begun["protocolVersion"] == given


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("resources/list", {}, -32601),
        ("server/discover", {}, -32601),
        ("tools/call", {}, -32602),
        ("tools/call", {"name": ["claim"]}, -32602),
        ("tools/call", {"name": "claim", "arguments": "task-01"}, -32602),
    ],
)
def test_what_is_not_served_is_answered_by_an_error(
    shared: tuple[Any, Any], method: str, params: dict[str, Any], code: int
) -> None:
    """CLI-23"""
    assert shared[1].ask(method, params)["error"]["code"] == code


def test_a_cancellation_of_nothing_disturbs_nobody(shared: tuple[Any, Any]) -> None:
    for params in ({}, {"requestId": [1]}, {"requestId": 10**9}):
        shared[1].notify("notifications/cancelled", params)
    assert shared[1].ask("ping")["result"] == {}


def test_b17_every_line_is_json_rpc_and_the_end_of_input_ends_it(project: Any, served_s1: Any) -> None:
    """Whatever it is asked, garbage included; and neither the log nor an answer tells its environment."""
    served_s1.write(
        b"this is no JSON\n\n{}\n[1, 2]\n" + b'{"jsonrpc": "2.0", "id": "x", "method": "no/such"}\n'
    )
    for id_ in (None, None, None, "x"):
        reply = served_s1.reply()
        assert (reply["id"], "error" in reply) == (id_, True)
    for tool, given in (
        ("claim", {"task": "task-01"}),
        ("claim", {"task": "../../x"}),
        ("query", {"sql": "SELECT nonsense"}),
        ("query", {"sql": "SELECT 'line\n1'"}),
        ("execute", {"sql": "DROP TABLE history"}),
        ("checkpoint", {"summary": "too early"}),
        ("no_such_tool", {}),
    ):
        served_s1.call(tool, **given)
    assert served_s1.end() == 0
    assert [line for line in served_s1.lines if not is_json_rpc(line)] == []
    assert PRIVATE not in served_s1.log + "".join(served_s1.lines)


def test_a_refusal_is_an_error_that_names_the_tool_to_call(shared: tuple[Any, Any]) -> None:
    said, is_error = shared[1].call("complete")
    assert is_error
    assert said.startswith("task-01: no approved completion: submit the last checkpoint with `checkpoint`")
    said, is_error = shared[1].call("claim", task="task-09")
    assert (said, is_error) == ("no task 'task-09': `musician status` lists the tasks", True)


def at_the_gate(project: Any, server: Any) -> int:
    """A checkpoint whose tests stand at the gate; their pid."""
    server.call("claim", task="task-01")
    server.call("step", n=1, act="start")
    (project.tree / "greeter.py").write_text("")
    server.call("step", n=1, act="done")
    os.mkfifo(project.gate)
    here = Path(f"{project.gate}.here")
    server.send("tools/call", {"name": "checkpoint", "arguments": {"summary": "s"}})
    until(lambda: here.exists() and here.read_text().strip())
    return int(here.read_text())


def test_b17_the_end_of_input_ends_a_running_checkpoint_and_its_processes(
    project: Any, served_s1: Any
) -> None:
    tests = at_the_gate(project, served_s1)
    assert served_s1.end() == 0
    until(lambda: not psutil.pid_exists(tests))
    assert project.state() is State.WORKING
    assert not project.view().submissions


def test_a_cancelled_checkpoint_ends_its_processes_and_can_be_called_again(
    project: Any, served_s1: Any
) -> None:
    tests = at_the_gate(project, served_s1)
    served_s1.notify("notifications/cancelled", {"requestId": 5})
    until(lambda: not psutil.pid_exists(tests))
    project.gate.unlink()
    said, is_error = served_s1.call("checkpoint", summary="once more")
    assert (said[:25], is_error) == ("checkpoint 1: All passing", False)


def test_other_tools_answer_while_a_checkpoint_runs(project: Any, served_s1: Any) -> None:
    at_the_gate(project, served_s1)
    assert served_s1.call("deviation", severity="Low", text="by the way") == ("Low deviation noted", False)
    project.gate.write_text("go\n")
    assert "All passing" in served_s1.reply()["result"]["content"][0]["text"]
    assert project.state() is State.NEEDS_REVIEW


def test_a_signal_ends_it_as_the_end_of_input_does(project: Any, served: Served) -> None:
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    servers = [served(project.folder, CLAUDE_CODE_SESSION_ID=f"s{number}") for number in numbers]
    for server in servers:
        server.begin()
    for server, number in zip(servers, numbers, strict=True):
        server.process.send_signal(number)
    assert [server.process.wait(HANG_S) for server in servers] == [0, 0, 0]


def test_a_reader_that_has_gone_ends_it(project: Any) -> None:
    """Nobody is left to answer, whatever still comes in."""
    reading, writing = os.pipe()
    with subprocess.Popen(
        [sys.executable, "-m", "musician", "mcp"],
        cwd=project.folder,
        stdin=subprocess.PIPE,
        stdout=writing,
        stderr=subprocess.DEVNULL,
    ) as server:
        os.close(writing)
        os.close(reading)
        assert server.stdin is not None
        server.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        server.stdin.flush()
        assert server.wait(HANG_S) == 0


def test_a_message_is_acknowledged_after_it_was_written(shared: tuple[Any, Any]) -> None:
    project, server = shared
    service.send(project.store, "task-01", "hear this")
    assert "hear this" in server.call("inbox")[0]
    until(lambda: project.view().unread == 0)


@pytest.mark.parametrize("by", ["a hook", "raw sql"])
def test_a_claim_that_is_made_elsewhere_gets_its_life_lock_long_before_the_slow_look(
    project: Any, served: Served, by: str
) -> None:
    """D2.5, D11.9: and a killed client's lock is free at once."""
    project.root.config.write_text(
        "[heartbeat]\nrefresh_after_s = 100\n[waiting]\nbackground_poll_s = 400\npause_poll_s = 400\n"
    )
    server = served(project.folder, CLAUDE_CODE_SESSION_ID="s1")
    server.begin()
    server.ask("tools/list")
    server.call("conductor_health")
    assert not is_held(project.lock)
    if by == "a hook":
        service.claim(project.store, "task-01", "s1", settings=project.settings)
    else:
        project.store.connection.execute(
            "UPDATE orchestration_tasks SET state = 'working', session_id = 's1' WHERE task_id = 'task-01'"
        )
    until(lambda: is_held(project.lock))
    server.process.kill()
    server.process.wait()
    assert not is_held(project.lock)


def test_the_clients_project_outranks_the_folder_it_was_started_in(
    project: Any, tmp_path: Path, served: Served
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    server = served(elsewhere, CLAUDE_CODE_SESSION_ID="s1", CLAUDE_PROJECT_DIR=str(project.folder))
    server.begin()
    assert "claimed" in server.call("claim", task="task-01")[0]


def test_where_nothing_is_set_up_there_are_no_tools(tmp_path: Path, served: Served) -> None:
    """A session of other work pays nothing; a call is told what is missing."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    server = served(tmp_path, CLAUDE_CODE_SESSION_ID="s1")
    assert "tools" in server.begin()["capabilities"]
    assert server.ask("tools/list")["result"]["tools"] == []
    said, is_error = server.call("claim", task="task-01")
    assert is_error
    assert "musician init" in said
    assert server.end() == 0
