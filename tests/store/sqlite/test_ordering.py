"""One order over messages, changes of state, journals and what persons are asked, whoever writes."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from musician import service
from musician.protocol.journal import Entry, EntryKind
from musician.protocol.states import State
from musician.service import PlanChange
from musician.store.port import Store
from musician.store.queries.changes import Changes
from musician.store.rows import HistoryRow, HumanRow, JournalRow, MessageRow
from musician.store.sqlite.store import SqliteStore
from musician.testing.waiting import HANG_S
from tests.conftest import Walk
from tests.store.sqlite.conftest import Raw
from tests.store.sqlite.statements import claim_sql, refuses, say_sql

LAST = 2**63 - 1
VERSION_1 = (Path(__file__).parent / "databases" / "version-1.sql").read_text(encoding="utf-8")

KILLED = """
import os, signal, sys
from pathlib import Path
from musician import service
from musician.store.queries.messages import Messages
from musician.store.sqlite.store import SqliteStore
store = SqliteStore.open(Path(sys.argv[1]))
service.send(store, "task-01", "kept")
with store.write() as tx:
    tx.insert(Messages.send, task_id="task-01", from_session="task-00", message_type="note", message="lost")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def told(changes: Sequence[PlanChange]) -> list[str]:
    return [what_of(change) for change in changes]


def what_of(change: PlanChange) -> str:
    match change.row:
        case MessageRow() as message:
            return message.message_type
        case HistoryRow() as history:
            return f"{history.from_state or 'new'} → {history.to_state}"
        case JournalRow() as entry:
            return f"journal: {entry.kind}"
        case HumanRow():
            return change.source
    raise AssertionError(change)


def all_of(store: Store, seq: int = 0) -> tuple[PlanChange, ...]:
    return tuple(service.every_change(store, seq, until=service.newest_seq(store)))


def test_what_happens_is_in_the_order_of_its_writing(store: Store, walk: Walk) -> None:
    """DATA-5: across the sources, and without a gap."""
    claim = walk(store, "task-01", State.WORKING)
    assert claim is not None
    service.record(store, claim, Entry(kind=EntryKind.STARTED, item="step 1"))
    service.ask_human(store, "task-01", kind="question", subject_id=1, text="may I?")
    service.send(store, "task-01", "yes")
    found = all_of(store)
    assert told(found)[-5:] == ["watching → working", "journal: started", "asked", "settled", "note"]
    assert [change.seq for change in found] == list(range(1, len(found) + 1))
    assert found[1].said == "docs/tasks/task-01.md", "a change of state comes with the words it was made with"


def test_a_raw_writer_gets_its_place_in_its_own_transaction(raw: Raw, store: Store, walk: Walk) -> None:
    """DATA-5: the shell, too, and for the change of state that a trigger writes into the history for it."""
    walk(store, "task-01", State.WATCHING)
    before = service.newest_seq(store)
    raw(claim_sql("task-01", "'raw'"))
    raw(say_sql("task-01", "raw", "review_request"))
    raw("UPDATE orchestration_tasks SET state = 'needs_review' WHERE task_id = 'task-01'")
    raw("UPDATE orchestration_tasks SET state = 'review_approved' WHERE task_id = 'task-01'")
    raw(say_sql("task-01", "task-00", "approval", "well played"))
    found = all_of(store, before)
    assert told(found) == [
        "watching → working",
        "review_request",
        "working → needs_review",
        "needs_review → review_approved",
        "approval",
    ]
    assert found[3].said == "well played", "the message that came second is bound to it"


def news_of(store: Store, task_id: str, since: int) -> tuple[int, bool]:
    with store.read() as tx:
        return tx.only(Changes.news_of, seq=since, task_ids=json.dumps([task_id]), journals=False)


def test_a_claim_that_ends_without_a_change_of_state_moves_the_order(
    raw: Raw, store: Store, walk: Walk
) -> None:
    """DATA-5: who is fenced, taken over under a next id or shut out by raw SQL learns of it by following."""
    first = walk(store, "task-01", State.WORKING)
    walk(store, "task-02", State.WATCHING)
    assert first is not None
    seq = service.newest_seq(store)
    service.beat(store, first)
    assert news_of(store, "task-01", seq) == (seq, False), "a heartbeat is no news"
    service.fence(store, "task-01", epoch=first.epoch)
    assert news_of(store, "task-01", seq) == (seq + 1, True)
    assert news_of(store, "task-02", seq) == (seq + 1, False)
    service.take_over(store, "task-01", "It died.", reason="died")
    raw("UPDATE orchestration_tasks SET claim_epoch = claim_epoch + 1 WHERE task_id = 'task-01'")
    assert told(all_of(store, seq)) == ["handoff", "working → fix_proposed"], "there is nothing to tell of it"
    assert service.newest_seq(store) == seq + 4
    raw(claim_sql("task-01", "'raw'"))
    assert told(all_of(store, seq + 4)) == ["fix_proposed → working"]
    assert service.newest_seq(store) == seq + 5, "a claim has its one place"


