"""Somebody else's SQL: asking cannot write, whatever it looks like, and a cut answer says so (B11, B16)."""

# ruff: noqa: S608 - raw SQL is the point
import hashlib
from contextlib import suppress
from pathlib import Path

import apsw
import pytest

from musician import service
from musician.protocol.errors import StatementRefused
from musician.store.port import Answer, Store
from musician.store.sqlite.store import SqliteStore

WRITES = (
    "WITH x AS (SELECT 1) DELETE FROM orchestration_messages",
    "WITH x AS (SELECT 1) UPDATE orchestration_tasks SET state='complete' RETURNING task_id",
    "/* SELECT */ UPDATE orchestration_tasks SET state='complete'",
    "SELECT 1; DELETE FROM orchestration_messages",
    "EXPLAIN SELECT 1; DROP TABLE orchestration_tasks",
    "ATTACH DATABASE '{folder}/evil-attach.db' AS e",
    "VACUUM INTO '{folder}/evil-copy.db'",
    "PRAGMA query_only=OFF",
    "PRAGMA query_only(0)",
    "PRAGMA journal_mode=DELETE",
    "PRAGMA user_version(1337)",
    "PRAGMA writable_schema=ON",
    "REPLACE INTO orchestration_tasks(task_id,state) VALUES('task-03','exited')",
    "BEGIN EXCLUSIVE",
    "SAVEPOINT s",
    "SELECT load_extension('{folder}/nope')",
    "CREATE TEMP TABLE t(a)",
    "SELECT 1; SELECT 2",
    "SELECT 1; /* and */ SELECT 2 /* too */",
    "/* nothing */ -- at all /*",
    "",
    "-- nothing",
)

READS = {
    "WITH x AS (SELECT task_id FROM orchestration_tasks) SELECT * FROM x": ("task-03",),
    "SELECT 'a;b' AS semi, 'DELETE' AS word": ("a;b", "DELETE"),
    "SELECT 1 AS one; -- and a comment; DELETE": (1,),
    "PRAGMA table_info(orchestration_tasks)": (0, "task_id", "TEXT", 1, None, 1),
    "/* open */ SELECT 'tasks' /* of */ AS what -- all": ("tasks",),
    "PRAGMA user_version": (1,),
    "SELECT name FROM pragma_table_info('history')": ("id",),
}
"""Each with the first row of its answer."""


@pytest.fixture
def opened(store: Store) -> SqliteStore:
    service.open_task(store, "task-03", title="Third", instruction_path="docs/tasks/task-03.md")
    assert isinstance(store, SqliteStore)
    return store


def ask(store: Store, statement: str, *, most_rows: int = 100, most_bytes: int = 10_000) -> Answer:
    return service.query(store, statement, most_rows=most_rows, most_bytes=most_bytes)


def dump(store: SqliteStore) -> str:
    return hashlib.sha256(store.connection.serialize("main")).hexdigest()


@pytest.mark.parametrize("statement", WRITES)
def test_b11_asking_cannot_write_whatever_it_looks_like(
    opened: SqliteStore, statement: str, tmp_path: Path
) -> None:
    """Database and disk are as they were."""
    before, files = dump(opened), sorted(tmp_path.iterdir())
    with pytest.raises(StatementRefused) as refused:
        ask(opened, statement.format(folder=tmp_path))
    assert refused.value.reason
    assert dump(opened) == before
    assert sorted(tmp_path.iterdir()) == files
    assert opened.connection.pragma("user_version") == 1
    assert opened.connection.pragma("journal_mode") == "wal"


@pytest.mark.parametrize("statement", READS)
def test_b11_reading_works_in_every_form(opened: SqliteStore, statement: str) -> None:
    assert ask(opened, statement).rows[0] == READS[statement]


def test_a_plan_of_a_reading_statement_can_be_asked(opened: SqliteStore) -> None:
    answer = ask(opened, "EXPLAIN QUERY PLAN SELECT * FROM orchestration_tasks")
    assert "orchestration_tasks" in str(answer.rows)


def test_a_refusal_names_what_the_statement_would_have_done(opened: SqliteStore) -> None:
    with pytest.raises(StatementRefused, match="DELETE orchestration_messages"):
        ask(opened, "WITH x AS (SELECT 1) DELETE FROM orchestration_messages")
    with pytest.raises(StatementRefused, match="UPDATE orchestration_tasks state"):
        ask(opened, "/* SELECT */ UPDATE orchestration_tasks SET state='complete' /* all */")
    with pytest.raises(StatementRefused, match="no such column: nonsense"):
        ask(opened, "SELECT nonsense FROM orchestration_tasks")
    with pytest.raises(StatementRefused, match="bindings"):
        ask(opened, "SELECT ?1")


NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {most}) SELECT i FROM n"


def test_b16_exactly_as_many_rows_as_allowed_are_a_whole_answer(opened: SqliteStore) -> None:
    answer = ask(opened, NUMBERS.format(most=7), most_rows=7)
    assert (len(answer.rows), answer.more) == (7, False)


def test_b16_one_row_more_is_not_answered_and_said(opened: SqliteStore) -> None:
    answer = ask(opened, NUMBERS.format(most=8), most_rows=7)
    assert (answer.rows[-1], len(answer.rows), answer.more) == ((7,), 7, True)


def test_b16_a_huge_answer_is_not_fetched_to_its_end(opened: SqliteStore) -> None:
    endless = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT printf('%1000d', i) FROM n"
    )
    answer = ask(opened, endless, most_rows=1_000_000, most_bytes=10_000)
    assert answer.more
    assert len(answer.rows) == 11


def test_a_statement_that_never_ends_is_interrupted(
    opened: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("musician.store.sqlite.foreign.TIME_LIMIT_S", 0.05)
    with pytest.raises(StatementRefused, match=r"longer than 0\.05 s"):
        ask(opened, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT count(*) FROM n")


def test_a_value_that_would_fill_the_memory_is_refused(opened: SqliteStore) -> None:
    with pytest.raises(StatementRefused, match="too big"):
        ask(opened, "SELECT zeroblob(1000000000)")


def test_the_store_goes_on_as_before_after_a_foreign_statement(opened: SqliteStore) -> None:
    """Neither the bounds nor the watch of the rows outlive the call."""
    with pytest.raises(StatementRefused):
        service.execute(opened, "session-1", "DROP TABLE history")
    service.send(opened, "task-03", "a note")
    assert [row.message for row in service.messages_of(opened, "task-03")][-1] == "a note"
    assert opened.connection.authorizer is None


LONG = "printf('%.*c', 2000000, 'a')"
SLOW = {
    "instr": f"SELECT instr({LONG}, printf('%.*c', 1000000, 'a') || 'b')",
    "replace": f"SELECT length(replace({LONG}, printf('%.*c', 1000000, 'a') || 'b', 'x'))",
    "replace by more": f"SELECT length(replace({LONG}, 'a', {LONG}))",
    "trim": f"SELECT length(trim({LONG}, {LONG} || 'b'))",
    "like": f"SELECT {LONG} LIKE '%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%b'",
    "json_patch": "SELECT json_patch('{}', '{}')",
    "many": f"WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT max(instr({LONG}, 'b')) FROM r",
}


@pytest.mark.parametrize("name", SLOW)
def test_no_function_outlasts_the_limit(
    opened: SqliteStore, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """AUDIT-C10: each took minutes, whatever the limit said; now each is answered or refused before a test hangs."""
    monkeypatch.setattr("musician.store.sqlite.foreign.TIME_LIMIT_S", 0.5)
    with suppress(StatementRefused):
        ask(opened, SLOW[name])


def test_our_functions_answer_as_sqlites_do(opened: SqliteStore) -> None:
    """AUDIT-C10."""
    own = apsw.Connection(":memory:")
    for sql in (
        "SELECT instr('abc', 'c'), instr('abc', 'x'), instr('é€', '€'), instr(x'0102', x'02'), instr(NULL, 'a')",
        "SELECT replace('aXbX', 'X', '--'), replace('a', '', 'b'), replace(12, 1, 3), replace('a', NULL, 'b')",
        "SELECT trim('  a '), ltrim('  a'), rtrim('a  '), trim('xyaxy', 'yx'), trim(NULL), trim('a', NULL)",
    ):
        assert list(ask(opened, sql).rows) == own.execute(sql).fetchall()


@pytest.mark.parametrize("function", ["instr('a', 'b')", "replace('a', 'b', 'c')", "json_patch('{}', '{}')"])
def test_execute_calls_no_function_that_may_be_slow(opened: SqliteStore, function: str) -> None:
    """AUDIT-C10: a changing statement holds up every other writer."""
    with pytest.raises(StatementRefused, match="always end in time"), opened.write() as tx:
        tx.alter(
            f"UPDATE orchestration_tasks SET last_error = {function}",
            writable={"orchestration_tasks": {"last_error"}},
        )


def test_a_text_that_is_none_is_shown_with_replacement_characters(opened: SqliteStore) -> None:
    """AUDIT-P4."""
    found = ask(opened, "SELECT CAST(x'61ff62' AS TEXT) AS broken, 7 AS n;")
    assert (found.columns, found.rows) == (("broken", "n"), (("a\ufffdb", 7),))
