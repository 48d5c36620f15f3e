"""A repository of one's own, and two ways to run a command: the real program, and its ``main`` in this process."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from musician.__main__ import run_command
from musician.testing.waiting import HANG_S
from tests.surroundings import GREETER, Call, Result, begin

PLACE = "My Proj (é) $x"
"""A folder's name that whoever forgets to quote trips over."""

PLAN = (
    GREETER.format(test="python3 -m unittest -q")
    + """\
### task-01: Add the greeting ✓
#### Step 1: Write it
```bash run
echo 'def greet(name): return name' > greeter.py
```
#### Checkpoint 1: it greets
- test: `python3 -m unittest -q`
#### Step 2: Polish it
```bash run
true
```

### task-02: Add the farewell
#### Step 1: Write it
```bash run
true
```
"""
)

TEST = """\
import os
import unittest

class Greeting(unittest.TestCase):
    def test_it_is_there(self):
        self.assertTrue(os.path.exists("greeter.py"))
"""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One commit with a plan and a test, and we stand in it. Nothing of Musician's yet."""
    folder = begin(tmp_path / PLACE, {"PLAN.md": PLAN, "test_greeter.py": TEST})
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(scope="session")
def first_ready(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What every ``ready`` is a copy of: nothing in it names its place."""
    folder = begin(tmp_path_factory.mktemp("ready") / "first", {"PLAN.md": PLAN, "test_greeter.py": TEST})
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert run_command(["init"]) == run_command(["plan", "lock", "PLAN.md"]) == 0
    return folder


@pytest.fixture
def ready(first_ready: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The repository with the plan locked, and we stand in it."""
    folder = shutil.copytree(first_ready, tmp_path / PLACE, symlinks=True)
    (folder / ".musician" / "comms.db").touch()  # hooks ask less of an old one
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def claimed(ready: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Session s1 holds task-01, and has read its instruction."""
    monkeypatch.setenv("MUSICIAN_SESSION", "s1")
    call("claim", "task-01")
    call("inbox", "task-01", "--ack")
    return ready


@pytest.fixture
def bells(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where waiters hang their bells; a socket's path must be short."""
    with tempfile.TemporaryDirectory(prefix="bells-", dir="/tmp") as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        yield Path(folder)


@pytest.fixture
def command() -> tuple[str, ...]:
    """How the program is started."""
    return (sys.executable, "-m", "musician")


@pytest.fixture
def program(command: tuple[str, ...]) -> Call:
    """Run a command as a program of its own."""

    def run(*arguments: str, **how: Any) -> Result:
        done = subprocess.run([*command, *arguments], capture_output=True, timeout=HANG_S, check=False, **how)
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


@pytest.fixture
def shell(command: tuple[str, ...]) -> Call:
    """Run a line of bash in which ``$MUSICIAN`` is the program."""

    def run(line: str, **env: str) -> Result:
        done = subprocess.run(
            ["bash", "-c", line],
            env={**os.environ, "MUSICIAN": " ".join(command), **env},
            capture_output=True,
            timeout=HANG_S,
            check=False,
        )
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run
