"""Taking over by raw SQL (sources "Guard Clause Rules"): a handoff message, then fix_proposed."""

import pytest

from musician import service
from musician.protocol.states import State
from musician.store.port import Store
from tests.conftest import GrowOld, Walk
from tests.store.sqlite.conftest import Raw
from tests.store.sqlite.statements import ALIVE, claim_sql, refuses, say_sql, to_sql

LIVING = [
    State.WORKING,
    State.NEEDS_REVIEW,
    State.ERROR,
    State.REVIEW_APPROVED,
    State.REVIEW_FAILED,
    State.EXIT_REQUESTED,
]


@pytest.mark.parametrize("state", LIVING)
def test_a_raw_takeover_of_the_living_is_refused_and_of_the_dead_frees_the_task(
    raw: Raw, store: Store, walk: Walk, grow_old: GrowOld, state: State
) -> None:
    claim = walk(store, "task-01", state, session_id="s1")
    assert claim is not None
    raw(say_sql("task-01", "task-00", "handoff", "go on at step 2"))
    refuses(raw, to_sql("task-01", "fix_proposed"), ALIVE)
    grow_old(store, "task-01", 541)
    assert raw(to_sql("task-01", "fix_proposed")) == 1
    view = service.task_view(store, "task-01")
    assert (view.row.session_id, view.row.last_heartbeat, view.row.claim_epoch) == (None, None, 2)
    assert raw.last_change("task-01") == (state, "fix_proposed", "task-00", None, "handoff", None)
    assert view.sessions[0].ended_at is not None
    assert raw(claim_sql("task-01", "'s2'")) == 1
    assert service.task_row(store, "task-01").claim_epoch == 3


def test_a_session_that_died_between_state_and_message_can_be_taken_over(
    raw: Raw, store: Store, walk: Walk, grow_old: GrowOld
) -> None:
    walk(store, "task-01", State.WORKING, session_id="s1")
    raw(to_sql("task-01", "needs_review"))
    grow_old(store, "task-01", 541)
    refuses(raw, to_sql("task-01", "fix_proposed"), "send the handoff message first")
    raw(say_sql("task-01", "task-00", "handoff"))
    assert raw(to_sql("task-01", "fix_proposed")) == 1
    assert service.task_row(store, "task-01").session_id is None


def test_a_fix_proposal_to_a_session_that_seems_dead_is_a_verdict_and_keeps_its_owner(
    raw: Raw, store: Store, walk: Walk, grow_old: GrowOld
) -> None:
    walk(store, "task-01", State.NEEDS_REVIEW, session_id="s1")
    grow_old(store, "task-01", 541)
    raw(say_sql("task-01", "task-00", "fix_proposal"))
    raw(to_sql("task-01", "fix_proposed"))
    assert raw.last_change("task-01")[3:5] == ("s1", "fix_proposal")
    assert service.task_row(store, "task-01").session_id == "s1"


def test_reopening_an_exited_task_clears_its_owner(raw: Raw, store: Store, walk: Walk) -> None:
    walk(store, "task-01", State.EXITED, session_id="s1")
    raw(say_sql("task-01", "task-00", "handoff"))
    raw(to_sql("task-01", "fix_proposed"))
    row = service.task_row(store, "task-01")
    assert (row.session_id, row.last_heartbeat, row.claim_epoch) == (None, None, 1)
    assert raw.last_change("task-01") == ("exited", "fix_proposed", "task-00", None, "handoff", None)
    assert raw(claim_sql("task-01", "'s2'")) == 1


def test_clearing_the_owner_of_a_fix_proposal_is_a_takeover_in_the_history(
    raw: Raw, store: Store, walk: Walk, grow_old: GrowOld
) -> None:
    walk(store, "task-01", State.FIX_PROPOSED, session_id="s1")
    clear = (
        "UPDATE orchestration_tasks SET state = 'fix_proposed', session_id = NULL WHERE task_id = 'task-01'"
    )
    refuses(raw, clear, ALIVE)
    grow_old(store, "task-01", 541)
    raw(say_sql("task-01", "task-00", "handoff"))
    assert raw(clear) == 1
    assert raw.last_change("task-01") == ("fix_proposed", "fix_proposed", "task-00", None, "handoff", None)
    assert service.task_row(store, "task-01").claim_epoch == 2
    refuses(
        raw,
        "INSERT INTO history (task_id, from_state, to_state, who, claim_epoch)"
        " VALUES ('task-01', 'fix_proposed', 'fix_proposed', 'task-00', 2)",
        "written by the database",
    )
