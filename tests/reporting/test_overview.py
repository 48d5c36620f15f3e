"""Nothing is said to run that is not known to live."""

import pytest

from musician.protocol.rules.liveness import Owner
from musician.protocol.states import State
from musician.reporting.overview import Lane, overview_of
from musician.store.port import Store
from tests.conftest import Walk


def lane(store: Store, owner: Owner | None, *, is_conducted: bool = True) -> Lane:
    look = overview_of(store, is_conducted=is_conducted, owner_of=lambda _: owner)
    ((task,),) = (each.tasks for each in look.plans)
    return task.lane


@pytest.mark.parametrize(
    ("owner", "expected"),
    [
        (Owner.LIVE, Lane.RUNNING),
        (Owner.SILENT, Lane.UNKNOWN),
        (Owner.DOUBTFUL, Lane.UNKNOWN),
        (Owner.STALE, Lane.STANDS_STILL),
        (Owner.DEAD, Lane.STANDS_STILL),
        (None, Lane.UNKNOWN),
    ],
)
def test_a_task_at_work_stands_where_its_owner_is_known_to_be(
    store: Store, walk: Walk, owner: Owner | None, expected: Lane
) -> None:
    walk(store, "task-01", State.WORKING)
    assert lane(store, owner) is expected


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (State.WATCHING, Lane.LATER),
        (State.EXITED, Lane.STANDS_STILL),
        (State.COMPLETE, Lane.DONE),
    ],
)
def test_a_task_at_rest_needs_no_owner(store: Store, walk: Walk, state: State, expected: Lane) -> None:
    walk(store, "task-01", state)
    assert lane(store, None) is expected


def test_what_a_person_must_do_comes_before_all_else(store: Store, walk: Walk) -> None:
    walk(store, "task-01", State.NEEDS_REVIEW)
    assert lane(store, Owner.LIVE, is_conducted=False) is Lane.NEEDS_YOU
    assert lane(store, Owner.LIVE, is_conducted=True) is Lane.RUNNING
