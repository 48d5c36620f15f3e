"""Whether a session that plays by hand stands still, for a sibling's checkpoint (PLAN-21)."""

import pytest

from musician import service
from musician.protocol.journal import EntryKind
from musician.protocol.settings import Settings
from musician.store.port import Store
from tests.reporting.played import T, entry, look_at

STARTED, SUBMITTED = EntryKind.STARTED, EntryKind.SUBMITTED


@pytest.mark.parametrize("ended", [EntryKind.COMPLETED, EntryKind.SKIPPED, EntryKind.RECONCILED])
def test_what_has_ended_holds_nobody_up(store: Store, ended: EntryKind) -> None:
    """PLAN-21: it was played, left out, or found in the tree."""
    service.open_task(store, T, title="Find the way", instruction_path="docs/i.md")
    claim = service.claim(store, T, "s1", settings=Settings()).claim
    service.record(store, claim, entry(STARTED, "step 1"), entry(EntryKind.LAUNCHED, "step 1 agent 1"))
    service.pause(store, T, "for a sibling")
    assert not look_at(store).is_paused
    service.record(store, claim, entry(ended, "step 1"), entry(EntryKind.RETURNED, "step 1 agent 1"))
    assert look_at(store).is_paused
    service.record(store, claim, entry(EntryKind.NOT_VERIFIED, "checkpoint 1"))
    assert not look_at(store).is_paused, "it may be mending"
    service.record(store, claim, entry(EntryKind.WAIVED))
    assert look_at(store).is_paused, "the conductor has waived that"
    service.record(store, claim, entry(SUBMITTED, "checkpoint 1"))
    assert look_at(store).is_paused, "what is submitted waits for its verdict"
