"""A plan's pause, for every writer: it is one row, and while it has no end nobody claims (PLAN-23)."""

import pytest

from musician import service
from musician.protocol.errors import ClaimBlocked
from musician.protocol.messages.kinds import MessageType
from musician.protocol.names import CONDUCTOR
from musician.protocol.settings import Settings
from musician.protocol.states import State
from musician.store.port import Store
from musician.testing.waiting import HANG_S
from tests.conftest import GrowOld
from tests.service.test_plan_verbs import lock, plan, task
from tests.store.sqlite.conftest import Raw
from tests.store.sqlite.statements import blocks, claim_sql, refuses, say_sql, state_of

PAUSE = "INSERT INTO plan_pauses (plan_id, who, reason) VALUES ('greeter', 'ada', 'lunch')"
RESUME = "UPDATE plan_pauses SET resumed_at = datetime('now'), resumed_by = 'bob' WHERE plan_id = 'greeter'"


@pytest.fixture(autouse=True)
def locked(store: Store) -> None:
    lock(store, plan((task("task-01"), task("task-02"))))
    lock(store, plan((task("task-31"),), plan_id="other"))


def test_while_a_plan_is_paused_nobody_claims_of_it_and_of_another_one_may(raw: Raw, store: Store) -> None:
    assert raw(PAUSE) == 1
    blocks(raw, claim_sql("task-01", "'s'"))
    with pytest.raises(ClaimBlocked, match=r"plan greeter is paused by ada since .*: lunch"):
        service.claim(store, "task-02", "t", settings=Settings())
    assert raw(claim_sql("task-31", "'s'")) == 1
    assert raw(RESUME) == 1
    assert raw(claim_sql("task-01", "'s'")) == 1


def test_what_was_paused_by_the_service_holds_for_raw_writers(raw: Raw, store: Store) -> None:
    service.pause_plan(store, "greeter", who="ada")
    blocks(raw, claim_sql("task-01", "'s'"))
    service.resume_plan(store, "greeter", who="ada")
    assert raw(claim_sql("task-01", "'s'")) == 1


@pytest.mark.parametrize("state", [State.FIX_PROPOSED, State.EXIT_REQUESTED])
def test_a_task_whose_owner_is_gone_is_not_claimed_either(
    raw: Raw, store: Store, grow_old: GrowOld, state: State
) -> None:
    service.claim(store, "task-01", "s", settings=Settings())
    if state is State.EXIT_REQUESTED:
        service.request_exit(store, "task-01", "leave", urgent=False)
    else:
        raw(say_sql("task-01", "s", "error"))
        raw("UPDATE orchestration_tasks SET state = 'error' WHERE task_id = 'task-01'")
        service.judge(store, "task-01", State.FIX_PROPOSED, "anew")
    grow_old(store, "task-01", 3600)
    raw(PAUSE)
    blocks(raw, claim_sql("task-01", "'heir'"))
    raw(RESUME)
    assert raw(claim_sql("task-01", "'heir'")) == 1


def test_the_owner_writes_on(raw: Raw, store: Store) -> None:
    """What runs is played to its end."""
    service.claim(store, "task-01", "s", settings=Settings())
    raw(PAUSE)
    raw("UPDATE orchestration_tasks SET last_heartbeat = datetime('now') WHERE task_id = 'task-01'")
    raw(say_sql("task-01", "s", "error"))
    assert raw("UPDATE orchestration_tasks SET state = 'error' WHERE task_id = 'task-01'") == 1
    assert state_of(raw, "task-01") == "error"


def test_two_pauses_are_one(raw: Raw, store: Store) -> None:
    raw(PAUSE)
    blocks(raw, "INSERT INTO plan_pauses (plan_id, who) VALUES ('greeter', 'eve')")
    blocks(raw, "INSERT OR REPLACE INTO plan_pauses (plan_id, who) VALUES ('greeter', 'eve')")
    assert service.paused_plans(store)["greeter"].who == "ada"


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO plan_pauses (plan_id) VALUES ('nobody')",
        "INSERT INTO plan_pauses (plan_id, resumed_at) VALUES ('greeter', datetime('now'))",
    ],
)
def test_what_is_no_open_plan_is_not_paused(raw: Raw, sql: str) -> None:
    refuses(raw, sql, "only a locked plan that is not complete can be paused")


def test_a_complete_plan_is_not_paused(raw: Raw) -> None:
    raw("UPDATE plans SET finished_at = datetime('now') WHERE plan_id = 'greeter'")
    refuses(raw, PAUSE, "only a locked plan that is not complete can be paused")


def test_a_plan_that_is_complete_is_not_paused_any_more(raw: Raw, store: Store) -> None:
    """What was under way when it was paused may have been all there was to do."""
    raw(PAUSE)
    seq = service.newest_seq(store)
    assert raw("UPDATE plans SET finished_at = datetime('now') WHERE plan_id = 'greeter'") == 1
    assert service.paused_plans(store) == {}
    assert service.newest_seq(store) == seq, "nobody lets it go on"


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM plan_pauses",
        "UPDATE plan_pauses SET who = 'eve'",
        "UPDATE plan_pauses SET reason = 'another', resumed_at = datetime('now')",
        "UPDATE plan_pauses SET plan_id = 'other'",
        "INSERT OR REPLACE INTO plan_pauses (id, plan_id) SELECT max(id), 'other' FROM plan_pauses",
    ],
)
def test_what_was_is_not_written_anew(raw: Raw, sql: str) -> None:
    raw(PAUSE)
    refuses(raw, sql, "the plan_pauses table is append-only|ids are given by the database")


def test_a_pause_that_is_over_stays_so(raw: Raw) -> None:
    raw(PAUSE)
    raw(RESUME)
    refuses(raw, "UPDATE plan_pauses SET resumed_at = NULL", "append-only")
    refuses(raw, RESUME, "append-only")


@pytest.mark.parametrize("column", ["reason", "who"])
def test_bytes_that_are_no_text_are_refused(raw: Raw, column: str) -> None:
    values = "VALUES ('greeter', CAST(x'ff41' AS TEXT))"
    refuses(raw, f"INSERT INTO plan_pauses (plan_id, {column}) {values}", "no text in UTF-8")


def test_each_begin_and_end_has_its_place_in_the_one_order(raw: Raw, store: Store) -> None:
    seq = service.newest_seq(store)
    raw(PAUSE)
    raw(RESUME)
    raw("INSERT INTO plan_pauses (plan_id) VALUES ('greeter')")
    told = [change.row for change in service.changes_since(store, seq).changes]
    assert [row[1:2] + row[3:5] for row in told] == [
        (CONDUCTOR, MessageType.PAUSE, "plan greeter is paused by ada: lunch"),
        (CONDUCTOR, MessageType.GO_ON, "bob lets plan greeter go on"),
        (CONDUCTOR, MessageType.PAUSE, "plan greeter is paused by somebody"),
    ]


def test_who_waits_for_a_task_hears_of_it_from_a_raw_writer(raw: Raw, store: Store) -> None:
    with store.listen("task-01") as ear:
        ear.wait(0)
        raw(PAUSE)
        assert ear.wait(HANG_S)
