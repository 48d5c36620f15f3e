"""An owner's submissions and the evidence that they need (D7, D14, D16)."""

from contextlib import closing
from pathlib import Path

import apsw
import pytest

from musician import service
from musician.protocol.errors import EvidenceMissing, IllegalEvent
from musician.protocol.journal import Entry, EntryKind
from musician.protocol.messages.kinds import MessageType
from musician.protocol.states import ACTIVE, VERDICTS, State
from musician.protocol.values import replace
from musician.store.bell import Bell
from musician.store.port import Store
from musician.store.sqlite.store import SqliteStore
from tests.conftest import Walk
from tests.said import SUBMISSIONS, evidence, submission
from tests.service.owning import Untouched, at, submit


@pytest.mark.parametrize("kind", sorted(SUBMISSIONS))
def test_a_submission_is_message_and_state_in_one(store: Store, walk: Walk, kind: MessageType) -> None:
    claim = at(walk, store, State.WORKING)
    with Bell(Path(store.name), "task-00") as bell:
        message_id = service.submit(
            store,
            claim,
            submission(kind, "the work"),
            verified=evidence(),
            entries=(Entry(kind=EntryKind.SUBMITTED, item="checkpoint 1"),),
        )
        assert bell.drain()
    view = service.task_view(store, "task-01")
    assert view.row.state is State.NEEDS_REVIEW
    [row] = view.submissions
    assert (row.message_id, row.message_type, row.said) == (message_id, kind, submission(kind, "the work"))
    assert row.verdict is None
    assert view.verifications[-1].submission_id == message_id


@pytest.mark.parametrize("kind", [EntryKind.COMPLETED, EntryKind.RETURNED, EntryKind.REWORKED])
def test_work_after_the_verification_began_makes_it_stale(
    store: Store, walk: Walk, untouched: Untouched, kind: EntryKind
) -> None:
    claim = at(walk, store, State.WORKING)
    service.record(store, claim, Entry(kind=kind, item="step 1"))
    known = replace(evidence(), known_entry_id=service.journal_of(store, "task-01")[-1].id)
    service.record(store, claim, Entry(kind=EntryKind.NOTE, text="looking at it"))
    assert submit(store, claim, verified=known) > 0
    service.judge(store, "task-01", State.REVIEW_FAILED, "not yet")
    service.record(store, claim, Entry(kind=kind, item="step 2"))
    with untouched(), pytest.raises(EvidenceMissing, match="work was done after"):
        submit(store, claim, verified=known)
    assert submit(store, claim) > 0


def test_a_red_verification_is_no_evidence(store: Store, walk: Walk, untouched: Untouched) -> None:
    claim = at(walk, store, State.WORKING)
    with untouched(), pytest.raises(EvidenceMissing, match="red"):
        submit(store, claim, verified=evidence("red"))


def test_evidence_serves_one_submission(store: Store, walk: Walk) -> None:
    """What a verification found is stored with the submission it stands for, or with none."""
    claim = at(walk, store, State.WORKING)
    service.record(store, claim, verified=evidence("red"))
    first = submit(store, claim)
    service.judge(store, "task-01", State.REVIEW_FAILED, "not yet")
    second = submit(store, claim)
    verifications = service.task_view(store, "task-01").verifications
    assert [row.submission_id for row in verifications] == [None, first, second]
    assert isinstance(store, SqliteStore)
    with pytest.raises(apsw.ConstraintError, match="append-only"):
        store.connection.execute("UPDATE verifications SET submission_id = ? WHERE id = 2", (second,))


@pytest.mark.parametrize("outcome", ["flaky", "cannot_run"])
def test_what_could_not_be_decided_goes_to_the_reviewer(store: Store, walk: Walk, outcome: str) -> None:
    claim = at(walk, store, State.WORKING)
    assert submit(store, claim, verified=evidence(outcome)) > 0


@pytest.mark.parametrize("state", sorted(VERDICTS))
def test_after_a_verdict_the_history_shows_both_steps(store: Store, walk: Walk, state: State) -> None:
    claim = at(walk, store, state)
    message_id = submit(store, claim)
    changes = service.history_of(store, "task-01")[-2:]
    assert [(each.from_state, each.to_state, each.message_id) for each in changes] == [
        (state, State.WORKING, None),
        (State.WORKING, State.NEEDS_REVIEW, message_id),
    ]


@pytest.mark.parametrize("state", sorted(ACTIVE - VERDICTS - {State.WORKING}))
def test_where_nothing_can_be_submitted_the_state_is_the_reason(
    store: Store, walk: Walk, untouched: Untouched, state: State
) -> None:
    claim = at(walk, store, state)
    with untouched(), pytest.raises(IllegalEvent) as refused:
        submit(store, claim)
    assert (refused.value.state, refused.value.event) == (state, "submit")
    assert refused.value.exit_code == 4


def test_the_fields_are_stored_beside_the_text_and_cannot_be_changed(store: Store, walk: Walk) -> None:
    """The text is for people; what is judged was never parsed."""
    claim = at(walk, store, State.WORKING)
    message_id = submit(store, claim)
    assert isinstance(store, SqliteStore)
    with closing(apsw.Connection(str(store.path))) as raw:
        said = "SELECT fields ->> 'summary' FROM message_fields WHERE message_id = ?"
        assert raw.execute(said, (message_id,)).get == "REVIEW REQUEST"
        for change in (
            "UPDATE message_fields SET fields = '{}' WHERE message_id = ?",
            "DELETE FROM message_fields WHERE message_id = ?",
            "REPLACE INTO message_fields VALUES (?, '{}')",
        ):
            with pytest.raises(apsw.ConstraintError, match="append-only"):
                raw.execute(change, (message_id,))
