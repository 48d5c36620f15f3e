"""The leash, driven through its command line (with the plain interpreter, so that coverage sees it)."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import psutil
import pytest

from musician.processes import leash
from musician.testing.waiting import HANG_S


class Leashed:
    """A leash, its pipe, and what it and its program wrote."""

    def __init__(self, trees: Any, *program: str, cwd: str | None = None) -> None:
        self.popen = trees.start(
            sys.executable,
            "-m",
            leash.__name__,
            cwd or str(trees.folder),
            *program,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,
            start_new_session=True,
        )

    def go(self) -> "Leashed":
        self.popen.stdin.write(leash.GO)
        return self

    def let_go(self) -> None:
        self.popen.stdin.close()

    def end(self) -> tuple[int, bytes]:
        output = self.popen.stdout.read()
        return self.popen.wait(HANG_S), output


def test_nothing_is_executed_before_the_go(trees: Any) -> None:
    leashed = Leashed(trees, "touch", "executed")
    leashed.let_go()
    assert leashed.end() == (0, b"")
    assert not (trees.folder / "executed").exists()


@pytest.mark.parametrize(
    ("script", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -KILL $$", 137), ("kill -SEGV $$", 139)]
)
def test_the_exit_code_is_the_programs(trees: Any, script: str, code: int) -> None:
    assert Leashed(trees, "bash", "-c", script).go().end()[0] == code


@pytest.mark.parametrize(
    ("program", "code", "why"),
    [("no-such-program", 127, b"No such file or directory"), ("./plain", 126, b"Permission denied")],
)
def test_a_program_that_cannot_be_run_says_so(trees: Any, program: str, code: int, why: bytes) -> None:
    (trees.folder / "plain").write_text("no program")
    expected = b"musician: cannot run " + program.encode() + b": " + why + b"\n"
    assert Leashed(trees, program).go().end() == (code, expected)


def test_a_folder_that_is_gone_says_so(trees: Any) -> None:
    gone = str(trees.folder / "gone ä")
    expected = f"musician: cannot enter {gone}: No such file or directory\n".encode()
    assert Leashed(trees, "true", cwd=gone).go().end() == (127, expected)


def test_the_program_starts_as_from_a_shell(trees: Any) -> None:
    """Empty input, no descriptor of ours, no signal ignored or blocked, a group of its own."""
    script = (
        "import os,sys,signal as s;"
        "print(sys.stdin.read()=='', sorted(map(int,os.listdir('/proc/self/fd')))[:4],"
        "os.getpgid(0)==os.getpid(), os.getsid(0)==os.getppid(),"
        "[l.split()[1] for l in open('/proc/self/status') if l.startswith('SigBlk')])"
    )
    assert Leashed(trees, sys.executable, "-I", "-c", script).go().end() == (
        0,
        b"True [0, 1, 2, 3] True True ['0000000000000000']\n",
    )
    # A shell keeps what is ignored at its start: 13 is SIGPIPE, 25 SIGXFSZ.
    script = "grep SigIgn /proc/self/status"
    assert int(Leashed(trees, "bash", "-c", script).go().end()[1].split()[1], 16) & (1 << 12 | 1 << 24) == 0


def test_the_environment_is_handed_on_as_it_is(trees: Any) -> None:
    """The interpreter puts LC_CTYPE into its own environment under the C locale; the program does not get it."""
    trees.env = {"PATH": os.environ["PATH"], "ODD": "a=b\nc", "RAW": "\udcff"}
    code, output = Leashed(trees, "env", "-0").go().end()
    assert code == 0
    assert sorted(output.split(b"\0")[:-1]) == sorted(
        [b"PATH=" + os.environb[b"PATH"], b"ODD=a=b\nc", b"RAW=\xff"]
    )


def test_what_a_program_leaves_in_the_background_ends_with_it(trees: Any, stubborn: str) -> None:
    script = f"({stubborn}) & until [ -s started ]; do sleep 0.01; done; exit 3"
    assert Leashed(trees, "bash", "-c", script).go().end()[0] == 3
    assert trees.living() == []


def test_the_end_of_the_pipe_ends_the_whole_tree(
    trees: Any, stubborn: str, until: Callable[..., None]
) -> None:
    leashed = Leashed(trees, "bash", "-c", stubborn).go()
    until(lambda: trees.exists("started"))
    leashed.let_go()
    assert leashed.end()[0] == 137
    assert trees.living() == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_to_the_leash_ends_the_whole_tree(
    trees: Any, stubborn: str, until: Callable[..., None], number: signal.Signals
) -> None:
    leashed = Leashed(trees, "bash", "-c", stubborn).go()
    until(lambda: trees.exists("started"))
    leashed.popen.send_signal(number)
    assert leashed.end()[0] == 137
    assert trees.living() == []


def test_a_program_may_clean_up_before_it_is_killed(trees: Any, until: Callable[..., None]) -> None:
    script = "trap 'echo cleaned; exit 5' TERM; echo up > started; sleep 300 & wait"
    leashed = Leashed(trees, "bash", "-c", script).go()
    until(lambda: trees.exists("started"))
    leashed.let_go()
    assert leashed.end() == (5, b"cleaned\n")


def test_orphans_are_reaped_while_the_program_runs(trees: Any, until: Callable[..., None]) -> None:
    script = "for n in {1..20}; do (sleep 0.01 &); done; echo up > started; sleep 300"
    leashed = Leashed(trees, "bash", "-c", script).go()
    until(lambda: trees.exists("started"))
    until(lambda: len(psutil.Process(leashed.popen.pid).children()) == 1)
    leashed.let_go()
    assert leashed.end()[0] == 143


def test_the_program_dies_with_a_killed_leash(trees: Any, until: Callable[..., None]) -> None:
    leashed = Leashed(trees, "bash", "-c", "echo up > started; exec sleep 300").go()
    until(lambda: trees.exists("started"))
    leashed.popen.kill()
    leashed.popen.wait()
    until(lambda: trees.living() == [])


def test_a_daemon_may_clean_up_as_well(trees: Any) -> None:
    daemon = "trap 'echo bye > bye; exit' TERM; echo up > up; sleep 300 & wait"
    script = f'setsid bash -c "{daemon}" & until [ -s up ]; do sleep 0.01; done'
    assert Leashed(trees, "bash", "-c", script).go().end()[0] == 0
    assert trees.exists("bye")
    assert trees.living() == []
