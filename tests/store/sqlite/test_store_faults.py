"""Whatever is wrong with the file, it is one error with its kind, and nothing is lost or made."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw
import pytest

from musician import service
from musician.protocol.errors import DatabaseUnusable, NotInitialised
from musician.store.bell import Bell
from musician.store.sqlite.faults import as_unusable
from musician.store.sqlite.gate import Gate
from musician.store.sqlite.store import SqliteStore
from musician.store.sqlite.versions import APPLICATION_ID
from musician.testing.waiting import HANG_S

HOLD_THE_LOCK = """
import sqlite3, sys
c = sqlite3.connect(sys.argv[1], isolation_level=None)
c.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.readline()
c.execute("ROLLBACK")
"""


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A database with one task, closed."""
    path = tmp_path / "comms.db"
    with closing(SqliteStore.create(path)) as store:
        service.open_task(store, "task-01", title="t", instruction_path="a.md")
    return path


@contextmanager
def lock_held(database: Path) -> Iterator["subprocess.Popen[str]"]:
    """B14: another program holds SQLite's write lock and does not know the gate."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD_THE_LOCK, str(database)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        yield holder
    finally:
        holder.communicate("let go\n", timeout=HANG_S)


def names(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


def kind_of_opening(path: Path) -> str:
    with pytest.raises(DatabaseUnusable) as unusable:
        SqliteStore.open(path)
    assert unusable.value.path == str(path)
    assert unusable.value.remedy
    assert "\n" not in str(unusable.value)
    return unusable.value.kind


@pytest.mark.parametrize("named", [True, False])
def test_a_missing_file_is_an_error_and_is_never_made(tmp_path: Path, named: bool) -> None:
    """B35, D25."""
    with pytest.raises(NotInitialised) as missing:
        SqliteStore.open(tmp_path / "nowhere.db", named=named)
    assert missing.value.named is named
    assert names(tmp_path) == set()


def test_a_folder_and_a_path_below_a_file_are_no_databases(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for path in (tmp_path, tmp_path / "file" / "comms.db"):
        with pytest.raises(NotInitialised):
            SqliteStore.open(path)


def test_a_path_the_system_refuses_to_look_at_is_unopenable(tmp_path: Path) -> None:
    assert kind_of_opening(tmp_path / ("x" * 5000)) == "unopenable"


@pytest.mark.parametrize("content", [b"this is no database, but it is long enough to look like one" * 90])
def test_garbage_is_corrupt_and_is_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "comms.db"
    path.write_bytes(content)
    assert kind_of_opening(path) == "corrupt"
    with pytest.raises(DatabaseUnusable) as unusable:
        SqliteStore.create(path)
    assert unusable.value.kind == "corrupt"
    assert path.read_bytes() == content
    assert names(tmp_path) == {"comms.db"}


def test_an_empty_file_is_foreign_until_it_is_made_a_database(tmp_path: Path) -> None:
    path = tmp_path / "comms.db"
    path.touch()
    assert kind_of_opening(path) == "foreign"
    SqliteStore.create(path).close()
    SqliteStore.open(path).close()


def test_a_truncated_database_is_corrupt(database: Path) -> None:
    os.truncate(database, database.stat().st_size // 2)
    with pytest.raises(DatabaseUnusable) as unusable, closing(SqliteStore.open(database)) as store:
        service.tasks_of(store)
    assert unusable.value.kind == "corrupt"


def test_somebody_elses_database_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "theirs.db"
    with closing(sqlite3.connect(path)) as theirs:
        theirs.execute("CREATE TABLE orchestration_tasks (task_id)")
        theirs.commit()
    content = path.read_bytes()
    assert kind_of_opening(path) == "foreign"
    with pytest.raises(DatabaseUnusable) as unusable:
        SqliteStore.create(path)
    assert unusable.value.kind == "foreign"
    assert path.read_bytes() == content
    assert names(tmp_path) == {"theirs.db"}


def test_a_newer_schema_is_refused_by_its_version(database: Path) -> None:
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(DatabaseUnusable, match="version 99") as unusable:
        SqliteStore.open(database)
    assert unusable.value.kind == "version"


def test_creating_what_is_there_keeps_what_is_in_it(database: Path) -> None:
    with closing(SqliteStore.create(database)) as store:
        assert [row.task_id for row in service.tasks_of(store)] == ["task-01"]


def test_several_may_create_at_once(tmp_path: Path) -> None:
    failures: list[BaseException] = []
    start = threading.Barrier(6)

    def create() -> None:
        try:
            start.wait(timeout=HANG_S)
            SqliteStore.create(tmp_path / "comms.db").close()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=create) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    SqliteStore.open(tmp_path / "comms.db").close()


def test_a_folder_that_is_not_there_is_unopenable(tmp_path: Path) -> None:
    with pytest.raises(DatabaseUnusable) as unusable:
        SqliteStore.create(tmp_path / "no" / "comms.db")
    assert unusable.value.kind == "unopenable"


def test_where_the_gate_cannot_be_made_the_database_is_readonly(database: Path) -> None:
    with closing(SqliteStore.open(database)) as store:
        gate = database.with_name("comms.db-gate")
        gate.unlink()
        gate.mkdir()  # rights do not bind root: a folder in its place does
        with pytest.raises(DatabaseUnusable) as unusable:
            service.send(store, "task-01", "no")
        assert unusable.value.kind == "readonly"
        assert len(service.messages_of(store, "task-01")) == 1
    gate.rmdir()


def test_a_writer_waits_for_one_who_does_not_know_the_gate(database: Path) -> None:
    """B14.hold-lock."""
    with closing(SqliteStore.open(database, busy_timeout_s=30)) as store:
        sent: list[int] = []
        with lock_held(database):
            sender = threading.Thread(target=lambda: sent.append(service.send(store, "task-01", "late")))
            sender.start()
            assert sent == []
        sender.join(timeout=HANG_S)
        assert len(sent) == 1
        assert service.messages_of(store, "task-01")[-1].message == "late"


def test_a_lock_held_too_long_ends_in_a_clear_error_and_nothing_is_written(database: Path) -> None:
    with closing(SqliteStore.open(database, busy_timeout_s=0.05)) as store:
        with lock_held(database):
            with pytest.raises(DatabaseUnusable, match="write lock") as unusable:
                service.send(store, "task-01", "never")
            assert service.task_row(store, "task-01").state == "watching"  # readers go on
        assert unusable.value.kind == "locked"
        assert service.send(store, "task-01", "now") > 0
        assert [m.message for m in service.messages_of(store, "task-01")] == ["a.md", "now"]


def test_a_gate_held_too_long_is_locked_too(database: Path) -> None:
    with closing(SqliteStore.open(database, busy_timeout_s=0.05)) as store:
        with Gate(database.with_name("comms.db-gate")).hold(1):
            with pytest.raises(DatabaseUnusable, match=f"process {os.getpid()} holds it") as unusable:
                service.send(store, "task-01", "never")
            SqliteStore.open(database, busy_timeout_s=0.05).close()  # closing does not fail for it
        assert unusable.value.kind == "locked"


def test_by_whatever_path_one_comes_there_is_one_database_and_one_gate(
    database: Path, tmp_path: Path
) -> None:
    """B35: a symlink to the file, a symlinked folder, a path with dots."""
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()
    (elsewhere / "link.db").symlink_to(database)
    (elsewhere / "folder").symlink_to(tmp_path)
    ways = [
        elsewhere / "link.db",
        elsewhere / "folder" / "comms.db",
        elsewhere / ".." / "comms.db",
    ]
    for way in ways:
        with closing(SqliteStore.open(way, busy_timeout_s=0.05)) as store:
            assert service.send(store, "task-01", str(way)) > 0
            with Gate(database.with_name("comms.db-gate")).hold(1), pytest.raises(DatabaseUnusable):
                service.send(store, "task-01", "never")
    with closing(SqliteStore.open(database)) as store:
        said = [message.message for message in service.messages_of(store, "task-01")]
    assert said == ["a.md", *map(str, ways)]
    assert names(elsewhere) == {"link.db", "folder"}


def test_a_killed_writer_leaves_nothing_half_done_and_nobody_locked_out(database: Path) -> None:
    script = (
        "import sys\nfrom pathlib import Path\n"
        "from musician.store.queries.messages import Messages\n"
        "from musician.store.sqlite.store import SqliteStore\n"
        "with SqliteStore.open(Path(sys.argv[1])).write() as tx:\n"
        "    tx.insert(Messages.send, task_id='task-01', from_session='task-00', message_type='note', message='half')\n"
        "    print('written', flush=True)\n"
        "    sys.stdin.readline()\n"
    )
    writer = subprocess.Popen(
        [sys.executable, "-c", script, str(database)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert writer.stdout is not None
    assert writer.stdout.readline() == "written\n"
    writer.send_signal(signal.SIGKILL)
    writer.communicate(timeout=HANG_S)
    with closing(SqliteStore.open(database, busy_timeout_s=5)) as store:
        service.send(store, "task-01", "whole")
        assert [m.message for m in service.messages_of(store, "task-01")] == ["a.md", "whole"]


def test_a_full_disk_keeps_nothing_of_the_write_and_the_store_works_on(database: Path) -> None:
    with closing(SqliteStore.open(database)) as store:
        pages = store.connection.pragma("page_count")
        store.connection.pragma("max_page_count", pages)
        with Bell(store.path, "task-01") as bell:
            with pytest.raises(DatabaseUnusable, match="disk is full") as unusable:
                service.send(store, "task-01", "x" * 100_000)
            assert not bell.drain()
        assert unusable.value.kind == "full"
        store.connection.pragma("max_page_count", 1_000_000)
        service.send(store, "task-01", "room again")
        assert [m.message for m in service.messages_of(store, "task-01")] == ["a.md", "room again"]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (apsw.NotADBError("x"), "corrupt"),
        (apsw.CorruptError("x"), "corrupt"),
        (apsw.BusyError("x"), "locked"),
        (apsw.LockedError("x"), "locked"),
        (apsw.ReadOnlyError("x"), "readonly"),
        (apsw.PermissionsError("x"), "readonly"),
        (apsw.FullError("x"), "full"),
        (apsw.CantOpenError("x"), "unopenable"),
        (apsw.IOError("x"), "io"),
        (apsw.ConstraintError("UNIQUE constraint failed"), "refused"),
        (apsw.SQLError("no such table: x"), "other"),
    ],
)
def test_every_fault_of_sqlite_has_its_kind(error: apsw.Error, kind: str) -> None:
    unusable = as_unusable(error, Path("comms.db"))
    assert (unusable.kind, unusable.path) == (kind, "comms.db")
    assert unusable.remedy


def test_a_guards_refusal_speaks_in_the_guards_words() -> None:
    unusable = as_unusable(apsw.ConstraintError("musician: tasks are never deleted"), Path("comms.db"))
    assert unusable.detail == "tasks are never deleted"


def test_the_file_is_marked_kept_whole_and_in_wal(database: Path) -> None:
    with closing(SqliteStore.open(database)) as store:
        assert store.connection.pragma("application_id") == APPLICATION_ID
        assert store.connection.pragma("journal_mode") == "wal"
        assert store.connection.pragma("synchronous") == 2  # FULL
        assert store.connection.pragma("integrity_check") == "ok"


_ON_A_FULL_DISK = """
import sys
from pathlib import Path
from musician.protocol.errors import DatabaseUnusable
from musician.store.sqlite.store import SqliteStore

