"""A bell wakes exactly those who wait for its task, loses nothing, and leaves nothing behind (D11, P3)."""

import os
import select
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import musician
from musician.store.bell import Bell, ring
from musician.testing.waiting import HANG_S

WAITER = """
import select
import sys
from pathlib import Path
from musician.store.bell import Bell
with Bell(Path(sys.argv[1]), sys.argv[2]) as bell:
    print("open", flush=True)
    select.select([bell], [], [], float(sys.argv[3]))
    print("rung" if bell.drain() else "silence", flush=True)
"""

RINGER = """
import sys
from pathlib import Path
from musician.store.bell import ring
ring(Path(sys.argv[1]), sys.argv[2:])
"""


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A short-named place of its own for the bells."""
    with tempfile.TemporaryDirectory(prefix="bell") as name:
        monkeypatch.setenv("XDG_RUNTIME_DIR", name)
        monkeypatch.setenv("TMPDIR", name)
        yield Path(name)


@pytest.fixture
def database(tmp_path: Path, runtime: Path) -> Path:
    return tmp_path / "comms.db"


def base_of(runtime: Path) -> Path:
    return runtime / f"musician-{os.geteuid()}"


def sockets(runtime: Path) -> list[Path]:
    return [path for path in base_of(runtime).rglob("*") if stat.S_ISSOCK(path.lstat().st_mode)]


def test_a_bell_rung_in_another_process_wakes_the_waiter(database: Path) -> None:
    with Bell(database, "task-01") as bell:
        subprocess.run([sys.executable, "-c", RINGER, str(database), "task-01"], check=True, timeout=HANG_S)
        assert bell.drain()


def test_a_waiter_in_another_process_is_woken(database: Path) -> None:
    command = [sys.executable, "-c", WAITER, str(database), "task-01", str(HANG_S)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as waiter:
        assert waiter.stdout is not None
        assert waiter.stdout.readline() == "open\n"
        ring(database, ["task-01"])
        assert waiter.stdout.readline() == "rung\n"
        assert waiter.wait(HANG_S) == 0


def test_a_bell_rung_before_the_wait_is_not_lost(database: Path) -> None:
    with Bell(database, "task-01") as bell:
        ring(database, ["task-01"])
        assert bell.drain()
        assert not bell.drain()


def test_many_rings_wake_once_and_never_block_the_ringer(database: Path) -> None:
    with Bell(database, "task-01") as bell:
        for _ in range(2000):
            ring(database, ["task-01"])
        assert bell.drain()
        assert not bell.drain()


def test_every_waiter_of_a_task_is_woken_and_no_other(database: Path, tmp_path: Path) -> None:
    with (
        Bell(database, "task-1") as one,
        Bell(database, "task-1") as other,
        Bell(database, "task-10") as longer,
        Bell(tmp_path / "other.db", "task-1") as elsewhere,
    ):
        ring(database, ["task-1", "task-7"])
        assert [bell.drain() for bell in (one, other, longer, elsewhere)] == [True, True, False, False]


def test_several_tasks_are_rung_at_once(database: Path) -> None:
    with Bell(database, "task-01") as one, Bell(database, "task-02") as two:
        ring(database, (name for name in ("task-01", "task-02")))
        assert (one.drain(), two.drain()) == (True, True)


def test_who_waits_for_several_tasks_has_one_bell_and_leaves_none(database: Path, runtime: Path) -> None:
    with Bell(database, "task-01", "task-02") as both, Bell(database, "task-02") as one:
        for task_id in ("task-01", "task-02"):
            ring(database, [task_id])
            assert both.drain()
        assert one.drain()
        both.strike()
        assert (both.drain(), one.drain()) == (True, False)
    assert list(base_of(runtime).iterdir()) == []


INTERRUPTED = """
import atexit, os, sys
from pathlib import Path
from musician.store.bell import Bell
when, make = sys.argv[2], os.link

def link(*arguments):
    if when == "before": raise KeyboardInterrupt
    make(*arguments)
    if when == "after": raise KeyboardInterrupt

os.link = link
try:
    Bell(Path(sys.argv[1]), "task-01", "task-02")
except KeyboardInterrupt:
    pass
