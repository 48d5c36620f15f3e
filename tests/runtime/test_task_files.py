"""The files a session leaves are whole or not there, and what goes wrong with them never keeps a session (D25, B29)."""

import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from musician.processes.whole_file import write_whole
from musician.protocol.states import State

if TYPE_CHECKING:
    from tests.runtime.conftest import Stage

OLD, NEW = "old\n" * 100_000, "new\n" * 100_000

REWRITING = """
import sys
from pathlib import Path
from musician.processes.whole_file import write_whole
texts = sys.argv[2] * 100_000, sys.argv[3] * 100_000
print("ready", flush=True)
while True:
    for text in texts:
        write_whole(Path(sys.argv[1]), text)
"""


@pytest.mark.parametrize("moment", range(5))
def test_a_writer_that_is_killed_leaves_the_old_file_or_the_new_one_whole(
    tmp_path: Path, moment: int
) -> None:
    """B29: killed while it writes nothing else, and the reader looks all the time."""
    path = tmp_path / "task-01-HANDOFF"
    write_whole(path, OLD)
    command = [sys.executable, "-c", REWRITING, str(path), "old\n", "new\n"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
        seen = {path.read_text() for _ in range(10 * (moment + 1))}
        writer.send_signal(signal.SIGKILL)
    seen.add(path.read_text())
    assert seen <= {OLD, NEW}


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "task-01-HANDOFF"
    write_whole(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_whole(path, "no text: \ud800")
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_a_file_that_is_written_anew_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    write_whole(path, "old")
    path.chmod(0o640)
    write_whole(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


FULL = """\
---
plan: solo
test: "true"
---
# Solo

## Phase 1: All

### task-01: The tune
#### Step 1: Begin
```bash run
echo one > one.txt
echo '::context 80%'
```
#### Step 2: Go on
```bash run
echo two >> one.txt
```
"""


def test_a_failure_while_cleaning_up_does_not_keep_the_session_from_its_exit(stage: "Stage") -> None:
    """Sources, "Clean Exit Protocol": something stands where the HANDOFF belongs."""
    stage.write(FULL)
    assert stage.run("plan", "lock", "PLAN.md").code == 0
    (stage.root / "temp" / "task-01-HANDOFF").mkdir()
    ended = stage.run("work", "task-01")
    assert ended.code == 1
    assert "Traceback" not in ended.err
    assert stage.state("task-01") is State.EXITED
    (session,) = stage.view("task-01").sessions
    assert "HANDOFF" in (session.exit_reason or "")


def test_a_link_is_replaced_and_what_it_names_stays(tmp_path: Path) -> None:
    """A session that lays a link where we write chooses no file of the user's for it."""
    path, other = tmp_path / "task-01-HANDOFF", tmp_path / "the-users"
    other.write_text("theirs")
    path.symlink_to(other)
    write_whole(path, "ours")
    assert (path.is_symlink(), path.read_text(), other.read_text()) == (False, "ours", "theirs")
