"""The claim guard, for every writer: a blocked claim affects 0 rows (D2, D4)."""

# ruff: noqa: S608 - raw SQL is the point
import pytest

from musician import service
from musician.protocol.claim import Claim
from musician.protocol.states import State
from musician.store.port import Store
from tests.conftest import GrowOld, Walk
from tests.store.sqlite.conftest import Raw
from tests.store.sqlite.statements import blocks, claim_sql


@pytest.mark.parametrize(
    "session", ["NULL", "''", "'  '", "'null'", "'NULL'", "'None'", "'undefined'", "char(9)"]
)
def test_a_session_that_is_none_claims_nothing(raw: Raw, store: Store, walk: Walk, session: str) -> None:
    walk(store, "task-01", State.WATCHING)
    blocks(raw, claim_sql("task-01", session))


def test_without_an_instruction_nobody_claims(raw: Raw, store: Store) -> None:
    raw("INSERT INTO orchestration_tasks (task_id, state) VALUES ('task-01', 'watching')")
    raw(
        "INSERT INTO orchestration_messages (task_id, from_session, message_type, message)"
        " VALUES ('task-01', 'somebody', 'instruction', 'a.md')"
    )
    blocks(raw, claim_sql("task-01", "'s'"))
    raw(
        "INSERT INTO orchestration_messages (task_id, from_session, message_type, message)"
        " VALUES ('task-01', 'task-00', 'instruction', 'a.md')"
    )
    assert raw(claim_sql("task-01", "'s'")) == 1


@pytest.mark.parametrize("state", [State.FIX_PROPOSED, State.EXIT_REQUESTED])
def test_a_task_with_a_live_owner_is_not_claimed(
    raw: Raw, store: Store, walk: Walk, grow_old: GrowOld, state: State
) -> None:
    claim = walk(store, "task-01", state)
    blocks(raw, claim_sql("task-01", "'thief'"))
    grow_old(store, "task-01", 530)
    blocks(raw, claim_sql("task-01", "'thief'"))
    grow_old(store, "task-01", -3600)  # a clock ahead is no sign of death
    blocks(raw, claim_sql("task-01", "'thief'"))
    grow_old(store, "task-01", 541)
    assert raw(claim_sql("task-01", "'heir'")) == 1
    row = service.task_row(store, "task-01")
    assert claim is not None
    assert (row.session_id, row.claim_epoch) == ("heir", claim.epoch + 1)


@pytest.mark.parametrize("unreadable", ["'yesterday'", "''", "'now'", "'2460000.5'", "'10:00:00'", "0"])
def test_a_heartbeat_that_cannot_be_read_is_never_taken_for_stale(
    raw: Raw, store: Store, walk: Walk, unreadable: str
) -> None:
    """D10."""
    walk(store, "task-01", State.FIX_PROPOSED)
    raw(f"UPDATE orchestration_tasks SET last_heartbeat = {unreadable} WHERE task_id = 'task-01'")
    blocks(raw, claim_sql("task-01", "'thief'"))
    assert service.task_row(store, "task-01").heartbeat_age_s is None


@pytest.mark.parametrize(
    "old", ["'2020-01-01 00:00:00'", "'2020-01-01T00:00:00Z'", "'2020-01-01T02:00:00+02:00'", "'2020-01-01'"]
)
def test_other_iso_forms_are_read(raw: Raw, store: Store, walk: Walk, old: str) -> None:
    """D10."""
    walk(store, "task-01", State.FIX_PROPOSED)
    raw(f"UPDATE orchestration_tasks SET last_heartbeat = {old} WHERE task_id = 'task-01'")
    age = service.task_row(store, "task-01").heartbeat_age_s
    assert age is not None
    assert age > 1e8
    assert raw(claim_sql("task-01", "'heir'")) == 1


def test_a_raw_claim_raises_the_epoch_and_starts_a_session(raw: Raw, store: Store, walk: Walk) -> None:
    walk(store, "task-01", State.WATCHING)
    assert raw(claim_sql("task-01", "'s1'")) == 1
    blocks(raw, claim_sql("task-01", "'s2'"))
    view = service.task_view(store, "task-01")
    assert view.row.claim_epoch == 1
    assert [(each.session_id, each.number, each.claim_epoch) for each in view.sessions] == [("s1", 1, 1)]
    assert raw.last_change("task-01") == ("watching", "working", "s1", "s1", None, None)
    service.beat(store, Claim(task_id="task-01", session_id="s1", epoch=1))


def test_nobody_enters_while_a_task_is_being_taken_over(
    raw: Raw, store: Store, walk: Walk, grow_old: GrowOld
) -> None:
    """Fenced but not yet ended, its owner may still be at work in the tree (D23)."""
    claim = walk(store, "task-01", State.EXIT_REQUESTED)
    assert claim is not None
    service.fence(store, "task-01", epoch=claim.epoch)
    grow_old(store, "task-01", 10_000)
    blocks(raw, claim_sql("task-01", "'early'"))
    service.take_over(store, "task-01", "go on", reason="dead")
    assert raw(claim_sql("task-01", "'heir'")) == 1


def test_an_owner_goes_on_after_a_fix_proposal_under_its_own_claim(
    raw: Raw, store: Store, walk: Walk
) -> None:
    walk(store, "task-01", State.FIX_PROPOSED, session_id="s1")
    raw("DELETE FROM orchestration_messages")  # its instruction is not needed a second time
    assert raw("UPDATE orchestration_tasks SET state = 'working' WHERE task_id = 'task-01'") == 1
    row = service.task_row(store, "task-01")
    assert (row.session_id, row.claim_epoch) == ("s1", 1)
