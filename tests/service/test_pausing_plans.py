"""A plan that a person has paused: nothing of it is claimed, and what is under way comes to rest (PLAN-23)."""

import pytest

from musician import service
from musician.protocol.claim import Claim
from musician.protocol.errors import ClaimBlocked, PlanPaused, PlanStands, UnknownPlan
from musician.protocol.messages.kinds import MessageType
from musician.protocol.names import CONDUCTOR
from musician.protocol.settings import Settings
from musician.protocol.states import State
from musician.reporting.timeline import happenings
from musician.store.port import Store
from musician.store.queries.plans import Plans
from tests.said import evidence, submission
from tests.service.test_plan_verbs import lock, plan, task

SETTINGS = Settings()


@pytest.fixture
def band(store: Store) -> Store:
    lock(store, plan((task("task-01"), task("task-02"), task("task-03")), plan_id="band"))
    lock(store, plan((task("task-31"),), plan_id="another"))
    return store


def claim(store: Store, task_id: str, session_id: str) -> Claim:
    return service.claim(store, task_id, session_id, settings=SETTINGS).claim


def pause(store: Store, reason: str = "lunch", who: str = "ada") -> service.PlanPause:
    return service.pause_plan(store, "band", who=who, reason=reason)


def resume(store: Store) -> None:
    assert service.resume_plan(store, "band", who="ada") is not None


def words(store: Store, task_id: str) -> list[str]:
    kinds = (MessageType.PAUSE, MessageType.GO_ON)
    return [each.message_type for each in service.messages_of(store, task_id) if each.message_type in kinds]


def test_a_paused_plan_is_not_claimed_and_says_by_whom_and_why(band: Store) -> None:
    pause(band)
    with pytest.raises(PlanPaused) as refused:
        claim(band, "task-01", "s1")
    error = refused.value
    assert (error.plan_id, error.who, error.why) == ("band", "ada", "lunch")
    for part in ("paused by ada since", "lunch", "musician plan resume band"):
        assert part in str(error)
    assert service.task_row(band, "task-01").state is State.WATCHING
    with pytest.raises(PlanPaused):
        service.claim(band, "task-01", "s1", out_of_turn=True, settings=SETTINGS)
    resume(band)
    assert claim(band, "task-01", "s1").epoch == 1


def test_what_could_not_be_claimed_anyway_says_so(band: Store) -> None:
    claim(band, "task-01", "s1")
    pause(band)
    with pytest.raises(ClaimBlocked) as refused:
        claim(band, "task-01", "s2")
    assert not isinstance(refused.value, PlanPaused)
    assert claim(band, "task-01", "s1").epoch == 1, "its owner's own second claim"


def test_the_first_word_stands_and_whoever_plays_looks_it_up(band: Store) -> None:
    """No message wakes a session's model to tell it that it is to do nothing."""
    claim(band, "task-01", "s1")
    first = pause(band)
    second = pause(band, reason="dinner", who="bob")
    assert (first.is_new, second.is_new) == (True, False)
    assert (second.row.who, second.row.reason) == ("ada", "lunch"), "the first word stands"
    for task_id in ("task-01", "task-02"):
        assert "paused by ada" in service.task_view(band, task_id).pause
    assert service.task_view(band, "task-31").pause == ""
    assert words(band, "task-01") == []
    resume(band)
    assert service.task_view(band, "task-01").pause == ""
    assert service.resume_plan(band, "band", who="ada") is None
    told = [each.text for each in happenings(band).happenings if each.task_id == CONDUCTOR]
    assert told == ["plan band is paused by ada: lunch", "ada lets plan band go on"]


def test_what_a_barrier_holds_it_holds_before_during_and_after_a_pause(band: Store) -> None:
    claim(band, "task-01", "s1")
    service.pause(band, "task-01", "a barrier")
    pause(band)
    assert "paused by ada" in service.task_view(band, "task-01").pause
    resume(band)
    assert service.task_view(band, "task-01").pause == "a barrier"
    pause(band)
    service.go_on(band, "task-01")
    assert "paused by ada" in service.task_view(band, "task-01").pause
    resume(band)
    assert service.task_view(band, "task-01").pause == ""
    assert words(band, "task-01") == ["pause", "go_on"]


def test_a_wait_for_a_conductor_does_not_time_out_while_a_person_has_paused_the_plan(band: Store) -> None:
    """PLAN-25: it waits for a person."""
    owner = claim(band, "task-01", "s1")
    assert not service.observe(band, owner, awaiting_id=None).waits_for_human
    pause(band)
    seen = service.observe(band, owner, awaiting_id=None)
    assert seen.waits_for_human
    assert "lunch" in seen.plan_pause


def test_what_is_under_way_goes_on_to_its_verdict_while_the_plan_is_paused(band: Store) -> None:
    owner = claim(band, "task-01", "s1")
    pause(band)
    service.beat(band, owner)
    sent = service.submit(band, owner, submission(MessageType.REVIEW_REQUEST, "R"), verified=evidence())
    service.judge(band, "task-01", State.REVIEW_APPROVED, "Approved.", submission_id=sent)
    service.resume(band, owner)
    assert service.task_row(band, "task-01").state is State.WORKING


def test_what_is_not_open_cannot_be_paused(band: Store) -> None:
    with pytest.raises(UnknownPlan):
        service.pause_plan(band, "nobody", who="ada")
    with pytest.raises(UnknownPlan):
        service.resume_plan(band, "nobody", who="ada")
    lock(band, plan((), plan_id="over"))
    with band.write() as tx:
        tx.run(Plans.finish_plan, plan_id="over")
    with pytest.raises(PlanStands, match="complete"):
        service.pause_plan(band, "over", who="ada")
    assert service.paused_plans(band) == {}


def test_a_reason_of_many_lines_is_one_bounded_line(band: Store) -> None:
    row = pause(band, reason=" a\n\n b " + "x" * 5000).row
    assert row.reason.startswith("a b x")
    assert len(row.reason) == 500
