"""What a person orders in a terminal beside a verdict: the verbs of the commands, asked for before they are given."""

import asyncio
import os
from pathlib import Path

import pytest

from musician import __version__, service
from musician.processes.identity import host_name, login_name
from musician.project import Project
from musician.protocol.states import State
from tests.cli.test_cli_look_at_work import tree_of
from tests.said import farewell
from tests.surroundings import Call
from tests.top.conftest import Terminal, terminal
from tests.top.test_top import HOSTILE


async def choose(seen: Terminal, label: str) -> None:
    """Open the list of orders and take the one of this label."""
    await seen.press("o")
    text = await seen.sees("What is to become of", label)
    lines = [line.strip() for line in text.partition("What is to become of")[2].splitlines()[1:]]
    await seen.press(*["j"] * next(number for number, line in enumerate(lines) if line.startswith(label)))
    await seen.press("enter")
    await seen.sees("Enter sends")


async def go_to(seen: Terminal, text: str) -> None:
    """Search for a row."""
    await seen.press("slash")
    await seen.sees("Search for")
    await seen.press("ctrl+a", "ctrl+k")
    await seen.type(text)
    await seen.press("enter")
    await seen.sees("for you", but_not="Search for")


def test_a_session_is_told_handed_off_and_stopped_and_each_word_is_watched(claimed: Path, call: Call) -> None:
    """TOP-ORDERS: how far each word has come is seen as it comes."""

    async def story() -> None:
        async with terminal(claimed) as seen:
            await seen.sees("task-01")
            await seen.press("enter")
            await seen.sees("state: working")
            await choose(seen, "Say something, urgently")
            await seen.press("enter")
            await seen.sees("Not done: ", "urgently: what it is doing is interrupted")
            await seen.type("look at the prices")
            await seen.press("enter")
            await seen.sees("stored, not delivered yet look at the prices")
            await asyncio.to_thread(call, "inbox", "task-01", "--ack")
            await seen.sees("acknowledged", "UTC look at the prices", but_not="stored")
            await choose(seen, "Hand off to a fresh session")
            await seen.press("enter")
            await seen.sees("state: exit requested")
            await choose(seen, "Stop, and hold")
            await seen.sees("no other goes on until you say so", "Stop now: write the HANDOFF and exit.")
            await seen.press("escape")
            await seen.sees("state: exit requested", but_not="Enter sends")
            await choose(seen, "Stop, and hold")
            await seen.press("enter")
            await seen.sees("emergency 5: stored")
            await seen.press("m")
            await seen.sees(
                "Messages of task-01",
                f"conductor ({login_name()})",
                "look at the prices",
                "Stop now: write the HANDOFF and exit.",
            )
            await seen.press("q", "q")
            await seen.sees("for you")

    asyncio.run(story())
    project = Project(os.fspath(claimed))
    told = [each.message_type for each in service.messages_of(project.store, "task-01")]
    assert told == ["instruction", "emergency", "exit_request", "emergency", "exit_request"]
    assert service.task_row(project.store, "task-01").state is State.EXIT_REQUESTED
    project.close()


def test_a_task_is_left_out_and_played_again(ready: Path) -> None:
    """TOP-ORDERS"""

    async def story() -> None:
        async with terminal(ready) as seen:
            await seen.sees("not begun (2)")
            await seen.press("j", "enter")
            await seen.sees("task-02", "state: watching")
            await choose(seen, "Skip")
            await seen.press("enter")
            await seen.sees("Not done: ")
            await seen.type("nobody wants it")
            await seen.press("enter")
            await seen.sees("state: skipped")
            await choose(seen, "Play again")
            await seen.press("enter")
            await seen.sees("state: fix proposed")

    asyncio.run(story())


@pytest.mark.parametrize(
    ("kind", "row", "typed", "said"),
    [
        ("question", "answer it", "Blue.", "Blue."),
        ("retries", "three times", "use less memory", "use less memory"),
        ("doubtful", "let it go on", "", "go on"),
        ("budget", "let it use so much more", "", "go on"),
    ],
)
def test_what_waits_is_answered_in_one_step(
    claimed: Path, kind: str, row: str, typed: str, said: str
) -> None:
    """TOP-ORDERS: Enter on an answer gives it, with the words that it needs; what is a shell's opens the task."""
    project = Project(os.fspath(claimed))
    if kind == "question":
        service.ask(project.store, service.only_claim(project.store, "s1"), "What now?")
    else:
        service.ask_human(project.store, "task-01", kind=kind, subject_id=1, text="What now?")

    async def story() -> None:
        async with terminal(claimed, size=(120, 30)) as seen:
            await seen.sees("1 for you", row)
            await go_to(seen, row)
            await seen.press("enter")
            await seen.sees("Enter sends", "how much more" if kind == "budget" else row)
            if kind == "question":
                await seen.press("enter")
                await seen.sees("Not done: ")
            await seen.type(typed)
            await seen.press("enter")
            await seen.sees("Nothing waits for you.")

    asyncio.run(story())
    assert service.messages_of(project.store, "task-01")[-1].message == said
    assert service.open_asks(project.store) == ()
    project.close()


