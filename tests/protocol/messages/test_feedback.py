"""What was sent back, point by point."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from musician.protocol.errors import BadField
from musician.protocol.journal import Entry, EntryKind
from musician.protocol.messages.corrections import corrections_in, with_corrections
from musician.protocol.messages.feedback import (
    MOST_POINTS,
    answer_text,
    numbered_answer,
    numbered_answers,
    points_of,
    with_points,
)
from musician.protocol.musician.since import Since

THREE = ("wrong link", "broad assertions", "no test for 2. rate input")


@pytest.mark.parametrize(
    ("text", "points"),
    [
        ("Three issues:\n1. wrong link\n2. broad assertions\n3. no test for 2. rate input\nResubmit.", THREE),
        ("1) wrong link 2) broad assertions 3) no test for 2. rate input", THREE),
        ("1. wrong\n   link\n2. broad assertions\n\n3. no test for 2. rate input", THREE),
        ("- wrong link\n* broad assertions\n\nThank you.\n  - no test for 2. rate input", THREE),
        ("Version 3.11 fails.\nLook again.", ("Version 3.11 fails. Look again.",)),
        ("2. is not the first", ("2. is not the first",)),
        ("1. \n2. so", ("so",)),
        ("- ", ("-",)),
        ("  \n", ()),
    ],
)
def test_a_rejection_is_taken_apart_into_its_points(text: str, points: tuple[str, ...]) -> None:
    assert points_of(text) == points


def test_each_point_is_answered_in_the_agents_words_or_said_not_to_be() -> None:
    """AUDIT-V16."""
    told = answer_text(THREE, {2: "asks for\nthe value", 9: "nobody asked"}, ("rework 1.1", "rework 1.2"))
    assert told == (
        "Resubmitted after it was sent back:\n"
        '1. "wrong link": not answered; rework 1.1, rework 1.2 was played since\n'
        '2. "broad assertions": asks for the value\n'
        '3. "no test for 2. rate input": not answered; rework 1.1, rework 1.2 was played since'
    )
    assert (
        answer_text(("x" * 400,), {}, ()).splitlines()[1]
        == f'1. "{"x" * 299}…": not answered; nothing was played for it'
    )


def test_answers_are_read_by_their_numbers() -> None:
    assert numbered_answers("Done. 1. The link goes there. 2. Value asked for.") == {
        1: "The link goes there.",
        2: "Value asked for.",
    }
    assert numbered_answer("2. so") == {2: "so"}
    assert numbered_answer("so") == {}


def test_the_answers_begin_anew_with_each_rejection_and_end_with_the_submission() -> None:
    entries = [
        Entry(kind=EntryKind.COMPLETED, item="step 1"),
        Entry(kind=EntryKind.SENT_BACK, item="checkpoint 1", text="a link"),
        Entry(kind=EntryKind.ANSWER, item="rework 1.1", text="1. mended"),
        Entry(kind=EntryKind.ANSWER, item="rework 1.1", text="1. mended twice"),
        Entry(kind=EntryKind.REWORKED, item="rework 1.1"),
    ]
    since = Since().after(entries)
    assert since == Since(points=("a link",), answers={1: "mended twice"}, mended_in=("rework 1.1",))
    again = since.after([Entry(kind=EntryKind.SENT_BACK, item="checkpoint 1", text="a name")])
    assert again == Since(points=("a name",), feedback="a name")
    assert again.after([Entry(kind=EntryKind.SUBMITTED, item="checkpoint 1")]) == Since()


@given(st.text() | st.lists(st.sampled_from(["1. ", "2. ", "- ", "\n", "x", " "])).map("".join))
def test_any_text_has_points_of_one_line_each_unless_it_says_nothing(text: str) -> None:
    points = points_of(text)
    assert len(points) <= MOST_POINTS
    assert bool(points) == bool(text.split())
    assert all(point == " ".join(point.split()) and point for point in points)


POINTS = st.text(st.sampled_from("ab 12.-:\nPOINTSCREK"), min_size=1).filter(str.strip)


@given(st.text(st.sampled_from("ab 12.-:\nPOINTS")), st.lists(POINTS, min_size=1, max_size=4), st.booleans())
def test_points_that_a_person_adds_are_read_again_whatever_the_text_says(
    text: str, points: list[str], with_steps: bool
) -> None:
    """Their numbers go on from the text's own; corrections stay what they are (LINE-COMMENTS)."""
    before = with_corrections(text, ["revert step 1"]) if with_steps else text
    said, first = with_points(before, points)
    assert points_of(said)[first - 1 :] == tuple(" ".join(each.split()) for each in points)
    assert [each.text for each in corrections_in(said, 5)] == (["revert step 1"] if with_steps else [])


def test_a_rejection_has_no_more_points_than_can_be_answered() -> None:
    """LINE-COMMENTS."""
    said, first = with_points("Not yet.\n1. a link", ["a.py:3: why?\n2. is no point"])
    assert (
        said
        == "Not yet.\n1. a link\n\nPOINTS, answer each by its number:\n2. a.py:3: why?\n   2. is no point"
    )
    assert (first, points_of(said)) == (2, ("a link", "a.py:3: why? 2. is no point"))
    assert points_of("POINTS:\n1. \n2. so") == ("…", "so")
    with pytest.raises(BadField):
        with_points("1. x", ["y"] * MOST_POINTS)
