"""Lists of what happened are in the order of its writing, whatever the clock said: here it runs backwards."""

import itertools
import os

import pytest

from musician import service
from musician.processes.identity import identify
from musician.protocol.errors import WhichTask
from musician.protocol.states import State
from musician.service import Met
from musician.service.clients import clients_in
from musician.store.port import Store
from musician.store.queries.subagents import SubagentRow
from musician.store.sqlite.store import SqliteStore
from musician.testing.simulation.clock import set_clock
from tests.conftest import Walk
from tests.service.test_plan_verbs import lock, plan, task

SHUFFLED = ("task-02", "task-01", "task-03")


@pytest.fixture
def store(store: Store) -> Store:
    assert isinstance(store, SqliteStore)
    moments = itertools.count()
    set_clock(store.connection, lambda: -60.0 * next(moments))
    return store


def test_what_a_session_has_claimed_is_listed_from_the_latest_claim(store: Store, walk: Walk) -> None:
    """DATA-11."""
    for task_id in SHUFFLED:
        walk(store, task_id, State.EXITED)
    with pytest.raises(WhichTask) as which:
        service.only_claim(store, "session-1")
    assert which.value.had == ("task-03", "task-01", "task-02")


def test_the_sessions_of_a_process_are_listed_from_the_one_that_claimed_last(
    store: Store, walk: Walk
) -> None:
    """DATA-11: the one that goes on under its next id claimed last, although no change of state says so."""
    here = Met(identity=identify(os.getpid()), attended=True, hosted=False, source="clear")
    for session, task_id in zip("bca", SHUFFLED, strict=True):
        walk(store, task_id, State.WORKING, session_id=session)
        service.meet_client(store, session, here)
    with store.read() as tx:
        assert [client.session_id for client in clients_in(tx, here.identity, but="")] == ["a", "c", "b"]


def test_subagents_are_listed_as_they_began(store: Store, walk: Walk) -> None:
    """DATA-11."""
    claim = walk(store, "task-01", State.WORKING)
    assert claim is not None
    for name in ("b", "c", "a", "b"):
        service.begin_subagent(store, claim, SubagentRow(agent_id=name, kind="general-purpose"))
    assert [each.agent_id for each in service.running_subagents(store, claim)] == ["b", "c", "a"]


def test_plans_are_listed_as_they_were_locked(store: Store) -> None:
    """DATA-11."""
    for plan_id, task_id in zip(("second", "third", "first"), SHUFFLED, strict=True):
        lock(store, plan((task(task_id),), plan_id=plan_id))
    for listed in (service.all_plans(store), service.current_plans(store)):
        assert [each.plan_id for each in listed] == ["second", "third", "first"]
