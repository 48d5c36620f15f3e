"""``worker``: plays what may be played, one task after the other, while somebody else reviews."""

import json
import os
import signal
import subprocess
import time
from contextlib import closing
from pathlib import Path

import pytest

from musician import service
from musician.protocol.settings import Settings
from musician.runtime.fleet import claimable
from musician.runtime.world import WORLD
from musician.store.sqlite.store import SqliteStore
from musician.testing import until
from musician.testing.waiting import HANG_S
from musician.trees.root import find_root
from tests.said import farewell
from tests.surroundings import Call, git

OWN = "# Own\n## Step 1: Do\n```bash run\necho done > {name}\n```\n## Checkpoint 1: Done\n- test: `test -e {name}`\n"


def approve_next(call: Call) -> str:
    """Approve the next submission as soon as it is there; its task."""
    end_s = time.monotonic() + HANG_S
    while True:
        waiting = [each for each in call("review", "list", "--json").json["waiting"] if each["message_id"]]
        if waiting:
            call("review", "approve", waiting[0]["task_id"], "--message", str(waiting[0]["message_id"]))
            return str(waiting[0]["task_id"])
        assert time.monotonic() < end_s
        time.sleep(0.05)


def test_a_worker_plays_every_task_there_is_and_ends(
    repository: Path, call: Call, command: tuple[str, ...]
) -> None:
    call("init")
    for number in (7, 8):
        (repository / f"own{number}.md").write_text(OWN.format(name=f"made{number}"))
        call("task", "add", str(number), "--instructions", f"own{number}.md")
    working = subprocess.Popen([*command, "worker", "--json"], stdout=subprocess.PIPE, text=True)
    assert [approve_next(call) for _ in range(2)] == ["task-07", "task-08"]
    out, _ = working.communicate(timeout=HANG_S)
    assert working.returncode == 0
    assert '"ending": "all complete"' in out
    assert {task["state"] for task in call("status", "--json").json["tasks"]} == {"complete"}


def test_a_task_whose_provider_gives_nothing_is_left_alone(repository: Path, call: Call) -> None:
    call("init")
    (repository / "own7.md").write_text(OWN.format(name="made7"))
    call("task", "add", "7", "--instructions", "own7.md")
    root = find_root(repository)
    with closing(SqliteStore.open(root.database)) as store:
        assert claimable(root, store, Settings(), WORLD) == ("task-07",)
        claim = service.claim(store, "task-07", "s1", settings=Settings()).claim
        service.limit(store, claim, said_s=3600, own_s=1)
        service.exit_task(store, claim, farewell("stopped", path="h"), handoff="h")
        service.hand_over(store, "task-07", "go on")
        assert claimable(root, store, Settings(), WORLD) == ()


TWO = """\
---
plan: two
test: "true"
---
# Two

## Phase 1: One
### task-01: First
#### Step 1: Do
```bash run
echo 1 > one
```
## Phase 2: Two
### task-02: Second
#### Step 1: Do
```bash run
cp one two
```
"""


def test_a_conductor_that_launches_nobody_conducts_the_worker_that_somebody_started(
    repository: Path, call: Call, command: tuple[str, ...]
) -> None:
    call("init")
    (repository / "PLAN.md").write_text(TWO)
    git(repository, "commit", "-qam", "Two tasks, one after the other")
    call("plan", "lock", "PLAN.md")
    conducting = subprocess.Popen([*command, "run", "PLAN.md", "--jobs", "0"], stdout=subprocess.PIPE)
    working = subprocess.run([*command, "worker", "--json"], capture_output=True, text=True, timeout=HANG_S)
    said, _ = conducting.communicate(timeout=HANG_S)
    assert conducting.returncode == 0, said
    assert b"the musicians are the sessions you start" in said
    assert [each["task_id"] for each in json.loads(working.stdout)["played"]] == ["task-01", "task-02"]
    assert (repository / "two").read_text() == "1\n"


def test_a_worker_takes_of_a_plan_what_its_conductor_would_launch(ready: Path, call: Call) -> None:
    from musician.protocol.settings import Settings
    from musician.runtime.fleet import claimable
    from musician.store.opening import open_store
    from musician.trees.root import find_root

    root = find_root(ready)
    store = open_store(root.database)
    assert claimable(root, store, Settings(), WORLD) == ("task-01", "task-02")
    call("claim", "1", "--session", "s1")
    assert claimable(root, store, Settings(), WORLD) == ("task-02",)
    store.close()


def test_a_worker_with_nothing_to_claim_ends_if_it_is_told_so(repository: Path, call: Call) -> None:
    call("init")
    assert call("worker", "--once", "--json").json == {"ending": "nothing to claim", "played": []}


def test_a_worker_that_waits_heeds_signals(
    repository: Path, call: Call, command: tuple[str, ...], bells: Path
) -> None:
    """B32: its bell removed."""
    call("init")
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        waiting = subprocess.Popen([*command, "worker"], stdout=subprocess.PIPE, text=True)
        until(lambda: any(bells.glob("*/*/*")))
        waiting.send_signal(number)
        out, _ = waiting.communicate(timeout=HANG_S)
        assert (waiting.returncode, out) == (130, "interrupted\n")
        assert not list(bells.glob("*/*/*"))


def test_a_worker_waits_for_work_as_long_as_it_is_told(
    repository: Path, call: Call, command: tuple[str, ...]
) -> None:
    call("init")
    began_s = time.monotonic()
    assert call("worker", "--idle-exit", "0.7", "--json").json == {
        "ending": "nothing to claim",
        "played": [],
    }
    assert time.monotonic() - began_s >= 0.7


def test_a_worker_without_a_place_for_a_bell_looks_now_and_then(
    repository: Path, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AUDIT-N15: as everybody else who waits does."""
    call("init")
    public = tmp_path / f"musician-{os.geteuid()}"
    public.mkdir()
    public.chmod(0o777)
    for name in ("XDG_RUNTIME_DIR", "TMPDIR"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setattr("musician.store.bell._SHARED_TEMPORARY", str(tmp_path))
    assert call("worker", "--once").code == 0
