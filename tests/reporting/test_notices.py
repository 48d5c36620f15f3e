"""What a person is told, and when: gathered, at most one message in a while, none in quiet hours."""

import pytest

from musician import service
from musician.protocol.settings import Notify
from musician.protocol.states import State
from musician.protocol.values import replace
from musician.reporting.notices import GATHER_S, LIMIT, Gathering, Message, Notice, notices_of
from musician.reporting.standing import Standing
from musician.store.port import Store
from tests.conftest import Walk

NOON, NIGHT = 12 * 60, 23 * 60


def notice(task: str, text: str = "asks", subject: str = "1") -> Notice:
    return Notice(kind="question", task_id=task, subject=subject, text=text)


def gathering(**settings: object) -> Gathering:
    return Gathering(settings=Notify(**settings), plan_id="p")  # type: ignore[arg-type]


def tasks(message: Message | None) -> list[str]:
    return [] if message is None else [each.task_id for each in message.notices]


def test_the_first_news_waits_a_moment_for_more_and_then_both_are_told_at_once() -> None:
    found = gathering()
    found.saw(0, [notice("a")])
    assert found.due(GATHER_S - 0.1, NOON) is None
    found.saw(2, [notice("a"), notice("b")])
    assert tasks(found.due(GATHER_S, NOON)) == ["a", "b"]


def test_nothing_is_told_twice_and_never_more_than_one_message_a_minute() -> None:
    found = gathering()
    found.saw(0, [notice("a")])
    assert tasks(found.due(10, NOON)) == ["a"]
    found.saw(11, [notice("a"), notice("b")])
    found.saw(12, [notice("a"), notice("b"), notice("c")])
    assert [tasks(found.due(now_s, NOON)) for now_s in (20, 69.9, 70, 200)] == [[], [], ["b", "c"], []]


def test_what_is_settled_before_it_could_be_told_is_not_told() -> None:
    found = gathering()
    found.saw(0, [notice("a")])
    found.due(10, NOON)
    found.saw(11, [notice("a"), notice("b")])
    found.saw(12, [notice("a")])
    assert found.due(100, NOON) is None


def test_what_is_asked_again_is_told_again() -> None:
    found = gathering()
    found.saw(0, [notice("a")])
    found.due(10, NOON)
    found.saw(80, [])
    found.saw(81, [notice("a")])
    assert tasks(found.due(90, NOON)) == ["a"]


def test_in_quiet_hours_it_is_gathered_and_told_when_they_are_over() -> None:
    found = gathering(quiet="22:00-07:00")
    found.saw(0, [notice("a")])
    assert found.due(10, NIGHT) is None
    found.saw(20, [notice("a"), notice("b")])
    assert tasks(found.due(30, NOON)) == ["a", "b"]
    assert found.at_the_end(NIGHT, [notice("a")], "it is over") is None


def test_the_end_is_told_with_all_that_is_open_however_lately_something_was() -> None:
    found = gathering()
    found.saw(0, [notice("a")])
    found.due(10, NOON)
    told = found.at_the_end(NOON, [notice("a")], "p waits for you: 0 of 1 task complete")
    assert told is not None
    assert (tasks(told), told.title) == (["a"], "Musician: p waits for you: 0 of 1 task complete")


def test_a_message_is_bounded_and_on_lines_of_its_own() -> None:
    found = gathering()
    found.saw(0, [notice(f"t{number}", "x\n\x1b]2;evil\x07" + "y" * 5000) for number in range(50)])
    told = found.due(10, NOON)
    assert told is not None
    assert told.title == "Musician, p: 50 things wait"
    assert told.text.count("\n") == 20
    assert told.text.endswith("and 30 more")
    assert all(line.isprintable() for line in told.text.split("\n"))
    assert len(told.text) < 12_000


@pytest.mark.parametrize("kind", ["error", LIMIT])
def test_needs_and_limits_are_read_off_where_the_tasks_stand(store: Store, walk: Walk, kind: str) -> None:
    walk(store, "task-01", State.ERROR)
    service.ask_human(store, "task-01", kind="error", subject_id=0, text="it broke")
    view = service.task_view(store, "task-01")
    if kind == LIMIT:
        view = replace(view, asks=(), limited_until="2026-01-01 10:00:00", limited_account="task-01's")
    (found,) = notices_of(store, [Standing(view)])
    assert found.kind == kind
    assert "task-01" in found.text
    assert bool(found.commands) is (kind == "error")
