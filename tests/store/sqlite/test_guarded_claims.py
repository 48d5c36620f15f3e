"""The claim guard, for every writer: a blocked claim affects 0 rows (D2, D4)."""

# ruff: noqa: S608 - raw SQL is the point
import pytest

from musician import service
from musician.protocol.claim import Claim
from musician.protocol.errors import ClaimBlocked
from musician.protocol.settings import Heartbeat, Settings
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


SEIZES = {
    "the sources' claim without its clause": "state = 'working', session_id = 'B'",
    "the session alone": "session_id = 'B'",
    "with the next epoch": "session_id = 'B', claim_epoch = claim_epoch + 1",
    "with a heartbeat": "session_id = 'B', last_heartbeat = datetime('now')",
    "as an error": "state = 'error', session_id = 'B'",
    "nobody": "session_id = NULL",
}


@pytest.mark.parametrize("what", SEIZES)
@pytest.mark.parametrize(
    "state", [State.WORKING, State.REVIEW_APPROVED, State.FIX_PROPOSED, State.NEEDS_REVIEW]
)
def test_a_live_owners_task_stays_its_owners(
    raw: Raw, store: Store, walk: Walk, state: State, what: str
) -> None:
    """AUDIT-P2: 0 rows; afterwards the owner still owns it."""
    claim = walk(store, "task-01", state)
    assert claim is not None
    with_legal_state = "state" not in SEIZES[what] or state is not State.NEEDS_REVIEW
    if with_legal_state:
        blocks(raw, f"UPDATE orchestration_tasks SET {SEIZES[what]} WHERE task_id = 'task-01'")
    assert service.task_row(store, "task-01").session_id == claim.session_id
    service.beat(store, claim)


@pytest.mark.parametrize("what", ["the session alone", "with the next epoch"])
def test_a_session_is_never_written_into_a_row_without_a_claim(
    raw: Raw, store: Store, walk: Walk, grow_old: GrowOld, what: str
) -> None:
    """AUDIT-P2: a task that nobody has, or whose owner is dead, is claimed; its row is not."""
    walk(store, "task-01", State.WATCHING)
    walk(store, "task-02", State.WORKING)
    walk(store, "task-03", State.EXITED)
    grow_old(store, "task-02", 10_000)
    for task_id in ("task-01", "task-02", "task-03"):
        blocks(raw, f"UPDATE orchestration_tasks SET {SEIZES[what]} WHERE task_id = '{task_id}'")


def test_a_conductor_that_lives_keeps_its_row(raw: Raw, store: Store, grow_old: GrowOld) -> None:
    """AUDIT-P2: the conductor's row is one, too."""
    conducting = service.start_conducting(store, "c1", settings=Settings())
    blocks(raw, "UPDATE orchestration_tasks SET session_id = 'B' WHERE task_id = 'task-00'")
    assert service.beat_conductor(store, conducting)
    grow_old(store, "task-00", 10_000)
    assert raw("UPDATE orchestration_tasks SET session_id = 'B' WHERE task_id = 'task-00'") == 1


def test_raw_writers_are_held_to_the_same_age_as_the_service(
    raw: Raw, store: Store, walk: Walk, grow_old: GrowOld
) -> None:
    """AUDIT-P11, D40.4: an hour is allowed, and an owner of ten minutes keeps its task."""
    claim = walk(store, "task-01", State.FIX_PROPOSED)
    patient = Settings(heartbeat=Heartbeat(stale_after_s=3600))
    service.keep_settings(store, patient)
    grow_old(store, "task-01", 600)
    blocks(raw, claim_sql("task-01", "'thief'"))
    with pytest.raises(ClaimBlocked):
        service.claim(store, "task-01", "thief", settings=patient, quiet=True)
    grow_old(store, "task-01", 3601)
    assert raw(claim_sql("task-01", "'heir'")) == 1
    assert claim is not None


def test_the_service_writes_down_what_the_guards_go_by(store: Store, walk: Walk, grow_old: GrowOld) -> None:
    """AUDIT-P11: whoever claims or conducts brings the settings along."""
    walk(store, "task-01", State.FIX_PROPOSED)
    grow_old(store, "task-01", 130)
    quick = Settings(heartbeat=Heartbeat(refresh_after_s=10, stale_after_s=120))
    assert service.claim(store, "task-01", "heir", settings=quick).is_new
    assert service.kept_settings(store) == service.guarded(quick)
    service.start_conducting(store, "c1", settings=Settings())
    assert service.kept_settings(store) == service.guarded(Settings())


@pytest.mark.parametrize("value", ["'soon'", "NULL", "x'00'"])
def test_where_the_age_cannot_be_read_the_owner_lives(
    raw: Raw, store: Store, walk: Walk, grow_old: GrowOld, value: str
) -> None:
    walk(store, "task-01", State.FIX_PROPOSED)
    grow_old(store, "task-01", 10_000)
    if value == "NULL":
        raw("DELETE FROM settings WHERE name = 'heartbeat.stale_after_s'")
    else:
        raw(f"UPDATE settings SET value = {value} WHERE name = 'heartbeat.stale_after_s'")
    blocks(raw, claim_sql("task-01", "'thief'"))