def test_the_order_is_nobodys_to_write(raw: Raw, store: Store, walk: Walk) -> None:
    """DATA-5, AUDIT-P3: nobody takes the last place there is, moves a row or drops one."""
    walk(store, "task-01", State.WORKING)
    for seq in (LAST, LAST - 1, 1, 0, -5, 10**6):
        insert = f"(seq, task_id, source, id) VALUES ({seq}, 'task-01', 'message', 1)"
        refuses(raw, f"INSERT INTO changes {insert}", "written by the database|CHECK")
        refuses(raw, f"INSERT OR REPLACE INTO changes {insert}", "written by the database|CHECK")
    refuses(raw, "UPDATE changes SET seq = seq + 100", "written by the database")
    refuses(raw, "DELETE FROM changes", "written by the database")
    service.send(store, "task-01", "still room")


def test_a_message_that_somebody_deletes_stops_nobody(raw: Raw, store: Store, walk: Walk) -> None:
    walk(store, "task-01", State.WORKING)
    seq = service.newest_seq(store)
    for text in ("one", "two", "three"):
        service.send(store, "task-01", text)
    raw("DELETE FROM orchestration_messages WHERE message IN ('one', 'two')")
    page = service.changes_since(store, seq, most=2)
    assert (page.changes, page.seq) == ((), seq + 2)
    assert [change.seq for change in all_of(store, seq)] == [seq + 3]
    service.send(store, "task-01", "four")
    assert service.newest_seq(store) == seq + 4


def test_who_is_killed_leaves_no_gap(store: Store, walk: Walk) -> None:
    """DATA-5: a place that was given and not committed is given to the next."""
    walk(store, "task-01", State.WORKING)
    seq = service.newest_seq(store)
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, store.name], timeout=HANG_S, check=False, capture_output=True
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    service.send(store, "task-01", "after")
    found = all_of(store, seq)
    assert [
        (change.seq - seq, change.row.message) for change in found if isinstance(change.row, MessageRow)
    ] == [
        (1, "kept"),
        (2, "after"),
    ]


def test_whoever_follows_while_many_write_misses_nothing(store: Store, walk: Walk) -> None:
    """DATA-5: a smaller seq never becomes visible after a greater one."""
    walk(store, "task-01", State.WORKING)
    begun = service.newest_seq(store)

    def write(number: int) -> None:
        with closing(SqliteStore.open(Path(store.name))) as own:
            for each in range(25):
                service.send(own, "task-01", f"{number}.{each}")

    writers = [threading.Thread(target=write, args=(number,)) for number in range(3)]
    for writer in writers:
        writer.start()
    seen: list[int] = []
    seq = begun
    while any(writer.is_alive() for writer in writers) or service.newest_seq(store) > seq:
        page = service.changes_since(store, seq, most=7)
        seen += [change.seq for change in page.changes]
        seq = page.seq
    assert seen == list(range(begun + 1, begun + 76))


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """As the program of version 1 left it, with more: all of it within one second, and times of raw writers."""
    path = tmp_path / "old.db"
    message = "INSERT INTO orchestration_messages (task_id, from_session, message_type, message, timestamp)"
    with closing(apsw.Connection(str(path))) as connection:
        connection.pragma("journal_mode", "WAL")
        connection.execute(VERSION_1)
        for at in ("2999-01-01 00:00:00", "yesterday", "1999-01-01T00:00:00Z", "now"):
            connection.execute(f"{message} VALUES ('task-04', 'task-00', 'note', 'at {at}', '{at}')")
    return path


def test_what_was_there_before_is_put_in_order_once(old: Path) -> None:
    """D40.6: a change of state stands behind its message and before the next, and each source as it counts."""
    with closing(SqliteStore.open(old)) as store:
        found = all_of(store)
        rows = store.connection.execute(
            "SELECT (SELECT count(*) FROM orchestration_messages) + (SELECT count(*) FROM history)"
            " + (SELECT count(*) FROM journal) + (SELECT count(*) + count(resolved_at) FROM needs_human)"
        ).get
        assert len(found) == rows == service.newest_seq(store)
        mine = [change for change in found if change.task_id == "task-01"]
        assert told([change for change in mine if not isinstance(change.row, JournalRow)]) == [
            "instruction",
            "new → watching",
            "watching → working",
            "completion",
            "working → needs_review",
            "approval",
            "needs_review → review_approved",
            "completed",
            "review_approved → complete",
        ]
        for kind in (MessageRow, HistoryRow, JournalRow):
            ids = [change.row.id for change in found if isinstance(change.row, kind)]
            assert ids == sorted(ids), kind
    with closing(SqliteStore.open(old)) as again:
        assert all_of(again) == found


def test_the_release_before_writes_into_the_same_order(old: Path) -> None:
    """D40.6, D40.2: it has the database open while a newer one takes it up, knows no order, and keeps it."""
    words = "INSERT INTO orchestration_messages (task_id, from_session, message_type, message) VALUES (?, ?, ?, ?)"
    values = ("task-05", "task-00", "note", "from the release before")
    with closing(apsw.Connection(str(old))) as older:
        older.set_busy_timeout(10_000)
        older.execute(words, values)
        with closing(SqliteStore.open(old)) as newer:
            seq = service.newest_seq(newer)
            older.execute(words, values)
            assert (
                older.last_insert_rowid() == older.execute("SELECT max(id) FROM orchestration_messages").get
            )
            older.execute(claim_sql("task-05", "'theta'"))
            service.send(newer, "task-05", "from the newer")
            assert told(all_of(newer, seq)) == ["note", "watching → working", "note"]
