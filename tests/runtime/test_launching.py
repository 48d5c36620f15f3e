"""Musicians are forks of the conductor's fork server, and nobody can tell: not they, their agents, or who ends them."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import psutil
import pytest

from musician.own_python import own_python
from musician.processes.fork_server import ForkServer
from musician.processes.running import Running, RunningFork, fork_program, start_program
from musician.protocol.states import State
from musician.runtime import launching
from musician.runtime.launching import fork_server_at_hand, start_musician
from musician.testing.waiting import HANG_S, until
from musician.trees.root import find_root
from tests.runtime.conftest import HALL, SOLO

if TYPE_CHECKING:
    from tests.runtime.conftest import Stage

pytestmark = pytest.mark.skipif(not launching._CAN_FORK, reason="musicians are forked on Linux")

HEAD = """\
---
plan: band
test: "true"
---
# Band

## Overview
Some tasks.

## Phase 1: First
"""

TASK = """
### task-{number:02}: Task {number}
#### Step 1: Write
```bash run
{solo}
{run}
echo {number} >> {number}.txt
```
"""

SERVER = "musician.forking"


def task(number: int, run: str = ":") -> str:
    return TASK.format(number=number, run=run, solo=SOLO)


def log_of(stage: "Stage", task_id: str) -> Path:
    return stage.root / ".musician" / "logs" / f"{task_id}.musician.log"


@pytest.fixture
def as_conductor(stage: "Stage", monkeypatch: pytest.MonkeyPatch) -> Iterator["Stage"]:
    """This process launches."""
    monkeypatch.setenv(HALL, str(stage.hall))
    for name in [name for name in os.environ if name.startswith(("GIT_", "MUSICIAN_")) and name != HALL]:
        monkeypatch.delenv(name)
    with fork_server_at_hand():
        yield stage


def found_by(pid: int) -> dict[str, Any]:
    """What a musician that stands at a gate has been given by who started it."""
    status = dict(
        line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line
    )
    process = psutil.Process(pid)
    files = {name: os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")}
    return {
        "signals": {name: status[name] for name in ("SigBlk", "SigIgn", "SigCgt", "ShdPnd", "Umask")},
        "leads": (os.getpgid(pid) == pid, os.getsid(pid) == pid),
        "folder": process.cwd(),
        "command": [word for word in process.cmdline() if word][-7:],
        "lease": files["0"].partition(":")[0],
        "outputs": (files["1"], files["2"]),
        "files": sorted(name.partition(":")[0] for name in files.values()),
        "threads": process.num_threads(),
    }


def test_a_fork_finds_what_a_program_of_its_own_would_find(as_conductor: "Stage") -> None:
    """Session, signals, descriptors, folder, command line, log; and a pipe that tells its exit code."""
    stage = as_conductor
    stage.write(HEAD + task(1, stage.gate("fork")) + task(2, stage.gate("alone")))
    stage.lock()
    root = find_root(stage.root)
    words = ["--db", stage.store.url, "work", "task-02", "--session", "alone", "--quiet"]
    forked = start_musician(root, stage.store, "task-01", "forked", None)
    alone = start_program(
        own_python("-m", "musician", *words),
        cwd=root.path,
        env=dict(os.environ),
        log=log_of(stage, "task-02"),
    )
    assert isinstance(forked, RunningFork)
    stage.wait_at("fork")
    stage.wait_at("alone")
    assert stage.musician("task-01").pid == forked.identity.pid
    server = psutil.Process(forked.identity.pid).parent()
    assert server is not None
    assert SERVER in server.cmdline()
    assert server.num_threads() == 1
    of_fork, of_alone = found_by(forked.identity.pid), found_by(alone.identity.pid)
    of_fork["files"].remove("pipe")
    said = repr(of_fork).replace("task-01", "task-02").replace("forked", "alone")
    assert said == repr(of_alone)
    for running in (forked, alone):
        running.terminate()
        assert anyio.run(running.wait) == 130
    assert "interrupted" in log_of(stage, "task-01").read_text()
    stage.until(lambda: not stage.processes("work"))


def test_what_a_fork_draws_is_its_own(tmp_path: Path) -> None:
    """No two of Python's random numbers, SQLite's, or names of temporary files are the same in two forks."""
    script = tmp_path / "drawing.py"
    script.write_text(
        "from importlib import import_module\n"
        "from musician import forking\n"
        "from musician.processes import leash\n"
        "for name in forking.PRELOADED: import_module(name)\n"
        "import apsw, os, random, sys, tempfile, uuid\n"
        "def play(cwd, words, env, heard):\n"
        "    os.read(0, 1)\n"
        "    drawn = apsw.Connection(':memory:').execute('SELECT random(), hex(randomblob(8))').get\n"
        "    print(random.random(), *drawn, uuid.uuid4(), tempfile.mktemp(), flush=True)\n"
        "    return 0\n"
        "leash.serve(play)\n"
    )
    server = ForkServer((sys.executable, "-P", str(script)))
    log = tmp_path / "log"
    for _ in range(2):
        running = fork_program(server, ["any"], cwd=tmp_path, env={}, log=log)
        assert anyio.run(running.wait) == 0
    server.close()
    first, second = (line.split() for line in log.read_text().splitlines())
    assert len(first) == len(second) == 5
    assert not set(first) & set(second)


def test_several_wait_for_a_fork_that_is_killed_and_signalling_it_afterwards_does_nothing(
    as_conductor: "Stage",
) -> None:
    stage = as_conductor
    stage.write(HEAD + task(1, stage.gate("step")))
    stage.lock()
    running = start_musician(find_root(stage.root), stage.store, "task-01", "forked", None)
    stage.wait_at("step")
    os.kill(running.identity.pid, signal.SIGKILL)
    codes = []

    async def wait_twice() -> None:
        async def wait() -> None:
            codes.append(await running.wait())

        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            group.start_soon(wait)

    anyio.run(wait_twice)
    assert codes == [137, 137]
    running.terminate()
    assert not [name for name in os.listdir("/proc/self/fd") if _is_of(name, running.identity.pid)]
    stage.until(lambda: not stage.processes("work"))


def _is_of(descriptor: str, pid: int) -> bool:
    try:
        told = Path(f"/proc/self/fdinfo/{descriptor}").read_text()
    except FileNotFoundError:
        return False
    return f"Pid:\t{pid}\n" in told


def test_nothing_is_executed_of_a_musician_that_nobody_could_record(
    as_conductor: "Stage", monkeypatch: pytest.MonkeyPatch
) -> None:
    """D23.2: as if the conductor had died between the fork and its go."""
    stage = as_conductor
    stage.write(HEAD + task(1))
    stage.lock()

    def dies(pid: int) -> int:
        raise OSError(f"the conductor died before it held {pid}")

    with monkeypatch.context() as patched:
        patched.setattr(os, "pidfd_open", dies)
        log = log_of(stage, "task-01")
        with pytest.raises(OSError, match="died before"):
            fork_program(launching._server, ["work", "task-01"], cwd=stage.root, env={}, log=log)
    stage.until(lambda: not stage.processes("work"))
    assert stage.state("task-01") is State.WATCHING
    assert log.read_text() == ""


@pytest.mark.parametrize("command", [("/bin/false",), ("/no/such/program",)])
def test_where_no_fork_can_be_had_the_session_starts_by_itself_and_its_log_says_so(
    as_conductor: "Stage", monkeypatch: pytest.MonkeyPatch, command: tuple[str]
) -> None:
    stage = as_conductor
    stage.write(HEAD + task(1, stage.gate("step")))
    stage.lock()
    monkeypatch.setattr(launching, "_server", ForkServer(command))
    running = start_musician(find_root(stage.root), stage.store, "task-01", "alone", None)
    assert isinstance(running, Running)
    stage.wait_at("step")
    running.terminate()
    assert anyio.run(running.wait) == 130
    assert log_of(stage, "task-01").read_text().startswith("musician: the fork server cannot be asked (")


def test_a_folder_that_is_gone_is_told_in_the_log(as_conductor: "Stage") -> None:
    stage = as_conductor
    log = stage.hall / "log"
    running = fork_program(launching._server, ["--version"], cwd=stage.hall / "gone", env={}, log=log)
    assert anyio.run(running.wait) == 126
    assert "cannot enter" in log.read_text()


def test_the_environment_is_the_requests_and_nothing_of_the_servers(as_conductor: "Stage") -> None:
    stage = as_conductor
    env = {"MUSICIAN_DB": "/named/in/the/request", "PATH": os.environ["PATH"]}
    log = stage.hall / "log"
    running = fork_program(launching._server, ["status"], cwd=stage.hall, env=env, log=log)
    assert anyio.run(running.wait) != 0
    assert "/named/in/the/request" in log.read_text()


@pytest.mark.deep
def test_a_killed_fork_server_takes_no_musician_along_and_the_next_one_has_a_new_server(
    stage: "Stage",
) -> None:
    stage.write(
        HEAD + task(1, stage.gate("first")) + "\n## Phase 2: Second\n" + task(2, stage.gate("second"))
    )
    run = stage.start("run", "PLAN.md")
    stage.wait_at("first")
    (server,) = stage.processes(SERVER)
    first = stage.musician("task-01")
    assert first.parent() == server
    server.kill()
    stage.until(lambda: first.ppid() == run.pid)  # the conductor adopts
    stage.open_gate("first")
    stage.wait_at("second")
    (again,) = stage.processes(SERVER)
    assert again.pid != server.pid
    assert stage.musician("task-02").parent() == again
    stage.open_gate("second")
    assert stage.end(run).code == 0, stage.told()
    stage.check_whole()
    assert [each.exit_reason for each in stage.view("task-01").sessions] == ["complete"]


def test_a_killed_conductor_leaves_neither_its_fork_server_nor_a_musician(stage: "Stage") -> None:
    """D23.4: the lease is the musician's own; its server dies by itself."""
    stage.write(HEAD + task(1, stage.gate("one")) + task(2, stage.gate("two")))
    run = stage.start("run", "PLAN.md")
    stage.wait_at("one")
    stage.wait_at("two")
    assert len(stage.processes(SERVER)) == 1
    run.kill()
    assert run.wait(HANG_S) == -signal.SIGKILL
    stage.check_quiet()


