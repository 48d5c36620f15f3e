"""Page, terminal and command line say the same of one database: they are one fold."""

import asyncio
import html
import re
from pathlib import Path

from starlette.testclient import TestClient

from musician import service
from musician.project import Project
from tests.surroundings import Call
from tests.top.conftest import terminal
from tests.web.conftest import desk, open_desk

__all__ = ["desk", "open_desk"]


def test_every_surface_wants_the_same_of_a_person(submitted: Path, desk: TestClient, call: Call) -> None:
    """NEEDS-ME: in the same order, with the same reasons and commands; and no task is at two places."""
    project = Project(str(submitted))
    service.ask_human(project.store, "task-02", kind="trouble", subject_id=1, text="no <disk> [left]")
    project.close()
    wanted = call("needs-me", "--json", expect=1).json["waiting"]
    assert [(each["task_id"], each["kind"]) for each in wanted] == [
        ("task-01", "review"),
        ("task-02", "trouble"),
    ]
    reasons = [each["reason"] for each in wanted]
    commands = [answer["command"] for each in wanted for answer in each["answers"]]
    page = html.unescape(desk.get("/").text)
    assert re.findall(r"<p>(task-\d\d .*?)</p>", page) == reasons
    assert [each for each in re.findall(r"<code>(musician .*?)</code>", page) if each in commands] == commands
    printed = call("needs-me", expect=1).out.splitlines()
    assert [line for line in printed if not line.startswith(" ")] == reasons
    states = {each["task_id"]: each["state"] for each in call("status", "--json").json["tasks"]}
    assert states == {"task-01": "needs_review", "task-02": "watching"}

    async def story() -> str:
        async with terminal(submitted, size=(200, 50)) as seen:
            return await seen.sees("2 for you", *reasons, *commands)

    text = asyncio.run(story())
    assert re.findall(r"^ ! (.*)$", text, flags=re.M) == reasons
    assert [
        line.strip().split("  ")[0] for line in text.splitlines() if line.startswith("   musician")
    ] == commands
    assert "(" not in text.partition(commands[-1])[2], "no lane has a task that is asked for"
