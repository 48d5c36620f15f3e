"""What was agreed of a context that runs out is in the journal, and nowhere else (D15, D30)."""

import pytest

from musician.protocol.journal import Entry, EntryKind
from musician.protocol.musician.agreement import Agreement, granted_text

PLAYED = Entry(kind=EntryKind.COMPLETED, item="step 1")
APPROVED = Entry(kind=EntryKind.APPROVED, item="checkpoint 1")


def granted(pieces: int | None) -> Entry:
    return Entry(kind=EntryKind.GRANTED, text=granted_text(pieces))


@pytest.mark.parametrize(
    ("entries", "agreed"),
    [
        ([PLAYED, APPROVED], Agreement()),
        ([granted(None), PLAYED], Agreement(holds=True)),
        ([granted(2), PLAYED], Agreement(holds=True, pieces=1)),
        ([granted(2), PLAYED, Entry(kind=EntryKind.CLAIMED)], Agreement()),
        ([granted(None), granted(3)], Agreement(holds=True, pieces=3)),
    ],
)
def test_the_journal_says_how_far_the_session_may_go(entries: list[Entry], agreed: Agreement) -> None:
    """D30.1"""
    assert Agreement().after(entries) == agreed


@pytest.mark.parametrize(
    ("entries", "reached"),
    [
        ([granted(2), PLAYED, Entry(kind=EntryKind.RETURNED, item="step 2 agent 1")], "pieces agreed on"),
        ([granted(1), Entry(kind=EntryKind.REWORKED, item="rework 1.1")], "pieces agreed on"),
        ([granted(None), PLAYED, APPROVED], "at the checkpoint, as agreed"),
        ([granted(5), PLAYED, APPROVED], "at the checkpoint, as agreed"),
    ],
)
def test_what_was_agreed_is_reached_once(entries: list[Entry], reached: str) -> None:
    """D30.1: from then on the session is to leave."""
    assert reached in Agreement().after(entries).reached
