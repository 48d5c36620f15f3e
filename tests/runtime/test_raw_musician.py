"""A musician that speaks SQL, under a conductor that gives every task a tree (D6, D24)."""

import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from musician import service
from musician.protocol.states import State

if TYPE_CHECKING:
    from tests.runtime.conftest import Stage

pytestmark = pytest.mark.deep

PLAN = """\
---
plan: raw
test: "true"
review: human
---
# Raw

## Overview
Played by hand, with SQL.

## Phase 1: All

### task-01: The tune
#### Step 1: Play
```bash run
echo one > one.txt
```
"""

CLAIM = (
    "UPDATE orchestration_tasks SET state = 'working', session_id = 'raw-1', worked_by = 'musician-task-01',"
    " started_at = datetime('now'), last_heartbeat = datetime('now')"
    " WHERE task_id = 'task-01' AND state IN ('watching', 'fix_proposed', 'exit_requested')"
)
SAY = (
    "INSERT INTO orchestration_messages (task_id, from_session, message_type, message)"
    " VALUES ('task-01', 'raw-1', :kind, :text)"
)
MOVE = (
    "UPDATE orchestration_tasks SET state = :state, last_heartbeat = datetime('now')"
    " WHERE task_id = 'task-01' AND session_id = 'raw-1'"
)


def told(stage: "Stage") -> list[str]:
    return [
        each.message for each in service.messages_of(stage.store, "task-01") if each.message_type == "note"
    ]


@pytest.mark.parametrize("is_heard", [True, False], ids=["works there", "works elsewhere"])
def test_a_raw_claim_gets_its_tree_and_is_told(stage: "Stage", is_heard: bool) -> None:
    """AUDIT-P7: what is committed there is merged, and the end says of whom nothing was."""
    stage.write(PLAN)
    run = stage.start("run", "PLAN.md", "--jobs", "0")
    stage.until(lambda: "task-01" in stage.states())
    stage.raw(CLAIM)
    stage.until(lambda: told(stage))
    found = re.match(r"Work in (.*), and commit there, on branch musician/raw/task-01: ", told(stage)[0])
    assert found
    if is_heard:
        tree = Path(found[1])
        (tree / "one.txt").write_text("one\n")
        identity = ("-c", "user.name=Raw", "-c", "user.email=raw@example.org")
        for arguments in (("add", "-A"), ("commit", "-qm", "play")):
            subprocess.run(["git", *identity, *arguments], cwd=tree, env=stage.env, check=True)
    stage.raw(SAY, kind="completion", text="TASK COMPLETE")
    stage.raw(MOVE, state="needs_review")
    stage.until(lambda: stage.view("task-01").open_asks)
    service.judge(stage.store, "task-01", State.REVIEW_APPROVED, "so be it")
    stage.raw(SAY, kind="completed", text="done")
    stage.raw(MOVE, state="complete")
    again = stage.end(run)
    if again.code:  # nothing could go on before the person had spoken
        again = stage.conduct("--jobs", "0")
    assert again.code == 0, again
    assert ("Nothing of task-01 was merged" in again.out) is not is_heard
    if is_heard:
        assert stage.merged("one.txt") == "one\n"
    assert len(told(stage)) == 1


RULED = f"""\
---
plan: raw
test: "{sys.executable} -m unittest -q"
---
# Raw

## Phase 1: All

### task-01: The tune
#### Step 1: Play
```bash run
:
```
"""
TESTS = """\
import unittest


class Old(unittest.TestCase):
    def test_kept(self):
        self.assertEqual(1 + 1, 2)
"""
GONE = """
    def test_gone(self):
        self.assertEqual(2 + 2, 4)
"""
SUBMISSION = """\
TASK COMPLETE (Smoothness: 1/9):
  Checkpoint: 1 of 1
  Self-Correction: NO
  Deviations: 0
  Agents Remaining: 0
  Summary: played
  Files Modified: 1
  Tests: All passing
  Reason: final
"""


@pytest.mark.parametrize("is_honest", [True, False], ids=["adds a text", "removes a test"])
def test_rules_let_a_raw_writer_remove_no_test(stage: "Stage", is_honest: bool) -> None:
    """D26.4: nobody has verified what it submits, so the conductor looks for what needs a judge."""
    stage.write(RULED, **{"test_old.py": TESTS + GONE, ".gitignore": "__pycache__\n"})
    run = stage.start("run", "PLAN.md", "--jobs", "0")
    stage.until(lambda: "task-01" in stage.states())
    stage.raw(CLAIM)
    stage.until(lambda: told(stage))
    found = re.match(r"Work in (.*), and commit there", told(stage)[0])
    assert found
    tree = Path(found[1])
    changed = {"tune.txt": "la\n"} if is_honest else {"test_old.py": TESTS}
    for name, text in changed.items():
        (tree / name).write_text(text)
    identity = ("-c", "user.name=Raw", "-c", "user.email=raw@example.org")
    for arguments in (("add", "-A"), ("commit", "-qm", "play")):
        subprocess.run(["git", *identity, *arguments], cwd=tree, env=stage.env, check=True)
    stage.raw(SAY, kind="completion", text=SUBMISSION)
    stage.raw(MOVE, state="needs_review")
    stage.until(lambda: stage.view("task-01").open_asks or stage.view("task-01").submissions[0].verdict)
    view = stage.view("task-01")
    if is_honest:
        assert view.submissions[0].verdict is State.REVIEW_APPROVED, view.open_asks
    else:
        assert view.submissions[0].verdict is None
        assert "needs a judge: " in view.open_asks[0].text
        assert "test_gone" in view.open_asks[0].text
    run.send_signal(signal.SIGINT)
    stage.end(run)
