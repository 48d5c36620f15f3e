"""Who listens hears of everything that concerns it, whoever wrote it, and sleeps through the rest (D11)."""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from musician.store import bell, listening
from musician.store.listening import Listener
from musician.store.port import Store
from musician.store.queries.work import Work
from musician.store.sqlite.store import SqliteStore
from musician.testing.waiting import HANG_S
from tests.store.test_store_behaviour import open_task, say

Face = Callable[[Listener, float], bool]


def asleep(ear: Listener, at_most_s: float) -> bool:
    return ear.wait(at_most_s)


def awaited(ear: Listener, at_most_s: float) -> bool:
    return anyio.run(ear.heard, at_most_s)


@pytest.fixture(params=[asleep, awaited])
def hears(request: pytest.FixtureRequest) -> Face:
    """Both faces: a thread's and an event loop's."""
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def other(open_store: Callable[[], Store], store: Store) -> Store:
    """Somebody else's connection, where two tasks are open."""
    other = open_store()
    with other.write() as tx:
        open_task(tx, "task-1")
        open_task(tx, "task-10")
    return other


def told(store: Store, task_id: str, *, rings: bool) -> None:
    with store.write() as tx:
        say(tx, task_id, "hello")
        if rings:
            tx.ring(task_id)


def note(store: Store, task_id: str) -> None:
    with store.write() as tx:
        tx.insert(
            Work.write_journal,
            task_id=task_id,
            claim_epoch=1,
            session_id="s",
            kind="note",
            item="",
            text="la la",
            severity=None,
            context_pct=None,
            commit_id=None,
        )


@pytest.mark.parametrize("rings", [True, False])
def test_a_writer_is_heard_whether_it_rings_or_not(
    store: Store, other: Store, hears: Face, *, rings: bool
) -> None:
    """D11.9"""
    with store.listen("task-1") as ear:
        told(other, "task-1", rings=rings)
        assert hears(ear, HANG_S)
        assert not hears(ear, 0)


@pytest.mark.parametrize("rings", [True, False])
def test_who_sleeps_is_woken(store: Store, other: Store, hears: Face, *, rings: bool) -> None:
    with store.listen("task-1") as ear:
        writer = threading.Timer(0.1, told, (other, "task-1"), {"rings": rings})
        writer.start()
        assert hears(ear, HANG_S)
        writer.join()


def test_what_happened_between_two_waits_is_heard_by_the_second(
    store: Store, other: Store, hears: Face
) -> None:
    with store.listen("task-1") as ear:
        assert not hears(ear, 0)
        told(other, "task-1", rings=False)
        assert hears(ear, 0)


def test_what_concerns_another_task_wakes_nobody(store: Store, other: Store, hears: Face) -> None:
    with store.listen("task-1") as ear, store.listen("task-10", "task-1") as both, store.listen() as every:
        told(other, "task-10", rings=True)
        assert [hears(each, 0) for each in (ear, both, every)] == [False, True, True]


def test_what_the_own_store_wrote_is_no_news_and_a_ring_is(store: Store, other: Store, hears: Face) -> None:
    with store.listen("task-1") as ear:
        told(store, "task-1", rings=False)
        assert not hears(ear, 0)
        told(store, "task-1", rings=True)
        assert hears(ear, 0)


def test_a_journal_is_news_only_to_who_wants_journals(store: Store, other: Store, hears: Face) -> None:
    with store.listen("task-1") as ear, store.listen("task-1", journals=True) as reader:
        note(other, "task-1")
        assert (hears(ear, 0), hears(reader, 0)) == (False, True)


def test_an_owner_that_knows_a_reason_nudges(store: Store, other: Store, hears: Face) -> None:
    with store.listen("task-1") as ear:
        ear.nudge()
        assert (hears(ear, HANG_S), hears(ear, 0)) == (True, False)


def test_a_store_that_is_busy_is_asked_again_and_not_waited_for(
    store: Store, other: Store, hears: Face
) -> None:
    held, let_go = threading.Event(), threading.Event()

    def hold() -> None:
        with store.read():
            held.set()
            let_go.wait(HANG_S)

    with store.listen("task-1") as ear:
        holder = threading.Thread(target=hold)
        holder.start()
        held.wait(HANG_S)
        told(other, "task-1", rings=False)
        assert not hears(ear, 0)
        let_go.set()
        assert hears(ear, HANG_S)
        holder.join()


def test_a_store_that_is_gone_wakes_nobody_before_the_time_is_up(
    open_store: Callable[[], Store], hears: Face
) -> None:
    store = open_store()
    with store.listen("task-1") as ear:
        store.close()
        assert not hears(ear, 0.1)


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The only folder for bells there would be is open to everybody."""
    (tmp_path / f"musician-{os.geteuid()}").mkdir(mode=0o777)
    (tmp_path / f"musician-{os.geteuid()}").chmod(0o777)
    for name in ("XDG_RUNTIME_DIR", "TMPDIR"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setattr(bell, "_SHARED_TEMPORARY", str(tmp_path))


@pytest.mark.usefixtures("nowhere")
def test_without_a_place_for_bells_everybody_is_heard_all_the_same(
    store: Store, other: Store, hears: Face
) -> None:
    with store.listen("task-1") as ear:
        told(other, "task-1", rings=True)
        assert hears(ear, HANG_S)
        ear.nudge()
        assert hears(ear, HANG_S)
        assert not hears(ear, 0.1)


def test_commits_within_one_tick_of_the_files_clock_are_all_heard(
    store: Store, other: Store, hears: Face
) -> None:
    """D11.9: the log is written over from its beginning, so that neither its time nor its length tells of a commit."""
    assert isinstance(other, SqliteStore)
    told(other, "task-1", rings=False)
    told(other, "task-1", rings=False)
    other.connection.execute("PRAGMA wal_checkpoint(RESTART)")
    log = other.path.with_name(other.path.name + "-wal")
    tick_ns = time.time_ns() + 3600 * 10**9  # one that is not over, however slow this machine is
    with store.listen("task-1") as ear:
        for _ in range(2):
            told(other, "task-1", rings=False)
            os.utime(log, ns=(tick_ns, tick_ns))
            assert hears(ear, 0)


def test_something_besides_ends_the_wait_of_a_thread(store: Store, other: Store) -> None:
    readable, writable = os.pipe()
    os.close(writable)
    with store.listen("task-1") as ear:
        assert not ear.wait(HANG_S, besides=(readable,))
    os.close(readable)


def test_a_cancelled_wait_loses_nothing(store: Store, other: Store) -> None:
    async def main(ear: Listener) -> None:
        with anyio.move_on_after(0.05):
            await ear.heard(HANG_S)
        told(other, "task-1", rings=True)
        assert await ear.heard(0)

    with store.listen("task-1") as ear:
        anyio.run(main, ear)


def test_the_bounds_are_what_is_promised() -> None:
    """D11.9"""
    assert listening.BUSY_S < listening.TICK_S < 1
