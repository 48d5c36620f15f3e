"""One line of time over messages, changes of state and journals."""

from musician import service
from musician.protocol.journal import Entry, EntryKind
from musician.protocol.states import State
from musician.reporting.timeline import happenings
from musician.service.following import Source
from musician.store.port import Store
from musician.store.sqlite.store import SqliteStore
from tests.conftest import Walk


def test_what_one_second_holds_is_told_in_the_order_it_was_written(store: Store, walk: Walk) -> None:
    """AUDIT-P14, DATA-7: a change stands behind its own message, and no task completes before its approval."""
    walk(store, "task-01", State.COMPLETE)
    assert isinstance(store, SqliteStore)
    for trigger in ("history_fixed", "messages_stay"):
        store.connection.execute(f"DROP TRIGGER {trigger}")
    store.connection.execute("UPDATE history SET at = '2026-01-01 00:00:00'")
    store.connection.execute("UPDATE orchestration_messages SET timestamp = '2026-01-01 00:00:00'")
    told = [each.what for each in happenings(store).happenings if each.source is not Source.JOURNAL]
    assert told == [
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


def test_of_a_long_life_the_newest_is_told_and_what_is_left_out_is_said(store: Store, walk: Walk) -> None:
    """AUDIT-P24."""
    claim = walk(store, "task-01", State.WORKING)
    assert claim is not None
    for number in range(1, 6):
        service.record(store, claim, Entry(kind=EntryKind.NOTE, text=f"note {number}"))
    whole = happenings(store)
    assert whole.left_out == 0
    few = happenings(store, most=3)
    assert few.happenings == whole.happenings[-3:]
    assert few.left_out == len(whole.happenings) - 3


def test_what_a_person_was_asked_and_has_settled_is_told(store: Store, walk: Walk) -> None:
    """DATA-7."""
    walk(store, "task-01", State.WORKING)
    service.ask_human(store, "task-01", kind="question", subject_id=1, text="may I?")
    service.resolve_asks(store, "task-01", "yes")
    told = [(each.what, each.text) for each in happenings(store, most=2).happenings]
    assert told == [("needs a person", "question: may I?"), ("settled", "yes")]
