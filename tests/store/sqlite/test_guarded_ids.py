"""How a row may begin, for every writer: its id, its state, and nobody's yet."""

# ruff: noqa: S608 - raw SQL is the point
import pytest

from musician import service
from musician.protocol.states import State
from musician.store.port import Store
from tests.no_ids import ESCAPING
from tests.store.sqlite.conftest import Raw
from tests.store.sqlite.statements import blocks, refuses, to_sql


@pytest.mark.parametrize(
    "task_id",
    [
        *ESCAPING,
        "task-03\n",
        "a" * 65,
        "nul.txt",
        "com1",
        "LPT9.x",
        "task-03.lock",
        "task-03.",
        "task-03..x",
        "task-03.-x",
        "",
        "fallback-x",
    ],
)
def test_an_id_that_may_not_become_a_file_name_gets_no_row(raw: Raw, store: Store, task_id: str) -> None:
    """B43, by raw SQL too."""
    refuses(
        raw,
        f"INSERT INTO orchestration_tasks (task_id, state) VALUES ('{task_id}', 'watching')",
        "CHECK|begins",
    )


def test_an_id_with_a_nul_in_it_or_of_bytes_gets_no_row(raw: Raw) -> None:
    for value in ("'task-03' || char(0) || '/x'", "x'7461736b'", "NULL"):
        refuses(
            raw,
            f"INSERT INTO orchestration_tasks (task_id, state) VALUES ({value}, 'watching')",
            "CHECK|NOT NULL",
        )


@pytest.mark.parametrize(
    "task_id", ["task-03", "common", "a.b", "A", "a" * 64, "task_03", "com10", "lockdown"]
)
def test_other_ids_may_begin(raw: Raw, store: Store, task_id: str) -> None:
    assert raw(f"INSERT INTO orchestration_tasks (task_id, state) VALUES ('{task_id}', 'watching')") == 1
    assert service.task_row(store, task_id).state is State.WATCHING


@pytest.mark.parametrize("state", [state for state in State if state is not State.WATCHING])
def test_a_task_begins_as_watching(raw: Raw, state: State) -> None:
    refuses(
        raw, f"INSERT INTO orchestration_tasks (task_id, state) VALUES ('task-01', '{state}')", "begins as"
    )


def test_a_task_begins_without_owner_epoch_or_heartbeat(raw: Raw, store: Store) -> None:
    for column, value in (("session_id", "'s'"), ("claim_epoch", "7")):
        refuses(
            raw,
            f"INSERT INTO orchestration_tasks (task_id, state, {column}) VALUES ('task-01', 'watching', {value})",
            "begins as",
        )
    raw(
        "INSERT INTO orchestration_tasks (task_id, state, last_heartbeat)"
        " VALUES ('task-01', 'watching', datetime('now'))"
    )
    assert service.task_row(store, "task-01").last_heartbeat is None


def test_the_row_of_a_blocked_session_only_lets_it_end(raw: Raw, store: Store) -> None:
    again = (
        "INSERT INTO orchestration_tasks (task_id, state, session_id, last_heartbeat)"
        " VALUES ('fallback-s1', 'exited', 's1', datetime('now'))"
    )
    assert raw(again) == 1
    blocks(raw, again)
    blocks(raw, again.replace("INSERT", "REPLACE"))
    for state in State:
        if state is not State.EXITED:
            refuses(raw, to_sql("fallback-s1", state), "musician: ")
    refuses(raw, again.replace("exited", "watching"), "exists already")
    refuses(raw, again.replace("fallback-s1", "fallback-s2"), "under fallback-<session>")
    refuses(raw, again.replace("fallback-s1", "fallback-null").replace("'s1'", "'null'"), "begins")
    refuses(
        raw,
        "INSERT INTO history (task_id, from_state, to_state, who, claim_epoch)"
        " VALUES ('fallback-s1', NULL, 'exited', 's1', 0)",
        "written by the database",
    )
    assert service.tasks_of(store) == ()


def test_the_conductors_row_has_its_own_states(raw: Raw, store: Store) -> None:
    refuses(raw, "INSERT INTO orchestration_tasks (task_id, state) VALUES ('task-00', 'watching')", "begins")
    raw("INSERT INTO orchestration_tasks (task_id, state, session_id) VALUES ('task-00', 'working', 'c1')")
    for state in State:
        if state not in {State.WORKING, State.EXIT_REQUESTED, State.COMPLETE}:
            refuses(raw, to_sql("task-00", state), "from working a conductor may only become")
    for name in ("exit_requested", "working", "complete", "working"):
        assert raw(to_sql("task-00", name)) == 1
    refuses(raw, "DELETE FROM orchestration_tasks WHERE task_id = 'task-00'", "never deleted")
    changes = service.history_of(store, "task-00")
    assert [change.to_state for change in changes] == [
        "working",
        "exit_requested",
        "working",
        "complete",
        "working",
    ]
