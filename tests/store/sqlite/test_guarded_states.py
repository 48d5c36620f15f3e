"""What holds for every writer: each pair of states and every detour, by apsw and by the sqlite3 shell (D6)."""

# ruff: noqa: S608 - raw SQL is the point
import pytest

from musician import service
from musician.protocol.journal import Entry, EntryKind
from musician.protocol.states import State
from musician.store.port import Store
from tests.conftest import Walk
from tests.store.sqlite.conftest import Raw
from tests.store.sqlite.statements import ALIVE, blocks, refuses, say_sql, state_of

LEGAL = {
    "watching": {"working", "exited"},
    "working": {"needs_review", "error", "exit_requested", "exited", "complete", "fix_proposed"},
    "needs_review": {
        "error",
        "review_approved",
        "review_failed",
        "fix_proposed",
        "exit_requested",
        "exited",
    },
    "review_approved": {"working", "needs_review", "complete", "exit_requested", "exited", "fix_proposed"},
    "review_failed": {"working", "needs_review", "exit_requested", "exited", "fix_proposed"},
    "fix_proposed": {"working", "needs_review", "exit_requested", "exited"},
    "error": {"review_approved", "review_failed", "fix_proposed", "exit_requested", "exited"},
    "exit_requested": {"working", "exited", "fix_proposed"},
    "exited": {"fix_proposed"},
    "complete": set(),
}

BLOCKED = "blocked: 0 rows"
GUARDED = {
    ("watching", "working"): BLOCKED,  # without a session id
    ("exit_requested", "working"): BLOCKED,  # its owner lives
    ("complete", "complete"): BLOCKED,  # never written again
    ("working", "complete"): "only an approved completion makes a task complete",
    ("working", "fix_proposed"): ALIVE,
    ("review_approved", "fix_proposed"): ALIVE,
    ("review_failed", "fix_proposed"): ALIVE,
    ("exit_requested", "fix_proposed"): ALIVE,
}


@pytest.mark.parametrize("source", State)
def test_every_pair_of_states_is_as_the_table_says(raw: Raw, store: Store, walk: Walk, source: State) -> None:
    for target in State:
        task_id = f"to-{target}"
        walk(store, task_id, source)
        change = f"UPDATE orchestration_tasks SET state = '{target}' WHERE task_id = '{task_id}'"
        guarded = GUARDED.get((source, target))
        if guarded is BLOCKED:
            blocks(raw, change)
        elif guarded is not None:
            refuses(raw, change, guarded)
        elif target == source:
            assert raw(change) == 1
        elif target not in LEGAL[source]:
            refuses(raw, change, f"musician: from {source} a task may only become")
        else:
            assert raw(change) == 1
            assert state_of(raw, task_id) == target
            came_from = "working" if target == "needs_review" else source
            assert raw.last_change(task_id)[:2] == (came_from, target)


def test_a_refusal_names_the_ways_out(raw: Raw, store: Store, walk: Walk) -> None:
    walk(store, "task-01", State.EXITED)
    refuses(
        raw,
        "UPDATE orchestration_tasks SET state = 'working' WHERE task_id = 'task-01'",
        "from exited a task may only become fix_proposed",
    )
    walk(store, "task-02", State.COMPLETE)
    refuses(
        raw,
        "UPDATE orchestration_tasks SET state = 'working' WHERE task_id = 'task-02'",
        r"may only become nothing \(a correction is a new task\)",
    )


def test_a_state_that_is_none_is_refused(raw: Raw, store: Store, walk: Walk) -> None:
    walk(store, "task-01", State.WORKING)
    for none in ("'done'", "''", "NULL", "'WORKING'", "1"):
        refuses(raw, f"UPDATE orchestration_tasks SET state = {none}", "musician|constraint|failed")


