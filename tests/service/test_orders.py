"""Orders are addressed: what was ordered of a claim ends with it, and what a successor finds unread is for it (D37)."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from musician import service
from musician.protocol.claim import Claim
from musician.protocol.errors import BadField
from musician.protocol.settings import Settings
from musician.protocol.states import State
from musician.store.port import Store
from musician.store.sqlite.store import SqliteStore
from tests.conftest import GrowOld, Walk
from tests.said import farewell

Untouched = Callable[[], AbstractContextManager[None]]


def leave(store: Store, claim: Claim) -> None:
    service.exit_task(store, claim, farewell("asked", path="h"), handoff="next: all")
    service.hand_over(store, claim.task_id, "go on where it stopped")


def succeed(store: Store, task_id: str) -> Claim:
    return service.claim(store, task_id, "successor", settings=Settings()).claim


def unread(store: Store, task_id: str) -> list[str]:
    return [message.message for message in service.unread(store, task_id)]


ORDERS: dict[str, Callable[[Store], object]] = {
    "exit": lambda store: service.request_exit(store, "task-01", "please leave", urgent=False),
    "exit at once": lambda store: service.request_exit(store, "task-01", "leave now", urgent=True),
    "pause": lambda store: service.pause(store, "task-01", "for task-02"),
}


@pytest.mark.parametrize("name", ORDERS)
def test_what_was_ordered_of_a_claim_ends_with_it(store: Store, walk: Walk, name: str) -> None:
    """AUDIT-P6, D37.1."""
    claim = walk(store, "task-01", State.WORKING)
    assert claim is not None
    service.send(store, "task-01", "a note is for the task")
    ORDERS[name](store)
    assert len(unread(store, "task-01")) > 2
    leave(store, claim)
    heir = succeed(store, "task-01")
    said = ["docs/tasks/task-01.md", "a note is for the task", "go on where it stopped"]
    assert unread(store, "task-01") == said
    assert [each.message for each in service.undelivered(store, heir)] == said
    view = service.task_view(store, "task-01")
    assert view.unread == 3
    assert view.pause == ("for task-02" if name == "pause" else ""), (
        "a phase stands still whoever plays its tasks"
    )
    service.deliver(store, heir, tuple(each.id for each in service.unread(store, "task-01")))
    service.acknowledge(store, heir, service.unread(store, "task-01")[-1].id)
    assert unread(store, "task-01") == []


def test_a_claim_that_is_taken_from_the_dead_has_ended_too(
    store: Store, walk: Walk, grow_old: GrowOld
) -> None:
    """AUDIT-P6."""
    claim = walk(store, "task-01", State.WORKING)
    assert claim is not None
    service.request_exit(store, "task-01", "please leave", urgent=False)
    grow_old(store, "task-01", 10_000)
    service.fence(store, "task-01", epoch=claim.epoch)
    service.take_over(store, "task-01", "its owner died", reason="dead")
    succeed(store, "task-01")
    assert unread(store, "task-01") == ["docs/tasks/task-01.md", "its owner died"]


def test_a_verdict_belongs_to_the_claim_that_asked_for_it(store: Store, walk: Walk) -> None:
    """AUDIT-P6: the successor knows it from the submission it judged."""
    claim = walk(store, "task-01", State.REVIEW_FAILED)
    assert claim is not None
    assert unread(store, "task-01")[1:] == ["so be it"]
    leave(store, claim)
    succeed(store, "task-01")
    assert "so be it" not in unread(store, "task-01")


def test_a_fix_that_nobody_heard_is_for_whoever_plays_next(store: Store, walk: Walk) -> None:
    """D37: a session that waits in error may have ended when a person answers; what he says is not lost."""
    claim = walk(store, "task-01", State.ERROR)
    assert claim is not None
    service.judge_as_person(store, "task-01", State.FIX_PROPOSED, "use the cure")
    leave(store, claim)
    succeed(store, "task-01")
    assert unread(store, "task-01")[1:] == ["use the cure", "go on where it stopped"]


def test_what_is_ordered_while_nobody_has_the_task_is_for_the_next(store: Store, walk: Walk) -> None:
    """AUDIT-P6, D37.1."""
    claim = walk(store, "task-01", State.EXITED)
    assert claim is not None
    service.hand_over(store, "task-01", "go on")
    service.pause(store, "task-01", "for task-02")
    succeed(store, "task-01")
    assert unread(store, "task-01")[-1] == "for task-02"
    assert service.task_view(store, "task-01").pause == "for task-02"


def test_an_order_by_raw_sql_is_addressed_as_well(store: Store, walk: Walk) -> None:
    """AUDIT-P6."""
    claim = walk(store, "task-01", State.WORKING)
    assert claim is not None
    assert isinstance(store, SqliteStore)
    store.connection.execute(
        "INSERT INTO orchestration_messages (task_id, from_session, message_type, message)"
        " VALUES ('task-01', 'task-00', 'exit_request', 'raw: leave')"
    )
    assert unread(store, "task-01")[-1] == "raw: leave"
    leave(store, claim)
    succeed(store, "task-01")
    assert "raw: leave" not in unread(store, "task-01")


@pytest.mark.parametrize("text", ["", " \n", "\udcff"])
@pytest.mark.parametrize(
    "order",
    [
        lambda store, text: service.send(store, "task-01", text),
        lambda store, text: service.request_exit(store, "task-01", text, urgent=True),
        lambda store, text: service.skip(store, "task-01", text),
        lambda store, text: service.reject_proposal(store, 1, text),
    ],
    ids=["send", "stop", "skip", "reject"],
)
def test_an_order_that_says_nothing_is_refused_by_the_verb_itself(
    store: Store, walk: Walk, untouched: Untouched, order: Callable[[Store, str], object], text: str
) -> None:
    walk(store, "task-01", State.WORKING)
    with untouched(), pytest.raises(BadField, match=r"say something|decode it first"):
        order(store, text)
