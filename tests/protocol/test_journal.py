"""Progress is a fold over the journal; a line of the status file says one entry."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from musician.protocol.journal import (
    PLAYED,
    WORK,
    Entry,
    EntryKind,
    Progress,
    deviation_in,
    open_items,
    status_line,
)
from musician.protocol.rules.deviations import Deviation, Severity

ENTRIES = st.lists(
    st.builds(
        Entry,
        kind=st.sampled_from(EntryKind),
        item=st.sampled_from(["", "step 1", "step 2", "checkpoint 1", "step 2 agent 1"]),
        text=st.text(max_size=20),
        severity=st.sampled_from(Severity),
        context_pct=st.none() | st.floats(0, 100),
        commit_id=st.none() | st.sampled_from(["c1", "c2"]),
        ruled=st.booleans(),
    ),
    max_size=12,
)


def after(*entries: Entry) -> Progress:
    return Progress().after(entries)


@pytest.mark.parametrize("kind", [EntryKind.COMPLETED, EntryKind.RETURNED, EntryKind.RECONCILED])
def test_a_finished_item_is_done_once_and_keeps_its_place(kind: EntryKind) -> None:
    progress = after(
        Entry(kind=EntryKind.COMPLETED, item="step 2", commit_id="c1"),
        Entry(kind=kind, item="step 1", commit_id="c2"),
        Entry(kind=kind, item="step 2"),
    )
    assert progress.completed == ("step 2", "step 1")
    assert progress.is_done("step 1")
    assert not progress.is_done("step 3")


def test_a_rework_finishes_no_item() -> None:
    progress = after(
        Entry(kind=EntryKind.COMPLETED, item="step 1", commit_id="c1"),
        Entry(kind=EntryKind.REWORKED, item="checkpoint 1 rework 1", commit_id="c2"),
    )
    assert progress.completed == ("step 1",)


def test_what_was_only_begun_or_failed_is_not_done() -> None:
    kinds = (
        EntryKind.STARTED,
        EntryKind.LAUNCHED,
        EntryKind.FAILED,
        EntryKind.PARTIAL,
        EntryKind.SET_ASIDE,
        EntryKind.SENT_BACK,
    )
    assert after(*(Entry(kind=kind, item="step 1") for kind in kinds)) == Progress()


def test_deviations_keep_their_order_and_whether_they_were_ruled() -> None:
    progress = after(
        Entry(kind=EntryKind.DEVIATION, item="step 1", text="a", severity=Severity.LOW, ruled=True),
        Entry(kind=EntryKind.DEVIATION, item="step 1", text="b", severity=Severity.HIGH),
    )
    assert progress.deviations == (
        Deviation(severity=Severity.LOW, text="a", ruled=True),
        Deviation(severity=Severity.HIGH, text="b", ruled=False),
    )


def test_a_deviation_without_a_severity_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="severity"):
        Entry(kind=EntryKind.DEVIATION, text="something else")


@pytest.mark.parametrize(
    ("item", "text", "said"),
    [("step 3", "wrote it anew:", "step 3: wrote it anew:"), ("", "why", "why"), ("step 3", "", "step 3")],
)
def test_a_self_correction_is_kept_with_its_place(item: str, text: str, said: str) -> None:
    assert after(Entry(kind=EntryKind.SELF_CORRECTION, item=item, text=text)).self_corrections == (said,)


def test_an_approval_stands_for_its_item_until_that_is_submitted_anew() -> None:
    approved = after(Entry(kind=EntryKind.APPROVED, item="checkpoint 1"))
    assert not approved.after([Entry(kind=EntryKind.SUBMITTED, item="checkpoint 1")]).approved
    assert approved.is_done("checkpoint 1")
    assert approved.completed == ()


@given(ENTRIES, st.integers(0, 12))
def test_progress_does_not_depend_on_where_a_session_was_cut_off(entries: list[Entry], cut: int) -> None:
    assert Progress().after(entries[:cut]).after(entries[cut:]) == Progress().after(entries)


@given(ENTRIES)
def test_progress_takes_nothing_back_but_what_is_undone(entries: list[Entry]) -> None:
    progress = Progress()
    for entry in entries:
        if entry.kind in (
            EntryKind.UNDONE,
            EntryKind.SUBMITTED,
        ):  # a later submission takes an approval away (D28)
            continue
        after_it = progress.after([entry])
        assert after_it.completed[: len(progress.completed)] == progress.completed
        assert after_it.approved >= progress.approved
        assert after_it.deviations[: len(progress.deviations)] == progress.deviations
        progress = after_it
    assert len(set(progress.completed)) == len(progress.completed)


@pytest.mark.parametrize(
    ("entry", "line"),
    [
        (
            Entry(kind=EntryKind.CLAIMED, text="5f2c", context_pct=7.4),
            "bootstrap started: task claimed, session: 5f2c [ctx: 7%]",
        ),
        (Entry(kind=EntryKind.LOADED, text="docs/a.md"), "instructions loaded: docs/a.md"),
        (Entry(kind=EntryKind.COMPLETED, item="step 1", context_pct=18), "step 1 completed [ctx: 18%]"),
        (Entry(kind=EntryKind.SELF_CORRECTION, item="step 3", text="true"), "step 3 self-correction: true"),
        (
            Entry(kind=EntryKind.DEVIATION, item="step 2", text="{braces} | pipes", severity=Severity.MEDIUM),
            "step 2 deviation: {braces} | pipes (Medium)",
        ),
        (Entry(kind=EntryKind.FAILED, item="step 2", text="one\n  two\n"), "step 2 FAILED: one two"),
        (Entry(kind=EntryKind.NOTE, text="bootstrap started", context_pct=0), "bootstrap started [ctx: 0%]"),
        (Entry(kind=EntryKind.RESUMED, text="one\n  two", context_pct=7), "one\n  two"),
    ],
)
def test_a_status_line_reads_as_in_the_sources(entry: Entry, line: str) -> None:
    assert status_line(entry) == line


@given(ENTRIES)
def test_every_entry_is_one_line_but_for_the_takeover_message(entries: list[Entry]) -> None:
    for entry in entries:
        line = status_line(entry)
        assert line == entry.text if entry.kind is EntryKind.RESUMED else len(line.splitlines()) <= 1


def test_only_deviations_go_into_the_deviations_file() -> None:
    lines = [kind for kind in EntryKind if deviation_in(Entry(kind=kind, severity=Severity.LOW)) is not None]
    assert set(lines) == {EntryKind.DEVIATION, EntryKind.SENT_BACK, EntryKind.SKIPPED}
    assert deviation_in(Entry(kind=EntryKind.SENT_BACK, item="checkpoint 2", text="a fix")) is None


def test_a_rejection_is_a_deviation_that_is_ruled_as_it_comes() -> None:
    rejected = Entry(
        kind=EntryKind.SENT_BACK, item="checkpoint 2", text="1. too long", severity=Severity.MEDIUM
    )
    (found,) = Progress().after([rejected]).deviations
    assert found == Deviation(severity=Severity.MEDIUM, text="checkpoint 2: review_failed", ruled=True)


def correction(item: str, text: str = "true") -> Entry:
    return Entry(kind=EntryKind.CORRECTION, item=item, text=text)


def test_corrections_wait_in_their_order_until_each_is_done_or_skipped() -> None:
    progress = Progress().after([correction(f"correction 7.{number}") for number in (1, 2, 3)])
    assert [each.item for each in progress.corrections] == [f"correction 7.{n}" for n in (1, 2, 3)]
    progress = progress.after(
        [
            Entry(kind=EntryKind.COMPLETED, item="correction 7.1", commit_id="c1"),
            Entry(kind=EntryKind.SKIPPED, item="correction 7.3"),
        ]
    )
    assert [each.item for each in progress.corrections] == ["correction 7.2"]
    assert progress.completed == ()
    assert progress.heard_corrections == {f"correction 7.{number}" for number in (1, 2, 3)}


def test_later_corrections_take_the_place_of_those_not_played_yet() -> None:
    progress = Progress().after([correction("correction 7.1"), correction("correction 9.1")])
    assert [each.item for each in progress.corrections] == ["correction 9.1"]


BEGUN = (
    Entry(kind=EntryKind.STARTED, item="step 1"),
    Entry(kind=EntryKind.LAUNCHED, item="step 1 agent 1"),
    Entry(kind=EntryKind.STARTED, item="step 2"),
)


def still_open(*further: Entry) -> list[str]:
    return [each.item for each in open_items([*BEGUN, *further])]


@pytest.mark.parametrize("kind", sorted(PLAYED | {EntryKind.UNDONE}))
def test_what_is_begun_is_open_until_it_has_ended(kind: EntryKind) -> None:
    assert still_open(Entry(kind=kind, item="step 1")) == ["step 1 agent 1", "step 2"]


def test_a_skipped_step_leaves_none_of_its_pieces_open() -> None:
    assert still_open(Entry(kind=EntryKind.SKIPPED, item="step 1")) == ["step 2"]
    piece = Entry(kind=EntryKind.SKIPPED, item="step 1 agent 1")
    assert still_open(piece) == ["step 1", "step 2"]


@pytest.mark.parametrize("kind", [EntryKind.FAILED, EntryKind.PARTIAL, EntryKind.VERIFIED])
def test_what_fails_is_still_to_be_done(kind: EntryKind) -> None:
    assert still_open(Entry(kind=kind, item="step 2")) == ["step 1", "step 1 agent 1", "step 2"]


def test_what_is_begun_again_is_the_last_that_was_begun() -> None:
    again = Entry(kind=EntryKind.STARTED, item="step 1", text="again")
    assert open_items([*BEGUN, again]) == (*BEGUN[1:], again)


def test_nothing_is_open_before_a_submission() -> None:
    assert still_open(Entry(kind=EntryKind.SUBMITTED, item="checkpoint 1")) == []


def test_started_over_nothing_is_open_or_done_and_no_correction_is_heard_twice() -> None:
    """AGAIN-START-OVER"""
    over = Entry(kind=EntryKind.STARTED_OVER, text="again")
    before = (
        Entry(kind=EntryKind.COMPLETED, item="step 1"),
        Entry(kind=EntryKind.APPROVED, item="checkpoint 1"),
        Entry(kind=EntryKind.CORRECTION, item="correction 17.1", text="make"),
    )
    after = Progress().after([*before, over])
    assert after == Progress(heard_corrections=frozenset({"correction 17.1"}))
    assert still_open(over) == []
    assert over.kind in WORK, "what stands approved covers it no more"
    assert status_line(over) == "started over: again"


def test_what_is_skipped_counts_as_done_until_it_is_undone() -> None:
    progress = Progress().after([Entry(kind=EntryKind.SKIPPED, item="step 2")])
    assert progress.is_done("step 2")
    assert not progress.after([Entry(kind=EntryKind.UNDONE, item="step 2")]).is_done("step 2")


def test_what_the_conductor_has_left_out_is_a_low_deviation_that_is_ruled_as_it_comes() -> None:
    skipped = Entry(kind=EntryKind.SKIPPED, item="step 5 agent 3", text="by correction 17.1")
    progress = Progress().after([skipped])
    text = "step 5 agent 3: skipped by correction 17.1"
    assert progress.deviations == (Deviation(severity=Severity.LOW, text=text, ruled=True),)
    assert progress.is_done("step 5 agent 3")
    correction = Progress().after([Entry(kind=EntryKind.SKIPPED, item="correction 17.2")])
    assert correction.deviations == ()


def test_a_kind_that_nobody_knows_is_a_note() -> None:
    """AUDIT-P4: a newer program's word, or broken bytes, stop no reader."""
    assert EntryKind("of tomorrow") is EntryKind.NOTE
