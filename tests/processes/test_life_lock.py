"""The life lock: one holder, gone with its process, and undisturbed by whoever asks."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from musician.processes import life_lock
from musician.processes.identity import identify
from musician.processes.life_lock import HeldBy, LifeLock, hold, holder, is_held, lock_path

HOLDER = """
import os, subprocess, sys
from pathlib import Path
from musician.processes.life_lock import hold
sign = hold(Path(sys.argv[1]), session_id="S1")
if not os.fork():
    os.write(1, b"forked\\n")
    os.execvp("sleep", ["sleep", "300"])
child = os.fork()
if not child:
    os.write(1, b"forked\\n")
    import signal; signal.pause()
subprocess.Popen(["sleep", "300"])
os.write(1, b"held\\n")
import signal; signal.pause()
"""

PROBER = """
import select, sys
from pathlib import Path
from musician.processes.life_lock import is_held
path, answers, asked = Path(sys.argv[1]), set(), 0
print("up", flush=True)
while asked < 1000 or not select.select([sys.stdin], [], [], 0)[0]:
    answers.add(is_held(path))
    asked += 1
print(sorted(answers), flush=True)
"""

TAKER = """
import os, sys, time
from pathlib import Path
from musician.processes.life_lock import HeldBy, hold
sys.stdin.read()
taken = hold(Path(sys.argv[1]), session_id=sys.argv[2])
print("blocked" if isinstance(taken, HeldBy) else "won", flush=True)
os.close(1)
time.sleep(300)
"""


@pytest.fixture(params=["ofd", "flock"])
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(life_lock, "_HAS_OFD", request.param == "ofd")
    monkeypatch.setattr(life_lock, "_RETRY_S", 0.05)
    return lock_path(tmp_path / "locks", "task-01")


def test_a_lock_has_one_holder_who_can_be_named(path: Path) -> None:
    assert not is_held(path)
    taken = hold(path, session_id="S1")
    assert isinstance(taken, LifeLock)
    with taken:
        assert is_held(path)
        mine = HeldBy(session_id="S1", identity=identify(os.getpid()))
        assert hold(path, session_id="S2") == mine
        assert holder(path) == mine
    assert not is_held(path)
    taken.release()
    again = hold(path, session_id="S3")
    assert isinstance(again, LifeLock)
    assert holder(path).session_id == "S3"
    again.release()
    assert path.exists()


def test_asking_and_a_refused_attempt_in_the_holders_process_lose_nothing(path: Path) -> None:
    taken = hold(path, session_id="S1")
    assert isinstance(taken, LifeLock)
    path.read_bytes()
    assert [is_held(path) for _ in range(3)] == [True] * 3
    assert isinstance(hold(path, session_id="S2"), HeldBy)
    assert is_held(path)
    taken.release()


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"null", b'{"session_id": "S1"}', b"\xff", b'{"session_id": 1, "x": 2}']
)
def test_a_torn_signature_names_nobody_and_hinders_nobody(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "task-01.lock"
    path.write_bytes(content)
    assert holder(path) == HeldBy(session_id=None, identity=None)
    taken = hold(path, session_id="S1")
    assert isinstance(taken, LifeLock)
    assert holder(path).session_id == "S1"
    taken.release()


def test_a_longer_signature_leaves_nothing_behind_in_a_shorter(tmp_path: Path) -> None:
    path = tmp_path / "task-01.lock"
    for session in ("a-very-long-session-name", "S"):
        taken = hold(path, session_id=session)
        assert isinstance(taken, LifeLock)
        taken.release()
        assert holder(path).session_id == session


def test_a_full_disk_takes_the_signature_but_not_the_lock() -> None:
    descriptor = os.open("/dev/full", os.O_RDWR)
    life_lock._sign(descriptor, "S1")
    os.close(descriptor)


def test_a_folder_in_the_way_is_an_error_and_leaves_no_descriptor(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(IsADirectoryError):
        hold(tmp_path, session_id="S1")
    assert len(os.listdir("/proc/self/fd")) == before


def test_sigkill_frees_it_at_once_though_children_live_on(
    trees: Any, tmp_path: Path, until: Callable[..., None]
) -> None:
    path = tmp_path / "task-01.lock"
    started = trees.python(HOLDER, str(path), stdout=subprocess.PIPE)
    said = sorted(started.stdout.readline() for _ in range(3))
    assert said == [b"forked\n", b"forked\n", b"held\n"], "a fork lets go of it before anything else"
    assert is_held(path)
    os.kill(started.pid, signal.SIGKILL)
    started.wait()
    assert not is_held(path)
    until(lambda: len(trees.living()) == 3)


def test_many_who_ask_never_hinder_a_taker_nor_miss_a_holder(trees: Any, tmp_path: Path) -> None:
    path = tmp_path / "task-01.lock"
    probers = ask_all_the_while(trees, path)
    for _ in range(1000):
        taken = hold(path, session_id="S1")
        assert isinstance(taken, LifeLock)
        taken.release()
    for prober in probers:
        prober.communicate()
    taken = hold(path, session_id="S1")
    assert isinstance(taken, LifeLock)
    assert [prober.communicate()[0] for prober in ask_all_the_while(trees, path)] == [b"[True]\n"] * 4
    taken.release()


def ask_all_the_while(trees: Any, path: Path) -> "list[subprocess.Popen[bytes]]":
    """Four who ask until their input ends, and have begun."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    probers = [trees.python(PROBER, str(path), **pipes) for _ in range(4)]
    assert [prober.stdout.readline() for prober in probers] == [b"up\n"] * 4
    return probers


def test_of_many_takers_one_wins(trees: Any, tmp_path: Path) -> None:
    path = tmp_path / "task-01.lock"
    takers = [
        trees.start(
            sys.executable, "-c", TAKER, str(path), f"S{n}", stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for n in range(8)
    ]
    for taker in takers:
        taker.stdin.close()
    answers = [taker.stdout.read() for taker in takers]
    for taker in takers:
        taker.kill()
        taker.wait()
    assert sorted(answers) == [b"blocked\n"] * 7 + [b"won\n"]
    assert not is_held(path)
