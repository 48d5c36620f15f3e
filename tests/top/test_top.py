"""What a person sees in a terminal, and what he does there by keys alone."""

import asyncio
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from musician import service
from musician.project import Project
from musician.protocol.messages.kinds import MessageType
from musician.protocol.states import State
from musician.top.page import Page
from musician.top.rows import Rows
from tests.cli.test_run_terminal import Terminal
from tests.surroundings import Call
from tests.top.conftest import terminal

HOSTILE = "[bold red]loud[/] [@click=app.quit]x[/] [/] \\[ \x1b[31m\x1b]0;title\x07 \u202e"
"""Markup of the library's, and what acts on a terminal."""


def last(folder: Path, message_type: MessageType) -> str:
    project = Project(os.fspath(folder))
    try:
        every = service.messages_of(project.store, "task-01")
        return next(each.message for each in reversed(every) if each.message_type == message_type)
    finally:
        project.close()


def test_a_review_is_given_by_keys_alone(submitted: Path) -> None:
    """TOP: what is wanted is first, the change is read file by file, and a rejection carries what was typed."""

    async def story() -> None:
        async with terminal(submitted) as seen:
            text = await seen.sees("waits for a verdict on its work", "not begun (1)", "no run is at work")
            assert text.index("musician review approve task-01") < text.index("task-02")
            await seen.press("enter")
            await seen.sees("Review of task-01", "review_request")
            await seen.press("G", "enter")
            await seen.sees("▾ A greeter.py", "    1 + def greet(name): return name")
            await seen.press("r")
            await seen.sees("Send back task-01", "Enter sends")
            await seen.press("enter")
            await seen.sees("Not done: ", "say what is wrong")
            await seen.press("escape")
            await seen.sees("Review of", but_not="Enter sends")
            await seen.press("G", "enter")
            await seen.sees("To greeter.py:1")
            await seen.type("why")
            await seen.press("enter")
            await seen.sees("draft 1: greeter.py:1: why")
            await seen.press("a")
            await seen.sees("Approve task-01", "Enter sends")
            await seen.press("enter")
            await seen.sees("Not done: ", "drafts")
            await seen.press("escape")
            await seen.sees("Review of", but_not="Enter sends")
            await seen.press("r")
            await seen.sees("Send back task-01")
            await seen.type("almost")
            await seen.press("ctrl+j")
            await seen.type("say who is greeted")
            await seen.press("enter")
            await seen.sees("Nothing waits for you.")

    asyncio.run(story())
    assert last(submitted, MessageType.REJECTION).startswith("almost\nsay who is greeted\n")
    assert "1. greeter.py:1: why" in last(submitted, MessageType.REJECTION)


@pytest.mark.deep
def test_a_verdict_is_for_what_was_seen(submitted: Path, program: Call) -> None:
    """TOP: a newer submission refuses it and gives back what was typed; it is told, and loaded when asked for."""

    async def story() -> None:
        async with terminal(submitted) as seen:
            await seen.sees("waits for a verdict")
            await seen.press("d")
            await seen.sees("Review of task-01", "greeter.py")
            await asyncio.to_thread(again)
            await seen.sees("There is a newer submission", "u loads it")
            await seen.press("f")
            await seen.sees("Propose a fix to task-01")
            await seen.type("mine")
            await seen.press("enter")
            await seen.sees("Not done: ", "mine")
            await seen.press("escape")
            await seen.sees("Review of", but_not="Enter sends")
            await seen.press("u")
            await seen.sees("Resubmitted after it was sent back")
            await seen.press("a")
            await seen.sees("Approve task-01")
            await seen.press("enter")
            await seen.sees("Nothing waits for you.")

    def again() -> None:
        program("review", "reject", "1", "once more")
        program("step", "1", "start", "1")
        program("checkpoint", "1")

    asyncio.run(story())
    assert last(submitted, MessageType.APPROVAL) == "Approved."


