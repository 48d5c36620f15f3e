"""What tests of raw writers say and ask (D6)."""

# ruff: noqa: S608 - raw SQL is the point
import pytest

from tests.store.sqlite.conftest import Raw

ALIVE = "its owner is alive, fence and end it first"


def state_of(raw: Raw, task_id: str) -> object:
    return raw.value(f"SELECT state FROM orchestration_tasks WHERE task_id = '{task_id}'")


def refuses(raw: Raw, sql: str, reason: str) -> None:
    """The statement is refused with this reason, and not one row of the database is another than before."""
    before = raw.everything()
    with pytest.raises(raw.refused, match=reason):
        raw(sql)
    assert raw.everything() == before


def blocks(raw: Raw, sql: str) -> None:
    """The statement changes 0 rows without an error."""
    before = raw.everything()
    assert raw(sql) == 0
    assert raw.everything() == before


def claim_sql(task_id: str, session: str) -> str:
    return (
        f"UPDATE orchestration_tasks SET state = 'working', session_id = {session}, started_at = datetime('now'),"
        f" last_heartbeat = datetime('now'), retry_count = 0 WHERE task_id = '{task_id}'"
        " AND state IN ('watching', 'fix_proposed', 'exit_requested')"
    )


def say_sql(task_id: str, sender: str, message_type: str, text: str = "x") -> str:
    return (
        "INSERT INTO orchestration_messages (task_id, from_session, message_type, message)"
        f" VALUES ('{task_id}', '{sender}', '{message_type}', '{text}')"
    )


def to_sql(task_id: str, state: str) -> str:
    return f"UPDATE orchestration_tasks SET state = '{state}' WHERE task_id = '{task_id}'"
