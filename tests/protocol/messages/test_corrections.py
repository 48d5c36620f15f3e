"""Correction steps in a conductor's answer: written, read again, and taken for what they ask (D17.6)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from musician.protocol.errors import BadField
from musician.protocol.messages.corrections import (
    MOST_CORRECTIONS,
    Correction,
    Way,
    corrections_in,
    is_correction,
    order_id,
    with_corrections,
)


@pytest.mark.parametrize(
    ("text", "way", "target"),
    [
        ("revert step 2", Way.REVERT, "step 2"),
        ("Revert Step 2 agent 1", Way.REVERT, "step 2 agent 1"),
        ("revert step 2 and skip it", Way.REVERT_AND_SKIP, "step 2"),
        ("skip step 3", Way.SKIP, "step 3"),
        ("skip correction 7.1", Way.SKIP, "correction 7.1"),
        ("git revert HEAD", Way.PLAY, ""),
        ("revert step 2 by hand", Way.PLAY, ""),
        ("revert checkpoint 1", Way.PLAY, ""),
        ("skip step 3\necho more", Way.PLAY, ""),
    ],
)
def test_a_step_is_taken_for_what_it_asks(text: str, way: Way, target: str) -> None:
    found = Correction.of("correction 7.1", text)
    assert (found.way, found.target, found.text) == (way, target, text)
    assert found.title == text.split("\n")[0]


STEPS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).filter(str.strip)


@given(st.lists(st.lists(STEPS, min_size=1, max_size=3), max_size=5), st.text(max_size=20))
def test_what_is_written_is_read_again(steps: list[list[str]], text: str) -> None:
    wanted = ["\n".join(lines).rstrip() for lines in steps]
    said = with_corrections(text, wanted)
    if "CORRECTIONS" not in text:
        assert [each.text for each in corrections_in(said, 9)] == wanted
        assert [each.item for each in corrections_in(said, 9)] == [
            f"correction 9.{number}" for number in range(1, len(wanted) + 1)
        ]
    assert said.startswith(text)


def test_a_person_s_own_hand_is_read() -> None:
    said = "Not so.\nCORRECTIONS:\n\n1. revert step 1\n2. printf 'a\\n' > x\n   echo done\n\nThank you"
    assert [each.text for each in corrections_in(said, 5)] == [
        "revert step 1",
        "printf 'a\\n' > x\necho done\n\nThank you",
    ]


@pytest.mark.parametrize(
    "said",
    ["", "1. revert step 1", "CORRECTIONS:\n- revert step 1", "CORRECTIONS:\n2. x", "CORRECTIONS:\n1. "],
)
def test_what_is_no_order_orders_nothing(said: str) -> None:
    assert corrections_in(said, 5) == ()


@pytest.mark.parametrize("steps", [[""], ["  \n"], ["true"] * (MOST_CORRECTIONS + 1)])
def test_steps_that_say_nothing_or_are_too_many_are_refused(steps: list[str]) -> None:
    with pytest.raises(BadField):
        with_corrections("text", steps)


def test_a_step_is_known_by_the_message_it_came_in() -> None:
    assert (order_id("correction 12.3"), order_id("step 1")) == (12, 0)
    assert (is_correction("correction 12.3"), is_correction("step 1")) == (True, False)
