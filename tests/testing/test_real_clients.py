"""The kit with the real client: every mode talks to the scripted model, in surroundings of its own."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack
from pathlib import Path

import anyio
import pytest
from claude_agent_sdk import ResultMessage

from musician.testing import (
    ClientHome,
    NotInTime,
    PrintClient,
    ScriptedFailure,
    ScriptedModel,
    TerminalClient,
    Usage,
    say,
    until,
    use,
)
from musician.testing.client_home import MADE_UP_KEY, ClientMissing, find_client
from musician.testing.hosted_client import HostedClient
from musician.testing.leftovers import marked
from musician.testing.script import Script
from musician.testing.waiting import HANG_S


class Place:
    """A folder to work in, and homes beside it."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.work = folder / "work é $x"
        self.work.mkdir()
        self._folder, self._stack = folder, stack

    def played(self, script: Script) -> tuple[ScriptedModel, ClientHome]:
        model = self._stack.enter_context(ScriptedModel(script))
        home = ClientHome(self._folder / "home", model_url=model.url, trusts=[self.work], allows=["Bash"])
        return model, home


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with ExitStack() as stack:
        yield Place(tmp_path, stack)


def test_print_mode_plays_a_prompt_to_its_end(place: Place) -> None:
    model, home = place.played(
        [use("Bash", command='echo "$HOME|$ANTHROPIC_API_KEY"; pwd', usage=Usage(input=4321)), say("done")]
    )
    with PrintClient(home, place.work, "count the pigeons") as client:
        result = client.end()
        session = client.session_id
    assert (result.code, result.text, result.is_error) == (0, "done", False)
    first, second = model.main
    assert "count the pigeons" in first.news_text
    assert {first.session_id, second.session_id} == {session}
    assert {"Bash", "Read"} <= set(first.tools)
    (answer,) = second.answers
    assert str(home.folder) in answer.text
    assert str(place.work) in answer.text
    assert marked(client.mark) == []


def test_a_client_meets_nothing_of_its_surroundings(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "somebody's own")
    monkeypatch.setenv("CLAUDE_CODE_LEAKED", "1")
    show = use("Bash", command="env | cut -d= -f1 | sort")
    model, home = place.played([show, say("done"), show, say("done")])

    async def hosted() -> None:
        async with HostedClient(home, place.work) as client:
            await client.turn("show")

    with PrintClient(home, place.work, "show") as client:
        client.end()
    anyio.run(hosted)
    for request in model.main[1::2]:
        (answer,) = request.answers
        names = set(answer.text.split())
        assert "CLAUDE_CONFIG_DIR" in names
        assert not names & {"ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_LEAKED"}


def test_an_error_of_the_api_ends_the_turn(place: Place) -> None:
    _, home = place.played([ScriptedFailure(message="no such thing")])
    with PrintClient(home, place.work, "hello") as client:
        result = client.end()
    assert result.is_error
    assert "no such thing" in str(result.text)


def test_a_client_is_killed_in_the_middle_of_a_tool_and_nothing_of_it_is_left(place: Place) -> None:
    mark = place.work / "started"
    _, home = place.played([use("Bash", command=f"echo $$ > '{mark}'; exec sleep 600")])
    with PrintClient(home, place.work, "wait") as client:
        used = client.wait_for(lambda event: event["type"] == "assistant")
        assert "sleep 600" in str(used)
        with pytest.raises(NotInTime, match="runs on"):
            client.end(within_s=0.01)
        until(lambda: mark.exists() and mark.read_text().endswith("\n"))
        client.kill()
        assert [process.pid for process in marked(client.mark)] == [int(mark.read_text())]
        assert client.end().code == -signal.SIGKILL
        with pytest.raises(NotInTime, match="no such event"):
            client.wait_for(lambda event: event["type"] == "result")
    assert marked(client.mark) == []


