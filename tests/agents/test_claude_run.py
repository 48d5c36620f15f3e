"""``musician run --agent claude``: the real client plays a plan to its end, against a scripted model."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from musician import service
from musician.protocol.states import State
from musician.store.opening import open_store
from musician.testing import ClientHome, Received, Reply, ScriptedModel, ToolUse, say, use
from musician.testing.script import Step
from musician.testing.waiting import HANG_S
from tests.surroundings import begin, git

PLAN = """\
---
plan: dice
test: python3 -m unittest -q
---
# Dice

## Overview
Dice.

## Phase 1: All of it
### task-01: Read what to roll
#### Step 1: Write the function
Write dice.py, with read(text).
#### Step 2: Test it
Write test_dice.py.
"""
DICE = "def read(text):\n    a, b = text.split('d')\n    return int(a), int(b)\n"
TEST = """\
import unittest, dice
class Dice(unittest.TestCase):
    def test_three_dice(self):
        self.assertEqual(dice.read("3d6"), (3, 6))
"""


class Model:
    """It tries to push, deviates, and is killed with its musician in the middle of step 2, once."""

    def __init__(self) -> None:
        self.refused = ""
        self.told = ""
        self.killed = threading.Event()

    def __call__(self, received: Received) -> Step:
        news = received.news_text
        self.told += news
        if "step 1: Write" in news:
            return use("Bash", command="git push origin HEAD")
        if received.answers and received.answers[0].is_error:
            self.refused = received.answers[0].text
            text = "I write it.\n::deviation Low the names are short"
            return Reply(text=text, uses=(_write("dice.py", DICE),))
        if "step 2: Test" in news:
            if self.killed.is_set():
                return _using(_write("test_dice.py", TEST))
            return use("Bash", command="echo half > half; echo pid=$MUSICIAN_PID")
        if (pid := re.search(r"pid=(\d+)", news)) is not None:
            self.killed.set()
            os.kill(int(pid[1]), signal.SIGKILL)
        return say("done.")


class Reviewed:
    """One that plays in one conversation, and judges in others: it sends back what has no docstring."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def __call__(self, received: Received) -> Step:
        news = received.news_text
        if "Judge what was submitted" in received.all_text:
            if not received.answers:
                return use("Bash", command="git diff $MUSICIAN_BASE")
            self.seen.append(received.answers[0].text)
            has_one = '"""' in self.seen[-1]
            return say("::verdict approve" if has_one else "::verdict reject dice.py has no docstring")
        if "no docstring" in news:
            told = "Mended.\n::answer 1 it has one"
            return Reply(text=told, uses=(_write("dice.py", f'"""Dice."""\n{DICE}'),))
        if "step 1: Write" in news:
            return _using(_write("dice.py", DICE))
        if "step 2: Test" in news:
            return _using(_write("test_dice.py", TEST))
        return say("done.")


def _using(tool: ToolUse) -> Reply:
    return Reply(uses=(tool,))


def _write(name: str, text: str) -> ToolUse:
    return ToolUse(name="Bash", input={"command": f"cat > {name} <<'END'\n{text}END"})


def play(tmp_path: Path, plan: str, model: Callable[[Received], Step]) -> tuple[Path, str]:
    """The project, and what the run printed."""
    project = tmp_path / "my project (é)"
    begin(project, {"PLAN.md": plan})
    with ScriptedModel(model) as server:
        home = ClientHome(tmp_path / "home", model_url=server.url)

        def musician(*words: str) -> str:
            command = [sys.executable, "-m", "musician", *words]
            done = subprocess.run(
                command,
                cwd=project,
                env=home.env,
                capture_output=True,
                text=True,
                timeout=HANG_S,
                check=False,
            )
            assert done.returncode == 0, done.stdout + done.stderr
            return done.stdout

        musician("init")
        told = musician("run", "PLAN.md", "--agent", "claude")
    return project, told


def test_a_plan_is_played_by_the_real_client_to_its_end(tmp_path: Path) -> None:
    """What is refused is refused, and a musician that dies in the middle loses nothing."""
    model = Model()
    project, told = play(tmp_path, PLAN, model)
    assert "push" in model.refused
    assert "deviation in step 1 (Low): the names are short" in told
    assert "musician-task-01-S2" in told
    store = open_store(project / ".musician" / "comms.db")
    view = service.task_view(store, "task-01")
    store.close()
    assert {(row.item, row.claim_epoch) for row in view.usage} >= {("step 1", 1)}
    assert all(row.model and row.input_tokens and row.cost_usd for row in view.usage)
    assert re.search(r"Used by this plan so far: \S+ tokens in, \S+ out, \$[\d.]+ \(claude", told)
    assert view.row.state is State.COMPLETE
    assert "Your program was ended in the middle" in model.told
    assert "% of its context used: died" in model.told
    assert any(row.text.startswith("claude goes on with its last conversation, ") for row in view.journal)
    assert git(project, "ls-files").split() == ["PLAN.md", "dice.py", "test_dice.py"]


def test_a_model_that_reviews_sees_the_work_and_what_it_sends_back_is_mended(tmp_path: Path) -> None:
    model = Reviewed()
    project, told = play(
        tmp_path, PLAN.replace("plan: dice", "plan: dice\nagent: claude\nreview: agent"), model
    )
    assert ["def read" in each for each in model.seen] == [True, True]
    assert "dice.py has no docstring" in told
    assert git(project, "show", "HEAD:dice.py").startswith('"""Dice."""')
