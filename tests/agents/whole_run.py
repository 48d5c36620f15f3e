"""A whole run of ``musician`` with a real agent, whose model is a script and whose surroundings are its own."""

import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from musician.testing import ClientHome, Received, ScriptedModel, ToolUse
from musician.testing.acp_homes import agent_home, find_agents, path_of
from musician.testing.script import Step
from musician.testing.waiting import HANG_S
from tests.agents.playbook import SHELLS, Shell
from tests.needs import need, refuse
from tests.surroundings import begin

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

Model = Callable[[Received], Step]


@dataclass(frozen=True)
class Ran:
    project: Path
    told: str


def claude_shell(command: str) -> ToolUse:
    return ToolUse(name="Bash", input={"command": command})


def shell_of(agent: str) -> Shell:
    """How a model of this agent's runs a command."""
    return claude_shell if agent == "claude" else SHELLS[agent]


def writing(name: str, text: str) -> str:
    """The command with which a model writes a file."""
    return f"cat > {name} <<'END'\n{text}END"


def play(
    folder: Path,
    plan: str,
    model: Model,
    *words: str,
    agent: str = "claude",
    prepare: Callable[[Path, Path], Mapping[str, str]] = lambda _project, _home: {},
) -> Ran:
    """Play ``plan`` to its end with ``musician run PLAN.md --agent AGENT WORDS``.

    ``prepare`` is given the project and the agent's home, and returns more of the environment.
    """
    project = begin(folder / "my project (é)", {"PLAN.md": plan})
    with ScriptedModel(model) as server:
        env = _surroundings(agent, folder / "home", server.url)
        env |= prepare(project, folder / "home")

        def musician(*words: str) -> str:
            done = subprocess.run(
                [sys.executable, "-m", "musician", *words],
                cwd=project,
                env=env,
                capture_output=True,
                text=True,
                timeout=HANG_S,
                check=False,
            )
            assert done.returncode == 0, done.stdout + done.stderr
            return done.stdout

        musician("init")
        told = musician("run", "PLAN.md", "--agent", agent, *words)
    return Ran(project=project, told=told)


def _surroundings(agent: str, home: Path, url: str) -> dict[str, str]:
    if agent == "claude":
        return ClientHome(home, model_url=url).env
    modules = find_agents()
    if modules is None:
        refuse(f"the agent {agent} from npm")
    need("node")
    quiet = {"PATH": path_of(agent, modules), "LANG": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1"}
    return quiet | agent_home(agent, home, model_url=url)
