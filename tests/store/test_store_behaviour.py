"""What every store does, whatever database is behind it: the conformance suite over ``store``."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from musician import service
from musician.protocol.errors import DatabaseUnusable
from musician.store.bell import Bell
from musician.store.port import Store, Tx
from musician.store.queries.messages import Messages
from musician.store.queries.tasks import Tasks
from musician.testing.waiting import HANG_S

PARALLEL_SENDERS = 30


def open_task(tx: Tx, task_id: str) -> None:
    tx.run(
        Tasks.open_task,
        task_id=task_id,
        title="t",
        plan_id=None,
        phase=None,
        position=None,
        instruction_path="a.md",
        retry_limit=5,
    )


def say(tx: Tx, task_id: str, text: str) -> int:
    return tx.insert(
        Messages.send, task_id=task_id, from_session="task-00", message_type="note", message=text
    )


def texts(store: Store, task_id: str) -> list[object]:
    with store.read() as tx:
        return [row.message for row in tx.all(Messages.messages_of_task, task_id=task_id, most=1000)]


def write_and_fail(store: Store) -> None:
    with store.write() as tx:
        open_task(tx, "task-01")
        say(tx, "task-01", "never")
        tx.ring("task-01")
        raise ZeroDivisionError


def test_what_a_block_wrote_is_there_for_every_connection(
    store: Store, open_store: Callable[[], Store]
) -> None:
    with store.write() as tx:
        open_task(tx, "task-01")
        say(tx, "task-01", "hello")
    assert texts(open_store(), "task-01") == ["hello"]


def test_a_block_that_raises_leaves_nothing_and_wakes_nobody(store: Store) -> None:
    with Bell(Path(store.name), "task-01") as bell:
        with pytest.raises(ZeroDivisionError):
            write_and_fail(store)
        assert not bell.drain()
    assert texts(store, "task-01") == []
    with store.read() as tx:
        assert tx.one(Tasks.task, task_id="task-01") is None


def test_waiters_are_rung_after_the_commit_and_not_before(
    store: Store, open_store: Callable[[], Store]
) -> None:
    other = open_store()
    with Bell(Path(store.name), "task-01") as bell, Bell(Path(store.name), "task-10") as another:
        with store.write() as tx:
            say(tx, "task-01", "hello")
            tx.ring("task-01")
            assert not bell.drain()
            assert texts(other, "task-01") == []
        assert bell.drain()
        assert texts(other, "task-01") == ["hello"]
        assert not another.drain()


@pytest.mark.parametrize("kind", [OSError, ValueError, KeyboardInterrupt, TimeoutError, PermissionError])
def test_what_the_callers_own_code_raises_passes_through_untouched(
    store: Store, kind: type[BaseException]
) -> None:
    raised = kind("the caller's")
    for block in (store.write, store.read):
        with pytest.raises(kind) as caught, block():
            raise raised
        assert caught.value is raised
    with store.write() as tx:
        assert say(tx, "task-01", "the store works on") > 0


def test_a_refused_statement_says_why_and_the_block_may_go_on(store: Store) -> None:
    with store.write() as tx:
        open_task(tx, "task-01")
        with pytest.raises(DatabaseUnusable) as refused:
            open_task(tx, "task-01")
        say(tx, "task-01", "after it")
    assert refused.value.kind == "refused"
    assert "exists already" in refused.value.detail
    assert texts(store, "task-01") == ["after it"]


def test_a_reader_sees_one_snapshot_for_the_whole_block(
    store: Store, open_store: Callable[[], Store]
) -> None:
    writer = open_store()
    with store.write() as tx:
        say(tx, "task-01", "first")
    with store.read() as tx:
        before = tx.all(Messages.messages_of_task, task_id="task-01", most=10)
        with writer.write() as other:
            say(other, "task-01", "second")
        assert tx.all(Messages.messages_of_task, task_id="task-01", most=10) == before
    assert texts(store, "task-01") == ["first", "second"]


def test_a_transaction_inside_a_transaction_is_a_mistake_and_raises_at_once(store: Store) -> None:
    for outer in (store.write, store.read):
        for inner in (store.write, store.read):
            with outer(), pytest.raises(RuntimeError, match="open already"), inner():
                pass
    with store.write() as tx:
        assert say(tx, "task-01", "still usable") > 0


def test_run_counts_the_rows_of_the_statement_and_not_of_its_triggers(store: Store) -> None:
    with store.write() as tx:
        open_task(tx, "task-01")
        assert tx.run(Tasks.grant_retries, task_id="task-01", more=1) == 1
        assert tx.run(Tasks.grant_retries, task_id="task-99", more=1) == 0
        # blocked by a trigger: no instruction
        assert tx.run(Tasks.claim_task, task_id="task-01", session_id="s", worked_by="musician-task-01") == 0
        tx.run(
            Messages.send,
            task_id="task-01",
            from_session="task-00",
            message_type="instruction",
            message="a.md",
        )
        assert tx.run(Tasks.claim_task, task_id="task-01", session_id="s", worked_by="musician-task-01") == 1
        assert tx.run(Tasks.claim_task, task_id="task-01", session_id="t", worked_by="musician-task-01") == 0


def test_thirty_senders_at_once_all_land(open_store: Callable[[], Store]) -> None:
    """B14."""
    service.open_task(open_store(), "task-01", title="t", instruction_path="a.md")
    stores = [open_store() for _ in range(PARALLEL_SENDERS)]
    start = threading.Barrier(PARALLEL_SENDERS)

    def send(number: int) -> int:
        start.wait(timeout=HANG_S)
        return service.send(stores[number], "task-01", f"message {number}")

    with ThreadPoolExecutor(PARALLEL_SENDERS) as pool:
        ids = list(pool.map(send, range(PARALLEL_SENDERS)))
    assert len(set(ids)) == PARALLEL_SENDERS
    said = texts(stores[0], "task-01")
    assert sorted(map(str, said[1:])) == sorted(f"message {number}" for number in range(PARALLEL_SENDERS))


def test_one_store_serves_many_threads_one_after_the_other(store: Store) -> None:
    with store.write() as tx:
        open_task(tx, "task-01")

    def grant(_: int) -> None:
        with store.write() as tx:
            row = tx.one(Tasks.task, task_id="task-01")
            assert row is not None
            tx.run(Tasks.grant_retries, task_id="task-01", more=1)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(grant, range(40)))
    assert service.task_row(store, "task-01").retry_limit == 45


def test_closing_twice_is_harmless(store: Store) -> None:
    store.close()
    store.close()


def test_the_store_knows_where_it_is(store: Store, tmp_path: Path) -> None:
    assert tmp_path in Path(store.name).parents
