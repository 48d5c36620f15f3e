"""A real repository with a locked plan, the plugin as it is installed, and the real client played by a script.

The project's path has a space, signs and an accent in it (B09). Its person conducts by the command line, in the same
surroundings as the clients, so that bells reach whoever waits.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from musician import service
from musician.service import TaskView
from musician.store.opening import open_store
from musician.store.port import Store
from musician.testing import ClientHome, Reply, ScriptedModel, until, use
from musician.testing.script import Script
from musician.testing.waiting import HANG_S


def pytest_itemcollected(item: pytest.Item) -> None:
    """Stories of the real client take long; what each is about has a quicker test where it is built."""
    if item.path.name != "test_client_facts.py":
        item.add_marker(pytest.mark.deep)


TASK = "task-03"

CHIMES = """\
---
plan: chimes
test: python3 -m unittest -q
review: {review}
---
# Chimes

## Overview
A tower clock that strikes.

## Phase 1: The clock

### task-03: Strike the hours
"""
"""How the plan of every story begins; its steps follow."""

PLAN = (
    CHIMES.format(review="human")
    + """\
```yaml task
files: [hours.py]
```
#### Step 1: Count the strokes
`strokes(hour)` in hours.py: one to twelve strokes for 0 to 23 o'clock.
#### Step 2: Name the bell
`bell(hour)`: "small" before noon, "great" from noon on.
#### Checkpoint 1: the strokes are counted
- test: `python3 -m unittest -q test_hours`
#### Step 3: Strike
`strike(hour)`: the bell's name, once for each stroke.
"""
)

TESTS = """\
import unittest

import hours


class Strokes(unittest.TestCase):
    def test_noon_is_struck_twelve_times(self):
        self.assertEqual(hours.strokes(12), 12)
        self.assertEqual(hours.strokes(0), 12)
        self.assertEqual(hours.strokes(15), 3)

    def test_the_great_bell_strikes_from_noon_on(self):
        self.assertEqual([hours.bell(hour) for hour in (11, 12)], ["small", "great"])
"""

RIGHT = """\
def strokes(hour):
    return hour % 12 or 12


def bell(hour):
    return "small" if hour < 12 else "great"
"""

WRONG = RIGHT.replace("hour % 12 or 12", "hour % 12")

STRIKE = """

def strike(hour):
    return [bell(hour)] * strokes(hour)
