"""The gate lets one through at a time, waits no longer than told, and is never left shut by the dead (P7, B10)."""

import errno
import fcntl
import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from musician.store.sqlite.gate import Gate, GateTimeout
from musician.testing.waiting import HANG_S, until

BRIEF_S = 0.05

HOLDER = """
import sys
from pathlib import Path
from musician.store.sqlite.gate import Gate
with Gate(Path(sys.argv[1])).hold(30):
    print("held", flush=True)
    sys.stdin.readline()
"""

COUNTER = """
import sys
from pathlib import Path
from musician.store.sqlite.gate import Gate
gate, count = Gate(Path(sys.argv[1])), Path(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
for _ in range(int(sys.argv[3])):
    with gate.hold(30):
        count.write_text(str(int(count.read_text()) + 1))
"""

FORKER = """
import os, sys
from pathlib import Path
from musician.store.sqlite.gate import Gate
with Gate(Path(sys.argv[1])).hold(30):
    child = os.fork()
    if child == 0:
        sys.stdin.readline()
        os._exit(0)
print("released", flush=True)
os.waitpid(child, 0)
"""


class Script:
    """A Python process that is spoken to by lines."""

    def __init__(self, source: str, *arguments: object) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", source, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def hear(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def say(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(HANG_S)
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()


@contextmanager
def running(source: str, *arguments: object) -> Iterator[Script]:
    script = Script(source, *arguments)
    try:
        yield script
    finally:
        script.end()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "comms.db-gate"


def descriptors_of(path: Path) -> int:
    """How many descriptors this process has on the file."""
    links = (Path("/proc/self/fd") / name for name in os.listdir("/proc/self/fd"))
    return sum(os.path.lexists(link) and os.path.realpath(link) == os.path.realpath(path) for link in links)


def waiters() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "gate"]


def test_processes_that_pass_the_gate_never_overlap(path: Path, tmp_path: Path) -> None:
    count = tmp_path / "count"
    count.write_text("0")
    with ExitStack() as stack:
        scripts = [stack.enter_context(running(COUNTER, path, count, 50)) for _ in range(4)]
        assert [script.hear() for script in scripts] == ["ready"] * 4
        for script in scripts:
            script.say()
        assert [script.process.wait(HANG_S) for script in scripts] == [0] * 4
    assert count.read_text() == "200"


def test_threads_of_one_process_never_overlap_either(path: Path) -> None:
    gate, inside, most = Gate(path), 0, 0

    def pass_often() -> None:
        nonlocal inside, most
        for _ in range(50):
            with gate.hold(HANG_S):
                inside += 1
                most = max(most, inside)
                os.stat(path)  # gives the interpreter away, so that an open gate would show
                inside -= 1

    threads = [threading.Thread(target=pass_often) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG_S)
    assert (inside, most) == (0, 1)
    assert descriptors_of(path) == 0


def test_who_waits_gets_in_when_the_holder_leaves(path: Path) -> None:
    with running(HOLDER, path) as holder:
        assert holder.hear() == "held"
        entered = threading.Event()

        def enter() -> None:
            with Gate(path).hold(HANG_S):
                entered.set()

        thread = threading.Thread(target=enter)
        thread.start()
        assert not entered.wait(BRIEF_S)
        holder.say()
        assert entered.wait(HANG_S)
        thread.join(HANG_S)


@pytest.mark.parametrize("timeout_s", [-1.0, 0.0, BRIEF_S])
def test_who_waits_in_vain_is_told_after_its_time_and_not_let_in(path: Path, timeout_s: float) -> None:
    with running(HOLDER, path) as holder:
        assert holder.hear() == "held"
        with pytest.raises(GateTimeout) as caught, Gate(path).hold(timeout_s):
            pytest.fail("the gate was held")
        assert (caught.value.path, caught.value.timeout_s) == (str(path), timeout_s)
        holder.say()
        assert holder.process.wait(HANG_S) == 0


def test_an_abandoned_waiter_lets_the_gate_go_and_leaves_nothing_open(path: Path) -> None:
    with running(HOLDER, path) as holder:
        assert holder.hear() == "held"
        for _ in range(5):
            with pytest.raises(GateTimeout), Gate(path).hold(BRIEF_S / 10):
                pytest.fail("the gate was held")
        abandoned = waiters()
        assert len(abandoned) == 5
        holder.say()
        with Gate(path).hold(HANG_S):
            pass
        for thread in abandoned:
            thread.join(HANG_S)
    assert waiters() == []
    assert descriptors_of(path) == 0


def test_a_holder_killed_outright_leaves_the_gate_open(path: Path) -> None:
    with running(HOLDER, path) as holder:
        assert holder.hear() == "held"
        holder.process.send_signal(signal.SIGKILL)
        with Gate(path).hold(HANG_S):
            assert holder.process.wait(HANG_S) == -signal.SIGKILL


def test_a_child_forked_while_the_gate_was_held_does_not_keep_it(path: Path) -> None:
    with running(FORKER, path) as forker:
        assert forker.hear() == "released"
        with Gate(path).hold(0):
            assert forker.process.poll() is None
        forker.say()
        assert forker.process.wait(HANG_S) == 0


