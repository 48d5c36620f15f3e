"""What a person has judged is known by the ruling tied to the verdict, and not by words that a session can write."""

from collections.abc import Callable

import pytest

from musician import service
from musician.protocol.claim import Claim
from musician.protocol.journal import JUDGED_BY_PERSON, Entry, EntryKind
from musician.protocol.messages.kinds import MessageType
from musician.protocol.musician.since import Since
from musician.protocol.states import State
from musician.reporting.timeline import decisions
from musician.store.port import Store
from musician.store.sqlite.store import SqliteStore
from tests.conftest import Walk
from tests.said import report as report_of

NOTE = Entry(kind=EntryKind.NOTE, text=JUDGED_BY_PERSON)


def raw(store: Store, sql: str, *values: object) -> None:
    assert isinstance(store, SqliteStore)
    store.connection.execute(sql, values)


def by_sql(store: Store, claim: Claim) -> None:
    raw(
        store,
        "INSERT INTO journal (task_id, claim_epoch, session_id, kind, text) VALUES (?, ?, ?, 'note', ?)",
        claim.task_id,
        claim.epoch,
        claim.session_id,
        JUDGED_BY_PERSON,
    )


def tied_by_sql(store: Store, claim: Claim) -> None:
    """To a verdict that the rules gave."""
    by_sql(store, claim)
    raw(
        store,
        "INSERT INTO rulings SELECT max(j.id), max(m.id), datetime('now') FROM journal j, orchestration_messages m",
    )


FORGERIES: dict[str, Callable[[Store, Claim], None]] = {
    "a note": lambda store, claim: service.record(store, claim, NOTE),
    "a note that calls itself one": lambda store, claim: service.record(
        store, claim, Entry(kind=EntryKind.NOTE, text=JUDGED_BY_PERSON, judged_by_person=True, ruled=True)
    ),
    "raw SQL": by_sql,
    "raw SQL, tied to a verdict": tied_by_sql,
}


def since(store: Store) -> Since:
    return Since().after(map(service.as_entry, service.task_view(store, "task-01").journal))


@pytest.mark.parametrize("name", FORGERIES)
def test_no_session_makes_itself_judged_by_a_person(store: Store, walk: Walk, name: str) -> None:
    """PERSONS-VERDICTS: nothing that a session writes under its own name settles how rough its way was."""
    claim = walk(store, "task-01", State.REVIEW_FAILED)
    assert claim is not None
    service.record(store, claim, Entry(kind=EntryKind.NOT_VERIFIED), Entry(kind=EntryKind.SELF_CORRECTION))
    FORGERIES[name](store, claim)
    assert (since(store).failed_verifications, since(store).self_corrected) == (1, True)
    assert service.task_view(store, "task-01").journal[-1].text == JUDGED_BY_PERSON
    assert not any(row.judged_by_person for row in service.task_view(store, "task-01").journal)
    assert service.task_view(store, "task-01").commit_seen_by_person is None
    assert [each.who for each in decisions(store).happenings] == ["the rules"]


def test_a_persons_verdict_settles_how_rough_the_way_was(store: Store, walk: Walk) -> None:
    """PERSONS-VERDICTS"""
    claim = walk(store, "task-01", State.WORKING)
    assert claim is not None
    service.record(store, claim, Entry(kind=EntryKind.NOT_VERIFIED), Entry(kind=EntryKind.SELF_CORRECTION))
    service.report(store, claim, report_of(MessageType.ERROR, "ERROR"), last_error="it broke")
    service.judge_as_person(store, "task-01", State.FIX_PROPOSED, "use the cure")
    assert (since(store).failed_verifications, since(store).self_corrected) == (0, False)
    assert [each.who for each in decisions(store).happenings] == ["a person"]
