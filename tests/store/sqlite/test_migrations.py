"""An older database is taken up whole, once, and is then as a fresh one (D40)."""

import hashlib
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from musician import service
from musician.hooks.hook_context import HookContext
from musician.protocol.errors import DatabaseUnusable
from musician.protocol.proposals import Draft, ProposalType
from musician.protocol.settings import Settings
from musician.protocol.states import State
from musician.reporting.timeline import decisions, signers_of
from musician.store.sqlite.comparing import differences, objects
from musician.store.sqlite.guards import guard_statements
from musician.store.sqlite.migrating import drop_triggers
from musician.store.sqlite.named import load_schema
from musician.store.sqlite.store import SqliteStore
from musician.store.sqlite.versions import GUARDS, LEAST_VERSION, SCHEMA_VERSION
from musician.testing.waiting import HANG_S
from tests.conftest import walk_to
from tests.service.test_plan_verbs import lock, plan, task

VERSION_1 = (Path(__file__).parent / "databases" / "version-1.sql").read_text(encoding="utf-8")

OPENER = """
import sys
from pathlib import Path
from musician.store.sqlite.store import SqliteStore
print("ready", flush=True)
sys.stdin.readline()
SqliteStore.open(Path(sys.argv[1])).close()
"""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """As the program of version 1 left it."""
    path = tmp_path / "comms.db"
    with closing(apsw.Connection(str(path))) as connection:
        connection.pragma("journal_mode", "WAL")
        connection.execute(VERSION_1)
    return path


@pytest.fixture
def as_it_was(old: Path) -> Iterator[apsw.Connection]:
    with closing(apsw.Connection(str(old))) as connection:
        yield connection


def columns(connection: apsw.Connection, table: str) -> list[str]:
    found = connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
    return [str(name) for (name,) in found]


def rows(connection: apsw.Connection, table: str) -> list[tuple[object, ...]]:
    listed = ", ".join(f'"{name}"' for name in columns(connection, table))
    return sorted(connection.execute(f"SELECT {listed} FROM {table}").fetchall(), key=repr)  # noqa: S608


def tables(connection: apsw.Connection) -> list[str]:
    return [name.removeprefix("table ") for name in objects(connection) if name.startswith("table ")]


def test_a_migrated_schema_is_a_fresh_one_object_by_object(old: Path, tmp_path: Path) -> None:
    """D40.1."""
    with (
        closing(SqliteStore.open(old)) as migrated,
        closing(SqliteStore.create(tmp_path / "fresh.db")) as fresh,
    ):
        assert objects(migrated.connection) == objects(fresh.connection)
        assert differences(migrated.connection) == ()
        for table in tables(fresh.connection):
            facts = f"SELECT * FROM pragma_table_xinfo('{table}')"  # noqa: S608
            is_, should = (list(each.connection.execute(facts)) for each in (migrated, fresh))
            assert is_ == should, table
        settings = "SELECT * FROM settings ORDER BY name"
        assert list(migrated.connection.execute(settings)) == list(fresh.connection.execute(settings))


def test_what_was_in_it_is_still_there_and_goes_on(old: Path, as_it_was: apsw.Connection) -> None:
    before = {table: rows(as_it_was, table) for table in tables(as_it_was)}
    with closing(SqliteStore.open(old)) as store:
        with closing(apsw.Connection(str(old))) as now:
            assert {table: rows(now, table) for table in before} == before
        claim = service.claim(store, "task-05", "newcomer", settings=Settings()).claim
        assert [each.message for each in service.undelivered(store, claim)] == ["docs/tasks/task-05.md"]
        assert {row.task_id: row.state for row in service.tasks_of(store)}["task-01"] == "complete"


def test_the_program_before_can_still_use_what_a_newer_one_took_up(
    old: Path, as_it_was: apsw.Connection
) -> None:
    """D40.2: it refuses every number in the file's header but its own, and every column it does not know."""
    before = {table: columns(as_it_was, table) for table in tables(as_it_was)}
    SqliteStore.open(old).close()
    after = {table: columns(as_it_was, table) for table in before}
    assert after == before, "what version 1 has to hold besides goes into a table beside it"
    with closing(apsw.Connection(str(old))) as connection:
        assert connection.pragma("user_version") == LEAST_VERSION == 1
        stated = connection.execute("SELECT value FROM settings WHERE name = 'schema.version'").get
    assert stated == SCHEMA_VERSION


def test_the_fingerprint_is_that_of_schema_and_guards() -> None:
    """Who changes one writes the new one into ``versions.GUARDS``; databases then get what is new."""
    made = "\0".join((load_schema(), *guard_statements())).encode()
    assert hashlib.blake2b(made, digest_size=8).hexdigest() == GUARDS


