"""What "everything" is, when the conductor verifies a rough submission in full (D18)."""

from typing import TYPE_CHECKING

from musician.protocol.musician.program import CheckpointItem
from musician.protocol.rules.review import Verification
from musician.protocol.states import State
from musician.runtime.checkpoint import Found
from musician.verification.result import CommandResult, VerificationResult

if TYPE_CHECKING:
    from tests.runtime.conftest import Stage

PLAN = """\
---
plan: rough
test: test ! -e broken.txt
---
# Rough

## Overview
One task that comes about with some friction.

## Phase 1: All

### task-01: Rough work
#### Step 1: Break something that the first checkpoint does not look at
```bash run
echo "::deviation Low done a little otherwise"
echo "::deviation Low and another thing"
echo "::self-correction once more"
touch broken.txt
```
```bash rework
touch mended.txt
rm -f broken.txt.not-yet
```
#### Checkpoint 1: half way
- test: `test -e mended.txt`

#### Step 2: Nothing
```bash run
:
```
"""


def test_a_full_verification_runs_the_default_command_beside_the_checkpoints_own(stage: "Stage") -> None:
    """AUDIT-V8: smoothness 5 verifies everything first, and the plan's own command is a part of everything."""
    stage.write(PLAN)
    stage.conduct()
    (first, *_) = stage.view("task-01").submissions
    assert "Smoothness: 5" in (first.message or "")
    assert first.verdict is State.REVIEW_FAILED, stage.told()
    assert "test ! -e broken.txt" in (first.verdict_text or "")


def test_what_fails_comes_first_also_where_nothing_was_run_again() -> None:
    """A report's one line is the first of what is to mend."""
    ran = CommandResult(
        command="make test", exit_code=2, timed_out=False, counts=None, failed_tests=(), tail="", duration_s=1
    )
    result = VerificationResult(
        passed=False, commands=(ran,), tree_id="t", full=True, checkpoint=1, note=ran.why
    )
    found = Found(
        check=CheckpointItem(item="checkpoint 1", number=1, of=1, title="", commands=(), rework=()),
        result=result,
        outcome=Verification.RED,
        known_entry_id=0,
        changes=(),
        is_old=True,
    )
    first, *others = found.failing.splitlines()
    assert first == "exit code 2 from `make test`"
    assert "nothing was run again" in others[-1]
