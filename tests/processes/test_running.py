"""Launched musicians: their log, their end, and the lease by which they notice ours."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from musician.processes.identity import is_running
from musician.processes.lease import LEASE_VARIABLE
from musician.processes.running import Running, start_program
from musician.testing.waiting import HANG_S

MUSICIAN = """
import os, anyio
from pathlib import Path
from typing import Any
from musician.processes.lease import lease_lost

Path("pid").write_text(str(os.getpid()))
anyio.run(lease_lost)
Path("lost").write_text("the lease is lost")
"""

CONDUCTOR = """
import os, sys, anyio
from pathlib import Path
from typing import Any
from musician.processes.running import start_program

here = Path.cwd()
musician = start_program([sys.executable, "-c", sys.argv[1]], cwd=here, env=dict(os.environ), log=here / "log")
bystander = start_program(["sleep", "300"], cwd=here, env=dict(os.environ), log=here / "log")
anyio.run(musician.wait)
"""


def launch(trees: Any, *argv: str) -> Running:
    return start_program(argv, cwd=trees.folder, env=trees.env, log=trees.folder / "logs" / "task.log")


def test_output_is_appended_to_the_log_and_the_exit_code_returned(trees: Any) -> None:
    for code in (3, 0):
        started = launch(trees, "bash", "-c", f"echo out; echo err >&2; exit {code}")
        assert anyio.run(started.wait) == code
        assert anyio.run(started.wait) == started.returncode == code
    assert (trees.folder / "logs" / "task.log").read_bytes() == b"out\nerr\nout\nerr\n"


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGKILL])
def test_it_can_be_ended_and_ending_it_twice_does_nothing(trees: Any, by: signal.Signals) -> None:
    started = launch(trees, "sleep", "300")
    assert started.returncode is None
    assert is_running(started.identity)
    assert started.identity.pid == started.identity.pgid == os.getsid(started.identity.pid)
    started.terminate(by)
    assert anyio.run(started.wait) == 128 + by
    started.terminate(by)
    assert not is_running(started.identity)


def test_several_may_wait_and_one_that_gives_up_takes_nothing_away(trees: Any) -> None:
    async def wait_twice() -> list[int]:
        started = launch(trees, "sleep", "300")
        codes = []

        async def wait() -> None:
            codes.append(await started.wait())

        with anyio.move_on_after(0):
            await started.wait()
        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            group.start_soon(wait)
            await anyio.lowlevel.checkpoint()
            started.terminate()
        return codes

    assert anyio.run(wait_twice) == [143, 143]


def test_the_end_is_noticed_where_the_system_reports_none(
    trees: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    assert anyio.run(launch(trees, "bash", "-c", "sleep 0.2; exit 4").wait) == 4


def test_a_program_that_is_not_there_is_an_error(trees: Any) -> None:
    with pytest.raises(FileNotFoundError):
        launch(trees, "no-such-program")


def test_letting_go_of_the_lease_is_noticed(trees: Any) -> None:
    started = launch(trees, sys.executable, "-c", MUSICIAN)
    started.let_go()
    started.let_go()
    assert anyio.run(started.wait) == 0
    assert trees.exists("lost")


def test_sigkill_of_the_conductor_is_noticed_by_its_musician(trees: Any, until: Callable[..., None]) -> None:
    """A program started after it does not keep its lease alive."""
    conductor = trees.start(sys.executable, "-c", CONDUCTOR, MUSICIAN)
    until(lambda: trees.exists("pid") and any(p.name() == "sleep" for p in trees.living()))
    assert not trees.exists("lost")
    conductor.kill()
    conductor.wait()
    until(lambda: trees.exists("lost"))
    until(lambda: [process.name() for process in trees.living()] == ["sleep"])


@pytest.mark.parametrize("mark", [None, "1"])
def test_input_that_is_no_lease_is_never_lost(trees: Any, mark: str | None) -> None:
    """A pipe without the mark is somebody's data; the mark without a pipe was meant for another process."""
    code = (
        "import anyio\nfrom musician.processes.lease import lease_lost\n"
        "async def main():\n"
        "    with anyio.move_on_after(0.2) as patience: await lease_lost()\n"
        "    print(patience.cancelled_caught)\n"
        "anyio.run(main)\n"
    )
    trees.env = {name: value for name, value in trees.env.items() if name != LEASE_VARIABLE}
    if mark:
        trees.env[LEASE_VARIABLE] = mark
    stdin = subprocess.DEVNULL if mark else subprocess.PIPE
    asked = trees.python(code, stdin=stdin, stdout=subprocess.PIPE)
    assert asked.communicate(b"" if stdin == subprocess.PIPE else None, timeout=HANG_S)[0] == b"True\n"


def test_a_closed_input_is_no_lease(trees: Any) -> None:
    code = "from musician.processes import lease; print(lease._has_lease())"
    trees.env[LEASE_VARIABLE] = "1"
    shell = f'exec "{sys.executable}" -c "{code}" <&-'
    asked = trees.start("bash", "-c", shell, stdout=subprocess.PIPE)
    assert asked.communicate(timeout=HANG_S)[0] == b"False\n"


def test_the_log_folder_is_made(tmp_path: Path) -> None:
    log = tmp_path / "a" / "b" / "log"
    started = start_program(["echo", "x"], cwd=tmp_path, env={"PATH": os.environ["PATH"]}, log=log)
    assert anyio.run(started.wait) == 0
    assert log.read_bytes() == b"x\n"
