"""A plan is played with the settings of its lock (V4)."""

from typing import TYPE_CHECKING

import pytest

from musician.config import load_settings
from musician.runtime.in_force import settings_of_task
from musician.trees.root import find_root

if TYPE_CHECKING:
    from tests.runtime.conftest import Stage

PLAN = """\
---
plan: solo
test: "true"
---
# Solo

## Overview
One task.

## Phase 1: First

### task-01: Write
#### Step 1: Write
```bash run
printf '[validity]\\nleast_failing_pct = 0\\n' > "$MUSICIAN_ROOT/.musician/config.toml"
echo one > one.txt
```
"""


@pytest.mark.deep
def test_settings_that_a_step_changes_are_not_in_force_and_told(stage: "Stage") -> None:
    """AUDIT-V4: before the plan is amended, which is how a person takes changed settings up."""
    stage.write(PLAN)
    before = load_settings(find_root(stage.root).config)
    ended = stage.to_the_end()
    told = "config.toml has changed since solo was locked, and the change is not in force"
    assert told in ended.out
    assert next(row.text for row in stage.view("task-01").journal if row.kind == "noticed").startswith(told)
    now = load_settings(find_root(stage.root).config)
    assert now.validity.least_failing_pct == 0
    assert settings_of_task(stage.store, "task-01", now) == before
    assert told in stage.run("run", "PLAN.md").err
    stage.plan.write_text(PLAN.replace("One task.", "One task, as it is set now."))
    stage.git("commit", "-qam", "amend")
    assert stage.run("plan", "amend", "PLAN.md").code == 0
    assert settings_of_task(stage.store, "task-01", before) == now


def test_a_task_without_a_plan_goes_by_the_file(stage: "Stage") -> None:
    stage.write(PLAN)
    now = load_settings(find_root(stage.root).config)
    assert settings_of_task(stage.store, "task-09", now) is now
