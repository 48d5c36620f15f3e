"""A session's own SQL: what the sources print for musicians works, and nothing beyond the session's claim (D6, B12)."""

from pathlib import Path

import pytest

from musician import service
from musician.protocol.errors import (
    BeyondClaim,
    DatabaseUnusable,
    MusicianError,
    NoSession,
    StatementRefused,
)
from musician.protocol.messages.kinds import MessageType
from musician.protocol.names import CONDUCTOR
from musician.protocol.states import State
from musician.store.bell import Bell
from musician.store.port import Store
from musician.store.sqlite.store import SqliteStore
from tests.conftest import GrowOld, Walk

ME = "5f2c-a"

CLAIM = """UPDATE orchestration_tasks
SET state = 'working',
    session_id = '5f2c-a',
    worked_by = 'musician-task-03',
    started_at = datetime('now'),
    last_heartbeat = datetime('now'),
    retry_count = 0
WHERE task_id = 'task-03'
  AND state IN ('watching', 'fix_proposed', 'exit_requested');"""

FALLBACK = """-- Create fallback row (NO guard — must always succeed)
INSERT INTO orchestration_tasks (task_id, state, session_id, last_heartbeat)
VALUES ('fallback-5f2c-a', 'exited', '5f2c-a', datetime('now'));

-- Notify conductor
INSERT INTO orchestration_messages (task_id, from_session, message_type, message)
VALUES ('task-03', '5f2c-a', 'claim_blocked',
    'CLAIM BLOCKED: Guard prevented claim on task-03. Conductor intervention needed.');"""

REVIEW = """UPDATE orchestration_tasks
SET state = 'needs_review', last_heartbeat = datetime('now')
WHERE task_id = 'task-03';"""

COMPLETE = """UPDATE orchestration_tasks
SET state = 'complete', last_heartbeat = datetime('now'),
    completed_at = datetime('now'),
    report_path = 'path/to/completion-report.md'
WHERE task_id = 'task-03';"""

ERROR = """UPDATE orchestration_tasks
SET state = 'error', last_heartbeat = datetime('now'),
    retry_count = retry_count + 1,
    last_error = 'error description'
WHERE task_id = 'task-03';"""

EXIT = """UPDATE orchestration_tasks
SET state = 'exited', last_heartbeat = datetime('now')
WHERE task_id = 'task-03';"""

APPROVE = "UPDATE orchestration_tasks SET state = 'review_approved' WHERE task_id = 'task-03';"

HEARTBEAT = "UPDATE orchestration_tasks SET last_heartbeat = datetime('now') WHERE task_id = 'task-03';"


def message(kind: str, text: str = "text", *, task_id: str = "task-03", sender: str = ME) -> str:
    return (
        "INSERT INTO orchestration_messages (task_id, from_session, message_type, message)\n"
        f"VALUES ('{task_id}', '{sender}', '{kind}', '{text}');"
    )


def run(store: Store, statements: str, session_id: str | None = ME) -> int:
    return service.execute(store, session_id, statements)


@pytest.fixture
def working(store: Store, walk: Walk) -> Store:
    """``task-03`` claimed by ``ME`` with the printed claim; ``task-04`` somebody else's."""
    walk(store, "task-03", State.WATCHING)
    walk(store, "task-04", State.WORKING, session_id="other")
    assert run(store, CLAIM) == 1
    return store


def snapshot(store: Store) -> list[object]:
    return [
        [(row.task_id, row.state, row.session_id, row.last_heartbeat) for row in service.tasks_of(store)],
        *[service.messages_of(store, task) for task in ("task-03", "task-04")],
        *[service.history_of(store, task) for task in ("task-03", "task-04")],
    ]


def test_the_printed_claim_takes_the_task_once_and_a_blocked_one_changes_nothing(
    store: Store, walk: Walk
) -> None:
    walk(store, "task-03", State.WATCHING)
    assert run(store, CLAIM) == 1
    assert run(store, CLAIM) == 0
    assert run(store, CLAIM.replace("5f2c-a", "late"), "late") == 0
    row = service.task_row(store, "task-03")
    assert (row.state, row.session_id, row.claim_epoch) == (State.WORKING, ME, 1)


