"""How soon an urgent message interrupts a running command of the real client, under ``musician run`` (D35).

The model is a script on this machine, and each of its steps runs a command that does not end. The clock starts when the
message is sent, and stops when no process of the command is left; and, told apart, when the model is asked anew with
the message, which takes what a new step takes.
"""

import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psutil

from benchmarks.figures import Figure
from benchmarks.orchestra import scratch
from benchmarks.task import prepare
from musician import service
from musician.store.sqlite.store import SqliteStore
from musician.testing import ClientHome, Received, ScriptedModel, say, use
from musician.testing.script import Step

__all__ = ["TINY", "Size", "measure"]

AT_MOST_S = 1.0
_LIMIT_S = 120.0
_PACE_S = 0.002

_HEAD = """\
---
plan: benchmark
test: "true"
agent: claude
---
# A benchmark's plan

## Phase 1: All of it

### task-01: Wait
```yaml task
changes: none
```
"""
_STEP = "#### Step {number}: Wait\nWait.\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    messages: int = 20


TINY = Size(messages=1)


class _Model:
    """Every step runs a command without an end, until it is told otherwise."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.told_at_s = 0.0
        self.told = threading.Event()

    def __call__(self, received: Received) -> Step:
        if "go on" in received.news_text:
            self.told_at_s = time.perf_counter()
            self.told.set()
        elif "Wait." in received.news_text:
            pid = self._folder / "pid"
            return use("Bash", command=f"echo $$ > '{pid}.new'; mv '{pid}.new' '{pid}'; sleep 900")
        return say("done.")


def measure(size: Size) -> tuple[Figure, ...]:
    """One run, an urgent message in every step."""
    with scratch() as folder:
        plan = _HEAD + "".join(_STEP.format(number=number) for number in range(1, size.messages + 1))
        database = prepare(folder / "project", steps=0, plan=plan)
        model = _Model(folder)
        with ScriptedModel(model) as server:
            home = ClientHome(folder / "home", model_url=server.url)
            argv = [sys.executable, "-m", "musician", "run", "PLAN.md"]
            with subprocess.Popen(
                argv, cwd=folder / "project", env=home.env, stdout=subprocess.DEVNULL
            ) as run:
                try:
                    found = [_interrupt(database, folder / "pid", model) for _ in range(size.messages)]
                    code = run.wait(_LIMIT_S)
                finally:
                    run.terminate()
        if code != 0:
            raise RuntimeError(f"the run ended with {code}")
    ended = [each[0] for each in found]
    return (
        _against_a_second("a running command is ended, median", median(ended)),
        _against_a_second("a running command is ended, slowest", max(ended)),
        Figure(what="urgent: the model has the message", median=median(each[1] for each in found), unit="s"),
    )


def _against_a_second(what: str, found_s: float) -> Figure:
    return Figure(
        what=f"urgent: {what}",
        median=found_s * 1e3,
        unit="ms",
        ratio=found_s / AT_MOST_S,
        against=f"{AT_MOST_S:g} s",
        goal="D35",
        at_most=1.0,
    )


def _interrupt(database: Path, pid_file: Path, model: _Model) -> tuple[float, float]:
    """Seconds until the command was ended, and until the model had the message."""
    deadline_s = time.perf_counter() + _LIMIT_S
    while not pid_file.exists():
        if time.perf_counter() > deadline_s:
            raise RuntimeError("no command was begun")
        time.sleep(_PACE_S)
    shell = psutil.Process(int(pid_file.read_text()))
    pid_file.unlink()
    running = [shell, *shell.children(recursive=True)]
    store = SqliteStore.open(database)
    sent_at_s = time.perf_counter()
    service.send(store, "task-01", "go on", urgent=True)
    while any(map(_lives, running)):
        time.sleep(_PACE_S)
    ended_s = time.perf_counter() - sent_at_s
    store.close()
    if not model.told.wait(_LIMIT_S):
        raise RuntimeError("the model was not told")
    model.told.clear()
    return ended_s, model.told_at_s - sent_at_s


def _lives(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
