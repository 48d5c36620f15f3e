"""A repository and a home in a folder whose name no shell would let pass, and the commands (B09)."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from musician import service
from musician.__main__ import main
from musician.protocol.claim import Claim
from musician.protocol.settings import Settings
from musician.store.sqlite.store import SqliteStore
from musician.trees.root import find_root


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

PLAN = """\
---
plan: greeter
test: python3 -m unittest -q
---
# Greeter

## Overview
Greets people like Zoë.

## Phase 1: Foundations

### task-03: Add the greeting ✓
#### Step 1: Write it
Write `greet(name)` into greeter.py.
"""


def git(folder: Path, *arguments: str) -> str:
    """Run git as some user."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    argv = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", *arguments]
    return subprocess.run(argv, cwd=folder, env=env, check=True, capture_output=True, text=True).stdout


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of one's own, and nothing of the surroundings."""
    ours = ("MUSICIAN_", "GIT_", "CLAUDE", "XDG_")
    for name in [name for name in os.environ if name.startswith(ours)]:
        if name != "MUSICIAN_REWRITE":
            monkeypatch.delenv(name)
    folder = tmp_path / "My Home (é) $x `id`"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.fixture
def repository(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One commit with a plan, and we stand in it."""
    folder = tmp_path / "My Proj (é) $x 'q' \"${HOME}\""
    folder.mkdir()
    git(folder, "init", "-q", "-b", "trunk")
    (folder / "PLAN.md").write_text(PLAN, encoding="utf-8")
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
def store(repository: Path, call: Call) -> Iterator[SqliteStore]:
    call("init")
    call("plan", "lock", "PLAN.md")
    opened = SqliteStore.open(find_root(repository).database)
    yield opened
    opened.close()


@pytest.fixture
def claim(store: SqliteStore) -> Claim:
    """Session s1 holds task-03 and has read its instruction."""
    made = service.claim(store, "task-03", "s1", settings=Settings()).claim
    read = tuple(message.id for message in service.unread(store, "task-03"))
    service.deliver(store, made, read)
    service.acknowledge(store, made, read[-1])
    return made
