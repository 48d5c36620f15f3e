"""An owner's submissions and the evidence that they need (D7, D14, D16)."""

from contextlib import closing
from pathlib import Path

import apsw
import pytest

from musician import service
from musician.protocol.errors import EvidenceMissing, IllegalEvent
from musician.protocol.journal import Entry, EntryKind
from musician.protocol.messages.kinds import MessageType
from musician.protocol.settings import Settings
from musician.protocol.states import ACTIVE, VERDICTS, State
from musician.store.bell import Bell
from musician.store.port import Store
from musician.store.sqlite.store import SqliteStore
from tests.conftest import Verified, Walk
from tests.said import SUBMISSIONS, submission
from tests.service.owning import Untouched, at, leave, submit


@pytest.mark.parametrize("kind", sorted(SUBMISSIONS))
def test_a_submission_is_message_and_state_in_one(
    store: Store, walk: Walk, verified: Verified, kind: MessageType
) -> None:
    claim = at(walk, store, State.WORKING)
    evidence = verified(store, claim)
    with Bell(Path(store.name), "task-00") as bell:
        message_id = service.submit(
            store,
            claim,
            submission(kind, "the work"),
            verification_id=evidence,
            entries=(Entry(kind=EntryKind.SUBMITTED, item="checkpoint 1"),),
        )
        assert bell.drain()
    view = service.task_view(store, "task-01")
    assert view.row.state is State.NEEDS_REVIEW
    [row] = view.submissions
    assert (row.message_id, row.message_type, row.said) == (message_id, kind, submission(kind, "the work"))
    assert (row.verdict, row.verdict_message_id) == (None, None)
    assert view.verifications[-1].submission_id == message_id


def test_a_submission_without_evidence_is_refused(store: Store, walk: Walk, untouched: Untouched) -> None:
    claim = at(walk, store, State.WORKING)
    with untouched(), pytest.raises(EvidenceMissing, match="nothing was verified"):
        submit(store, claim)


@pytest.mark.parametrize("kind", [EntryKind.COMPLETED, EntryKind.RETURNED, EntryKind.REWORKED])
def test_work_after_the_verification_makes_it_stale(
    store: Store, walk: Walk, verified: Verified, untouched: Untouched, kind: EntryKind
) -> None:
    claim = at(walk, store, State.WORKING)
    verified(store, claim)
    service.record(store, claim, Entry(kind=EntryKind.NOTE, text="looking at it"))
    service.record(store, claim, Entry(kind=kind, item="step 2"))
    with untouched(), pytest.raises(EvidenceMissing, match="work was done after"):
        submit(store, claim)
    verified(store, claim)
    assert submit(store, claim) > 0


def test_a_red_verification_is_no_evidence(
    store: Store, walk: Walk, verified: Verified, untouched: Untouched
) -> None:
    claim = at(walk, store, State.WORKING)
    verified(store, claim)
    verified(store, claim, outcome="red")
    with untouched(), pytest.raises(EvidenceMissing, match="red"):
        submit(store, claim)


def test_evidence_serves_one_submission(
    store: Store, walk: Walk, verified: Verified, untouched: Untouched
) -> None:
    claim = at(walk, store, State.REVIEW_FAILED)
    with untouched(), pytest.raises(EvidenceMissing, match="belongs to an earlier submission"):
        submit(store, claim)
    verified(store, claim)
    assert submit(store, claim) > 0


def test_only_the_latest_verification_counts(
    store: Store, walk: Walk, verified: Verified, untouched: Untouched
) -> None:
    claim = at(walk, store, State.WORKING)
    first = verified(store, claim)
    second = verified(store, claim)
    with untouched(), pytest.raises(EvidenceMissing, match="a later verification exists"):
        service.submit(store, claim, submission(MessageType.REVIEW_REQUEST, "x"), verification_id=first)
    assert (
        service.submit(store, claim, submission(MessageType.REVIEW_REQUEST, "x"), verification_id=second) > 0
    )


def test_a_successor_verifies_for_itself(
    store: Store, walk: Walk, verified: Verified, untouched: Untouched
) -> None:
    """D20."""
    claim = at(walk, store, State.WORKING)
    verified(store, claim)
    leave(store, claim)
    service.reopen(store, "task-01", "go on")
    successor = service.claim(store, "task-01", "b", settings=Settings()).claim
    with untouched(), pytest.raises(EvidenceMissing, match="earlier session"):
        submit(store, successor)


@pytest.mark.parametrize("outcome", ["flaky", "cannot_run"])
def test_what_could_not_be_decided_goes_to_the_reviewer(
    store: Store, walk: Walk, verified: Verified, outcome: str
) -> None:
    claim = at(walk, store, State.WORKING)
    verified(store, claim, outcome=outcome)
    assert submit(store, claim) > 0


@pytest.mark.parametrize("state", sorted(VERDICTS))
def test_after_a_verdict_the_history_shows_both_steps(
    store: Store, walk: Walk, verified: Verified, state: State
) -> None:
    claim = at(walk, store, state)
    verified(store, claim)
    message_id = submit(store, claim)
    changes = service.history_of(store, "task-01")[-2:]
    assert [(each.from_state, each.to_state, each.message_id) for each in changes] == [
        (state, State.WORKING, None),
        (State.WORKING, State.NEEDS_REVIEW, message_id),
    ]


@pytest.mark.parametrize("state", sorted(ACTIVE - VERDICTS - {State.WORKING}))
def test_where_nothing_can_be_submitted_the_state_is_the_reason(
    store: Store, walk: Walk, verified: Verified, untouched: Untouched, state: State
) -> None:
    claim = at(walk, store, state)
    with untouched(), pytest.raises(IllegalEvent) as refused:
        submit(store, claim)
    assert (refused.value.state, refused.value.event) == (state, "submit")
    assert refused.value.exit_code == 4


def test_the_fields_are_stored_beside_the_text_and_cannot_be_changed(
    store: Store, walk: Walk, verified: Verified
) -> None:
    """The text is for people; what is judged was never parsed."""
    claim = at(walk, store, State.WORKING)
    verified(store, claim)
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
