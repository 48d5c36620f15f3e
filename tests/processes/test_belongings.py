"""What an agent's session has left running is found by what it carries, and nothing of anybody else's (D41)."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import psutil
import pytest

from musician.processes.belongings import described, end_belongings, find_belongings, find_standing_in
from musician.testing.waiting import until

Start = Callable[..., psutil.Process]

TREE = Path("/nowhere/tree")
# Found by what it carries, on the whole machine: with an id that another test's session has, too, this one's
# programs would be that session's, and ended or waited for there.
SESSION = f"s-{uuid4()}"
OTHER = f"s-{uuid4()}"
CLIENTS = {"CLAUDE_CODE_SESSION_ID": SESSION, "CLAUDE_CODE_CHILD_SESSION": "1"}
OURS = {"MUSICIAN_SESSION": SESSION, "MUSICIAN_TREE": str(TREE)}
SERVER = {"CLAUDE_CODE_SESSION_ID": SESSION, "CLAUDECODE": "1"}
PERSON = {"MUSICIAN_SESSION": SESSION}
ELSEWHERE = {"MUSICIAN_SESSION": SESSION, "MUSICIAN_TREE": f"{TREE}2"}


LEAVE = 'setsid sh -c "$0" >/dev/null 2>&1 </dev/null & echo $!'


@pytest.fixture
def start() -> Iterator[Start]:
    """A program that is nobody's child any more, in a session of its own; it is gone at the end."""
    started: list[psutil.Process] = []

    def begin(script: str, *, cwd: Path | None = None, **env: str) -> psutil.Process:
        with tempfile.TemporaryDirectory() as folder:
            ready = Path(folder, "ready")
            argv = ["sh", "-c", LEAVE, f"echo $$ > '{ready}'; {script}"]
            subprocess.run(
                argv, env={"PATH": os.environ["PATH"], **env}, cwd=cwd, check=True, capture_output=True
            )
            until(lambda: ready.exists() and ready.read_text().strip())
            started.append(psutil.Process(int(ready.read_text())))
        return started[-1]

    yield begin
    for process in started:
        with suppress(psutil.NoSuchProcess):
            for child in process.children(recursive=True):
                child.kill()
            process.kill()


def runs(process: psutil.Process) -> bool:
    """A zombie does not: nobody waits for it in a container."""
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def pids(found: tuple[psutil.Process, ...]) -> set[int]:
    return {process.pid for process in found}


@pytest.mark.parametrize("env", [CLIENTS, OURS], ids=["the client's", "ours"])
def test_a_sessions_commands_are_found_and_ended_whatever_they_ignore(
    start: Start, env: dict[str, str]
) -> None:
    """D41.3: SIGTERM too, and what has left its group."""
    stubborn = start("trap '' TERM; (exec sleep 600) & wait; while true; do sleep 600; done", **env)
    other = start("sleep 600", **{**env, "CLAUDE_CODE_SESSION_ID": OTHER, "MUSICIAN_SESSION": OTHER})
    assert stubborn.pid in pids(find_belongings({SESSION}, TREE))
    assert other.pid not in pids(find_belongings({SESSION}, TREE))
    ended, survived = end_belongings({SESSION}, TREE, grace_s=0)
    assert any(f"process {stubborn.pid}" in each for each in ended)
    assert survived == ()
    assert not runs(stubborn)
    assert runs(other)


@pytest.mark.parametrize(
    "env",
    [SERVER, PERSON, ELSEWHERE, {}],
    ids=["a server of the client's", "a person's shell", "another tree's", "nobody's"],
)
def test_what_only_bears_the_id_is_nobodys_to_end(start: Start, env: dict[str, str]) -> None:
    started = start("sleep 600", **env)
    assert started.pid not in pids(find_belongings({SESSION}, TREE))
    assert end_belongings({SESSION}, TREE, grace_s=0) == ((), ())
    assert runs(started)


def test_a_monitor_of_the_clients_plugins_is_not_the_sessions_to_wait_for(
    start: Start, tmp_path: Path
) -> None:
    """AUDIT-K6: it lives as long as the client does; but a project that is a plugin itself has commands, too."""
    (tmp_path / "plugin" / ".claude-plugin").mkdir(parents=True)
    (tmp_path / "plugin" / "hooks").mkdir()
    script = tmp_path / "plugin" / "hooks" / "monitor.sh"
    script.write_text("sleep 600; true\n")
    monitor = start(f"exec sh '{script}'", **CLIENTS)
    until(lambda: monitor.cmdline() == ["sh", str(script)])
    assert monitor.pid not in pids(find_belongings({SESSION}, TREE))
    assert monitor.pid in pids(find_belongings({SESSION}, tmp_path / "plugin"))


def test_whoever_asks_is_spared_with_all_that_it_started(start: Start) -> None:
    """A command of the session's that ends it must come to its end."""
    script = (
        "import pathlib, subprocess; from musician.processes.belongings import find_belongings;"
        " child = subprocess.Popen(['sleep', '600'], start_new_session=True);"
        f" print([process.pid for process in find_belongings({{'{SESSION}'}}, pathlib.Path('/nowhere'))]); child.kill()"
    )
    env = {**os.environ, **CLIENTS}
    shell = ["sh", "-c", '"$0" -c "$1" | cat; true', sys.executable, script]
    done = subprocess.run(shell, env=env, capture_output=True, text=True, check=True, start_new_session=True)
    assert done.stdout == "[]\n"


def test_what_starts_anew_meanwhile_is_ended_too(start: Start, tmp_path: Path) -> None:
    again = f'setsid sh -c "sleep 0.1; echo late > {tmp_path}/late; sleep 600" &'
    start(f"trap '{again}' TERM; while true; do sleep 0.05; done", **CLIENTS)
    assert end_belongings({SESSION}, TREE, grace_s=0.3)[1] == ()
    assert find_belongings({SESSION}, TREE) == ()


def test_what_stands_in_a_folder_is_told_and_left(start: Start, tmp_path: Path) -> None:
    inside = tmp_path / "tree" / "sub"
    inside.mkdir(parents=True)
    started = start("sleep 600", cwd=inside)
    assert started.pid in pids(find_standing_in(tmp_path / "tree"))
    assert find_standing_in(tmp_path / "tr") == ()


def test_orphans_that_this_process_adopted_stand_in_a_folder_too(tmp_path: Path) -> None:
    """D41.3: what a conductor has below it may be what a killed musician left. Who stands there itself is spared."""
    script = (
        "import pathlib, subprocess; from musician.processes.belongings import find_standing_in;"
        f" folder = pathlib.Path('{tmp_path}');"
        " child = subprocess.Popen(['sleep', '600'], cwd=folder, start_new_session=True);"
        " print(child.pid in [process.pid for process in find_standing_in(folder)]); child.kill()"
    )
    for cwd, told in ((Path("/"), "True\n"), (tmp_path, "False\n")):
        command = [sys.executable, "-c", script]
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=True)
        assert done.stdout == told


def test_a_process_is_described_in_one_short_line(start: Start) -> None:
    started = start(f"sleep 600; echo '{'x' * 100}\n'")
    said = described(started)
    assert said.startswith("sh -c ")
    assert said.endswith(f"… (process {started.pid})")
    started.kill()
    until(lambda: not runs(started))
    assert str(started.pid) in described(started)
