"""``musician attach`` with the real client in a real terminal, beside a run that goes on with the same conversation."""

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from musician.testing import ClientHome, Received, ScriptedModel, TerminalClient, say, use
from musician.testing.script import Step
from musician.testing.waiting import HANG_S, until
from tests.surroundings import begin, git

pytestmark = pytest.mark.deep

PLAN = """\
---
plan: dice
test: "true"
agent: claude
model: sonnet
---
# Dice

## Phase 1: All of it
### task-01: Roll
#### Step 1: Roll the dice
Roll.
"""


class House:
    """A run that stands in the middle of a command, and a person beside it."""

    def __init__(self, folder: Path, url: str) -> None:
        self.project = folder / "project"
        self.begun = folder / "begun"
        tree = self.project / ".musician" / "trees" / "dice" / "task-01"
        self.home = ClientHome(folder / "home", model_url=url, trusts=[tree], allows=["Bash"])

    def musician(self, *words: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", "musician", *words],
            cwd=self.project,
            env=self.home.env,
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
            env=self.home.env,
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
            self.home, self.project, program=[sys.executable, "-m", "musician", "attach", "1"]
        )


@contextmanager
def house(folder: Path, plan: str = PLAN) -> Iterator[House]:
    seen: list[str] = []

    def model(received: Received) -> Step:
        news = received.news_text
        if "write it by hand" in news:
            assert "sonnet" in received.model, "the task's model, in the terminal too"
            return use("Bash", command="echo by hand > hand; (sleep 901 &) ; echo done")
        if "step 1: Roll" in news and "step 1: Roll" not in "".join(seen):
            seen.append(news)
            return use("Bash", command=f"echo half > half; touch '{made.begun}'; sleep 900")
        if "step 1: Roll" in news:
            assert "write it by hand" in received.all_text, "the same conversation"
            return use("Bash", command="echo 3 > dice")
        return say("that is done.")

    with ScriptedModel(model) as server:
        made = House(folder, server.url)
        begin(made.project, {"PLAN.md": plan})
        assert made.answer("init")[0] == 0
        yield made


def end_of(run: "subprocess.Popen[str]") -> list[str]:
    out, err = run.communicate(timeout=HANG_S)
    assert run.returncode == 0, out + err
    return [line.split(maxsplit=3)[3] for line in out.splitlines() if "task-01" in line]


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_person_speaks_with_the_agent_in_the_middle_of_a_run_and_gives_it_back(
    tmp_path: Path, is_killed: bool
) -> None:
    """By leaving, or by a kill of attach: nothing of the terminal is left running, and what was changed is kept."""
    with house(tmp_path) as at, at.musician("run", "PLAN.md") as run:
        until(at.begun.exists)
        with at.attach() as terminal:
            terminal.wait_for(lambda screen: "❯" in screen or "> " in screen)
            terminal.say("write it by hand")
            terminal.wait_for("that is done.")
            code, told = at.answer("attach", "1")
            assert (code, "no terminal" in told) == (4, True)
            assert "a person has it already" in at.refused_on_a_terminal()
            status = json.loads(at.answer("status", "1", "--json")[1])
            assert status["with_person_since"]
            assert status["state"] == "working"
            assert "with a person since" in at.answer("status", "1")[1]
            left = psutil.Process(terminal.pid).children(recursive=True)
            assert left
            if is_killed:
                os.kill(terminal.pid, signal.SIGKILL)
            else:
                terminal.say("/exit")
                terminal.wait_until_over()
            lines = end_of(run)
            _, alive = psutil.wait_procs(left, timeout=HANG_S)
            assert not alive
    at_release = lines.index("a person speaks with its agent; nothing is prompted meanwhile")
    given_back = lines[at_release + 1]
    assert given_back.startswith("given back by the person; what was changed is kept as ")
    assert lines[at_release + 2] == "step 1 begins again"
    assert [git(at.project, "show", f"HEAD:{name}").strip() for name in ("hand", "dice")] == ["by hand", "3"]
    kept = given_back.split()[-1]
    assert "hand" in git(at.project, "show", "--name-only", kept)
    assert not any("silence" in line or "died" in line for line in lines)


def test_an_agent_that_has_no_conversation_yet_is_left_at_work(tmp_path: Path) -> None:
    """The client would open some other conversation, or a list of them."""
    setup = f"setup: case $PWD in */task-01) touch {tmp_path}/begun; sleep 900;; esac\nagent: claude"
    with house(tmp_path, PLAN.replace("agent: claude", setup)) as at, at.musician("run", "PLAN.md") as run:
        try:
            until(at.begun.exists)
            assert "its agent has no conversation yet" in at.refused_on_a_terminal()
            assert not json.loads(at.answer("status", "1", "--json")[1])["with_person_since"]
        finally:
            run.send_signal(signal.SIGINT)
            run.communicate(timeout=HANG_S)
