"""A musician that speaks SQL, under a conductor that gives every task a tree (D6, D24)."""

import re
import subprocess
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
