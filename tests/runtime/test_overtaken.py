"""What the conductor does between a watcher's look and the session's next write."""

from typing import TYPE_CHECKING

from musician.protocol.states import State

if TYPE_CHECKING:
    from tests.runtime.conftest import Stage

TASK = "task-01"

# Raw SQL rings no bell, so the session goes on to submit before its watcher looks again.
REQUEST_EXIT = """\
import apsw, os, time
database = apsw.Connection(os.environ["MUSICIAN_DB"])
database.set_busy_timeout(10_000)
with database:
    database.execute("INSERT INTO orchestration_messages (task_id, from_session, message_type, message)"
                     " VALUES ('task-01', 'task-00', 'exit_request', 'enough for today')")
    database.execute("UPDATE orchestration_tasks SET state = 'exit_requested' WHERE task_id = 'task-01'")
"""

PLAN = """\
---
plan: solo
test: '"$MUSICIAN_PYTHON" request_exit.py'
---
# Solo

## Phase 1: All

### task-01: The tune
#### Step 1: Begin
```bash run
echo one > one.txt
```
"""


def test_an_exit_requested_during_a_verification_is_heard_before_anything_is_submitted(
    stage: "Stage",
) -> None:
    """From exit_requested a live owner may only exit (D2)."""
    stage.write(PLAN, **{"request_exit.py": REQUEST_EXIT})
    stage.run("plan", "lock", "PLAN.md")
    ran = stage.run("work", TASK)
    assert (ran.code, stage.state(TASK)) == (1, State.EXITED)
    view = stage.view(TASK)
    assert view.submissions == ()
    assert [session.exit_reason for session in view.sessions] == ["conductor requested"]
