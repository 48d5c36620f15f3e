"""SIGKILL of any musician, its agent or the conductor, at any moment, loses nothing (D23, D24).

The plan's steps append a line each, so that a step played twice, or not at all, shows in what is merged in the end.
A kill "at any moment" is enumerated: after the K-th thing a process did (``killing/sitecustomize.py``). A sample of
all K is taken here; MUSICIAN_EXHAUSTIVE=1 takes every one.
"""

import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

import psutil
import pytest

from tests.nightly import at_night

if TYPE_CHECKING:
    from tests.runtime.conftest import Stage

pytestmark = pytest.mark.deep

EXHAUSTIVE = os.environ.get("MUSICIAN_EXHAUSTIVE") == "1"
MOMENTS = range(1, 250) if EXHAUSTIVE else (26, 53, 98)

PLAN = """\
---
plan: duet
test: test -s one.txt
---
# Duet

## Overview
Each step adds a line, once.

## Phase 1: Verses

### task-01: The first verse
#### Step 1: Begin
```bash run
{solo}
echo one >> one.txt
echo "::deviation Medium in another key"
```
```bash rework
{solo}
echo mended >> one.txt
```
#### Checkpoint 1: it has begun
#### Step 2: Go on
```bash run
{solo}
{in_step}
echo two >> one.txt
```
"""

SECOND = """
### task-02: The second verse
```yaml task
test: test -s two.txt
```
#### Step 1: All of it
```bash run
{solo}
echo two >> two.txt
```
"""

ENDS_WITH = "one\nmended\ntwo\n"

KILL_MUSICIAN = """
if mkdir "$MUSICIAN_TEST_HALL/struck" 2> /dev/null; then
    echo half >> one.txt
    kill -KILL "$MUSICIAN_PID"
    read -r _ < "$MUSICIAN_TEST_HALL/never"
fi
"""


def begin(stage: "Stage", in_step: str = ":", more: str = "") -> None:
    os.mkfifo(stage.hall / "never")
    stage.write((PLAN + more).format(solo=stage.solo, in_step=in_step))


def check(stage: "Stage") -> None:
    stage.check_whole()
    assert stage.merged("one.txt") == ENDS_WITH


@pytest.mark.parametrize("number", at_night(MOMENTS, but=["53"]))
@pytest.mark.parametrize("role", ["run", "work"])
def test_a_kill_at_any_moment_is_survived(stage: "Stage", role: str, number: int) -> None:
    begin(stage, more=SECOND)
    done = stage.conduct(**stage.armed(role, "any", number))
    if EXHAUSTIVE and not stage.killed_at:
        pytest.skip(f"no process of this role does {number} things")
    assert stage.killed_at, f"nothing died: {done}"
    if role == "run":
        assert done.code == -signal.SIGKILL
        done = stage.to_the_end()
    assert done.code == 0, (done, stage.told())
    check(stage)
    assert stage.merged("two.txt") == "two\n"


MUSICIANS_MOMENTS = {
    "before the claim": ("before:musician.service:claim", 1),
    "after the claim, before anything is recorded": ("after:musician.service:claim", 1),
    "between a step's commit and the journal": ("after:musician.runtime.tasktree:commit_step", 1),
    "between a rework's commit and the journal": ("after:musician.runtime.tasktree:commit_step", 2),
    "after the verification, before it is stored": ("before:musician.service:submit", 1),
    "while its submission waits": ("after:musician.service:submit", 1),
    "after the approval, before it is complete": ("before:musician.service:complete", 1),
}


@pytest.mark.parametrize("moment", MUSICIANS_MOMENTS)
def test_a_musician_is_killed(stage: "Stage", moment: str) -> None:
    begin(stage)
    where, number = MUSICIANS_MOMENTS[moment]
    done = stage.conduct(**stage.armed("work", where, number))
    assert stage.killed_at, f"nothing died: {done}"
    assert done.code == 0, (done, stage.told())
    check(stage)


CONDUCTORS_MOMENTS = {
    "right after a launch": ("after:musician.runtime.world:start_musician", 1),
    "while a trial merge is checked out": ("after:musician.trees.merge:trial_merge", 1),
    "between a merge and its verdict": ("after:musician.trees.merge:accept_merge", 1),
    "after a verdict": ("after:musician.service:judge", 1),
    "after the user's branch was moved": ("after:musician.runtime.plantrees:fast_forward", 1),
}


@pytest.mark.parametrize("moment", CONDUCTORS_MOMENTS)
def test_the_conductor_is_killed(stage: "Stage", moment: str) -> None:
    begin(stage)
    where, number = CONDUCTORS_MOMENTS[moment]
    assert stage.conduct(**stage.armed("run", where, number)).code == -signal.SIGKILL
    stage.to_the_end()
    check(stage)


TAKEOVERS_MOMENTS = {
    "after the fence": "after:musician.service:fence",
    "after its work was saved": "after:musician.runtime.left_work:set_aside_partial",
    "after it was reopened": "after:musician.service:take_over",
}


@pytest.mark.parametrize("moment", TAKEOVERS_MOMENTS)
def test_the_conductor_is_killed_in_the_middle_of_a_takeover(stage: "Stage", moment: str) -> None:
    begin(stage, KILL_MUSICIAN)
    assert stage.conduct(**stage.armed("run", TAKEOVERS_MOMENTS[moment])).code == -signal.SIGKILL
    stage.to_the_end()
    check(stage)
    kept = stage.git("for-each-ref", "--format=%(refname)", "refs/musician/partial")
    assert kept.count("task-01") == 1
    assert stage.git("show", f"{kept.split()[0]}:one.txt") == "one\nmended\nhalf\n"


def test_a_musician_is_killed_in_a_step(stage: "Stage") -> None:
    begin(stage, KILL_MUSICIAN)
    stage.to_the_end()
    check(stage)
    assert [session.exit_reason for session in stage.view("task-01").sessions] == ["died", "complete"]


def test_an_agent_is_killed_in_a_step(stage: "Stage") -> None:
    begin(stage, KILL_MUSICIAN.replace("$MUSICIAN_PID", "$$"))
    stage.to_the_end()
    check(stage)
    assert [row.item for row in stage.view("task-01").journal if row.kind == "failed"] == ["step 2"]


def test_an_agents_leash_is_killed_in_a_step(stage: "Stage") -> None:
    """Nothing holds the agent then but the kernel, which ends it with its parent."""
    begin(stage, KILL_MUSICIAN.replace("$MUSICIAN_PID", "$PPID"))
    stage.to_the_end()
    check(stage)


def test_everything_is_killed_at_once(stage: "Stage") -> None:
    """As a power cut does: no process is left to tell anybody anything."""
    begin(stage, stage.gate("middle"))
    stage.start("run", "PLAN.md")
    stage.wait_at("middle")
    while living := stage.processes():
        for process in living:
            with suppress(psutil.NoSuchProcess):  # it went down with the one before
                process.kill()
    stage.to_the_end()
    check(stage)


def test_a_conductor_that_is_killed_again_and_again_still_comes_to_the_end(stage: "Stage") -> None:
    begin(stage)
    for number in (9, 40, 70):
        done = stage.conduct(**stage.armed("run", "any", number))
        if not stage.killed_at:
            break
        assert done.code == -signal.SIGKILL
        (stage.hall / "killed").unlink()
    stage.to_the_end()
    check(stage)
