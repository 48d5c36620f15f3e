"""Claiming a task, staying its owner, and being told that one is not (D2, D4, D8, D9)."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from musician import service
from musician.protocol.claim import Claim
from musician.protocol.errors import BadId, ClaimBlocked, ClaimLost, NoSession, UnknownTask
from musician.protocol.messages.kinds import MessageType
from musician.protocol.messages.types import ClaimBlockedNotice
from musician.protocol.settings import Settings
from musician.protocol.states import ACTIVE, State
from musician.store.bell import Bell
from musician.store.port import Store
from musician.store.queries.tasks import Tasks
from tests.conftest import GrowOld, Walk
from tests.no_ids import ESCAPING, RESERVED, WIDENING

SETTINGS = Settings()
Untouched = Callable[[], AbstractContextManager[None]]


def claim(
    store: Store, session_id: str | None, *, task_id: str = "task-01", quiet: bool = False
) -> service.Taken:
    return service.claim(store, task_id, session_id, quiet=quiet, settings=SETTINGS)


def fallbacks(store: Store) -> list[str]:
    with store.read() as tx:
        names = ("fallback-a", "fallback-b", "fallback-c")
        return [name for name in names if tx.one(Tasks.task, task_id=name) is not None]


def test_a_claim_makes_its_session_the_owner(store: Store, walk: Walk) -> None:
    walk(store, "task-01", State.WATCHING)
    with Bell(Path(store.name), "task-00") as bell:
        taken = claim(store, "a")
        assert bell.drain()
    assert taken.claim == Claim(task_id="task-01", session_id="a", epoch=1)
    assert (taken.worked_by, taken.number, taken.is_new) == ("musician-task-01", 1, True)
    assert taken.instruction_path == "docs/tasks/task-01.md"
    row = service.task_row(store, "task-01")
    assert (row.state, row.session_id, row.worked_by) == (State.WORKING, "a", "musician-task-01")
    assert row.heartbeat_age_s is not None
    assert row.heartbeat_age_s < 60
    assert service.claims_of(store, "a") == (taken.claim,)


@pytest.mark.parametrize("state", sorted(ACTIVE - {State.EXIT_REQUESTED}))
def test_the_owners_second_claim_is_a_no_op_that_succeeds(
    store: Store, walk: Walk, untouched: Untouched, state: State
) -> None:
    mine = walk(store, "task-01", state, session_id="a")
    with untouched():
        again = claim(store, "a")
    assert again.claim == mine
    assert not again.is_new


def test_an_owner_asked_to_exit_may_only_exit(store: Store, walk: Walk) -> None:
    walk(store, "task-01", State.EXIT_REQUESTED, session_id="a")
    before = service.task_row(store, "task-01")
    with pytest.raises(ClaimBlocked, match="asked to exit"):
        claim(store, "a", quiet=True)
    after = service.task_row(store, "task-01")
    assert (after.state, after.claim_epoch) == (before.state, before.claim_epoch)


@pytest.mark.parametrize("state", [state for state in State if state is not State.WATCHING])
def test_nobody_claims_what_is_not_open_or_has_a_live_owner(
    store: Store, walk: Walk, untouched: Untouched, state: State
) -> None:
    walk(store, "task-01", state, session_id="a")
    with untouched(), pytest.raises(ClaimBlocked) as blocked:
        claim(store, "b", quiet=True)
    assert (blocked.value.task_id, blocked.value.state) == ("task-01", state)
    has_owner = state not in (State.EXITED, State.COMPLETE)
    assert blocked.value.owner == ("a" if has_owner else None)
    assert ("session a has it since" in blocked.value.reason) == has_owner
    assert ("have it handed off with `musician handoff task-01`" in blocked.value.remedy) == has_owner
    is_opened_by_a_person = state is State.EXITED
    assert ("next session with `musician handoff task-01`" in blocked.value.remedy) == is_opened_by_a_person
    assert blocked.value.exit_code == 5


def test_a_blocked_claim_leaves_the_task_and_lets_the_session_end(store: Store, walk: Walk) -> None:
    """D4, D9."""
    walk(store, "task-01", State.WORKING, session_id="a")
    before = service.task_row(store, "task-01")
    with Bell(Path(store.name), "task-00") as bell:
        with pytest.raises(ClaimBlocked):
            claim(store, "b")
        assert bell.drain()
    after = service.task_row(store, "task-01")
    assert (after.state, after.session_id, after.claim_epoch, after.last_heartbeat) == (
        before.state,
        before.session_id,
        before.claim_epoch,
        before.last_heartbeat,
    )
    assert fallbacks(store) == ["fallback-b"]
    said = service.messages_of(store, "task-01")[-1]
    assert (said.message_type, said.from_session) == (MessageType.CLAIM_BLOCKED, "b")
    notice = ClaimBlockedNotice.parse(said.message)
    session = service.task_view(store, "task-01").sessions[-1]
    whose = f"session a has it since {session.started_at}, last heartbeat {before.last_heartbeat} (UTC)"
    assert (notice.task_id, notice.reason) == (
        "task-01",
        f"working: its state cannot be claimed; {whose}",
    )
    assert [row.task_id for row in service.tasks_of(store)] == ["task-01"]


def test_fallback_rows_and_notices_are_written_once(store: Store, walk: Walk, untouched: Untouched) -> None:
    """D9: one row for a session, one notice for a session and a task."""
    walk(store, "task-01", State.WORKING, session_id="a")
    walk(store, "task-02", State.WORKING, session_id="a")
    with pytest.raises(ClaimBlocked):
        claim(store, "b")
    with untouched(), pytest.raises(ClaimBlocked):
        claim(store, "b")
    with pytest.raises(ClaimBlocked):
        claim(store, "b", task_id="task-02")
    for task_id in ("task-01", "task-02"):
        notices = [
            m for m in service.messages_of(store, task_id) if m.message_type == MessageType.CLAIM_BLOCKED
        ]
        assert len(notices) == 1
    assert fallbacks(store) == ["fallback-b"]


def test_a_polling_worker_writes_nothing(store: Store, walk: Walk, untouched: Untouched) -> None:
    walk(store, "task-01", State.WORKING, session_id="a")
    with untouched(), pytest.raises(ClaimBlocked):
        claim(store, "b", quiet=True)


def test_without_an_instruction_there_is_no_claim(store: Store, walk: Walk) -> None:
    """D4."""
    with store.write() as tx:
        tx.run(
            Tasks.open_task,
            task_id="task-01",
            title="t",
            plan_id=None,
            phase=None,
            position=None,
            instruction_path="a.md",
            retry_limit=5,
        )
    with pytest.raises(ClaimBlocked, match="no instruction"):
        claim(store, "a")
    assert service.task_row(store, "task-01").state is State.WATCHING
    assert fallbacks(store) == ["fallback-a"]


def test_a_live_claim_counts_beside_a_fallback_row(store: Store, walk: Walk) -> None:
    """D9."""
    walk(store, "task-01", State.WORKING, session_id="a")
    mine = walk(store, "task-02", State.WORKING, session_id="b")
    with pytest.raises(ClaimBlocked):
        claim(store, "b")
    assert service.claims_of(store, "b") == (mine,)


@pytest.mark.parametrize("session_id", [None, "", "  ", "null", "None"])
def test_an_absent_session_claims_nothing(
    store: Store, walk: Walk, untouched: Untouched, session_id: str | None
) -> None:
    walk(store, "task-01", State.WATCHING)
    with untouched(), pytest.raises(NoSession):
        claim(store, session_id)


@pytest.mark.parametrize("task_id", [*ESCAPING, *RESERVED, *WIDENING, "x" * 65, ""])
def test_a_bad_id_is_refused_before_anything_is_touched(
    store: Store, walk: Walk, untouched: Untouched, task_id: str
) -> None:
    """B43, D8."""
    walk(store, "task-01", State.WATCHING)
    with untouched(), pytest.raises(BadId):
        claim(store, "a", task_id=task_id)


@pytest.mark.parametrize("task_id", ["task-1", "task-10", "task_01", "TASK-01", "task-0"])
def test_lookups_are_exact(store: Store, walk: Walk, untouched: Untouched, task_id: str) -> None:
    walk(store, "task-01", State.WATCHING)
    with untouched(), pytest.raises(UnknownTask) as unknown:
        claim(store, "a", task_id=task_id)
    assert unknown.value.task_id == task_id


def test_successors_are_numbered_and_named(store: Store, walk: Walk) -> None:
    walk(store, "task-01", State.EXITED, session_id="a")
    service.reopen(store, "task-01", "go on")
    second = claim(store, "b")
    assert (second.worked_by, second.number, second.claim.epoch) == ("musician-task-01-S2", 2, 2)
    service.fence(store, "task-01", epoch=2)
    service.take_over(store, "task-01", "go on", reason="dead")
    third = claim(store, "c")
    assert (third.worked_by, third.number) == ("musician-task-01-S3", 3)
    assert third.claim.epoch > second.claim.epoch + 1


def test_a_stale_owners_task_is_claimed_from_a_claimable_state(
    store: Store, walk: Walk, grow_old: GrowOld
) -> None:
    old = walk(store, "task-01", State.FIX_PROPOSED, session_id="a")
    assert old is not None
    grow_old(store, "task-01", 541)
    taken = claim(store, "b")
    assert taken.claim.epoch == old.epoch + 1
    with pytest.raises(ClaimLost):
        service.beat(store, old)


def test_a_claim_never_enters_a_takeover(store: Store, walk: Walk, grow_old: GrowOld) -> None:
    mine = walk(store, "task-01", State.FIX_PROPOSED, session_id="a")
    assert mine is not None
    service.fence(store, "task-01", epoch=mine.epoch)
    grow_old(store, "task-01", 10_000)
    for session_id in ("a", "b"):  # the fenced session itself gets no second life either
        with pytest.raises(ClaimBlocked, match="being taken over from session a"):
            claim(store, session_id, quiet=True)
    service.take_over(store, "task-01", "go on", reason="dead")
    assert claim(store, "b").number == 2


def test_a_heartbeat_is_refreshed_by_its_owner_only(store: Store, walk: Walk, grow_old: GrowOld) -> None:
    mine = walk(store, "task-01", State.WORKING, session_id="a")
    assert mine is not None
    grow_old(store, "task-01", 500)
    for stranger in (
        Claim(task_id="task-01", session_id="b", epoch=mine.epoch),
        Claim(task_id="task-01", session_id="a", epoch=mine.epoch + 1),
    ):
        with pytest.raises(ClaimLost) as lost:
            service.beat(store, stranger)
        assert lost.value.current_epoch == mine.epoch
    age = service.task_row(store, "task-01").heartbeat_age_s
    assert age is not None
    assert age >= 500
    service.beat(store, mine)
    age = service.task_row(store, "task-01").heartbeat_age_s
    assert age is not None
    assert age < 60


def test_a_call_without_an_epoch_means_the_sessions_own_claim(store: Store, walk: Walk) -> None:
    mine = walk(store, "task-01", State.WORKING, session_id="a")
    assert service.current_claim(store, "task-01", "a") == mine
    assert (
        service.current_claim(store, "task-01", "a", epoch=7).epoch == 7
    )  # refused by the verb that uses it
    with pytest.raises(ClaimLost) as never:
        service.current_claim(store, "task-01", "b")
    assert never.value.epoch is None
    with pytest.raises(UnknownTask):
        service.current_claim(store, "task-9", "a")
    with pytest.raises(NoSession):
        service.current_claim(store, "task-01", "null")
    service.fence(store, "task-01", epoch=1)
    with pytest.raises(ClaimLost) as fenced:
        service.current_claim(store, "task-01", "a")
    assert (fenced.value.epoch, fenced.value.current_epoch) == (1, 2)


def test_a_session_may_hold_several_claims(store: Store, walk: Walk) -> None:
    claims = [walk(store, f"task-0{number}", State.WORKING, session_id="a") for number in (2, 1)]
    assert service.claims_of(store, "a") == tuple(reversed(claims))
    assert service.claims_of(store, "b") == ()
    service.fence(store, "task-01", epoch=1)
    assert service.claims_of(store, "a") == (claims[0],)