DETOURS = [
    "INSERT INTO orchestration_tasks (task_id, state) VALUES ('{task}', 'watching')",
    "INSERT OR REPLACE INTO orchestration_tasks (task_id, state) VALUES ('{task}', 'watching')",
    "REPLACE INTO orchestration_tasks (task_id, state) VALUES ('{task}', 'complete')",
    "REPLACE INTO orchestration_tasks (task_id, state) SELECT task_id, 'watching' FROM orchestration_tasks",
    (
        "INSERT INTO orchestration_tasks (task_id, state) VALUES ('{task}', 'watching')"
        " ON CONFLICT (task_id) DO UPDATE SET state = 'complete'"
    ),
    (
        "INSERT INTO orchestration_tasks (task_id, state) VALUES ('{task}', 'watching')"
        " ON CONFLICT DO UPDATE SET state = 'watching' WHERE 1"
    ),
    "UPDATE OR REPLACE orchestration_tasks SET state = 'watching' WHERE task_id = '{task}'",
    "UPDATE OR IGNORE orchestration_tasks SET state = 'watching' WHERE task_id = '{task}'",
    "UPDATE OR FAIL orchestration_tasks SET state = 'watching' WHERE task_id = '{task}'",
    "UPDATE OR ROLLBACK orchestration_tasks SET state = 'watching' WHERE task_id = '{task}'",
    "UPDATE OR REPLACE orchestration_tasks SET task_id = 'other' WHERE task_id = '{task}'",
    "UPDATE OR REPLACE orchestration_tasks SET task_id = '{task}' WHERE task_id = 'other'",
    "UPDATE orchestration_tasks SET task_id = 'new' WHERE task_id = '{task}'",
    "UPDATE orchestration_tasks SET rowid = 1",
    "DELETE FROM orchestration_tasks WHERE task_id = '{task}'",
    "DELETE FROM orchestration_tasks",
    "WITH x AS (SELECT 1) DELETE FROM orchestration_tasks WHERE task_id = '{task}'",
    "UPDATE orchestration_tasks SET claim_epoch = 0",
    "UPDATE orchestration_tasks SET claim_epoch = -1",
    "UPDATE orchestration_tasks SET claim_epoch = NULL",
    "UPDATE orchestration_tasks SET claim_epoch = 'many'",
    "UPDATE orchestration_tasks SET claim_epoch = 2.5",
    "DELETE FROM history",
    "UPDATE history SET to_state = 'complete'",
    "UPDATE history SET who = 'nobody'",
    "UPDATE history SET message_id = 1, message_type = 'approval'",
    "UPDATE history SET message_id = NULL WHERE message_id IS NOT NULL",
    "UPDATE OR REPLACE history SET id = 1",
    (
        "REPLACE INTO history (id, task_id, from_state, to_state, who, claim_epoch)"
        " SELECT id, task_id, from_state, 'complete', who, claim_epoch FROM history"
    ),
    (
        "INSERT INTO history (task_id, from_state, to_state, who, claim_epoch)"
        " SELECT task_id, state, 'review_approved', 'task-00', 1 FROM orchestration_tasks WHERE task_id = '{task}'"
    ),
    (
        "INSERT INTO history (task_id, from_state, to_state, who, claim_epoch)"
        " VALUES ('{task}', NULL, 'watching', 'task-00', 0)"
    ),
    (
        "INSERT INTO history (task_id, from_state, to_state, who, claim_epoch)"
        " VALUES ('unknown', NULL, 'watching', 'task-00', 0)"
    ),
    (
        "INSERT INTO history (id, task_id, from_state, to_state, who, claim_epoch)"
        " VALUES (-1, '{task}', NULL, 'watching', 'task-00', 0)"
    ),
    "UPDATE orchestration_messages SET message = 'another'",
    "UPDATE orchestration_messages SET from_session = 'task-00'",
    "UPDATE orchestration_messages SET message_type = 'approval'",
    "UPDATE OR REPLACE orchestration_messages SET id = 1",
    (
        "REPLACE INTO orchestration_messages (id, task_id, from_session, message_type, message)"
        " VALUES (1, '{task}', 'task-00', 'approval', 'x')"
    ),
    (
        "INSERT INTO orchestration_messages (id, task_id, from_session, message_type, message)"
        " VALUES (1, '{task}', 'task-00', 'approval', 'x') ON CONFLICT DO UPDATE SET message = 'x'"
    ),
    (
        "INSERT INTO orchestration_messages (id, task_id, from_session, message_type, message)"
        " VALUES (-1, '{task}', 'task-00', 'approval', 'x')"
    ),
    "DELETE FROM journal",
    "UPDATE journal SET text = 'x'",
    "REPLACE INTO journal SELECT * FROM journal",
    "DELETE FROM verifications",
    "UPDATE verifications SET outcome = 'red'",
    "REPLACE INTO verifications SELECT * FROM verifications",
    "DELETE FROM documents",
    "UPDATE documents SET body = 'x'",
    "REPLACE INTO documents SELECT * FROM documents",
    "DELETE FROM sessions",
    "UPDATE sessions SET session_id = 'thief'",
    "REPLACE INTO sessions (task_id, claim_epoch, session_id, number) VALUES ('{task}', 1, 'thief', 1)",
]


@pytest.mark.parametrize("recursive", ["OFF", "ON"])
def test_no_detour_changes_a_row(raw: Raw, store: Store, walk: Walk, recursive: str) -> None:
    """REPLACE, upsert, DELETE, other ids, forged history, with delete triggers firing for REPLACE and without."""
    claim = walk(store, "other", State.WORKING)
    assert claim is not None
    service.record(store, claim, Entry(kind=EntryKind.NOTE, text="here"))
    walk(store, "task-01", State.NEEDS_REVIEW)
    walk(store, "task-02", State.COMPLETE)
    for detour in DETOURS:
        for task_id in ("task-01", "task-02"):
            refuses(
                raw,
                f"PRAGMA recursive_triggers = {recursive}; {detour.format(task=task_id)}",
                "musician: |CHECK|NOT NULL|no such column",
            )


def test_several_statements_at_once_are_all_or_nothing(raw: Raw, store: Store, walk: Walk) -> None:
    """B12, and semicolons inside strings."""
    walk(store, "task-03", State.WORKING, session_id="sess-aaa")
    both = (
        "UPDATE orchestration_tasks SET state='needs_review' WHERE task_id='task-03';"
        " INSERT INTO orchestration_messages(task_id,from_session,message_type,message)"
        " VALUES('task-03','sess-aaa','review_request','step 1; step 2')"
    )
    assert raw(f"BEGIN IMMEDIATE; {both}; COMMIT") == 1
    assert raw.last_change("task-03")[:5] == (
        "working",
        "needs_review",
        "sess-aaa",
        "sess-aaa",
        "review_request",
    )
    assert service.messages_of(store, "task-03")[-1].message == "step 1; step 2"
    refuses(raw, f"BEGIN IMMEDIATE; {say_sql('task-03', 'x', 'note')}; DELETE FROM history; COMMIT", "never")


def test_several_rows_in_one_statement_are_each_judged(raw: Raw, store: Store, walk: Walk) -> None:
    for number in (1, 2, 3):
        walk(store, f"task-0{number}", State.WORKING)
    walk(store, "task-04", State.NEEDS_REVIEW)
    refuses(raw, "UPDATE orchestration_tasks SET state = 'review_approved'", "from working")
    assert raw("UPDATE orchestration_tasks SET state = 'error'") == 4
    assert raw.value("SELECT count(*) FROM history WHERE to_state = 'error'") == 4
