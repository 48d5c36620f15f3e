"""The conductor's own row: one conductor at a time, interrupted and taken up again (D13)."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from musician import service
from musician.protocol.errors import NoSession
from musician.protocol.settings import Settings
from musician.protocol.states import State
from musician.service import Conducting
from musician.store.port import Store
from musician.store.sqlite.store import SqliteStore
from tests.conftest import GrowOld

Untouched = Callable[[], AbstractContextManager[None]]


def start(store: Store, session_id: str) -> Conducting:
    return service.start_conducting(store, session_id, settings=Settings())


def row_of(store: Store) -> tuple[State, str | None, int]:
    row = service.conductor_row(store)
    assert row is not None
    return row.state, row.session_id, row.claim_epoch


def test_the_first_run_makes_the_row(store: Store) -> None:
    assert service.conductor_row(store) is None
    first = start(store, "c1")
    assert (first.session_id, first.epoch) == ("c1", 1)
    assert row_of(store) == (State.WORKING, "c1", 1)
    assert service.open_tasks(store) == ()


def test_a_dead_conductors_row_is_taken_at_once(store: Store) -> None:
    first = start(store, "c1")
    second = start(store, "c2")
    assert row_of(store) == (State.WORKING, "c2", 2)
    assert not service.beat_conductor(store, first)
    assert service.beat_conductor(store, second)


def test_a_row_that_nobody_ever_held_blocks_nobody(store: Store) -> None:
    assert isinstance(store, SqliteStore)
    store.connection.execute("INSERT INTO orchestration_tasks (task_id, state) VALUES ('task-00', 'working')")
    assert start(store, "c1").epoch == 1
    assert row_of(store) == (State.WORKING, "c1", 1)


def test_beating_shows_life(store: Store, grow_old: GrowOld) -> None:
    conducting = start(store, "c1")
    grow_old(store, "task-00", 300)
    assert service.beat_conductor(store, conducting)
    row = service.conductor_row(store)
    assert row is not None
    assert row.heartbeat_age_s is not None
    assert row.heartbeat_age_s < 60


def test_an_interrupted_run_is_taken_up_again(store: Store) -> None:
    service.interrupt_conducting(store, start(store, "c1"))
    assert row_of(store)[0] is State.EXIT_REQUESTED
    service.finish_conducting(store, start(store, "c2"), "greeter")
    row = service.conductor_row(store)
    assert row is not None
    assert row.state is State.COMPLETE
    assert row.completed_at is not None
    assert start(store, "c3").epoch == 3
    row = service.conductor_row(store)
    assert row is not None
    assert row.completed_at is None


def test_a_conductor_that_lost_its_row_cannot_end_its_successors_run(store: Store) -> None:
    first = start(store, "c1")
    start(store, "c2")
    service.interrupt_conducting(store, first)
    service.finish_conducting(store, first, "greeter")
    assert row_of(store) == (State.WORKING, "c2", 2)


@pytest.mark.parametrize("session_id", ["", "null"])
def test_a_conductor_has_a_session(store: Store, untouched: Untouched, session_id: str) -> None:
    with untouched(), pytest.raises(NoSession):
        start(store, session_id)
