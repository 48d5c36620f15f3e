"""A task as one flat list of items: what is next, what is left."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from musician.protocol.journal import Entry, EntryKind, Progress
from musician.protocol.musician.program import CheckpointItem, Play, Program


def play(number: int, *, agent: int | None = None) -> Play:
    name = f"step {number}" if agent is None else f"step {number} agent {agent}"
    return Play(
        item=name,
        title=f"title {number}",
        prose="",
        scripts=("true",),
        step=number,
        is_agent=agent is not None,
    )


def check(number: int, of: int, *, final: bool = False) -> CheckpointItem:
    return CheckpointItem(
        item=f"checkpoint {number}",
        number=number,
        of=of,
        title=f"check {number}",
        commands=(),
        rework=(),
        final=final,
    )


ITEMS = (play(1), play(2), play(2, agent=1), check(1, 2), play(3), check(2, 2, final=True))
PROGRAM = Program(task_id="task-01", title="t", items=ITEMS)


def done(*items: str) -> Progress:
    return Progress().after(
        Entry(kind=EntryKind.APPROVED if item.startswith("checkpoint") else EntryKind.COMPLETED, item=item)
        for item in items
    )


def test_items_are_played_in_document_order_until_the_last_checkpoint_stands() -> None:
    played: list[str] = []
    while (item := PROGRAM.next_item(done(*played))) is not None:
        played.append(item.item)
    assert played == [item.item for item in ITEMS]


def test_the_next_item_is_named_with_how_many_there_are() -> None:
    played: list[str] = []
    told = []
    while (item := PROGRAM.next_item(done(*played))) is not None:
        told.append(PROGRAM.next_named(done(*played)))
        played.append(item.item)
    assert told == [
        "step 1 of 3",
        "step 2 of 3",
        "step 2 agent 1",
        "checkpoint 1 of 2",
        "step 3 of 3",
        "checkpoint 2 of 2",
    ]
    assert PROGRAM.next_named(done(*played)) == ""
    ordered = Entry(kind=EntryKind.CORRECTION, item="correction 7.1", text="do it")
    assert PROGRAM.next_named(Progress().after([ordered])) == "correction 7.1"


def test_what_a_successor_finds_done_is_skipped() -> None:
    next_item = PROGRAM.next_item(done("step 1", "step 2 agent 1"))
    assert next_item is not None
    assert next_item.item == "step 2"


@pytest.mark.parametrize(
    ("so_far", "to_checkpoint", "left"),
    [
        ((), 3, 4),
        (("step 1",), 2, 3),
        (("step 1", "step 2", "step 2 agent 1"), 0, 1),
        (("step 1", "step 2", "step 2 agent 1", "checkpoint 1"), 1, 1),
        (("step 1", "step 2", "step 2 agent 1", "checkpoint 1", "step 3"), 0, 0),
        (tuple(item.item for item in ITEMS), 0, 0),
    ],
)
def test_pieces_are_counted_to_the_next_checkpoint_and_in_all(
    so_far: tuple[str, ...], to_checkpoint: int, left: int
) -> None:
    assert PROGRAM.pieces_to_checkpoint(done(*so_far)) == to_checkpoint
    assert PROGRAM.pieces_left(done(*so_far)) == left


def test_what_remains_is_named_with_its_title() -> None:
    assert PROGRAM.remaining(done("step 1", "step 2", "step 2 agent 1", "checkpoint 1")) == (
        "step 3 (title 3)",
        "checkpoint 2 (check 2)",
    )


@given(st.lists(st.sampled_from([item.item for item in ITEMS]), unique=True))
def test_the_next_item_is_the_first_that_remains(so_far: list[str]) -> None:
    progress = done(*so_far)
    next_item = PROGRAM.next_item(progress)
    remaining = PROGRAM.remaining(progress)
    assert (next_item is None) == (remaining == ())
    assert next_item is None or remaining[0].startswith(next_item.item)
    assert PROGRAM.pieces_to_checkpoint(progress) <= PROGRAM.pieces_left(progress)


@pytest.mark.parametrize(
    "items",
    [
        (),
        (play(1),),
        (play(1), check(1, 1)),
        (check(1, 1, final=True), play(1)),
        (play(1), check(1, 2, final=True), check(2, 2)),
    ],
)
def test_a_task_that_does_not_end_with_its_final_checkpoint_cannot_be_made(
    items: tuple[Play | CheckpointItem, ...],
) -> None:
    with pytest.raises(ValueError, match="final checkpoint"):
        Program(task_id="task-01", title="t", items=items)


def test_two_items_cannot_have_one_name() -> None:
    with pytest.raises(ValueError, match="own name"):
        Program(task_id="task-01", title="t", items=(play(1), play(1), check(1, 1, final=True)))


def test_what_is_undone_takes_the_approvals_along_that_judged_it() -> None:
    progress = done("step 1", "step 2", "step 2 agent 1").after(
        [Entry(kind=EntryKind.APPROVED, item="checkpoint 1")]
    )
    assert PROGRAM.undone_with("step 2", progress) == ("step 2", "checkpoint 1")
    assert PROGRAM.undone_with("step 3", progress) == ()
    assert PROGRAM.undone_with("step 9", progress) == ()
    undone = progress.after(Entry(kind=EntryKind.UNDONE, item=name) for name in ("step 2", "checkpoint 1"))
    assert PROGRAM.next_item(undone) == play(2)
    assert (undone.completed, undone.approved) == (("step 1", "step 2 agent 1"), frozenset())


def test_the_checkpoint_after_an_item_is_the_next_one_in_the_document() -> None:
    assert PROGRAM.check_after("step 1") == check(1, 2)
    assert PROGRAM.check_after("checkpoint 1") == check(1, 2)
    assert PROGRAM.check_after("step 3") == PROGRAM.check_after("step 9") == check(2, 2, final=True)


def test_what_is_open_before_a_checkpoint_is_named_and_what_the_task_has_not_is_unknown() -> None:
    """D29: pieces of a step may be handed out that the plan has not written."""
    first = ITEMS[3]
    assert isinstance(first, CheckpointItem)
    assert PROGRAM.open_before(first.item, done("step 1")) == ("step 2", "step 2 agent 1")
    assert PROGRAM.open_before(first.item, done("step 1", "step 2", "step 2 agent 1")) == ()
    assert [each.item for each in PROGRAM.pieces_of("step 2")] == ["step 2 agent 1"]
    assert PROGRAM.pieces_of("checkpoint 1") == ()
    assert [PROGRAM.knows(item) for item in ("step 3", "step 3 agent 9", "step 99", "checkpoint 1")] == [
        True,
        True,
        False,
        False,
    ]


def test_a_correction_takes_an_approved_completion_back() -> None:
    """D28: an approval covers one tree, and the correction made another."""
    correction = replace(play(3), item="correction 1")
    approved = Progress().after([Entry(kind=EntryKind.APPROVED, item="checkpoint 2")])
    assert Entry(kind=EntryKind.UNDONE, item="checkpoint 2", text="by correction 1") in PROGRAM.done_with(
        correction, approved
    )
