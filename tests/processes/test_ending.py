"""Ending what was recorded, all of it, and nothing else (D23)."""

import os
import signal
import subprocess
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from musician.processes.ending import end_tree
from musician.processes.identity import ProcessIdentity, identify, is_running
from musician.testing.waiting import HANG_S


def lead(trees: Any, script: str) -> "tuple[subprocess.Popen[bytes], ProcessIdentity]":
    leader = trees.start("bash", "-c", script, start_new_session=True)
    return leader, identify(leader.pid)


def test_a_tree_that_minds_no_signal_is_ended_whole(
    trees: Any, stubborn: str, until: Callable[..., None]
) -> None:
    leader, identity = lead(trees, stubborn)
    until(lambda: trees.exists("started"))
    until(
        lambda: len(trees.living()) == 5
    )  # one that begins to run a program has no environment for a moment
    assert end_tree(identity, grace_s=0.1)
    assert trees.living() == []
    assert leader.wait() == -signal.SIGKILL


def test_the_leader_is_asked_first_and_its_exit_status_stays_its_parents(
    trees: Any, until: Callable[..., None]
) -> None:
    leader, identity = lead(
        trees, "trap 'echo bye > bye; kill $!; exit 5' TERM; sleep 300 & echo up > started; wait"
    )
    until(lambda: trees.exists("started"))
    assert end_tree(identity, grace_s=HANG_S)
    assert trees.exists("bye")
    assert leader.wait() == 5


def test_what_a_leader_left_in_its_group_and_session_is_ended(trees: Any, until: Callable[..., None]) -> None:
    script = "sleep 300 & set -m; sleep 301 & read line"
    leader = trees.start("bash", "-c", script, start_new_session=True, stdin=subprocess.PIPE)
    identity = identify(leader.pid)
    until(lambda: sorted(p.name() for p in trees.living()) == ["bash", "sleep", "sleep"])
    leader.communicate(b"\n")
    assert not is_running(identity)
    assert len(trees.living()) == 2
    assert end_tree(identity, grace_s=5)
    assert trees.living() == []


def test_nothing_left_to_end_is_well_ended(trees: Any) -> None:
    leader, identity = lead(trees, "exit 0")
    leader.wait()
    assert end_tree(identity, grace_s=5)


def test_a_reused_number_is_not_touched(trees: Any, until: Callable[..., None]) -> None:
    """Neither the process that has it now, nor its group."""
    leader, identity = lead(trees, "sleep 300 & wait")
    until(lambda: sorted(p.name() for p in trees.living()) == ["bash", "sleep"])
    before = identity.started_at_s - 1
    assert end_tree(replace(identity, started_at_s=before), grace_s=0)
    assert len(trees.living()) == 2
    assert leader.poll() is None


@pytest.mark.parametrize("changes", [{"host": "another"}, {"boot_id": "another"}])
def test_another_machines_process_is_not_touched(trees: Any, changes: dict[str, str]) -> None:
    _, identity = lead(trees, "sleep 300; true")
    assert not end_tree(replace(identity, **changes), grace_s=0)  # type: ignore[arg-type]
    assert is_running(identity)


def test_neither_oneself_nor_an_ancestor_nor_init_is_touched() -> None:
    for pid in (os.getpid(), os.getppid(), 1):
        assert not end_tree(identify(pid), grace_s=0)
    assert not end_tree(replace(identify(1), pid=0), grace_s=0)


def test_a_process_that_leads_no_group_is_ended_without_its_neighbours(trees: Any) -> None:
    """The group is the test's own: nobody else in it may be touched."""
    one, other = (trees.start("sleep", "300") for _ in range(2))
    assert end_tree(identify(one.pid), grace_s=5)
    assert one.wait() == -signal.SIGTERM
    assert other.poll() is None


SUBREAPER = """
import os, subprocess, sys, time
from musician.processes.ending import adopting_orphans
from musician.processes.leash import is_subreaper
with adopting_orphans(0.2):
    child = subprocess.Popen(["bash", "-c", sys.argv[1]])
    while not os.path.exists("started"): time.sleep(0.01)
    subprocess.run(["bash", "-c", "setsid sleep 302 & exit 0"])
    assert is_subreaper()
print(is_subreaper(), child.wait(), flush=True)
sys.stdin.read()
"""


def test_a_subreaper_can_end_all_that_came_out_of_it(trees: Any, stubborn: str) -> None:
    reaper = trees.python(
        SUBREAPER,
        stubborn,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert reaper.stdout.readline() == b"False -9\n"
    assert [process.pid for process in trees.living()] == [reaper.pid]


SPARING = """
import os, subprocess, sys
from musician.processes.ending import adopting_orphans
before = subprocess.Popen(["bash", "-c", "read; sleep 303 & read"], stdin=subprocess.PIPE)
with adopting_orphans(0.2):
    child = subprocess.Popen(["sleep", "304"])
    before.stdin.write(b"\\n"); before.stdin.flush()
    while not subprocess.run(["pgrep", "-P", str(before.pid)], stdout=subprocess.DEVNULL).returncode == 0: pass
print(before.poll(), child.wait(), flush=True)
sys.stdin.read()
"""


def test_whom_a_program_had_before_stays_with_all_below_it(trees: Any, until: Callable[..., None]) -> None:
    """The demo serves its page while run after run begins and ends in the same process."""
    program = trees.python(SPARING, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert program.stdout.readline() == b"None -15\n"

    def others() -> list[str]:
        return sorted(process.name() for process in trees.living() if process.pid != program.pid)

    until(lambda: others() == ["bash", "sleep"])


def test_without_descendants_there_is_nothing_to_end(trees: Any) -> None:
    code = "from musician.processes.ending import end_own_descendants as end; print(end(5))"
    asked = trees.python(code, stdout=subprocess.PIPE)
    assert asked.communicate(timeout=HANG_S)[0] == b"True\n"