class Interrupted(Exception):
    """Raised by a signal's handler, as KeyboardInterrupt is."""


def test_a_waiter_that_is_interrupted_does_not_take_the_gate_with_it(path: Path) -> None:
    def interrupt(*_: object) -> None:
        raise Interrupted

    previous = signal.signal(signal.SIGALRM, interrupt)
    try:
        with running(HOLDER, path) as holder:
            assert holder.hear() == "held"
            signal.setitimer(signal.ITIMER_REAL, BRIEF_S)
            with pytest.raises(Interrupted), Gate(path).hold(HANG_S):
                pytest.fail("the gate was held")
            abandoned = waiters()
            holder.say()
            with Gate(path).hold(HANG_S):
                pass
            for thread in abandoned:
                thread.join(HANG_S)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert descriptors_of(path) == 0


def refuse_locks(monkeypatch: pytest.MonkeyPatch, *, blocking: bool) -> None:
    """As a file system does that has run out of locks; none here can be made to."""
    flock = fcntl.flock

    def refuse(fd: int, how: int) -> None:
        if how == (fcntl.LOCK_EX if blocking else fcntl.LOCK_EX | fcntl.LOCK_NB):
            raise OSError(errno.ENOLCK, "no locks available")
        flock(fd, how)

    monkeypatch.setattr("musician.store.sqlite.gate.fcntl.flock", refuse)


@pytest.mark.parametrize("blocking", [False, True])
def test_a_file_system_without_locks_is_an_error_of_the_system(
    path: Path, monkeypatch: pytest.MonkeyPatch, blocking: bool
) -> None:
    with running(HOLDER, path) as holder:
        assert holder.hear() == "held"
        refuse_locks(monkeypatch, blocking=blocking)
        with pytest.raises(OSError, match="no locks") as caught, Gate(path).hold(HANG_S):
            pytest.fail("there are no locks")
        assert caught.value.errno == errno.ENOLCK
    assert descriptors_of(path) == 0


def test_who_cannot_have_a_thread_to_wait_in_gets_an_error_of_the_system(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with running(HOLDER, path) as holder:
        assert holder.hear() == "held"
        monkeypatch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(BlockingIOError, match="thread"), Gate(path).hold(HANG_S):
            pytest.fail("the gate was held")
    assert descriptors_of(path) == 0


def test_the_gate_is_not_reentrant(path: Path) -> None:
    gate = Gate(path)
    with gate.hold(0), pytest.raises(GateTimeout), gate.hold(0):
        pytest.fail("let in twice")
    with gate.hold(0):
        pass


def test_an_error_inside_leaves_the_gate_open(path: Path) -> None:
    with pytest.raises(ZeroDivisionError), Gate(path).hold(0):
        raise ZeroDivisionError
    with Gate(path).hold(0):
        assert descriptors_of(path) == 1
    assert descriptors_of(path) == 0


def test_the_file_stays_and_nobody_else_may_write_it(path: Path) -> None:
    with Gate(path).hold(0):
        pass
    assert path.is_file()
    assert stat.S_IMODE(path.stat().st_mode) & 0o022 == 0


def test_a_missing_folder_is_an_error_of_the_system(path: Path) -> None:
    with pytest.raises(FileNotFoundError), Gate(path.parent / "gone" / "gate").hold(HANG_S):
        pytest.fail("there is no folder")


@contextmanager
def unprivileged() -> Iterator[None]:
    """As a user whom file modes bind, for the superuser too."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


def test_a_read_only_folder_is_an_error_of_the_system() -> None:
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o555)
        with unprivileged(), pytest.raises(PermissionError), Gate(Path(name) / "gate").hold(HANG_S):
            pytest.fail("the folder is read-only")
        assert os.listdir(name) == []
        Path(name).chmod(0o700)


def test_a_long_wait_is_told_with_the_process_in_the_way(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """AUDIT-S6."""
    monkeypatch.setattr("musician.store.sqlite.gate.TOLD_AFTER_S", BRIEF_S)
    heard: list[int | None] = []
    with running(HOLDER, path) as holder:
        assert holder.hear() == "held"
        assert Gate(path).is_held
        with pytest.raises(GateTimeout) as caught, Gate(path).hold(3 * BRIEF_S, on_long_wait=heard.append):
            pytest.fail("the gate was held")
        assert heard == [holder.process.pid] == [caught.value.holder]
    until(lambda: not Gate(path).is_held)  # who has given up may still get its turn, and lets it go at once


@pytest.mark.parametrize(
    ("database", "gate"), [(0o600, 0o600), (0o644, 0o600), (0o664, 0o660), (0o666, 0o666)]
)
def test_who_cannot_write_the_database_cannot_hold_its_gate(path: Path, database: int, gate: int) -> None:
    """AUDIT-S6: to hold a lock one need only open the file. Who can write must be able to pass, whatever the umask."""
    before = path.with_name("comms.db")
    before.touch()
    before.chmod(database)
    with Gate(path, before=before).hold(0):
        pass
    assert stat.S_IMODE(path.stat().st_mode) == gate