atexit._run_exitfuncs()
os._exit(0)
"""


@pytest.mark.parametrize("when", ["before", "after", "nobody has it yet"])
def test_who_is_interrupted_while_it_hangs_a_bell_leaves_none(
    database: Path, runtime: Path, when: str
) -> None:
    subprocess.run([sys.executable, "-c", INTERRUPTED, str(database), when], check=True, timeout=HANG_S)
    assert list(base_of(runtime).iterdir()) == []


def test_an_event_loop_can_watch_a_bell(database: Path) -> None:
    with Bell(database, "task-01") as bell:
        assert select.select([bell], [], [], 0)[0] == []
        ring(database, ["task-01"])
        assert select.select([bell], [], [], HANG_S)[0] == [bell]
        assert bell.drain()
        assert not bell.drain()
        assert select.select([bell], [], [], 0)[0] == []


def test_the_same_database_by_another_name_has_the_same_bells(database: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    with Bell(tmp_path / "link" / "comms.db", "task-01") as bell:
        ring(tmp_path / "link" / ".." / tmp_path.name / "comms.db", ["task-01"])
        assert bell.drain()


def test_the_longest_repository_path_and_task_id_fit(runtime: Path) -> None:
    database = Path("/" + "/".join(["ü" * 120] * 15)) / "comms.db"
    with Bell(database, "t" * 64) as bell:
        ring(database, ["t" * 64])
        assert bell.drain()


def test_a_place_too_long_for_a_socket_is_passed_over(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runtime: Path
) -> None:
    long = tmp_path / ("x" * 100)
    long.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(long))
    with Bell(database, "task-01") as bell:
        ring(database, ["task-01"])
        assert bell.drain()
        assert len(sockets(runtime)) == 1
    assert list(long.iterdir()) == []


def test_a_ringer_without_the_waiters_surroundings_still_finds_it(
    database: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime / "gone"))
    with Bell(database, "task-01") as bell:
        monkeypatch.delenv("XDG_RUNTIME_DIR")
        ring(database, ["task-01"])
        assert bell.drain()
        (runtime / "gone").mkdir()
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime / "gone"))
        ring(database, ["task-01"])
        assert bell.drain()


def test_a_killed_waiters_socket_is_removed_by_the_next_ring(database: Path, runtime: Path) -> None:
    command = [sys.executable, "-c", WAITER, str(database), "task-01", str(HANG_S)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as waiter:
        assert waiter.stdout is not None
        assert waiter.stdout.readline() == "open\n"
        waiter.send_signal(signal.SIGKILL)
        waiter.wait(HANG_S)
    assert len(sockets(runtime)) == 1
    with Bell(database, "task-01") as bell:
        ring(database, ["task-01"])
        assert bell.drain()
        assert len(sockets(runtime)) == 1


def test_a_closed_bell_leaves_no_socket_no_folder_and_no_descriptor(database: Path, runtime: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        with Bell(database, "task-01") as bell:
            pass
        bell.close()
    assert list(base_of(runtime).iterdir()) == []
    assert len(os.listdir("/proc/self/fd")) == before


def test_the_last_to_leave_sweeps_up_and_not_before(database: Path, runtime: Path) -> None:
    first, second = Bell(database, "task-01"), Bell(database, "task-01")
    first.close()
    ring(database, ["task-01"])
    assert second.drain()
    second.close()
    assert list(base_of(runtime).iterdir()) == []


def test_the_folders_are_for_this_user_alone(database: Path, runtime: Path) -> None:
    previous = os.umask(0)
    try:
        with Bell(database, "task-01"):
            folders = [base_of(runtime), *base_of(runtime).iterdir()]
            assert [stat.S_IMODE(folder.stat().st_mode) for folder in folders] == [0o700, 0o700]
    finally:
        os.umask(previous)


@pytest.fixture
def only(runtime: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The one base that is left to choose; the system's shared temporary folder is not tried."""
    monkeypatch.setattr("musician.store.bell._SHARED_TEMPORARY", str(runtime))
    return base_of(runtime)


def test_a_base_that_others_can_enter_is_refused_and_not_rung(database: Path, only: Path) -> None:
    with Bell(database, "task-01") as bell:
        only.chmod(0o755)
        with pytest.raises(PermissionError, match="not private"):
            Bell(database, "task-01")
        ring(database, ["task-01"])
        assert not bell.drain()


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser can give a folder away")
def test_a_base_of_another_user_is_refused(database: Path, only: Path) -> None:
    only.mkdir(0o700)
    os.chown(only, 65534, -1)
    with pytest.raises(PermissionError, match="not private"):
        Bell(database, "task-01")


def test_a_base_that_is_a_link_is_refused(database: Path, only: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir(0o700)
    only.symlink_to(target)
    with pytest.raises(PermissionError, match="not private"):
        Bell(database, "task-01")
    assert list(target.iterdir()) == []


def test_a_refused_bell_leaves_no_descriptor(database: Path, only: Path) -> None:
    only.write_text("in the way")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with pytest.raises(OSError, match="not private"):
            Bell(database, "task-01")
    assert len(os.listdir("/proc/self/fd")) == before


def test_without_any_place_a_bell_is_an_error_and_ringing_is_not(
    database: Path, only: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_RUNTIME_DIR", "TMPDIR"):
        monkeypatch.setenv(name, "relative")
    monkeypatch.setattr("musician.store.bell._SHARED_TEMPORARY", "/" + "x" * 100)
    with pytest.raises(FileNotFoundError, match="too long"):
        Bell(database, "task-01")
    ring(database, ["task-01"])
    assert not Path("relative").exists()


def test_ringing_where_nobody_waits_or_something_lies_about_does_nothing(
    database: Path, runtime: Path
) -> None:
    ring(database, ["task-01"])
    assert list(runtime.iterdir()) == []
    with Bell(database, "task-01") as bell:
        folder = next(base_of(runtime).iterdir())
        (folder / "folder").mkdir()
        ring(database, ["task-01"])
        assert bell.drain()
        assert (folder / "folder").is_dir()


def test_entering_a_folder_that_others_sweep_away_always_succeeds(database: Path, runtime: Path) -> None:
    opened = []

    def come_and_go() -> None:
        for _ in range(200):
            with Bell(database, "task-01") as bell:
                opened.append(bell.fileno())

    threads = [threading.Thread(target=come_and_go) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG_S)
    assert len(opened) == 800
    assert list(base_of(runtime).iterdir()) == []


def test_a_writer_without_waiters_pays_for_no_socket_module(runtime: Path) -> None:
    script = (
        "import sys\n"
        "sys.modules['socket'] = None  # importing it would fail\n"
        "from pathlib import Path\n"
        "from musician.store.bell import ring\n"
        "ring(Path('/nowhere/comms.db'), ['task-01'])\n"
        "print('rung')"
    )
    done = subprocess.run([sys.executable, "-S", "-c", script], capture_output=True, text=True, env=_path())
    assert (done.stdout, done.stderr) == ("rung\n", "")


def _path() -> dict[str, str]:
    """Without site-packages, so that nothing installed there imports anything first."""
    return {"PYTHONPATH": str(Path(musician.__file__).parent.parent)}
