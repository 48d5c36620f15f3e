"""What a value may be, for every writer: ids and epochs that leave room, text that is text (D39)."""

# ruff: noqa: S608 - raw SQL is the point
import pytest

from musician import service
from musician.protocol.settings import Settings
from musician.protocol.states import State
from musician.store.port import Store
from tests.conftest import Walk
from tests.said import farewell
from tests.store.sqlite.conftest import Raw
from tests.store.sqlite.statements import refuses, say_sql

LAST = 2**63 - 1
PAPER = "task_id, claim_epoch, kind, path, body, written_by"


def message_sql(message_id: object) -> str:
    return (
        "INSERT INTO orchestration_messages (id, task_id, from_session, message_type, message)"
        f" VALUES ({message_id}, 'task-01', 'raw', 'note', 'x')"
    )


@pytest.mark.parametrize("message_id", [LAST, LAST - 1, 2**53, 0, -5])
def test_no_message_takes_the_ids_of_all_later_ones(
    raw: Raw, store: Store, walk: Walk, message_id: int
) -> None:
    """AUDIT-P3, D39.2."""
    walk(store, "task-01", State.WATCHING)
    refuses(raw, message_sql(message_id), "ids are given by the database|CHECK")
    service.send(store, "task-01", "still room")


@pytest.mark.parametrize(
    "insert",
    [
        f"INSERT INTO journal (id, task_id, claim_epoch, session_id, kind) VALUES ({LAST}, 'task-01', 1, 's', 'x')",
        f"INSERT INTO needs_human (id, task_id, kind, text) VALUES ({LAST}, 'task-01', 'x', 'y')",
        f"INSERT INTO documents (id, {PAPER}) VALUES ({LAST}, 'task-01', 1, 'report', 'p', 'b', 'agent')",
    ],
)
def test_no_other_row_does_either(raw: Raw, store: Store, walk: Walk, insert: str) -> None:
    """AUDIT-P3."""
    walk(store, "task-01", State.WORKING)
    refuses(raw, insert, "ids are given by the database")


def test_an_id_that_falls_behind_is_refused(raw: Raw, store: Store, walk: Walk) -> None:
    """AUDIT-P18: below the last acknowledged it would never be unread."""
    walk(store, "task-01", State.WATCHING)
    assert raw(message_sql(50)) == 1
    refuses(raw, message_sql(40), "only rise")
    assert raw(message_sql("NULL")) == 1
    assert [message.id for message in service.messages_of(store, "task-01")][-2:] == [50, 51]


@pytest.mark.parametrize("epoch", [LAST, "claim_epoch + 2", "1e18"])
def test_an_epoch_leaves_room_for_the_next(raw: Raw, store: Store, walk: Walk, epoch: object) -> None:
    """AUDIT-P3."""
    walk(store, "task-01", State.WORKING)
    refuses(raw, f"UPDATE orchestration_tasks SET claim_epoch = {epoch}", "only grows|CHECK")
    refuses(
        raw,
        f"INSERT INTO orchestration_tasks (task_id, state, claim_epoch) VALUES ('task-00', 'working', {LAST})",
        "only grows",
    )
    refuses(
        raw,
        f"INSERT INTO sessions (task_id, claim_epoch, session_id, number) VALUES ('task-01', {LAST}, 's', 2)",
        "belongs to a claim",
    )


@pytest.mark.parametrize("column", ["retry_count", "retry_limit"])
@pytest.mark.parametrize("value", [LAST, -1, "'many'", "1.5", "x'00'"])
def test_retries_are_counted(raw: Raw, store: Store, walk: Walk, column: str, value: object) -> None:
    walk(store, "task-01", State.WORKING)
    refuses(raw, f"UPDATE orchestration_tasks SET {column} = {value}", "counted from 0")


NO_TEXT = {
    "latin-1": "CAST(x'636166e920' AS TEXT)",
    "half an emoji": "char(55357)",
    "an emoji cut off": "CAST(x'61f09f' AS TEXT)",
    "a byte that is none": "CAST(x'61ff62' AS TEXT)",
    "bytes": "x'6869'",
}


@pytest.mark.parametrize("name", NO_TEXT)
def test_what_is_no_text_is_refused(raw: Raw, store: Store, walk: Walk, name: str) -> None:
    """AUDIT-P4, D39.2."""
    walk(store, "task-01", State.WORKING)
    for column in ("task_id", "from_session", "message_type", "message"):
        values = [
            NO_TEXT[name] if each == column else "'x'" for each in ("task_id", "from_session", "message_type")
        ]
        body = NO_TEXT[name] if column == "message" else "'x'"
        refuses(
            raw,
            "INSERT INTO orchestration_messages (task_id, from_session, message_type, message)"
            f" VALUES ({', '.join(values)}, {body})",
            "no text",
        )
    for column in ("worked_by", "last_error", "report_path", "title"):
        refuses(raw, f"UPDATE orchestration_tasks SET {column} = {NO_TEXT[name]}", "no text")


@pytest.mark.parametrize("text", ["é", "😀", "�", "￿", "a�b", "\x7f\x01", "日本"])
def test_what_is_text_is_kept(raw: Raw, store: Store, walk: Walk, text: str) -> None:
    """AUDIT-P4: the character that stands for broken ones is one, too."""
    walk(store, "task-01", State.WATCHING)
    raw(say_sql("task-01", "s", "note", text))
    service.send(store, "task-01", text)
    assert [each.message for each in service.messages_of(store, "task-01")][-2:] == [text, text]


def test_a_task_that_was_claimed_often_is_claimed_again(store: Store, walk: Walk) -> None:
    claim = walk(store, "task-01", State.WORKING)
    for number in range(2, 5):
        assert claim is not None
        service.exit_task(store, claim, farewell("context", path="h"), handoff="next")
        service.hand_over(store, "task-01", "go on")
        claim = service.claim(store, "task-01", f"s{number}", settings=Settings()).claim
        assert claim.epoch == number


def test_a_session_is_blocked_once_however_often_it_says_so(raw: Raw, store: Store, walk: Walk) -> None:
    """AUDIT-P22: the same words of the same session are one message, as there is one row (D9)."""
    walk(store, "task-01", State.WORKING)
    assert raw(say_sql("task-01", "late", "claim_blocked", "somebody has it")) == 1
    assert raw(say_sql("task-01", "late", "claim_blocked", "somebody has it")) == 0
    assert raw(say_sql("task-01", "later", "claim_blocked", "somebody has it")) == 1
