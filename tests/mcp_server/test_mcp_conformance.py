"""What others' clients make of the server: the official library's, and the official inspector from npm.

The inspector is a program of its own that ``.ci/run`` installs, pinned, outside of the tree, and names by
MCP_INSPECTOR. Where nobody has named it its tests are left out; where it is named and not there they fail.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from mcp import ClientSession, StdioServerParameters, stdio_client
from musician.mcp_server.tools import TOOLS
from musician.testing.waiting import HANG_S
from tests.needs import need, refuse

COMMAND = (sys.executable, "-m", "musician", "mcp")

Inspect = Callable[..., Any]


@pytest.fixture(scope="module")
def inspector() -> list[str]:
    """How the inspector is started in its mode for scripts."""
    named = os.environ.get("MCP_INSPECTOR")
    if named is None:
        refuse("the official inspector")
    script = Path(named, "node_modules", "@modelcontextprotocol", "inspector", "cli", "build", "cli.js")
    assert script.is_file(), f"{script} is not there"
    return [need("node"), str(script), "--cli"]


def inspect(inspector: list[str], project: Any, *arguments: str) -> Any:
    ran = subprocess.run(
        [*inspector, "-e", "CLAUDE_CODE_SESSION_ID=s1", *COMMAND, *arguments],
        cwd=project.folder,
        capture_output=True,
        text=True,
        timeout=HANG_S,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_the_official_inspector_lists_every_tool_with_a_valid_schema(
    project: Any, inspector: list[str]
) -> None:
    """CLI-23"""
    listed = inspect(inspector, project, "--method", "tools/list")["tools"]
    assert [tool["name"] for tool in listed] == list(TOOLS)
    assert {tool["inputSchema"]["type"] for tool in listed} == {"object"}


def test_the_official_inspector_calls_a_tool_and_reads_its_refusal(
    project: Any, inspector: list[str]
) -> None:
    """CLI-23"""
    call = ("--method", "tools/call", "--tool-name", "claim", "--tool-arg", "task=task-01")
    claimed = inspect(inspector, project, *call)
    assert claimed["content"][0]["text"].startswith("task-01 claimed, as musician-task-01")


async def converse(folder: Path) -> list[tuple[str, bool]]:
    said = []
    server = StdioServerParameters(
        command=COMMAND[0], args=[*COMMAND[1:]], cwd=folder, env={"CLAUDE_CODE_SESSION_ID": "s1"}
    )
    async with stdio_client(server) as (replies, requests), ClientSession(replies, requests) as session:
        begun = await session.initialize()
        assert (begun.server_info.name, begun.instructions) == ("comms-link", None)
        listed = await session.list_tools()
        assert [tool.name for tool in listed.tools] == list(TOOLS)
        for name, given in (
            ("claim", {"task": "task-01"}),
            ("step", {"n": 1, "act": "start"}),
            ("step", {"n": 1}),
            ("query", {"sql": "SELECT state FROM orchestration_tasks WHERE task_id = 'task-01'"}),
        ):
            result = await session.call_tool(name, given)
            [content] = result.content
            assert content.type == "text"
            said.append((content.text, result.is_error))
    return said


def test_the_official_client_plays_by_the_tools(project: Any) -> None:
    """CLI-23"""
    claimed, started, refused, asked = anyio.run(converse, project.folder)
    assert claimed[0].startswith("task-01 claimed")
    assert started == ("step 1 started", False)
    assert refused == ("act cannot be None: step needs it", True)
    assert asked == ("state\nworking", False)
