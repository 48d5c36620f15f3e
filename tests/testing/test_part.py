"""A part plays its acts in order and takes nothing of them while it waits."""

from musician.testing import Await, Part, Received, say, use
from musician.testing.part import NOTHING_LEFT, WAITING

ASKED = Received(number=7, at_s=0.0, body={"model": "m", "messages": []}, size_bytes=0)


def test_what_is_waited_for_holds_back_all_that_follows() -> None:
    come: list[str] = []
    first, last = use("Bash", command="ls"), say("done")
    part = Part(
        first, Await(lambda: come), Await(lambda: "twice"), lambda asked: say(f"{asked.number}"), last
    )
    assert part(ASKED) is first
    assert [part(ASKED), part(ASKED)] == [say(WAITING)] * 2
    assert part.waits is not None
    assert not part.waits.condition()
    come.append("it")
    assert part(ASKED) == say("7")
    assert part.waits is None
    assert not part.is_over
    assert part(ASKED) is last
    assert part.is_over


def test_a_part_that_is_over_ends_every_turn() -> None:
    part = Part()
    assert part.is_over
    assert part.waits is None
    assert part(ASKED) == say(NOTHING_LEFT)
