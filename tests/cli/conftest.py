"""A repository of one's own, and two ways to run a command: the real program, and its ``main`` in this process."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from musician.__main__ import main

PLAN = """\
---
plan: greeter
test: python3 -m unittest -q
---
# Greeter

## Overview
Greets people like Zoë.

## Phase 1: Foundations

### task-01: Add the greeting ✓
#### Step 1: Write it
```bash run
echo 'def greet(name): return name' > greeter.py
```
#### Checkpoint 1: it greets
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

TEST = """\
import os
import unittest

class Greeting(unittest.TestCase):
    def test_it_is_there(self):
        self.assertTrue(os.path.exists("greeter.py"))
"""


@dataclass(frozen=True)
class Result:
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Call = Callable[..., Result]


def git(folder: Path, *arguments: str) -> str:
    """Run git as some user."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    argv = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", *arguments]
    return subprocess.run(argv, cwd=folder, env=env, check=True, capture_output=True, text=True).stdout


@pytest.fixture(autouse=True)
def own_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs the tests may be a musician too."""
    for name in [name for name in os.environ if name.startswith(("MUSICIAN_", "GIT_"))]:
        if name != "MUSICIAN_REWRITE":
            monkeypatch.delenv(name)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One commit with a plan and a test, and we stand in it. Nothing of Musician's yet."""
    folder = tmp_path / "My Proj (é) $x"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "trunk")
    (folder / "PLAN.md").write_text(PLAN, encoding="utf-8")
    (folder / "test_greeter.py").write_text(TEST, encoding="utf-8")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "begin")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    """Run a command in this process."""

    def run(*arguments: str, expect: int | None = 0) -> Result:
        capsys.readouterr()
        code = main(list(arguments))
        out, err = capsys.readouterr()
        assert expect is None or code == expect, (code, out, err)
        return Result(code, out, err)

    return run


@pytest.fixture
def ready(repository: Path, call: Call) -> Path:
    """The repository with the plan locked."""
    call("init")
    call("plan", "lock", "PLAN.md")
    return repository


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
        done = subprocess.run([*command, *arguments], capture_output=True, timeout=60, check=False, **how)
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
            timeout=60,
            check=False,
        )
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run