@pytest.mark.needs("tmux")
def test_a_terminal_shows_what_is_said_and_takes_what_is_typed(place: Place) -> None:
    hold = threading.Event()
    model, home = place.played([say("I am all ears", hold=hold), say("Forty-two pigeons")])
    with TerminalClient(home, place.work, prompt="are you there?") as client:
        model.wait_for(lambda request: "are you there?" in request.news_text)
        assert "all ears" not in client.screen()
        hold.set()
        client.wait_for("I am all ears")
        client.say("count the pigeons in the loft, the tower and the yard, " + "and everywhere else " * 8)
        assert "everywhere else" in model.wait_for(lambda request: request.number == 2).news_text
        client.wait_for("Forty-two pigeons")
        with pytest.raises(NotInTime, match="Forty-two"):
            client.wait_for("forty-three", within_s=0.01)
        assert client.pid in [process.pid for process in marked(client.mark)]
        client.say("/exit")
        client.wait_until_over()


LATE = """\
import os, pathlib, sys, time, tty
print("I look ready", flush=True)
while not pathlib.Path(sys.argv[1]).exists():
    time.sleep(0.01)
tty.setraw(0)
print(os.read(0, 9), flush=True)
"""


@pytest.mark.needs("tmux")
def test_a_key_is_pressed_when_somebody_reads_keys(place: Place) -> None:
    """Before that Enter would end a line, as it does in a shell, and be no key."""
    go = place.work / "go"
    program = [sys.executable, "-c", LATE, str(go)]
    with ThreadPoolExecutor() as pool, TerminalClient(os.environ, place.work, program=program) as client:
        client.wait_for("I look ready")
        pressed = pool.submit(client.press, "Enter")
        wait([pressed], timeout=0.2)  # of one that waits for nobody it comes too early
        go.touch()
        client.wait_for(r"b'\r'")


@pytest.mark.needs("tmux")
def test_what_fails_beside_a_client_is_told_with_what_the_client_said_last(place: Place) -> None:
    """CI shows little else of it."""
    _, home = place.played([say("I am all ears"), say("I am all eyes")])

    def printed() -> None:
        with PrintClient(home, place.work, "are you there?") as client:
            client.end()
            raise LookupError("ears")

    def typed() -> None:
        with TerminalClient(home, place.work, prompt="are you there?") as client:
            client.wait_for("I am all eyes")
            raise LookupError("eyes")

    for fails, said in ((printed, "I am all ears"), (typed, "I am all eyes")):
        with pytest.raises(LookupError) as failed:
            fails()
        assert [said in note for note in failed.value.__notes__] == [True]


@pytest.mark.needs("tmux")
def test_a_terminal_leaves_no_server_and_no_client_behind(place: Place) -> None:
    model, home = place.played([use("Bash", command="exec sleep 600")])
    with TerminalClient(home, place.work, prompt="wait") as client:
        model.wait_for(lambda request: True)
        assert {"claude", "tmux: server"} <= {process.name() for process in marked(client.mark)}
    assert marked(client.mark) == []
    with pytest.raises(subprocess.SubprocessError, match="capture-pane"):
        client.screen()


def test_a_terminal_that_cannot_be_opened_says_why(place: Place) -> None:
    _, home = place.played([])
    home.env["PATH"] = str(place.work)
    with pytest.raises(FileNotFoundError, match="tmux"), TerminalClient(home, place.work):
        pass


def test_a_host_says_steers_and_interrupts(place: Place) -> None:
    started = place.work / "started"
    model, home = place.played(
        [
            say("hello"),
            use("Bash", command=f"touch '{started}'; exec sleep 600"),
            say("stopped"),
        ]
    )

    async def play() -> None:
        async with HostedClient(home, place.work) as client:
            assert (await client.turn("good morning")).result == "hello"
            await client.say("sleep long")
            with anyio.fail_after(HANG_S):
                while not started.exists():
                    await anyio.sleep(0.05)
            await client.interrupt()
            await client.wait_for(lambda message: isinstance(message, ResultMessage))
            assert (await client.turn("go on")).result == "stopped"
            with pytest.raises(NotInTime):
                await client.wait_for(lambda message: True, within_s=0.01)

    anyio.run(play)
    assert "go on" in model.main[-1].news_text


def test_without_the_library_there_is_no_client_and_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_client().name == "claude"
    assert MADE_UP_KEY.startswith("made-up")
    monkeypatch.setattr("musician.agents.claude.client.find_spec", lambda name: None)
    with pytest.raises(ClientMissing, match=r"pip install 'musician\[claude\]'"):
        find_client()
