"""How a run ends for the user's branch, and what he is told before it begins (D24, D31)."""

import json

import pytest

from tests.runtime.conftest import Stage

PLAN = """\
---
plan: p
test: "true"
---
# P
## Phase 1: A
### task-01: T
#### Step 1: S
```bash run
echo work > work.txt; echo more >> a.txt
```
"""


@pytest.fixture
def played(stage: Stage) -> Stage:
    stage.write(PLAN, **{"a.txt": "a\n"})
    return stage


def test_a_branch_that_cannot_be_moved_is_no_success_and_the_next_run_moves_it(played: Stage) -> None:
    """AUDIT-S1: the run said that all was well, and every later one blamed changes of the user's."""
    log = played.root / ".git" / "logs" / "refs" / "heads" / "main"
    log.unlink()
    log.mkdir()
    (log / "in the way").touch()
    before = played.git("rev-parse", "main")
    ran = played.conduct()
    assert ran.code == 1, ran
    assert "could not be moved" in ran.out
    assert "Run the same command again" in ran.out
    assert (played.git("rev-parse", "main"), played.git("status", "--porcelain", "-uno")) == (before, "")
    (log / "in the way").unlink()
    log.rmdir()
    assert played.conduct().code == 0
    assert played.merged("work.txt") == "work\n"
    assert played.git("status", "--porcelain", "-uno") == ""


def test_what_the_tasks_will_not_have_is_named_at_the_start(played: Stage) -> None:
    """AUDIT-N14, AUDIT-N11: an untracked file refused the run; hooks were passed by without a word."""
    (played.root / "mine.txt").write_text("mine\n")
    hook = played.root / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    ran = played.conduct("--json")
    assert ran.code == 0, ran
    assert json.loads(ran.out)["branch"]["move"] == "moved"
    assert "the tasks' trees do not have them: mine.txt." in ran.err
    assert "not run for the program's own commits and merges: pre-commit." in ran.err
    assert (played.root / "mine.txt").read_text() == "mine\n"
    assert "note:" not in played.conduct().err, "said once"
