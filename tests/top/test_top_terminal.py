"""``musician top`` on real terminals: poor ones, ones that go away, and ones that are put aside."""

import asyncio
import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.app import App, ComposeResult

import musician.top
from musician.protocol.messages.kinds import MessageType
from musician.testing.waiting import until
from musician.top.rows import Rows, row
from tests.cli.test_run_terminal import BECOME_FOREGROUND, Terminal
from tests.top.test_top import last

SCREEN_ON, SCREEN_OFF = "\x1b[?1049h", "\x1b[?1049l"
STYLES = Path(musician.top.__file__).with_name("top.tcss")
OF_COLOUR = re.compile(r"\x1b\[[0-9;]*(?:[34]8;[25]|[;\[][349][0-7])[0-9;]*m")


@pytest.fixture
def opened(submitted: Path) -> Iterator[list[Terminal]]:
    terminals: list[Terminal] = []
    yield terminals
    for each in terminals:
        each.close()


def open_one(opened: list[Terminal], **env: str) -> Terminal:
    opened.append(Terminal("top", columns=80, rows=24, **env))
    return opened[-1]


def test_a_terminal_without_a_screen_is_refused_with_what_prints(opened: list[Terminal]) -> None:
    """TOP-TERMINAL"""
    shown = open_one(opened, TERM="dumb")
    assert shown.end() == 2
    assert "TERM=dumb" in shown.said
    assert "musician needs-me" in shown.said
    assert SCREEN_ON not in shown.said


@pytest.mark.deep
def test_a_terminal_without_colours_gets_none(opened: list[Terminal]) -> None:
    """TOP-TERMINAL: as its description says; one that is not described here gets them."""
    for term, has_colours in (("vt100", False), ("made-up-by-a-test", True)):
        shown = open_one(opened, TERM=term)
        shown.until(lambda said: "Needs you" in said)
        shown.type(b"q")
        assert shown.end() == 0, shown.said
        assert bool(OF_COLOUR.search(shown.said)) is has_colours, term


@pytest.mark.deep
def test_it_speaks_utf8_in_any_locale(opened: list[Terminal]) -> None:
    """TOP-TERMINAL: as every command does; over ssh the locale is often none."""
    shown = open_one(opened, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    shown.until(lambda said: "Add the greeting" in said or "Needs you" in said)
    shown.type(b"q")
    assert shown.end() == 0, shown.said
    assert "My Proj (é) $x" in shown.said


@pytest.mark.deep
def test_it_is_put_aside_and_comes_back(opened: list[Terminal]) -> None:
    """TOP-TERMINAL: the terminal is as it was meanwhile."""
    shown = open_one(opened)
    shown.until(lambda said: "Needs you" in said)
    shown.type(b"\x1a")
    shown.until(lambda said: SCREEN_OFF in said)
    os.waitid(os.P_PID, shown.process.pid, os.WSTOPPED)
    shown.check_whole()
    before = len(shown.said)
    shown.process.send_signal(signal.SIGCONT)
    shown.until(lambda said: SCREEN_ON in said[before:] and "Needs you" in said[before:])
    shown.type(b"\x03")
    assert shown.end() == 0, shown.said
    shown.check_whole()


@pytest.mark.deep
def test_where_nothing_can_be_written_any_more_it_ends(submitted: Path) -> None:
    """TOP-TERMINAL: the library's writer dies of that, and the program would wait for it for good."""
    keys, keyboard = os.openpty()
    screen, shown = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", BECOME_FOREGROUND, "top"],
        stdin=keyboard,
        stdout=shown,
        stderr=shown,
        env={**os.environ, "TERM": "xterm-256color"},
    )
    try:
        os.close(shown)
        said = b""
        while b"Needs you" not in said:
            said += os.read(screen, 65536)
        os.close(screen)
        os.write(keys, b"jkjkjkjkjk")  # it has much to write
        until(lambda: process.poll() is not None)
        assert process.returncode in (0, 130, -signal.SIGTERM)  # as early as its own signal comes
    finally:
        process.kill()
        process.wait()
        os.close(keys)
        os.close(keyboard)


@pytest.mark.deep
def test_an_order_that_the_database_has_not_taken_is_told_at_the_end(
    submitted: Path, opened: list[Terminal]
) -> None:
    """TOP-TERMINAL: who leaves meanwhile knows that it is not done; it is, once the database is free."""
    shown = open_one(opened)
    shown.until(lambda said: "Needs you" in said)
    shown.type(b"d")
    shown.until(lambda said: "Review of task-01" in said)
    holder = sqlite3.connect(submitted / ".musician" / "comms.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    shown.type(b"r")
    shown.until(lambda said: "Enter sends" in said)
    shown.type(b"no\r")
    shown.until(lambda said: "waiting for the database" in said)
    shown.type(b"\x03")
    shown.until(lambda said: "this still waits for the database" in said)
    shown.check_whole()
    holder.execute("ROLLBACK")
    holder.close()
    assert shown.end() == 0, shown.said
    assert last(submitted, MessageType.REJECTION) == "no"


@pytest.mark.parametrize("width", range(20, 100, 7))
def test_no_end_of_a_line_is_lost_when_a_scroll_bar_comes(width: int) -> None:
    """TOP-TERMINAL: the rows' heights are of the width that they are drawn in."""
    texts = [f"{'word ' * count}end-{count}" for count in range(3, 40)]

    class Only(App[None]):
        CSS_PATH = STYLES

        def compose(self) -> ComposeResult:
            yield Rows()

    async def story() -> str:
        app = Only()
        async with app.run_test(size=(width, 12)) as pilot:
            rows = app.query_one(Rows)
            rows.show([row(str(number), text) for number, text in enumerate(texts)])
            await pilot.pause()
            said = []
            for line in range(rows.virtual_size.height):
                rows.scroll_to(y=line, animate=False, immediate=True)
                said.append(rows.render_line(0).text if rows.scroll_offset.y == line else "")
            bottom = rows.scroll_offset.y
            said += [rows.render_line(line).text for line in range(rows.virtual_size.height - bottom)]
            return " ".join(said)

    words = asyncio.run(story()).split()
    assert [text for text in texts if text.split()[-1] not in words] == []