def test_a_merge_that_failed_is_tried_again_in_one_step(claimed: Path) -> None:
    """TOP-ORDERS"""
    project = Project(os.fspath(claimed))
    claim = service.only_claim(project.store, "s1")
    service.exit_task(project.store, claim, farewell("asked", path="h"), handoff="next: all")
    service.ask_human(project.store, "task-01", kind="merge", subject_id=0, text="no space left")

    async def story() -> None:
        async with terminal(claimed, size=(160, 30)) as seen:
            await seen.sees("no space left", "try the merge again")
            await go_to(seen, "try the merge again")
            await seen.press("enter")
            await seen.sees("Enter sends")
            await seen.press("enter")
            await seen.sees("task-01", but_not="no space left")

    asyncio.run(story())
    assert service.task_row(project.store, "task-01").state is State.FIX_PROPOSED
    project.close()


def test_proposals_are_looked_at_and_decided_once(
    claimed: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TOP-ORDERS"""
    for title in ("Use tabs", "Use spaces", "Use both"):
        call("propose", "1", f"{HOSTILE} {title}", "--type", "PATTERN", "--title", title)
    monkeypatch.delenv("MUSICIAN_SESSION")

    async def story() -> None:
        async with terminal(claimed) as seen:
            await seen.sees("task-01")
            await seen.press("2")
            await seen.sees("Proposals: 3 open", "Use tabs")
            await go_to(seen, "Use tabs")
            await seen.press("enter")
            await seen.sees("[@click=app.quit]x[/]")
            await seen.press("a")
            await seen.sees("Accept proposal", "Enter does it")
            await asyncio.to_thread(call, "proposals", "accept", "1")
            await seen.press("enter")
            await seen.sees("Not done: ")
            await seen.press("escape")
            await seen.sees("Proposals: 2 open", "decided (1)", but_not="Enter does it")
            await go_to(seen, "Use spaces")
            await seen.press("r")
            await seen.sees("Reject proposal 2: why not")
            await seen.type("both it is")
            await seen.press("enter")
            await seen.sees("Proposals: 1 open", "rejected (both it is)")
            await go_to(seen, "Use tabs")
            await seen.press("r")
            await seen.sees("This is no open proposal.")

    asyncio.run(story())


def test_an_archived_plan_is_looked_at_and_takes_no_orders(submitted: Path, call: Call) -> None:
    """TOP-PLACES: the same screens; what it was is found again."""
    call("release", "1")
    call("plan", "archive", "greeter", "--abandon", "[bold]another way")

    async def story() -> None:
        async with terminal(submitted) as seen:
            await seen.sees("Nothing waits for you.")
            await seen.press("3")
            await seen.sees("Plans", "abandoned: [bold]another way")
            await seen.press("enter")
            await seen.sees("greeter archived, read-only", "stands still (1)")
            await seen.press("enter")
            text = await seen.sees("plan: greeter", "d Review")
            assert "Orders" not in text
            await seen.press("s", "o", "d")
            await seen.sees("Review of task-01", "Files that differ: 1")
            await seen.press("a", "G", "enter")
            text = await seen.sees("1 + def greet(name): return name")
            assert "Approve" not in text
            await seen.press("enter", "q", "q", "5")
            await seen.sees("Timeline of greeter")
            await seen.press("q")
            await seen.sees("Nothing waits for you.")
            await asyncio.to_thread(call, "plan", "restore", "greeter")
            await seen.sees("stands still (1)")

    asyncio.run(story())


def test_read_only_shows_everything_and_takes_no_orders(submitted: Path) -> None:
    """TOP-ORDERS"""
    project = Project(os.fspath(submitted))
    service.ask_human(project.store, "task-02", kind="trouble", subject_id=1, text="no disk")

    async def story() -> None:
        async with terminal(submitted, size=(100, 30), read_only=True) as seen:
            await seen.sees("read-only", "2 for you")
            await go_to(seen, "mended")
            await seen.press("enter")
            await seen.sees("--read-only, and takes no orders")
            await seen.press("g", "enter")
            text = await seen.sees("Review of task-01")
            assert "Approve" not in text
            await seen.press("G", "enter")
            await seen.sees("1 + def greet")
            await seen.press("G", "enter", "a", "r", "f", "q", "enter", "s", "o", "q")
            await seen.press("2")
            text = await seen.sees("Nothing is proposed.")
            assert "Accept" not in text
            assert len(seen.app.screen_stack) == 2

    before = service.newest_seq(project.store)
    asyncio.run(story())
    assert service.newest_seq(project.store) == before
    project.close()


def test_what_was_viewed_stays_so_until_it_changes_and_what_is_new_is_shown_alone(
    submitted: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TOP-PLACES: as on the page."""

    async def first() -> None:
        async with terminal(submitted, size=(80, 40)) as seen:
            await seen.sees("waits for a verdict")
            await seen.press("d")
            await seen.sees("Files that differ: 1")
            await seen.press("c")
            await seen.sees("No person has judged it before")
            await seen.press("G", "enter")
            await seen.sees("▾ A greeter.py")
            await seen.press("j", "v")
            await seen.sees("▸ A greeter.py +1 -0 viewed", "viewed: 1")

    async def second(*words: str) -> None:
        async with terminal(submitted, size=(80, 40)) as seen:
            await seen.sees("waits for a verdict")
            await seen.press("d")
            await seen.sees(*words)
            if "viewed: 1" in words:
                return
            assert "viewed" not in seen.text.replace("v Viewed", "")
            await seen.press("G", "enter")
            await seen.sees("2 + # one more")
            await seen.press("c")
            await seen.sees("since your last review", "+1 -0")
            await seen.press("w", "w", "c")
            await seen.sees("+2 -0", but_not="since your last review")

    asyncio.run(first())
    asyncio.run(second("viewed: 1"))
    call("review", "reject", "1", "once more")
    (tree_of(submitted) / "greeter.py").write_text("def greet(name): return name\n# one more\n")
    call("step", "1", "start", "1")
    call("step", "1", "done", "1", "--commit")
    call("checkpoint", "1")
    asyncio.run(second("A greeter.py +2 -0"))


def test_fleet_timeline_and_decisions_are_a_key_away(submitted: Path, call: Call) -> None:
    """TOP-PLACES"""
    call("review", "reject", "1", "say who is [bold]greeted[/]")

    async def story() -> None:
        async with terminal(submitted, size=(100, 40)) as seen:
            await seen.sees("task-01")
            await seen.press("4")
            await seen.sees("Fleet", f"{host_name()} (this machine), Musician {__version__}")
            await seen.sees("task-01 musician-task-01")
            await seen.press("5")
            await seen.sees("Timeline", "say who is [bold]greeted[/]")
            await seen.press("6")
            await seen.sees("What was decided", login_name(), "review failed")
            await seen.press("enter")
            await seen.sees("state: review failed")
            await seen.press("1")
            await seen.sees("Nothing waits for you.")

    asyncio.run(story())


def test_a_plan_is_paused_and_goes_on_by_a_key(ready: Path, call: Call) -> None:
    """TOP-ORDERS, PLAN-28: of two plans it is asked which; who only looks has no such key."""

    async def story() -> None:
        async with terminal(ready) as seen:
            await seen.sees("not begun (2)")
            await seen.press("p")
            await seen.sees("Pause plan greeter: nothing of it is begun")
            await seen.press("escape")
            await seen.sees("not begun (2)", but_not="Pause plan")
            await seen.press("p")
            await seen.sees("Enter sends")
            await seen.type("lunch")
            await seen.press("enter")
            await seen.sees(f"plan greeter is paused by {login_name()}", "UTC: lunch; p lets it go on")
            await asyncio.to_thread(call, "claim", "1", "--session", "s1", expect=5)
            await seen.press("3")
            await seen.sees("0 of 2 tasks complete", "paused by")
            await seen.press("q", "p")
            await seen.sees("Let plan greeter go on; it is paused by", "Enter does it")
            await seen.press("enter")
            await seen.sees("not begun (2)", but_not="is paused by")
            other = (ready / "PLAN.md").read_text().replace("greeter", "other").replace("task-0", "other-0")
            await asyncio.to_thread((ready / "OTHER.md").write_text, other)
            await asyncio.to_thread(call, "plan", "lock", "OTHER.md")
            await seen.sees("not begun (4)")
            await seen.press("p")
            await seen.sees("Which plan?", "Pause greeter", "Pause other")
            await seen.press("j", "enter")
            await seen.sees("Pause plan other")
            await seen.press("enter")
            await seen.sees("plan other is paused by", but_not="plan greeter is paused")
            await seen.press("6")
            await seen.sees("plan goes on", "plan paused")
        async with terminal(ready, read_only=True) as seen:
            await seen.sees("plan other is paused by")
            await seen.press("p")
            await seen.sees("plan other is paused by", but_not="Which plan?")

    asyncio.run(story())
