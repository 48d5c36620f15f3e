"""What a session leaves to read: error reports, proposals, its HANDOFF (sources "Error Report", D14, D20)."""

import sys
from typing import TYPE_CHECKING

import pytest

from musician import service
from musician.protocol.messages.submissions import Completion
from musician.protocol.messages.types import ErrorReport, HandoffNotice
from musician.protocol.resumption.handoff import HandoffKind, classify
from musician.service.documents import latest_document

if TYPE_CHECKING:
    from tests.runtime.conftest import Stage

TASK = "task-01"
PLAN = """\
---
plan: solo
test: test -s one.txt
---
# Solo

## Phase 1: All

### task-01: The tune
#### Step 1: Begin
```bash run
{run}
```
"""

ANSWER = """\
import unittest
from answer import ANSWER

class Answer(unittest.TestCase):
    def test_it(self):
        self.assertEqual(ANSWER, 42)
"""


def said(stage: "Stage", kind: str) -> list[str]:
    return [each.message for each in service.messages_of(stage.store, TASK) if each.message_type == kind]


def test_each_error_has_a_report_of_its_own_that_outlives_the_file(stage: "Stage") -> None:
    stage.write(PLAN.format(run="echo the last words; exit 3"))
    assert stage.conduct().code == 1
    path = f"docs/implementation/reports/{TASK}-error-retry-2.md"
    text = (stage.root / path).read_text(encoding="utf-8")
    assert "ERROR (Retry 2/5):" in text
    assert "    the last words" in text
    kept = latest_document(stage.store, TASK, "report")
    assert kept is not None
    assert (kept.path, kept.body) == (path, text)
    [first, second] = [ErrorReport.parse(each.message) for each in stage.view(TASK).reports.values()]
    assert (first.report, second.report) == (path.replace("retry-2", "retry-1"), path)
    assert [output.path for output in second.key_outputs] == [path]


@pytest.mark.parametrize(
    ("run", "test", "expected"),
    [
        (
            "echo begun > two.txt; echo 'ConnectionRefusedError: no server'; exit 1",
            "'true'",
            "environment: ConnectionRefusedError; changed since the task began: two.txt;",
        ),
        (
            "cat gone.md",
            "'true'",
            (
                "unclear: a file is missing, perhaps moved or renamed by another task"
                " (cat: gone.md: No such file or directory); changed since the task began: nothing;"
            ),
        ),
        (
            "echo 'ANSWER = 41' > answer.py",
            f"'\"{sys.executable}\" -B -m unittest -q test_answer'",
            (
                "implementation: the code changed, its tests did not; failing: test_answer.Answer.test_it;"
                " changed since the task began: answer.py;"
            ),
        ),
    ],
    ids=["a step that fails", "a file that is gone", "a checkpoint that stays red"],
)
def test_an_error_says_where_to_look_first(stage: "Stage", run: str, test: str, expected: str) -> None:
    """From the failure's analysis, the failing tests and what changed since the last green point."""
    text = PLAN.format(run=run).replace("test -s one.txt", test)
    stage.write(text.rstrip() + "\n```bash rework\n:\n```\n", **{"test_answer.py": ANSWER})
    assert stage.conduct().code == 1
    told = ErrorReport.parse(next(iter(stage.view(TASK).reports.values())).message).suggested_investigation
    assert told.startswith(expected)
    assert told.endswith("the end of the agent's output is in the report")


def test_a_submission_names_the_proposals_made_for_it(stage: "Stage") -> None:
    stage.write(PLAN.format(run="echo '::proposal PATTERN Measure before cutting'; echo one > one.txt"))
    assert stage.conduct().code == 0
    [submission] = stage.view(TASK).submissions
    proposal = Completion.parse(submission.message or "").proposal
    assert proposal is not None
    assert (stage.root / proposal).is_file()


def test_a_dead_session_s_handoff_is_written_for_it_and_is_no_clean_one(stage: "Stage") -> None:
    die = 'if mkdir "$MUSICIAN_SCRATCH/once"; then echo half > half.txt; kill -KILL $MUSICIAN_PID; fi'
    run = f"{die}; echo one > one.txt"
    stage.write(PLAN.format(run=run))
    assert stage.conduct().code == 0
    kept = latest_document(stage.store, TASK, "handoff")
    assert kept is not None
    assert kept.written_by == "program"
    assert "Written by: program after a crash" in kept.body
    assert "refs/musician/partial/solo/task-01/1" in kept.body
    dead = stage.view(TASK).sessions[0].session_id
    assert classify(kept.body, task_id=TASK, last_session_id=dead) is HandoffKind.WHOLE
    status = (stage.root / "temp" / f"{TASK}-status").read_text(encoding="utf-8")
    assert "Assessment: needs verification (crash)" in status


def test_a_session_that_hands_off_leaves_a_report_that_no_later_handoff_replaces(stage: "Stage") -> None:
    """Each session's own, by its number (S-EXIT-6)."""
    run = 'if mkdir "$MUSICIAN_SCRATCH/once"; then echo "::context 70%"; fi; echo one > one.txt'
    stage.write(PLAN.format(run=run))
    assert stage.conduct().code == 0
    path = f"docs/implementation/reports/{TASK}-handoff-s1.md"
    text = (stage.root / path).read_text(encoding="utf-8")
    assert text.startswith(f"# {TASK}: The tune\n\n## HANDOFF: {TASK}\n")
    assert "- Context at exit: 70%" in text
    [notice] = [HandoffNotice.parse(told) for told in said(stage, "handoff") if told.startswith("EXITED")]
    assert [output.path for output in notice.key_outputs] == [path]


def test_completion_is_told_with_its_context_usage(stage: "Stage") -> None:
    """As everything a musician sends (D12)."""
    stage.write(PLAN.format(run='echo "::context 33%"; echo one > one.txt'))
    assert stage.conduct().code == 0
    [told] = said(stage, "completed")
    assert told.startswith("COMPLETED: task-01\n  Context Usage: 33%\n")