def test_what_sessions_say_is_only_text_in_every_size(claimed: Path) -> None:
    """TOP: B40's kind, with the library's markup; and windows of every size."""

    async def story() -> None:
        async with terminal(claimed, size=(40, 15)) as seen:
            await seen.sees("0 for you", "task-02")
            await seen.press("enter")
            await seen.sees("state: working")
            project = seen.app.project
            await asyncio.to_thread(
                service.ask_human, project.store, "task-01", kind="trouble", subject_id=1, text=HOSTILE
            )
            seen.app.look_now()
            await seen.sees("1 for you")
            await seen.press("g")
            text = await seen.sees("[@click=app.quit]x[/]", "[bold red]loud[/]")
            assert not {"\x1b", "\x07", "\u202e"} & set(text)
            await seen.resize(120, 40)
            await seen.sees("musician send task-01")
            await seen.resize(20, 5)
            await seen.resize(80, 24)
            await seen.press("s")
            await seen.sees("To the session on task-01")
            await seen.type("hello")
            await seen.press("enter")
            await seen.press("q")
            await seen.sees("running (1)")
            await seen.press("question_mark")
            await seen.sees("approve, send back, propose a fix")
            await seen.press("x", "q")

    asyncio.run(story())
    assert last(claimed, MessageType.INSTRUCTION)


def test_a_task_tells_its_deviations_and_what_happened_names_the_sessions(claimed: Path, call: Call) -> None:
    """As the page does."""
    call("step", "1", "start", "1")
    call("deviation", "1", "Medium", "another way")

    async def story() -> None:
        async with terminal(claimed, size=(160, 40)) as seen:
            await seen.sees("running (1)")
            await seen.press("enter")
            await seen.sees("Medium deviation: another way (nobody has ruled on it yet)")
            await seen.press("5")
            await seen.sees("task-01  deviation  musician-task-01  ")

    asyncio.run(story())


def test_a_change_that_cannot_be_read_is_told_and_ends_nothing(submitted: Path) -> None:
    """TOP: its commits may be collected while it is looked at."""
    objects = submitted / ".git" / "objects"

    async def story() -> None:
        async with terminal(submitted, size=(40, 10)) as seen:
            await seen.sees("Needs you: 1")
            await seen.press("d")
            await seen.sees("Review of task-01")
            await seen.press("G")
            await seen.sees("greeter.py")
            away = objects.rename(objects.with_name("away"))
            await seen.press("enter")
            await seen.sees("git", "greeter.py")
            away.rename(objects)
            seen.app.look_now()
            await seen.sees("Review of task-01", but_not="may be old")
            await seen.press("G", "enter")
            await seen.sees("▾ A greeter.py")

    asyncio.run(story())


def test_a_database_that_was_replaced_is_told_and_takes_no_orders(submitted: Path) -> None:
    """TOP"""
    place = submitted / ".musician" / "comms.db"

    async def story() -> None:
        async with terminal(submitted) as seen:
            await seen.sees("waits for a verdict")
            await seen.press("d")
            await seen.sees("Review of task-01", "greeter.py")
            away = place.rename(place.with_name("away.db"))
            place.write_bytes(b"")
            seen.app.look_now()
            await seen.sees("What you see may be old: ")
            await seen.press("a")
            await seen.sees("Approve task-01", "Enter sends")
            await seen.press("enter")
            await seen.sees("Not done: ")
            await seen.press("escape")
            await seen.sees("Review of", but_not="Enter sends")
            away.rename(place)
            seen.app.look_now()
            await seen.sees("Review of task-01", but_not="may be old")

    asyncio.run(story())
    project = Project(os.fspath(submitted))
    assert service.task_row(project.store, "task-01").state is State.NEEDS_REVIEW
    project.close()


