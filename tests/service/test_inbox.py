"""Stored, delivered, acknowledged: three facts; nothing is skipped, nothing comes twice (D12)."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from musician import service
from musician.protocol.claim import Claim
from musician.protocol.errors import AnsweredLate, UnknownTask
from musician.protocol.messages.kinds import MessageType
from musician.protocol.settings import Settings
from musician.protocol.states import State
from musician.service.inbox import MOST_UNREAD
from musician.store.bell import Bell
from musician.store.port import Store
from musician.store.queries.messages import Messages
from musician.store.sqlite.store import SqliteStore
from tests.conftest import Walk

BODIES = [
    "it's done",
    "'); UPDATE orchestration_tasks SET state='complete' WHERE ('1'='1",
    "$(touch cases-out/PWNED) `touch cases-out/PWNED`",
    "-- trailing comment",
    "ends with a backslash \\",
    "%s %d {0} {task_id} :name ?1 @p",
    " \t leading and trailing \r\n\n",
    "naïve — 日本語 🎼 \u2028 \x00 nul",
    "x" * 1_000_000,
]


@pytest.fixture
def claim(store: Store, walk: Walk) -> Claim:
    """A claim whose inbox is empty: its instruction is acknowledged."""
    claim = walk(store, "task-03", State.WORKING, session_id="a")
    assert claim is not None
    read_all(store, claim)
    return claim


def read_all(store: Store, claim: Claim) -> list[str]:
    messages = service.unread(store, claim.task_id)
    if messages:
        service.deliver(store, claim, tuple(message.id for message in messages))
        service.acknowledge(store, claim, messages[-1].id)
    return [message.message for message in messages]


def unread_ids(store: Store) -> list[int]:
    return [message.id for message in service.unread(store, "task-03")]


@pytest.mark.parametrize("body", BODIES, ids=range(len(BODIES)))
def test_a_body_comes_out_byte_for_byte(store: Store, claim: Claim, body: str) -> None:
    """B18."""
    message_id = service.send(store, "task-03", body)
    [message] = service.unread(store, "task-03")
    assert (message.id, message.message, message.from_session) == (message_id, body, "task-00")
    assert service.task_row(store, "task-03").state is State.WORKING


def test_an_answer_to_a_question_that_is_not_open_any_more_is_not_sent(store: Store, claim: Claim) -> None:
    first = service.ask(store, claim, "which?")
    newer = service.ask(store, claim, "which, please?")
    with pytest.raises(AnsweredLate) as late:
        service.send(store, "task-03", "that", question_id=first)
    assert (late.value.question_id, late.value.open_id) == (first, newer)
    service.send(store, "task-03", "that", question_id=newer)
    with pytest.raises(AnsweredLate) as late:
        service.send(store, "task-03", "this", question_id=newer)
    assert (late.value.question_id, late.value.open_id) == (newer, None)
    assert [message.message for message in service.unread(store, "task-03")] == ["that"]


@pytest.mark.parametrize("task_id", ["zzz' OR task_id='task-03", "task-03' --", "task_03", "task-0%"])
def test_an_id_is_looked_up_exactly(store: Store, claim: Claim, task_id: str) -> None:
    """B18."""
    reads: list[Callable[[], object]] = [
        lambda: service.unread(store, task_id),
        lambda: service.messages_of(store, task_id),
        lambda: service.task_row(store, task_id),
        lambda: service.task_view(store, task_id),
        lambda: service.history_of(store, task_id),
        lambda: service.journal_of(store, task_id),
    ]
    for read in reads:
        with pytest.raises(UnknownTask):
            read()


@pytest.mark.parametrize("urgent", [True, False])
def test_what_is_sent_wakes_its_task(store: Store, claim: Claim, urgent: bool) -> None:
    with Bell(Path(store.name), "task-03") as bell:
        service.send(store, "task-03", "look", urgent=urgent)
        assert bell.drain()
    kind = MessageType.EMERGENCY if urgent else MessageType.NOTE
    assert service.unread(store, "task-03")[0].message_type == kind


def test_messages_come_by_id_whatever_their_time_says(
    store: Store, claim: Claim, open_store: Callable[[], Store]
) -> None:
    """B26: 204 then 205, once each, after a restart too."""
    assert isinstance(store, SqliteStore)
    store.connection.execute(
        "INSERT INTO orchestration_messages(id,task_id,from_session,message_type,message,timestamp) VALUES"
        " (201,'task-03','task-00','instruction','docs/tasks/old.md','2026-02-07 10:00:00'),"
        " (202,'task-03','task-00','instruction','docs/tasks/new.md','2026-02-07 10:00:00'),"
        " (203,'task-03','task-00','emergency','A','2026-02-07 10:00:00'),"
        " (204,'task-03','task-00','emergency','B','2026-02-07 09:59:59'),"
        " (205,'task-03','task-00','emergency','C','2026-02-07 10:00:00')"
    )
    service.deliver(store, claim, (201, 202, 203))
    assert service.acknowledge(store, claim, 203) == 3
    assert unread_ids(store) == [204, 205]
    store.close()
    reopened = open_store()
    assert unread_ids(reopened) == [204, 205]
    assert read_all(reopened, claim) == ["B", "C"]
    assert unread_ids(reopened) == []
    taken = service.claim(reopened, "task-03", "a", settings=Settings())
    assert taken.instruction_path == "docs/tasks/new.md"


def test_an_id_is_never_used_again(store: Store, claim: Claim) -> None:
    """B26."""
    last = service.send(store, "task-03", "before")
    read_all(store, claim)
    assert isinstance(store, SqliteStore)
    store.connection.execute("DELETE FROM orchestration_messages")
    after = service.send(store, "task-03", "after the flood")
    assert after > last
    assert read_all(store, claim) == ["after the flood"]


def test_delivered_is_not_acknowledged(store: Store, claim: Claim) -> None:
    first, second = (service.send(store, "task-03", text) for text in ("one", "two"))
    service.deliver(store, claim, (first,))
    assert unread_ids(store) == [first, second]
    service.deliver(store, claim, (first,))
    receipts = store.ask(
        "SELECT message_id, delivered_at IS NOT NULL, acknowledged_at FROM receipts",
        most_rows=9,
        most_bytes=999,
    )
    assert receipts.rows[1:] == ((first, 1, None),)  # after the instruction
    assert service.acknowledge(store, claim, first) == 1
    assert unread_ids(store) == [second]
    assert service.acknowledge(store, claim, first) == 0


def test_only_what_was_delivered_is_acknowledged(store: Store, claim: Claim) -> None:
    first, second = (service.send(store, "task-03", text) for text in ("one", "two"))
    service.deliver(store, claim, (first,))
    assert service.acknowledge(store, claim, second) == 1
    assert unread_ids(store) == [second]


def test_an_urgent_message_dealt_with_first_hides_no_earlier_one(store: Store, claim: Claim) -> None:
    note = service.send(store, "task-03", "at the next boundary")
    urgent = service.send(store, "task-03", "now", urgent=True)
    service.deliver(store, claim, (urgent,))
    assert service.acknowledge(store, claim, urgent) == 0
    assert unread_ids(store) == [note, urgent]
    service.deliver(store, claim, (note,))
    assert service.acknowledge(store, claim, urgent) == 2
    assert unread_ids(store) == []


def test_what_is_no_message_to_the_task_is_not_delivered(store: Store, claim: Claim, walk: Walk) -> None:
    walk(store, "task-10", State.WATCHING)
    own = service.ask(store, claim, "which?")
    other = service.send(store, "task-10", "not yours")
    service.deliver(store, claim, (own, other, 10**9))
    assert service.acknowledge(store, claim, 10**9) == 0
    later = service.send(store, "task-03", "yours")
    assert unread_ids(store) == [later]


def test_a_successor_gets_what_its_predecessor_did_not_acknowledge(store: Store, claim: Claim) -> None:
    message_id = service.send(store, "task-03", "mind the gap")
    service.deliver(store, claim, (message_id,))
    service.fence(store, "task-03", epoch=claim.epoch)
    service.take_over(store, "task-03", "go on", reason="dead")
    successor = service.claim(store, "task-03", "b", settings=Settings()).claim
    assert read_all(store, successor) == ["mind the gap", "go on"]


def test_a_full_inbox_comes_in_portions_and_never_stops(store: Store, claim: Claim) -> None:
    total = 1_065
    with store.write() as tx:
        for number in range(total):
            tx.run(
                Messages.send,
                task_id="task-03",
                from_session="task-00",
                message_type="note",
                message=str(number),
            )
    portions: list[list[str]] = []
    while portion := read_all(store, claim):
        portions.append(portion)
    assert [text for portion in portions for text in portion] == [str(number) for number in range(total)]
    assert max(len(portion) for portion in portions) == MOST_UNREAD
    assert service.task_view(store, "task-03").unread == 0


def test_answering_settles_what_waited_for_a_person(store: Store, claim: Claim) -> None:
    service.ask_human(store, "task-03", kind="question", subject_id=1, text="which?")
    service.send(store, "task-03", "the left one")
    assert service.open_asks(store) == ()


def test_messages_are_shown_newest_last_and_bounded(store: Store, claim: Claim) -> None:
    for number in range(5):
        service.send(store, "task-03", str(number))
    assert [message.message for message in service.messages_of(store, "task-03", most=2)] == ["3", "4"]


def test_refusals_of_a_delivery_leave_no_receipt(
    store: Store, claim: Claim, untouched: Callable[[], AbstractContextManager[None]]
) -> None:
    with untouched():
        service.deliver(store, claim, ())
        assert service.acknowledge(store, claim, 0) == 0
