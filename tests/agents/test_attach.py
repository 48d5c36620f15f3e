"""``musician attach`` with real agents in a real terminal, beside a run that goes on with the same conversation."""

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from musician import service
from musician.processes.sandbox import why_no_sandbox
from musician.store.opening import open_store
from musician.testing import ClientHome, Received, Reply, ScriptedModel, TerminalClient, say
from musician.testing.script import Step, Usage
from musician.testing.waiting import HANG_S, until
from tests.agents.whole_run import shell_of, surroundings, told_if_it_fails
from tests.needs import refuse
from tests.surroundings import begin, git

pytestmark = pytest.mark.deep

PLAN = """\
---
plan: dice
test: "true"
agent: AGENT
SANDBOX---
# Dice

## Phase 1: All of it
### task-01: Roll
#### Step 1: Roll the dice
Roll.
"""


class House:
    """A run that stands in the middle of a command, and a person beside it."""

    def __init__(self, folder: Path, model: ScriptedModel, agent: str) -> None:
        self.model, url = model, model.url
        self.is_same_conversation = False
        self.project = folder / "project"
        self.tree = self.project / ".musician" / "trees" / "dice" / "task-01"
        self.begun = self.tree / "begun"
        home = folder / "home"
        if agent == "claude":
            self.env = ClientHome(home, model_url=url, trusts=[self.tree], allows=["Bash"]).env
        else:
            self.env = surroundings(agent, home, url, trusts=[self.project])

    def musician(self, *words: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", "musician", *words],
            cwd=self.project,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def answer(self, *words: str) -> tuple[int, str]:
        process = self.musician(*words)
        out, err = process.communicate(timeout=HANG_S)
        return process.returncode, out + err

    def refused_on_a_terminal(self) -> str:
        leader, follower = pty.openpty()
        argv = [sys.executable, "-m", "musician", "attach", "1"]
        ran = subprocess.run(
            argv,
            cwd=self.project,
            env=self.env,
            stdin=follower,
            stdout=follower,
            stderr=subprocess.PIPE,
            timeout=HANG_S,
        )
        os.close(leader)
        os.close(follower)
        assert ran.returncode == 4
        return ran.stderr.decode()

    def attach(self) -> TerminalClient:
        return TerminalClient(
            self.env, self.project, program=[sys.executable, "-m", "musician", "attach", "1"]
        )


@contextmanager
def house(folder: Path, plan: str = PLAN, *, agent: str = "claude", sandbox: str = "off") -> Iterator[House]:
    seen: list[str] = []
    shell = shell_of(agent)
    outside = "echo out > ../../../../out; " if agent == "claude" else ""

    def model(received: Received) -> Step:
        news = received.news_text
        if "write it by hand" in news:
            assert agent != "claude" or "sonnet" in received.model, "the task's model, in the terminal too"
            return Reply(uses=(shell(f"echo by hand > hand; (sleep 901 &) ; {outside}echo done"),))
        if "step 1: Roll" in news and "step 1: Roll" not in "".join(seen):
            seen.append(news)
            return Reply(uses=(shell("echo half > half; touch begun; sleep 900"),))
        if "step 1: Roll" in news:
            made.is_same_conversation = "write it by hand" in received.all_text
            return Reply(uses=(shell("echo 3 > dice"),))
        return say("that is done.")

    with ScriptedModel(model) as server:
        made = House(folder, server, agent)
        named = "claude\nmodel: sonnet" if agent == "claude" else agent
        plan = plan.replace("AGENT", named).replace("SANDBOX", f"sandbox: {sandbox}\n")
        begin(made.project, {"PLAN.md": plan})
        assert made.answer("init")[0] == 0
        yield made


def end_of(run: "subprocess.Popen[str]", *, code: int = 0) -> list[str]:
    out, err = run.communicate(timeout=HANG_S)
    assert run.returncode == code, out + err
    told = (line.split(maxsplit=3) for line in out.splitlines())  # its time, task, state and what happened
    return [words[3] for words in told if words[1:2] == ["task-01"] and len(words) == 4]


def speak(terminal: TerminalClient, agent: str) -> None:
    """Say something in the agent's own terminal, give it leave where it asks, and see the answer."""
    terminal.wait_for(READY[agent])
    terminal.say("write it by hand")
    if agent in ASKS:
        terminal.wait_for(ASKS[agent])
        terminal.press_until(lambda screen: ASKS[agent] not in screen, "Enter")
    terminal.wait_for("that is done.")


def nothing_runs(left: list[psutil.Process]) -> None:
    """Of these; who has ended and was not waited for yet does not."""

    def runs(process: psutil.Process) -> bool:
        with suppress(psutil.NoSuchProcess):
            return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
        return False

    until(lambda: not any(map(runs, left)), told=lambda: str(left))


READY = {"claude": "❯", "codex": "Ask Codex"}
ASKS = {"codex": "Would you like to run"}
LEAVING = {"claude": "/exit", "codex": "/quit"}


@pytest.mark.parametrize(
    ("agent", "sandbox", "way"),
    [
        ("claude", "off", "left"),
        ("claude", "off", "killed"),
        ("claude", "off", "closed"),
        ("claude", "required", "left"),
        ("codex", "off", "left"),
    ],
)
def test_a_person_speaks_with_the_agent_in_the_middle_of_a_run_and_gives_it_back(
    tmp_path: Path, agent: str, sandbox: str, way: str
) -> None:
    """ATTACH: by leaving, by closing the window, or by a kill of attach: nothing of the terminal is left running, and
    what was changed is kept. In a sandbox the terminal is in the same one.
    """
    if sandbox == "required" and (why := why_no_sandbox()):
        refuse(f"a sandbox: {why}")
    with (
        house(tmp_path, agent=agent, sandbox=sandbox) as at,
        told_if_it_fails(at.musician("run", "PLAN.md")) as run,
    ):
        until(at.begun.exists)
        with at.attach() as terminal:
            speak(terminal, agent)
            code, told = at.answer("attach", "1")
            assert (code, "no terminal" in told) == (4, True)
            assert "a person has it already" in at.refused_on_a_terminal()
            status = json.loads(at.answer("status", "1", "--json")[1])
            assert status["with_person_since"]
            assert status["state"] == "working"
            assert "with a person since" in at.answer("status", "1")[1]
            left = psutil.Process(terminal.pid).children(recursive=True)
            assert left
            if way == "killed":
                os.kill(terminal.pid, signal.SIGKILL)
            elif way == "closed":
                terminal.close_window()
            else:
                terminal.say(LEAVING[agent])
                assert "given back; its session goes on" in terminal.wait_until_over()
            lines = end_of(run)
            nothing_runs(left)
    assert at.is_same_conversation
    at_release = lines.index("a person speaks with its agent; nothing is prompted meanwhile")
    given_back = lines[at_release + 1]
    assert given_back.startswith("given back by the person; what was changed is kept as ")
    assert lines[at_release + 2] == "step 1 begins again"
    assert [git(at.project, "show", f"HEAD:{name}").strip() for name in ("hand", "dice")] == ["by hand", "3"]
    kept = given_back.split()[-1]
    assert "hand" in git(at.project, "show", "--name-only", kept)
    assert not any("silence" in line or "died" in line for line in lines)
    if (agent, way) == ("claude", "left"):
        with closing(open_store(at.project / ".musician" / "comms.db")) as store:
            used = service.usage_of_plan(store, "dice")
        assert sum(each.input_tokens for each in used) == Usage().input * len(at.model.main), (
            "the person's, too"
        )
    assert (at.project / "out").exists() is (agent == "claude" and sandbox == "off")


def test_a_session_that_must_leave_takes_its_agent_back_first(tmp_path: Path) -> None:
    """ATTACH: a stop ends the terminal before the session leaves, and what was changed is its own commit."""
    with house(tmp_path) as at, told_if_it_fails(at.musician("run", "PLAN.md")) as run:
        until(at.begun.exists)
        with at.attach() as terminal:
            speak(terminal, "claude")
            left = psutil.Process(terminal.pid).children(recursive=True)
            assert at.answer("stop", "1")[0] == 0
            assert "its session has ended meanwhile" in terminal.wait_until_over()
            nothing_runs(left)
        lines = end_of(run, code=1)
    given_back = next(line for line in lines if line.startswith("given back by the person"))
    assert git(at.tree, "show", f"{given_back.split()[-1]}:hand").strip() == "by hand"


def test_who_outlives_the_session_is_told_that_nobody_takes_the_agent_back(tmp_path: Path) -> None:
    """ATTACH: its process is killed; the conductor ends the terminal before anybody else has the tree."""
    with house(tmp_path) as at, told_if_it_fails(at.musician("run", "PLAN.md")) as run:
        until(at.begun.exists)
        with at.attach() as terminal:
            speak(terminal, "claude")
            left = psutil.Process(terminal.pid).children(recursive=True)
            with closing(open_store(at.project / ".musician" / "comms.db")) as store:
                processes = service.task_view(store, "task-01").processes
            os.kill(next(each.pid for each in processes if each.role == "musician"), signal.SIGKILL)
            assert "nobody is there to take it back" in terminal.wait_until_over()
        out, err = run.communicate(timeout=HANG_S)
        assert run.returncode == 0, out + err
        nothing_runs(left)
        refs = git(at.project, "for-each-ref", "--format=%(refname)", "refs/musician").split()
        assert any("hand" in git(at.project, "ls-tree", "--name-only", ref) for ref in refs), refs


def test_an_agent_that_has_no_conversation_yet_is_left_at_work(tmp_path: Path) -> None:
    """The client would open some other conversation, or a list of them."""
    setup = f"setup: case $PWD in */task-01) touch {tmp_path}/begun; sleep 900;; esac\nagent: claude"
    with house(tmp_path, PLAN.replace("agent: AGENT", setup)) as at, at.musician("run", "PLAN.md") as run:
        try:
            until((tmp_path / "begun").exists)
            assert "its agent has no conversation yet" in at.refused_on_a_terminal()
            assert not json.loads(at.answer("status", "1", "--json")[1])["with_person_since"]
        finally:
            run.send_signal(signal.SIGINT)
            run.communicate(timeout=HANG_S)