def test_what_another_program_does_comes_by_itself(claimed: Path, call: Call) -> None:
    """TOP: states, and what a session says, line by line; who reads stays where he is."""
    folder = claimed / ".musician" / "logs" / "task-01"
    folder.mkdir(parents=True, exist_ok=True)
    transcript = folder / "1.s1.jsonl"
    event = '{"seq": %d, "at": "2026-01-01T00:00:00.000Z", "kind": "text", "piece": "step 1", "text": "%s"}\n'
    transcript.write_text("".join(event % (number, f"line {number}.") for number in range(60)))

    async def story() -> None:
        async with terminal(claimed) as seen:
            await seen.sees("task-01")
            await seen.press("enter")
            await seen.sees("line 59.")
            with transcript.open("a") as file:
                file.write(event % (60, "[red]line[/] 60."))
            await seen.sees("[red]line[/] 60.")
            await seen.press("g")
            await seen.sees("state: working", but_not="line 59.")
            with transcript.open("a") as file:
                file.write(event % (61, "line 61."))
            project = Project(os.fspath(claimed))
            await asyncio.to_thread(service.send, project.store, "task-01", "hello")
            project.close()
            await seen.press("q")
            await seen.sees("task-02")

    asyncio.run(story())


def test_a_look_that_comes_while_it_ends_is_shown_to_nobody(
    claimed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once in a while it ended with a traceback: the pages are taken apart before who follows is ended."""
    shown: list[Page] = []
    show = Page.show

    def noted(self: Page, *what: Any) -> None:
        shown.append(self)
        show(self, *what)

    monkeypatch.setattr(Page, "show", noted)

    async def story() -> None:
        async with terminal(claimed) as seen:
            await seen.sees("task-01")
            close_all = seen.app._close_all

            async def and_look() -> None:
                await close_all()
                shown.clear()
                await asyncio.create_task(seen.app._follow())

            seen.app._close_all = and_look  # type: ignore[method-assign]
        assert shown == []

    asyncio.run(story())


@pytest.mark.deep
@pytest.mark.parametrize("how", ["key", "signal", "hangup"])
def test_the_terminal_is_left_as_it_was(submitted: Path, how: str) -> None:
    """TOP: on a real one, without colours where none are wanted; and the screen says which row the cursor is on."""
    terminal = Terminal("top", columns=80, rows=24, NO_COLOR="1")
    terminal.until(lambda said: re.search(r"\x1b\[[0-9;]*7;39;49m! task-01 waits", said))
    assert not re.search(r"\x1b\[[0-9;]*(38|48);[25]", terminal.said)
    if how == "key":
        terminal.type(b"q")
    else:
        terminal.process.send_signal(signal.SIGTERM if how == "signal" else signal.SIGHUP)
    assert terminal.end() == 0, terminal.said
    terminal.check_whole()
    assert "\x1b[?1049l" in terminal.said
    terminal.close()


def test_without_a_terminal_it_says_what_prints(ready: Path, call: Call) -> None:
    """TOP"""
    assert "needs a terminal" in call("top", expect=2).err


@pytest.mark.deep
def test_thousands_of_tasks_are_gone_through(ready: Path) -> None:
    """TOP: and who has gone to one stays there, whatever changes around it."""
    project = Project(os.fspath(ready))
    for number in range(1000, 4000):
        service.open_task(project.store, f"many-{number}", title="One of many", instruction_path="x.md")

    async def story() -> None:
        async with terminal(ready) as seen:
            await seen.sees("not begun (3002)")
            await seen.press("G")
            await seen.sees("many-3999")
            await seen.press("k", "k")
            service.withdraw(project.store, "many-1500", "not wanted")
            await seen.resize(40, 15)
            await seen.sees("many-3997")
            at = seen.app.screen.query_one(Rows).at
            assert at is not None
            assert at.key == "task-many-3997"
            await seen.press("g")
            await seen.sees("not begun (3001)", "task-01")

    asyncio.run(story())
    project.close()
