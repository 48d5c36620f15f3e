"""A kept connection knows whatever a new one would: another file, other contents, another schema (P4, D36)."""

import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from musician.hooks.hook_context import _asked, _opened
from musician.hooks.kept_reader import KeptReader
from musician.testing.waiting import HANG_S

SQL = "SELECT word FROM said WHERE ? <> 0"


def make(path: Path, word: str, application_id: int = 0x4D757369) -> None:
    connection = apsw.Connection(str(path))
    connection.pragma("journal_mode", "wal")
    connection.pragma("application_id", application_id)
    connection.execute("CREATE TABLE said (word)")
    connection.execute("INSERT INTO said VALUES (?)", (word,))
    connection.close()


def write(path: Path, *statements: str) -> None:
    connection = apsw.Connection(str(path))
    for statement in statements:
        connection.execute(statement)
    connection.close()


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "comms.db"
    make(path, "first")
    return path


@pytest.fixture
def opened() -> list[str]:
    return []


@pytest.fixture
def ask(database: Path, opened: list[str]) -> Callable[[], str]:
    reader = KeptReader()

    def counted(path: str) -> apsw.Connection:
        opened.append(path)
        return _opened(path)

    def asked() -> str:
        ((word,),) = reader.ask(str(database), SQL, 1, counted, _asked)
        return str(word)

    return asked


def test_what_others_commit_is_seen_without_opening_anew(
    database: Path, ask: Callable[[], str], opened: list[str]
) -> None:
    other = apsw.Connection(str(database))  # as the client's session has: nobody is the last to close
    assert ask() == "first"
    other.execute("UPDATE said SET word = 'second'")
    assert ask() == "second"
    other.execute("ALTER TABLE said ADD COLUMN more")
    other.execute("CREATE TRIGGER loud AFTER UPDATE ON said BEGIN SELECT 1; END")
    assert ask() == "second"
    assert len(opened) == 1
    other.close()


def test_another_file_in_its_place_is_another_database(
    database: Path, ask: Callable[[], str], tmp_path: Path
) -> None:
    assert ask() == "first"
    make(tmp_path / "other.db", "other")
    for name in ("comms.db-wal", "comms.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    (tmp_path / "other.db").replace(database)
    assert ask() == "other"


def test_a_file_that_was_written_over_is_read_anew(
    database: Path, ask: Callable[[], str], tmp_path: Path
) -> None:
    make(tmp_path / "backup.db", "later")
    assert ask() == "first"
    shutil.copyfile(tmp_path / "backup.db", database)
    assert ask() == "later"


def test_a_file_that_is_gone_or_not_ours_fails_as_it_would_for_a_new_one(
    database: Path, ask: Callable[[], str]
) -> None:
    assert ask() == "first"
    write(database, "PRAGMA application_id = 1")
    with pytest.raises(apsw.NotADBError):
        ask()
    write(database, f"PRAGMA application_id = {0x4D757369}", "DROP TABLE said")
    with pytest.raises(apsw.SQLError):
        ask()
    write(database, "CREATE TABLE said AS SELECT 'again' AS word")
    assert ask() == "again"
    database.unlink()
    with pytest.raises(OSError, match="No such file"):
        ask()


def test_two_at_once_do_not_share_it(database: Path) -> None:
    reader, inside, go_on, said = KeptReader(), threading.Event(), threading.Event(), []

    def slow(connection: apsw.Connection, sql: str, value: "str | int") -> list[object]:
        inside.set()
        go_on.wait(HANG_S)
        return _asked(connection, sql, value)

    first = threading.Thread(target=lambda: said.extend(reader.ask(str(database), SQL, 1, _opened, slow)))
    first.start()
    inside.wait(HANG_S)
    assert reader.ask(str(database), SQL, 1, _opened, _asked) == [("first",)]
    go_on.set()
    first.join()
    assert said == [("first",)]