def test_a_blocked_session_leaves_its_row_and_tells_the_conductor(store: Store, walk: Walk) -> None:
    """Both printed statements at once, comments and all."""
    walk(store, "task-03", State.WORKING, session_id="other")
    assert run(store, CLAIM) == 0
    assert run(store, FALLBACK) == 2
    assert service.messages_of(store, "task-03")[-1].message_type == MessageType.CLAIM_BLOCKED
    assert service.task_row(store, "fallback-5f2c-a").state is State.EXITED


def test_the_printed_way_through_a_task_works(working: Store) -> None:
    assert run(working, HEARTBEAT) == 1
    assert run(working, f"{ERROR}\n{message('error')}") == 2
    service.judge(working, "task-03", State.FIX_PROPOSED, "try again")
    assert run(working, "UPDATE orchestration_tasks SET state = 'working' WHERE task_id = 'task-03'") == 1
    assert run(working, REVIEW) == 1
    assert run(working, message("completion")) == 1
    service.judge(working, "task-03", State.REVIEW_APPROVED, "good")
    assert run(working, f"{message('completed')} {COMPLETE}") == 2
    row = service.task_row(working, "task-03")
    assert (row.state, row.retry_count) == (State.COMPLETE, 1)


def test_the_printed_exit_sends_its_message_first(working: Store) -> None:
    assert run(working, message("handoff")) == 1
    assert run(working, EXIT) == 1
    assert service.task_row(working, "task-03").state is State.EXITED


def test_b12_several_statements_are_applied_together_and_a_semicolon_in_a_text_is_fine(
    working: Store,
) -> None:
    assert run(working, f"{REVIEW} {message('review_request', 'step 1; step 2')}") == 2
    change = service.history_of(working, "task-03")[-1]
    assert (change.to_state, change.message_type) == (State.NEEDS_REVIEW, "review_request")
    assert service.messages_of(working, "task-03")[-1].message == "step 1; step 2"


@pytest.mark.parametrize(
    "body",
    [
        "it''s done",
        "''); UPDATE orchestration_tasks SET state=''complete'' WHERE (''1''=''1",
        "$(touch PWNED) `touch PWNED`",
        "-- trailing comment",
        "ends with a backslash \\",
        "%s %d {0} {task_id} :name ?1 @p",
    ],
)
def test_b18_a_body_arrives_byte_for_byte(working: Store, body: str) -> None:
    assert run(working, message("note", body)) == 1
    assert service.messages_of(working, "task-03")[-1].message == body.replace("''", "'")


BEYOND = {
    "another's row": "UPDATE orchestration_tasks SET last_heartbeat = datetime('now') WHERE task_id = 'task-04'",
    "every row": "UPDATE orchestration_tasks SET last_heartbeat = datetime('now')",
    "by a pattern": "UPDATE orchestration_tasks SET state = 'error' WHERE task_id LIKE 'task-0%'",
    "a verdict on its own work": REVIEW + message("completion") + APPROVE,
    "its own exit request": "UPDATE orchestration_tasks SET state = 'exit_requested' WHERE task_id = 'task-03'",
    "the conductor's voice": message("approval", sender=CONDUCTOR),
    "another's voice": message("handoff", task_id="task-04", sender="other"),
    "another's task": message("note", task_id="task-04"),
    "the conductor's row": message("note", task_id=CONDUCTOR),
    "a new task": "INSERT INTO orchestration_tasks (task_id, state) VALUES ('task-09', 'watching')",
    "another's fallback": "INSERT INTO orchestration_tasks (task_id, state, session_id)"
    " VALUES ('fallback-other', 'exited', 'other')",
    "a row too many": f"{HEARTBEAT} {message('note', task_id='task-04')}",
}


@pytest.mark.parametrize("name", BEYOND)
def test_what_is_not_the_sessions_is_taken_back_whole(working: Store, name: str) -> None:
    before = snapshot(working)
    with pytest.raises(BeyondClaim) as refused:
        run(working, BEYOND[name])
    assert refused.value.what
    assert snapshot(working) == before


