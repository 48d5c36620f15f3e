"""The session in which a person conducts: one at a time, never a musician's, told each thing once."""

import os
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from musician import service
from musician.processes.identity import identify
from musician.protocol.claim import Claim
from musician.protocol.errors import ClaimBlocked, ConductorTaken, JudgedAlready, NoSession, NotConducting
from musician.protocol.settings import Settings
from musician.protocol.states import State
from musician.service import Met
from musician.store.port import Store
from tests.said import farewell

if TYPE_CHECKING:
    from tests.conftest import Walk

HERE = Met(identity=identify(os.getpid()), attended=True, hosted=False)
Untouched = Callable[[], AbstractContextManager[None]]


def seat(store: Store, session_id: str, *, lives: bool | None = True, met: Met = HERE) -> None:
    service.begin_conducting(store, session_id, met, lives=lambda _: lives)


@pytest.mark.parametrize("lives", [True, None], ids=["lives", "cannot be seen"])
def test_a_second_session_is_told_who_conducts(
    store: Store, untouched: Untouched, lives: bool | None
) -> None:
    """CONDUCTOR-SESSION-ONE."""
    seat(store, "first")
    with untouched(), pytest.raises(ConductorTaken, match="session first conducts here since") as taken:
        seat(store, "second", lives=lives)
    assert taken.value.pid == os.getpid()
    service.check_conducts(store, "first")
    with pytest.raises(NotConducting, match="session first does"):
        service.check_conducts(store, "second")


def test_a_dead_one_is_replaced_and_speaks_no_more(store: Store) -> None:
    """CONDUCTOR-SESSION-ONE."""
    seat(store, "first")
    seat(store, "first", lives=False)
    seat(store, "second", lives=False)
    service.check_conducts(store, "second")
    with pytest.raises(NotConducting, match="session second does"):
        service.check_conducts(store, "first")


def test_of_many_at_once_one_conducts(open_store: Callable[[], Store]) -> None:
    """CONDUCTOR-SESSION-ONE."""
    open_store()
    seated: list[str] = []

    def ask(store: Store, name: str) -> None:
        try:
            seat(store, name)
        except ConductorTaken:
            return
        seated.append(name)

    threads = [threading.Thread(target=ask, args=(open_store(), f"s{number}")) for number in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(seated) == 1


def test_whoever_plays_does_not_judge(store: Store, walk: "Walk", untouched: Untouched) -> None:
    """CONDUCTOR-SESSION-MUSICIAN: neither by asking, nor by a claim that came after."""
    walk(store, "task-01", State.WORKING, session_id="m1")
    with untouched(), pytest.raises(NotConducting, match="it plays task-01"):
        seat(store, "m1")
    with pytest.raises(NotConducting, match="it plays task-01"):
        service.check_conducts(store, "m1")
    seat(store, "c1")
    walk(store, "task-02", State.WATCHING)
    with pytest.raises(ClaimBlocked, match="a conductor plays no task"):
        service.claim(store, "task-02", "c1", settings=Settings())
    walk(store, "task-03", State.WORKING, session_id="raw")
    service.leave_conducting(store, "c1")
    with pytest.raises(NotConducting, match="it plays task-03"):
        seat(store, "raw")
    service.exit_task(store, Claim(task_id="task-01", session_id="m1", epoch=1), farewell(), handoff="go on")
    with untouched(), pytest.raises(NotConducting, match="it has played task-01"):
        seat(store, "m1")


def test_a_session_without_an_id_cannot_conduct(store: Store, untouched: Untouched) -> None:
    with untouched(), pytest.raises(NoSession):
        service.begin_conducting(store, None, HERE, lives=lambda _: True)


def test_everything_is_told_once_and_again_after_it_was_settled(store: Store) -> None:
    """CONDUCTOR-SESSION-TOLD."""
    seat(store, "c1")
    assert service.tell_conductor_session(store, "c1", ("a", "b")) == {"a", "b"}
    assert service.tell_conductor_session(store, "c1", ("b", "c")) == {"c"}
    assert service.tell_conductor_session(store, "c1", ("a", "b", "c")) == {"a"}
    assert service.tell_conductor_session(store, "another", ("d",)) == frozenset()


def test_it_goes_on_under_the_next_id_of_its_process(store: Store) -> None:
    """CONDUCTOR-SESSION-ONE: after /clear; another process takes nothing along."""
    seat(store, "old")
    service.end_client(store, "old", reason=service.CLEARED)
    stranger = Met(identity=replace(HERE.identity, pid=1), attended=True, hosted=False)
    service.rebind(store, "thief", stranger)
    service.check_conducts(store, "old")
    service.rebind(store, "new", HERE)
    service.check_conducts(store, "new")
    assert service.current_session(store, "old") == "new"


def test_a_verdict_after_somebody_elses_is_told_that_it_came_too_late(
    store: Store, walk: "Walk", untouched: Untouched
) -> None:
    """CONDUCTOR-SESSION-LATE: a person may judge at any time, and their verdict stands."""
    walk(store, "task-01", State.NEEDS_REVIEW)
    submitted = service.history_of(store, "task-01")[-1].message_id
    by_hand = service.judge_as_person(store, "task-01", State.REVIEW_FAILED, "not yet")
    with untouched(), pytest.raises(JudgedAlready, match=r"too late, message .* review_failed") as late:
        service.judge_as_person(store, "task-01", State.REVIEW_APPROVED, "Approved.", submission_id=submitted)
    assert late.value.message_id == by_hand
