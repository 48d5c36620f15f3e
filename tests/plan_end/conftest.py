"""A repository in which plans with the same task ids are played one after the other, by the real program."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.surroundings import Call, begin, git

TASKS = """\
---
plan: {name}
test: test -e README.md
{keys}---
# {name}

## Overview
Each plan leaves a file of its own.

## Phase 1: All

### task-01: Write one
#### Step 1: Write
```bash run
echo "$MUSICIAN_SESSION" > {first}
```

### task-02: Write another
#### Step 1: Write
```bash run
{second}
```
"""


def plan_text(
    name: str, second: str = "echo two > {name}-2.txt", keys: str = "", first: str = "{name}.txt"
) -> str:
    return TASKS.format(name=name, first=first.format(name=name), second=second.format(name=name), keys=keys)


def write_plan(folder: Path, name: str, **how: str) -> str:
    """Write and commit a plan, as its author would; return its path."""
    path = f"{name}.md"
    (folder / path).write_text(plan_text(name, **how))
    git(folder, "add", path)
    git(folder, "commit", "-qm", f"plan {name}")
    return path


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call) -> Path:
    folder = begin(
        tmp_path / "house", {"README.md": "a house\n", ".gitignore": "notes/\n.env\n.cache/\n__pycache__/\n"}
    )
    monkeypatch.chdir(folder)
    call("init")
    return folder


def rows(folder: Path, statement: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(folder / ".musician" / "comms.db")
    try:
        return connection.execute(statement).fetchall()
    finally:
        connection.close()


def troubles(call: Call) -> list[str]:
    """What the doctor finds wrong with trees and database, guards among it."""
    found = call("doctor", "--json", expect=None).json["findings"]
    looked = [each for each in found if each["check"] in ("trees", "database", "contents")]
    assert len(looked) >= 3
    return [each["found"] for each in looked if each["level"] != "ok"]