def open_at_once(path: Path) -> None:
    openers = [
        subprocess.Popen(
            [sys.executable, "-c", OPENER, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for opener in openers:
        assert opener.stdout is not None
        assert opener.stdout.readline() == "ready\n"
    for opener in openers:
        assert opener.stdin is not None
        opener.stdin.write("\n")
        opener.stdin.flush()
    assert [opener.communicate(timeout=HANG_S) and opener.returncode for opener in openers] == [0] * 4


def test_several_may_take_it_up_at_once(old: Path) -> None:
    open_at_once(old)
    with closing(SqliteStore.open(old)) as store:
        assert differences(store.connection) == ()


def test_somebody_at_work_in_it_goes_on_through_it(old: Path) -> None:
    """A program of version 1 has it open, with a statement prepared, while a newer one takes it up."""
    beat = "UPDATE orchestration_tasks SET last_heartbeat = datetime('now') WHERE task_id = 'task-04'"
    with closing(apsw.Connection(str(old))) as older:
        older.set_busy_timeout(10_000)
        older.execute(beat)
        taken = threading.Thread(target=lambda: SqliteStore.open(old).close())
        taken.start()
        taken.join(HANG_S)
        older.execute(beat)
        assert older.changes() == 1


def test_half_a_migration_is_none(
    old: Path, as_it_was: apsw.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = objects(as_it_was)
    more = load_schema().replace("number      INTEGER NOT NULL,\n", "number      INTEGER NOT NULL, later,\n")
    broken = f"{more};\nCREATE INDEX sessions_later ON sessions (later)"  # of a column that is not there
    monkeypatch.setattr("musician.store.sqlite.migrating.load_schema", lambda: broken)
    with pytest.raises(DatabaseUnusable):
        SqliteStore.open(old)
    assert objects(as_it_was) == before


def test_other_guards_of_the_same_version_are_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "comms.db"
    with closing(SqliteStore.create(path)) as store:
        store.connection.execute("DROP TRIGGER tasks_claim")
        store.connection.execute("UPDATE settings SET value = 'older' WHERE name = 'schema.guards'")
    with closing(SqliteStore.open(path)) as store:
        assert differences(store.connection) == ()


def test_who_follows_the_program_between_two_releases_needs_no_command(tmp_path: Path) -> None:
    """What is new of the same version is made at the next opening; what was in it stays."""
    path = tmp_path / "comms.db"
    with closing(SqliteStore.create(path)) as store:
        store.connection.execute(
            "DROP TABLE session_accounts; DROP INDEX questions_by_task; DROP TRIGGER tasks_claim;"
            "ALTER TABLE limits RENAME COLUMN account TO provider;"
            "INSERT INTO limits (provider, times) VALUES ('claude', 3);"
            "UPDATE settings SET value = 'older' WHERE name = 'schema.guards'"
        )
    with closing(SqliteStore.open(path)) as store:
        assert differences(store.connection) == ()
        assert store.connection.execute("SELECT account, times FROM limits").fetchall() == [("claude", 3)]


def test_a_plan_that_was_paused_between_two_releases_still_is(tmp_path: Path) -> None:
    """It had a row in another table, and its sessions a message each, which nothing would take back any more."""
    path = tmp_path / "comms.db"
    with closing(SqliteStore.create(path)) as store:
        lock(store, plan((task("task-01"), task("task-02")), plan_id="band"))
        lock(store, plan((), plan_id="over"))
        service.pause(store, "task-02", "a barrier")
        mark = service.unread(store, "task-02")[-1].id
        service.pause(store, "task-01", "plan band is paused by ada")
        store.connection.execute(
            "CREATE TABLE pauses (plan_id TEXT NOT NULL PRIMARY KEY, who TEXT NOT NULL, reason TEXT NOT NULL,"
            " mark INTEGER NOT NULL, at TEXT NOT NULL DEFAULT (datetime('now'))) WITHOUT ROWID;"
            "UPDATE plans SET finished_at = datetime('now') WHERE plan_id = 'over';"
            "DROP TABLE plan_pauses;"
            "UPDATE settings SET value = 'older' WHERE name = 'schema.guards'"
        )
        paused = [
            (plan_id, "ada", "lunch", mark, "2026-11-29 12:00:00") for plan_id in ("band", "over", "gone")
        ]
        store.connection.executemany("INSERT INTO pauses VALUES (?, ?, ?, ?, ?)", paused)
    with closing(SqliteStore.open(path)) as store:
        assert differences(store.connection) == ()
        (row,) = service.paused_plans(store).values()
        assert row.text == "plan band is paused by ada since 2026-11-29 12:00:00 UTC: lunch"
        assert service.resume_plan(store, "band", who="ada") is not None
        held = {name: service.task_view(store, name).pause for name in ("task-01", "task-02")}
        assert held == {"task-01": "", "task-02": "a barrier"}


CHANGES = """
CREATE TABLE changes (
    seq     INTEGER PRIMARY KEY CHECK (seq > 0),
    task_id TEXT NOT NULL,
    source  TEXT NOT NULL CHECK (source IN ('message', 'state', 'journal', 'asked', 'settled', 'claim', 'usage')),
    id      INTEGER NOT NULL  -- of the row, in its own table; a claim's epoch
)
"""


def test_a_table_that_was_otherwise_between_two_releases_keeps_every_row(tmp_path: Path) -> None:
    """What has got a place since, as a proposal that was decided, gets the next one."""
    path = tmp_path / "comms.db"
    draft = Draft(type=ProposalType.MEMORY, title="Use tabs", body="They are wide.")
    with closing(SqliteStore.create(path)) as store:
        walk_to(store, "task-01", State.COMPLETE)
        service.propose(store, None, draft, folder="docs", taken=())
        before = rows(store.connection, "changes")
        drop_triggers(store.connection)
        store.connection.execute(f"DROP TABLE changes; {CHANGES}")
        store.connection.executemany("INSERT INTO changes VALUES (?, ?, ?, ?)", before)
        store.connection.execute(
            "UPDATE proposals SET status = 'rejected', outcome = 'no', decided_at = datetime('now');"
            "UPDATE settings SET value = 'older' WHERE name = 'schema.guards'"
        )
    for _ in range(2):
        with closing(SqliteStore.open(path)) as store:
            assert differences(store.connection) == ()
            after = rows(store.connection, "changes")
            assert after == sorted([*before, (len(before) + 1, "task-00", "decided", 1)], key=repr)
            told = [(each.who, each.what, each.text) for each in decisions(store).happenings]
            assert told[-1] == ("the conductor", "proposal rejected", "Use tabs: no")


SIGNATURES = """
DROP TABLE settlements;
DROP TABLE signatures;
CREATE TABLE signatures (
    source     TEXT NOT NULL,
    id         INTEGER NOT NULL,
    task_id    TEXT NOT NULL,
    name       TEXT NOT NULL,
    session_id TEXT,  -- that spoke for the person
    PRIMARY KEY (source, id)
) WITHOUT ROWID;
CREATE INDEX signatures_by_task ON signatures (task_id, source);
INSERT INTO signatures SELECT c.source, c.id, c.task_id, 'bob', '4f' FROM changes c
WHERE c.source <> 'state' AND c.seq > (SELECT min(seq) + 1 FROM changes WHERE source = 'settled');
UPDATE settings SET value = 'older' WHERE name = 'schema.guards'
"""


def signed_by_row(path: Path) -> None:
    """A question that was settled twice, in a database whose signatures were of rows: the first name is lost."""
    with closing(SqliteStore.create(path)) as store:
        walk_to(store, "task-01", State.NEEDS_REVIEW)
        for answer in ("yes", "no"):
            service.ask_human(store, "task-01", kind="question", subject_id=1, text="may I?")
            service.send(store, "task-01", answer)
        drop_triggers(store.connection)
        store.connection.execute(SIGNATURES)


def test_what_was_signed_by_its_row_is_signed_by_its_place(tmp_path: Path) -> None:
    path = tmp_path / "comms.db"
    signed_by_row(path)
    for _ in range(2):
        with closing(SqliteStore.open(path)) as store:
            assert differences(store.connection) == ()
            told = [(each.who, each.text) for each in decisions(store).happenings]
            assert told == [("the program", ""), ("session 4f for bob", "answered: no")]
            by = signers_of(store, "task-01", most=9)
            messages = service.messages_of(store, "task-01")
            assert [by.get(each.id) for each in messages[-2:]] == [None, "session 4f for bob"]


def test_several_take_up_what_was_signed_by_its_row(tmp_path: Path) -> None:
    path = tmp_path / "comms.db"
    signed_by_row(path)
    open_at_once(path)
    with closing(SqliteStore.open(path)) as store:
        assert differences(store.connection) == ()
        assert [each.who for each in decisions(store).happenings] == ["the program", "session 4f for bob"]


def test_a_newer_database_is_read_and_not_written(tmp_path: Path) -> None:
    path = tmp_path / "comms.db"
    with closing(SqliteStore.create(path)) as store:
        service.open_task(store, "task-01", title="t", instruction_path="a.md")
        store.connection.execute("ALTER TABLE orchestration_tasks ADD COLUMN later TEXT")
        store.connection.execute("UPDATE settings SET value = value + 1 WHERE name = 'schema.version'")
    with closing(SqliteStore.open(path)) as store:
        assert [row.task_id for row in service.tasks_of(store)] == ["task-01"]
        with pytest.raises(DatabaseUnusable, match="newer") as refused:
            service.open_task(store, "task-02", title="t", instruction_path="a.md")
        assert refused.value.kind == "version"
        assert len(differences(store.connection)) == 1


def test_a_hook_that_comes_first_takes_it_up_as_well(old: Path) -> None:
    """D40.1: its look names tables that version 1 has not."""
    place = HookContext(None, str(old))
    place.look("delta")
    place.close()
    assert [(held.task_id, held.is_live) for held in place.held] == [("task-04", True)]
