"""Playing a task from a program of one's own: what else that program has started is its own affair."""

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from musician.protocol.states import State

if TYPE_CHECKING:
    from tests.runtime.conftest import Stage

PLAN = """\
---
plan: solo
test: "true"
---
# Solo

## Phase 1: All

### task-01: The tune
#### Step 1: Begin
```bash run
{step}
```
#### Step 2: Never reached
```bash run
true
```
"""

FULL = "echo '::context 80%'"
"""After it the session hands off, with no conductor asked."""

LIBRARIAN = """
import os, subprocess, sys
from functools import partial
from pathlib import Path
import anyio, psutil
from musician.protocol.settings import Settings
from musician.runtime.musician.work import play_task
from musician.store.sqlite.store import SqliteStore
from musician.trees.root import find_root

own = subprocess.Popen(["sleep", "300"])
root = find_root(Path.cwd())
store = SqliteStore.open(root.database)
how = {"owns_process": True} if "owns" in sys.argv else {}
end = anyio.run(partial(play_task, root, store, "task-01", "librarian", settings=Settings(), **how))
orphan = psutil.Process(int(subprocess.check_output(["sh", "-c", "sleep 300 > /dev/null & echo $!"])))
print(end.kind, "ended" if own.poll() else "alive", "adopted" if orphan.ppid() == os.getpid() else "left")
orphan.kill()
own.kill()
"""


@pytest.mark.parametrize(
    ("words", "said"),
    [((), "exited alive left\n"), (("owns",), "exited alive left\n")],
    ids=["guest", "owner"],
)
def test_what_a_program_had_below_it_before_lives_on(
    stage: "Stage", words: tuple[str, ...], said: str
) -> None:
    """Whether it owns its process or not; and what is orphaned after the end is not adopted by the program."""
    stage.write(PLAN.format(step=FULL))
    stage.lock()
    ran = subprocess.run(
        [sys.executable, "-c", LIBRARIAN, *words],
        cwd=stage.root,
        env=stage.env,
        capture_output=True,
        text=True,
    )
    assert ran.stdout == said, ran.stderr
    assert stage.state("task-01") is State.EXITED


@pytest.mark.parametrize("command", [("work", "task-01"), ("worker", "--once")], ids=["work", "worker"])
def test_the_commands_own_their_process(stage: "Stage", command: tuple[str, ...]) -> None:
    """What a leash that was killed has lost is ended with the session, not left to run in its tree."""
    lost = "setsid sleep 300 > /dev/null 2>&1 &"
    stage.write(PLAN.format(step=f"{lost}\n{FULL}\nkill -KILL $PPID"))
    stage.lock()
    assert stage.run(*command).code == 1
    stage.check_quiet()