def test_ctrl_c_ends_the_musicians_and_their_server(stage: "Stage") -> None:
    """The terminal sends it to the conductor's group alone: nothing that was forked is in it."""
    stage.write(HEAD + task(1, stage.gate("one")) + task(2, stage.gate("two")))
    run = stage.start("run", "PLAN.md")
    stage.wait_at("one")
    stage.wait_at("two")
    # A git that is just begun has no group of its own for a moment.
    stage.until(lambda: pids_of_group(stage, os.getpgid(run.pid)) == [run.pid])
    run.send_signal(signal.SIGINT)
    ended = stage.end(run)
    assert ended.code == 130, ended
    stage.check_quiet()
    assert {each.exit_reason for each in stage.view("task-01").sessions} == {"interrupted by SIGINT"}


def pids_of_group(stage: "Stage", group: int) -> list[int]:
    found = []
    for each in stage.processes():
        with suppress(ProcessLookupError):  # it has ended meanwhile
            found += [each.pid] if os.getpgid(each.pid) == group else []
    return found


@pytest.mark.deep
def test_twenty_at_once_each_play_their_task_once(stage: "Stage") -> None:
    """AUDIT-P23: they start within milliseconds of each other, and make their trees at the same moment."""
    together = "until [ $(ls $MUSICIAN_TEST_HALL | grep -c ^here) = 20 ]; do sleep 0.05; done"
    plan = HEAD + "".join(
        task(number, f"touch $MUSICIAN_TEST_HALL/here-{number}\n{together}") for number in range(1, 21)
    )
    stage.write(plan)
    done = stage.conduct("--jobs", "20")
    assert done.code == 0, (done, stage.told())
    stage.check_whole()
    for number in range(1, 21):
        view = stage.view(f"task-{number:02}")
        assert len(view.sessions) == 1, view.sessions
        assert stage.merged(f"{number}.txt") == f"{number}\n"
        assert "fork server" not in stage.said_by(f"task-{number:02}")


@pytest.mark.deep
def test_a_server_that_is_stuck_is_given_up_for_a_new_one(
    as_conductor: "Stage", monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = as_conductor
    log = stage.hall / "log"
    server = launching._server
    assert anyio.run(fork_program(server, ["--version"], cwd=stage.hall, env={}, log=log).wait) == 0
    (before,) = stage.processes(SERVER)
    before.suspend()
    assert server._line is not None
    server._line.settimeout(0.5)
    until(lambda: stage.stopped(before.pid))
    assert anyio.run(fork_program(server, ["--version"], cwd=stage.hall, env={}, log=log).wait) == 0
    (after,) = stage.processes(SERVER)
    assert after.pid != before.pid
