"""What the conductor has left out is not played, and every report says so and by whose word (D17.6, S-EX-6)."""

from typing import TYPE_CHECKING

from musician import service
from musician.protocol.journal import Progress

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

## Phase 1: All

### task-01: The book
#### Step 1: Write
```bash run
echo one > chapter.txt
```
#### Step 2: Finish
##### Agent 1: Print it
```bash run
cp chapter.txt book.txt
```
##### Agent 2: The table of contents
```bash run
echo contents > contents.txt
```
"""


def test_a_piece_that_is_left_out_is_not_played_and_the_reports_say_by_which_message(stage: "Stage") -> None:
    stage.write(PLAN)
    stage.lock()
    said = stage.run(
        "send", "task-01", "The contents can wait.", "--correct", "skip step 2 agent 2", "--json"
    )
    assert said.code == 0, said
    message_id = service.messages_of(stage.store, "task-01")[-1].id
    stage.to_the_end()
    stage.check_whole()
    assert stage.git("ls-tree", "--name-only", "main").split() == ["PLAN.md", "book.txt", "chapter.txt"]
    view = stage.view("task-01")
    progress = Progress().after(map(service.as_entry, view.journal))
    assert progress.completed == ("step 1", "step 2 agent 1")
    assert progress.skipped == {"step 2 agent 2"}
    words = f"step 2 agent 2: skipped by correction {message_id}.1"
    assert f"Deviations: 1 (Low — {words})" in (view.submissions[-1].message or "")
    assert words in (stage.root / (view.row.report_path or "")).read_text()
    assert f"{words} [Low]" in (stage.root / "temp" / "task-01-deviations").read_text()