folder = Path(sys.argv[1])
SqliteStore.create(folder / "comms.db").close()
with (folder / "filler").open("wb", buffering=0) as filler:
    try:
        while filler.write(bytes(512)):
            pass
    except OSError:
        pass
try:
    SqliteStore.open(folder / "comms.db")
except DatabaseUnusable as error:
    print(error.kind, error)
"""


@pytest.mark.skipif(
    subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode != 0,
    reason="no file system of one's own may be mounted here",
)
def test_a_disk_without_room_for_the_files_beside_the_database_is_full(tmp_path: Path) -> None:
    """SQLite speaks of a failed read or write then, which says nothing of what to do."""
    mounted = 'mount -t tmpfs -o size=1500k none "$1" && exec "$2" -c "$3" "$1"'
    argv = ["unshare", "-rm", "sh", "-c", mounted, "sh", str(tmp_path), sys.executable, _ON_A_FULL_DISK]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("full ")
    assert "free some space and try again" in done.stdout


def test_whoever_reads_never_waits_for_the_gate(database: Path) -> None:
    """AUDIT-S6: nor at close, though the last close would checkpoint; the test would hang."""
    with closing(SqliteStore.open(database)) as writer:
        service.open_task(writer, "task-02", title="t", instruction_path="a.md")
        with Gate(database.with_name("comms.db-gate")).hold(1):
            reader = SqliteStore.open(database, busy_timeout_s=3600)
            assert len(service.tasks_of(reader)) == 2
            reader.close()
            writer.close()
    assert database.with_name("comms.db-wal").exists(), "the checkpoint is the holder's"
    with closing(SqliteStore.open(database)) as store:
        assert len(service.tasks_of(store)) == 2
    assert not database.with_name("comms.db-wal").exists()


def test_a_long_wait_for_somebody_who_does_not_know_the_gate_is_told(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AUDIT-S6."""
    monkeypatch.setattr("musician.store.sqlite.store.TOLD_AFTER_S", 0.05)
    heard: list[int | None] = []
    with closing(SqliteStore.open(database, busy_timeout_s=0.2, on_long_wait=heard.append)) as store:
        with lock_held(database), pytest.raises(DatabaseUnusable) as unusable:
            service.open_task(store, "task-02", title="t", instruction_path="a.md")
        assert (unusable.value.kind, heard) == ("locked", [None])
        service.open_task(store, "task-02", title="t", instruction_path="a.md")
