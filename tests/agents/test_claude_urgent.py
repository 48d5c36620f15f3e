"""An urgent message to the real client in the middle of a command, under ``musician run``."""

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from musician.testing import ClientHome, Received, ScriptedModel, say, use
from musician.testing.script import Step
from musician.testing.waiting import HANG_S, until
from tests.agents.whole_run import told_if_it_fails
from tests.surroundings import begin, git

PLAN = """\
---
plan: dice
test: "true"
agent: claude
---
# Dice

## Phase 1: All of it
### task-01: Roll
#### Step 1: Roll the dice
Roll.
"""


@pytest.mark.deep
def test_what_is_urgent_interrupts_a_running_command_and_the_step_begins_again_with_it(
    tmp_path: Path,
) -> None:
    """D35.5: nothing of the command is left running; the run tells what was said, and that the step begins again."""
    pid_file = tmp_path / "pid"

    def model(received: Received) -> Step:
        if "three dice" in received.news_text:
            return use("Bash", command="echo 3 > dice")
        if "step 1: Roll" in received.news_text:
            return use(
                "Bash", command=f"echo $$ > '{pid_file}.new'; mv '{pid_file}.new' '{pid_file}'; sleep 900"
            )
        return say("rolled.")

    project = tmp_path / "project"
    begin(project, {"PLAN.md": PLAN})
    with ScriptedModel(model) as server:
        home = ClientHome(tmp_path / "home", model_url=server.url)

        def musician(*words: str) -> "subprocess.Popen[str]":
            command = [sys.executable, "-m", "musician", *words]
            return subprocess.Popen(command, cwd=project, env=home.env, stdout=subprocess.PIPE, text=True)

        musician("init").communicate(timeout=HANG_S)
        with told_if_it_fails(musician("run", "PLAN.md")) as run:
            until(pid_file.exists)
            shell = psutil.Process(int(pid_file.read_text()))
            running = [shell, *shell.children(recursive=True)]
            musician("send", "1", "three dice", "--urgent").communicate(timeout=HANG_S)
            psutil.wait_procs(running, timeout=HANG_S)
            assert not any(each.is_running() and each.status() != psutil.STATUS_ZOMBIE for each in running)
            told, _ = run.communicate(timeout=HANG_S)
    assert run.returncode == 0, told
    lines = [line.split(maxsplit=3)[3] for line in told.splitlines() if "working" in line]
    at = lines.index("told urgently: three dice")
    assert lines[at - 1] == "step 1 started: Roll the dice"
    assert lines[at + 1] == "step 1 begins again"
    assert lines[at + 2].startswith("step 1 completed")
    assert git(project, "show", "HEAD:dice").strip() == "3"
