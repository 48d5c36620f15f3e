"""Where tests stand: nothing of the machine's or its user's own has a say; and what a person does there."""

import atexit
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

_STRANGERS = ("ANTHROPIC_", "CLAUDE", "CLICOLOR", "GIT_", "LC_", "MUSICIAN_", "PYTEST_ADDOPTS")
"""Whoever runs the tests may be a musician, a client's session or a git hook."""

_STRANGE = {
    "BASH_ENV",
    "CI",
    "COLUMNS",
    "ENV",
    "FORCE_COLOR",
    "LANGUAGE",
    "LINES",
    "NO_COLOR",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONUNBUFFERED",
    "TTY_COMPATIBLE",
    "TTY_INTERACTIVE",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
}

_KEPT = {"MUSICIAN_EXHAUSTIVE", "MUSICIAN_REWRITE"}
"""What is said to the tests themselves."""

_PERSON = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "maintenance.auto=false")
"""And nobody tidies up behind our back: newer gits do it in the background, while the folder is copied."""

_NO_CONFIGURATION = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


GREETER = """\
---
plan: greeter
test: {test}
---
# Greeter

## Overview
Greets people like Zoë.

## Phase 1: Foundations

"""
"""How a plan begins that many tests lock."""


def settle(patch: pytest.MonkeyPatch, home: Path) -> None:
    """Leave in our environment what a machine must say, with a home that has nothing in it."""
    for name in list(os.environ):
        if name not in _KEPT and (name in _STRANGE or name.startswith(_STRANGERS)):
            patch.delenv(name)
    # What nohup and a shell's background have ignored, the tests' programs would let pass as they should.
    for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for name, value in {**_NO_CONFIGURATION, "HOME": str(home), "LANG": "C.UTF-8"}.items():
        patch.setenv(name, value)


def git(folder: Path, *arguments: str) -> str:
    """Run git as some user whose configuration says nothing; what it printed."""
    argv = ["git", *_PERSON, *arguments]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return subprocess.run(
        argv, cwd=folder, env=environ | _NO_CONFIGURATION, check=True, capture_output=True, encoding="utf-8"
    ).stdout


def begin(folder: Path, files: Mapping[str, str], *, branch: str = "trunk") -> Path:
    """Make a folder a repository with these files in its one commit."""
    return shutil.copytree(_begun(tuple(files.items()), branch), folder, symlinks=True)


@cache
def _begun(files: tuple[tuple[str, str], ...], branch: str) -> Path:
    """The first of its kind, which the others are copies of: three programs less for each of a thousand tests."""
    holder = TemporaryDirectory(prefix="begun-")
    atexit.register(holder.cleanup)
    folder = Path(holder.name, "first")
    folder.mkdir()
    git(folder, "init", "-q", "-b", branch)
    for name, text in files:
        (folder / name).write_text(text, encoding="utf-8")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "begin")
    return folder


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
"""``call("status", "--json", expect=0)``."""


def play(call: Call, *steps: int, task: str = "1") -> None:
    """Say of these steps that they are played: only what was can be submitted."""
    for number in steps:
        call("step", task, "start", str(number))
        call("step", task, "done", str(number))