"""

ALLOWED = ("Bash", "Edit", "Read", "Write", "mcp__knowledge__ingest_data")

KNOWLEDGE = """\
import json, sys
schema = {"type": "object", "properties": {"text": {"type": "string"}}}
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    result = {}
    if asked["method"] == "initialize":
        result = {"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}}}
        result["serverInfo"] = {"name": "knowledge", "version": "1"}
    elif asked["method"] == "tools/list":
        result = {"tools": [{"name": "ingest_data", "description": "Keeps a text.", "inputSchema": schema}]}
    elif asked["method"] == "tools/call":
        with open(sys.argv[1], "a") as file:
            file.write(asked["params"]["arguments"]["text"] + "\\n")
        result = {"content": [{"type": "text", "text": "kept"}]}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""
"""A knowledge base: another server of the user's, which keeps what it is given in a file."""

PERSON = {"GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.org"} | {
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
}


class Hall:
    """One repository, its person, and the clients that come into it."""

    right, wrong, strike = RIGHT, WRONG, STRIKE

    def __init__(
        self, folder: Path, bells: Path, stack: ExitStack, plan: str = PLAN, *, locks: bool = True
    ) -> None:
        self.folder, self._bells, self._stack = folder, bells, stack
        self._models: list[ScriptedModel] = []
        self.root = folder / "My Proj (é) $x"
        self.remote = folder / "remote.git"
        self.ingested = folder / "ingested"
        self.own = {"XDG_RUNTIME_DIR": str(bells), "GIT_CONFIG_NOSYSTEM": "1", "LANG": "C.UTF-8", **PERSON}
        self.env = {"PATH": os.environ["PATH"], "HOME": str(folder / "person"), **self.own}
        self.root.mkdir()
        (folder / "person").mkdir()
        self.git("init", "-q", "--bare", str(self.remote))
        self.git("init", "-q", "-b", "trunk")
        self.git("remote", "add", "origin", str(self.remote))
        for name, text in (("PLAN.md", plan), ("test_hours.py", TESTS)):
            (self.root / name).write_text(text, encoding="utf-8")
        self.git("add", "-A")
        self.git("commit", "-qm", "begin")
        self.person("init")
        if locks:
            self.person("plan", "lock", "PLAN.md")
        self.plugin = Path(self.person("plugin", "path").strip())

    @staticmethod
    def tool(verb: str, **arguments: Any) -> Reply:
        """A call of one of the plugin's own tools."""
        return use(f"mcp__plugin_musician_comms-link__{verb}", **arguments)

    @property
    def tree(self) -> Path:
        """Where the task is played."""
        return self.root / ".musician" / "trees" / "chimes" / TASK

    def writing(self, text: str) -> str:
        """A command that writes hours.py."""
        return f"cat > '{self.tree}/hours.py' <<'END'\n{text}END"

    def write(self, text: str) -> Reply:
        """The model runs it."""
        return use("Bash", command=self.writing(text))

    # -- the person -------------------------------------------------------------------------------------------

    def git(self, *arguments: str) -> str:
        return self._run(["git", *arguments])

    def person(self, *arguments: str) -> str:
        """A command of the person who conducts; what it printed."""
        return self._run([sys.executable, "-m", "musician", *arguments])

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        """A command that runs on."""
        started = subprocess.Popen(
            [sys.executable, "-m", "musician", *arguments],
            cwd=self.root,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._stack.callback(_end, started)
        return started

    def _run(self, argv: list[str]) -> str:
        ran = subprocess.run(
            argv, cwd=self.root, env=self.env, capture_output=True, text=True, timeout=HANG_S, check=False
        )
        assert ran.returncode == 0, (argv, ran.returncode, ran.stdout, ran.stderr)
        return ran.stdout

    # -- looking ----------------------------------------------------------------------------------------------

    @contextmanager
    def opened(self) -> Iterator[Store]:
        """From any thread: the database, in a store of its own."""
        store = open_store(self.root / ".musician" / "comms.db", named=True)
        try:
            yield store
        finally:
            store.close()

    def view(self, task_id: str = TASK) -> TaskView:
        with self.opened() as store:
            return service.task_view(store, task_id)

    def state(self, task_id: str = TASK) -> str:
        return self.view(task_id).row.state.value

    def is_in(self, *states: str) -> Callable[[], bool]:
        """For :class:`Await` and :meth:`wait`."""
        return lambda: self.state() in states

    def wait(self, condition: Callable[[], object], *, within_s: float = HANG_S) -> None:
        until(condition, within_s=within_s, told=self.told)

    def told(self) -> str:
        """What everybody said, for a failure's message."""
        return "\n".join([*(model.told() for model in self._models), self.person("timeline")])

    def messages(self) -> str:
        return self.person("messages", TASK)

    def _knowledge(self) -> dict[str, Any]:
        server = self.folder / "knowledge.py"
        server.write_text(KNOWLEDGE, encoding="utf-8")
        arguments = ["-IS", str(server), str(self.ingested)]
        return {"type": "stdio", "command": sys.executable, "args": arguments, "alwaysLoad": True}

    # -- clients ----------------------------------------------------------------------------------------------

    def played(
        self, script: Script, name: str = "home", sub: Script = (), **env: str
    ) -> tuple[ScriptedModel, ClientHome]:
        """A model, and a home in which a client plays it; ``sub`` is what its subagents play."""
        model = self._stack.enter_context(ScriptedModel(script, sub=sub))
        self._models.append(model)
        home = ClientHome(
            self.folder / name,
            model_url=model.url,
            trusts=[self.root],
            allows=ALLOWED,
            mcp_servers={"knowledge": self._knowledge()},
            env={**self.own, **env},
        )
        return model, home


def _end(started: "subprocess.Popen[str]") -> None:
    started.kill()
    started.wait()
    if started.stdout is not None:
        started.stdout.close()


@pytest.fixture
def bells() -> Iterator[Path]:
    """A socket's path must be short."""
    with tempfile.TemporaryDirectory(prefix="bells-", dir="/tmp") as folder:
        yield Path(folder)


@pytest.fixture
def plan() -> str:
    """The plan that is locked; a test may set another."""
    return PLAN


@pytest.fixture
def hall(tmp_path: Path, bells: Path, plan: str) -> Iterator[Hall]:
    with ExitStack() as stack:
        yield Hall(tmp_path, bells, stack, plan)
