"""A process is known by its pid, its start and its boot; never by its pid alone (D23)."""

import os
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from musician.processes.identity import identify, is_running, is_same_machine, started_at_s


def test_this_process_runs_and_keeps_its_identity() -> None:
    mine = identify(os.getpid())
    assert (mine.pid, mine.pgid) == (os.getpid(), os.getpgid(0))
    assert is_running(mine)
    assert identify(os.getpid()) == mine


def test_the_start_is_told_in_seconds_since_boot() -> None:
    age_s = time.time() - psutil.Process().create_time()
    uptime_s = float(Path("/proc/uptime").read_text().split()[0])
    assert started_at_s(os.getpid()) == pytest.approx(uptime_s - age_s, abs=5)


@pytest.mark.parametrize(
    "changes",
    [{"started_at_s": 1.0}, {"boot_id": "another"}, {"host": "another"}, {"pid": 2**22 + 1}],
    ids=lambda changes: next(iter(changes)),
)
def test_another_process_is_never_taken_for_it(changes: dict[str, object]) -> None:
    other = replace(identify(os.getpid()), **changes)  # type: ignore[arg-type]
    assert not is_running(other)


def test_only_host_and_boot_together_make_the_same_machine() -> None:
    mine = identify(os.getpid())
    assert is_same_machine(mine)
    assert not is_same_machine(replace(mine, boot_id="another"))
    assert not is_same_machine(replace(mine, host="another"))


def test_a_zombie_does_not_run_and_a_reaped_process_cannot_be_identified() -> None:
    child = subprocess.Popen(["true"])
    identity = identify(child.pid)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not is_running(identity)
    child.wait()
    with pytest.raises(psutil.NoSuchProcess):
        identify(child.pid)
    with pytest.raises(psutil.NoSuchProcess):
        started_at_s(child.pid)


def test_a_name_with_parentheses_and_spaces_does_not_confuse(tmp_path: Path) -> None:
    program = f"{tmp_path}/a) b (c"
    os.symlink("/bin/sleep", program)
    with subprocess.Popen([program, "300"]) as child:
        child_start = started_at_s(child.pid)
        child.kill()
    assert child_start >= started_at_s(os.getpid())
