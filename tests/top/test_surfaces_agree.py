"""Page, terminal and command line say the same of one database: they are one fold."""

import asyncio
import html
import re
from pathlib import Path

from starlette.testclient import TestClient

from musician import service
from musician.project import Project
from musician.protocol.messages.kinds import MessageType
from musician.protocol.states import State
from tests.said import evidence, farewell, submission
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


def test_every_surface_says_the_same_of_a_word(submitted: Path, desk: TestClient, call: Call) -> None:
    """RECEIPTS-TRUE: a verdict that came when nobody was there to read it is handed to the next session."""
    project = Project(str(submitted))
    call("review", "reject", "1", "almost")
    for session in ("s1", "s2"):
        mark = "its session has ended: the next one is handed it"
        if session == "s1":
            mark = "stored, not delivered yet"
        (said,) = (
            each for each in call("messages", "1", "--json").json["messages"] if each["message"] == "almost"
        )
        assert said["became"] == mark
        assert mark in call("messages", "1").out
        assert f'<span class="mark">{mark}</span>' in desk.get("/tasks/task-01").text
        asyncio.run(_is_seen(submitted, f"rejection {said['id']}: {mark}"))
        if session == "s1":
            claim = service.only_claim(project.store, "s1")
            service.exit_task(project.store, claim, farewell("asked", path="h"), handoff="next: all")
            service.hand_over(project.store, "task-01", "go on")
    call("claim", "task-01", "--session", "s2")
    project.close()
    text = "handed to the next session, musician-task-01-S2,"
    assert text in call("messages", "1").out
    assert f'<span class="mark">{text} ' in desk.get("/tasks/task-01").text
    asyncio.run(_is_seen(submitted, text))


async def _is_seen(folder: Path, words: str) -> None:
    async with terminal(folder, size=(200, 50)) as seen:
        await seen.sees("task-01")
        await seen.press("enter")
        await seen.sees(words)


def test_every_surface_counts_a_plan_in_the_same_words(claimed: Path, desk: TestClient, call: Call) -> None:
    """PLAN-TALLY: what was skipped is counted apart, also where a complete task still wants something."""
    project = Project(str(claimed))
    claim = service.only_claim(project.store, "s1")
    done = submission(MessageType.COMPLETION, "TASK COMPLETE")
    service.submit(project.store, claim, done, verified=evidence())
    service.judge(project.store, "task-01", State.REVIEW_APPROVED, "so be it")
    service.complete(project.store, claim, report_path="docs/report.md", report="done", notice="COMPLETED")
    service.ask_human(project.store, "task-01", kind="merge", subject_id=0, text="no space left")
    project.close()
    call("task", "skip", "2", "nobody wants it")
    said = "1 of 1 task complete (1 skipped)"
    assert said in desk.get("/").text
    assert ">1 of 1 (1 skipped)<" in desk.get("/plans").text
    (listed,) = call("plan", "list", "--json").json["plans"]
    assert [listed[key] for key in ("completed", "tasks", "skipped", "withdrawn")] == [1, 1, 1, 0]
    assert "1 of 1 (1 skipped)" in call("plan", "list").out
    assert said in call("plan", "show", listed["plan_id"]).out

    async def story() -> None:
        async with terminal(claimed, size=(200, 50)) as seen:
            await seen.sees("task-01")
            await seen.press("3")
            await seen.sees(said)

    asyncio.run(story())
    call("plan", "archive", listed["plan_id"], "--abandon", "enough")
    (away,) = call("plan", "list", "--json").json["plans"]
    assert [away[key] for key in ("completed", "tasks", "skipped", "withdrawn")] == [1, 1, 1, 0]
    assert ">1 of 1 (1 skipped)<" in desk.get("/plans").text
    assert said in call("plan", "show", listed["plan_id"]).out
    assert said in desk.get(f"/plans/{listed['plan_id']}/").text
