"""A whole run of ``musician`` with a real agent, whose model is a script and whose surroundings are its own."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from musician import service
from musician.service import TaskView
from musician.store.opening import open_store
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


@dataclass(frozen=True)
class House:
    """A project, and the environment in which its commands are given."""

    project: Path
    env: dict[str, str]

    def start(self, *words: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", "musician", *words],
            cwd=self.project,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *words: str, code: int = 0) -> str:
        return self.done(self.start(*words), code=code)

    def done(self, started: "subprocess.Popen[str]", *, code: int = 0) -> str:
        told, _ = started.communicate(timeout=HANG_S)
        assert started.returncode == code, told
        return told

    def view(self, task_id: str = "task-01") -> TaskView:
        with closing(open_store(self.project / ".musician" / "comms.db")) as store:
            return service.task_view(store, task_id)


@contextmanager
def house(
    folder: Path, plan: str, model: Model, *, agent: str = "claude", settings: str = ""
) -> Iterator[House]:
    """A repository with the plan, set up, and a real agent whose model is the script."""
    project = begin(folder / "my project (é)", {"PLAN.md": plan})
    with ScriptedModel(model) as server:
        found = House(project=project, env=surroundings(agent, folder / "home", server.url))
        found.run("init")
        (project / ".musician" / "config.toml").write_text(settings, encoding="utf-8")
        yield found


@contextmanager
def told_if_it_fails(started: "subprocess.Popen[str]") -> Iterator["subprocess.Popen[str]"]:
    """A command that runs on beside a test. Where the test fails meanwhile it is ended, and what it said is told."""
    with started:
        try:
            yield started
        except BaseException as error:
            started.send_signal(signal.SIGINT)
            out, err = started.communicate(timeout=HANG_S)
            error.add_note(f"{started.args!r} ended with {started.returncode}:\n{out}{err or ''}")
            raise


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
    with house(folder, plan, model, agent=agent) as found:
        found.env.update(prepare(found.project, folder / "home"))
        told = found.run("run", "PLAN.md", "--agent", agent, *words)
    return Ran(project=found.project, told=told)


def surroundings(agent: str, home: Path, url: str, *, trusts: Iterable[Path] = ()) -> dict[str, str]:
    if agent == "claude":
        return ClientHome(home, model_url=url).env
    modules = find_agents()
    if modules is None:
        refuse(f"the agent {agent} from npm")
    need("node")
    quiet = {"PATH": path_of(agent, modules), "LANG": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1"}
    return quiet | agent_home(agent, home, model_url=url, trusts=trusts)