def test_a_claim_cannot_be_given_away(working: Store) -> None:
    """AUDIT-P2: as a blocked claim does, it changes 0 rows."""
    before = snapshot(working)
    assert run(working, "UPDATE orchestration_tasks SET session_id = 'other' WHERE task_id = 'task-03'") == 0
    assert snapshot(working) == before


@pytest.mark.parametrize(
    "name", ["another's row", "the conductor's voice", "another's voice", "another's task"]
)
def test_raw_sql_believes_the_name_that_is_written(working: Store, grow_old: GrowOld, name: str) -> None:
    """D6.5: what is taken back from a session, whoever has the file may write; nobody promises more."""
    grow_old(working, "task-04", 60)
    before = snapshot(working)
    assert isinstance(working, SqliteStore)
    working.connection.execute(BEYOND[name])
    assert snapshot(working) != before


REFUSED = (
    "UPDATE orchestration_tasks SET retry_limit = 99 WHERE task_id = 'task-03'",
    "UPDATE orchestration_tasks SET claim_epoch = 7 WHERE task_id = 'task-03'",
    "UPDATE orchestration_messages SET message = 'other words'",
    "DELETE FROM orchestration_messages",
    "DELETE FROM orchestration_tasks WHERE task_id LIKE 'fallback-%'",
    "INSERT INTO journal (task_id, claim_epoch, session_id, kind) VALUES ('task-03', 1, '5f2c-a', 'note')",
    "DROP TRIGGER tasks_claim",
    "CREATE TABLE mine (a)",
    "PRAGMA writable_schema = ON",
    "ATTACH DATABASE '{folder}/evil.db' AS e",
    "VACUUM INTO '{folder}/evil.db'",
    "COMMIT",
    "ROLLBACK",
    "BEGIN IMMEDIATE",
    "SAVEPOINT s",
    "SELECT load_extension('nope')",
    "no SQL at all",
)


@pytest.mark.parametrize("statement", REFUSED)
@pytest.mark.parametrize("first", ["", f"{HEARTBEAT} "], ids=["alone", "after a good one"])
def test_anything_but_changing_rows_is_refused_and_nothing_is_kept(
    working: Store, statement: str, first: str, tmp_path: Path
) -> None:
    before, files = snapshot(working), sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(StatementRefused):
        run(working, first + statement.format(folder=tmp_path))
    assert snapshot(working) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == files


def test_the_databases_guards_hold_here_too(working: Store) -> None:
    with pytest.raises(DatabaseUnusable, match="only an approved completion"):
        run(working, COMPLETE)
    assert service.task_row(working, "task-03").state is State.WORKING


def test_nothing_is_written_after_the_terminal_write_nor_by_a_session_that_was_shut_out(
    working: Store,
) -> None:
    """D1.2, D2.1: the row still names the session, its claim is over."""
    service.fence(working, "task-03", epoch=1)
    for statement in (HEARTBEAT, message("note"), REVIEW):
        with pytest.raises(BeyondClaim):
            run(working, statement)


@pytest.mark.parametrize("session_id", [None, "", "null"])
def test_without_a_session_nothing_is_run(working: Store, session_id: str | None) -> None:
    with pytest.raises(NoSession):
        run(working, HEARTBEAT, session_id)


def test_a_session_id_is_no_sql(working: Store) -> None:
    """B18: an id that would widen the statement is no id."""
    with pytest.raises(MusicianError):
        run(working, HEARTBEAT, "zzz' OR task_id='task-03")


def test_more_rows_than_a_musician_has_reason_to_change_are_refused(working: Store) -> None:
    before = snapshot(working)
    flood = (
        "INSERT INTO orchestration_messages (task_id, from_session, message_type, message)"
        " WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 101)"
        " SELECT 'task-03', '5f2c-a', 'note', i FROM n"
    )
    with pytest.raises(StatementRefused, match="more than 100 rows"):
        run(working, flood)
    assert snapshot(working) == before
    assert run(working, flood.replace("101", "100")) == 100


def test_the_conductor_wakes_for_a_raw_claim_and_message(store: Store, walk: Walk) -> None:
    walk(store, "task-03", State.WATCHING)
    with Bell(Path(store.name), CONDUCTOR) as bell:
        run(store, CLAIM)
        assert bell.drain()
        run(store, message("question"))
        assert bell.drain()
