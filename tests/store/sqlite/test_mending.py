"""What took the last ids there are gets the next ones, wherever it is named."""

from contextlib import closing
from pathlib import Path

from musician import service
from musician.protocol.states import State
from musician.reporting.timeline import decisions, signers_of
from musician.store.sqlite.mending import mend
from musician.store.sqlite.migrating import drop_triggers, make_guards
from musician.store.sqlite.store import SqliteStore
from tests.conftest import walk_to

FAR = 2**60


def test_who_has_signed_and_how_it_was_settled_goes_with_its_place(tmp_path: Path) -> None:
    """AUDIT-P3."""
    with closing(SqliteStore.create(tmp_path / "comms.db")) as store:
        walk_to(store, "task-01", State.WORKING)
        for name in ("ada", "bob"):
            service.ask_human(store, "task-01", kind="question", subject_id=1, text="may I?")
            service.send(service.signed(store, service.Signer(name=name)), "task-01", f"by {name}")
        drop_triggers(store.connection)
        first = store.connection.execute("SELECT min(seq) FROM signatures").get
        for table in ("changes", "signatures", "settlements"):
            store.connection.execute(f"UPDATE {table} SET seq = seq + {FAR} WHERE seq >= ?", (first,))  # noqa: S608
        make_guards(store.connection)
        assert mend(store.connection) == (
            f"the ids of changes are spent: somebody wrote one of {FAR + service.newest_seq(store)}",
        )
        told = [(each.who, each.text) for each in decisions(store).happenings]
        assert told == [("ada", "answered: by ada"), ("bob", "answered: by bob")]


def test_what_a_message_says_and_whom_it_is_for_goes_with_its_id(tmp_path: Path) -> None:
    """AUDIT-P3."""
    with closing(SqliteStore.create(tmp_path / "comms.db")) as store:
        walk_to(store, "task-01", State.NEEDS_REVIEW)
        ada = service.signed(store, service.Signer(name="ada"))
        service.judge_as_person(ada, "task-01", State.REVIEW_FAILED, "no")
        named = [
            ("orchestration_messages", "id"),
            ("history", "message_id"),
            ("history", "submission_id"),
            ("message_fields", "message_id"),
            ("orders", "message_id"),
        ]
        listed = {place: _values(store, *place) for place in named}
        drop_triggers(store.connection)
        for table, column in named:
            store.connection.execute(f"UPDATE {table} SET {column} = {column} + {FAR} WHERE {column} > 1")  # noqa: S608
        store.connection.execute(f"UPDATE changes SET id = id + {FAR} WHERE source = 'message' AND id > 1")  # noqa: S608
        make_guards(store.connection)
        assert len(mend(store.connection)) == 1
        assert {place: _values(store, *place) for place in named} == listed
        assert signers_of(store, "task-01", most=1) == {listed["orchestration_messages", "id"][-1]: "ada"}


def _values(store: SqliteStore, table: str, column: str) -> list[object]:
    found = store.connection.execute(
        f"SELECT {column} FROM {table} WHERE {column} IS NOT NULL ORDER BY {column}"  # noqa: S608
    )
    return [value for (value,) in found]
