"""Ids are refused before they are used, and the names made from them come back (D8, B18, B43)."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from musician.protocol.errors import BadId, CallerError, NoSession
from musician.protocol.names import (
    CONDUCTOR,
    check_plan_id,
    check_session_id,
    check_task_id,
    fallback_id,
    is_reserved,
    parse_launch_prompt,
    parse_launch_reference,
    succession_name,
    succession_number,
)
from tests.no_ids import ESCAPING, WIDENING

ALSO_BAD = (
    "",
    "task-03\n",
    "a" * 65,
    "task-03.",
    "a..b",
    ".hidden",
    "_x",
    "task-03\x00",
    "task-03.lock",
    "con",
    "Nul.txt",
    "com1",
    "LPT9.a",
    "aux",
    "prn.x",
    "é",
    "a/b",
    "a:b",
    "a'b",
    "o'; DROP TABLE orchestration_tasks;--",
)
GOOD = (
    "task-01",
    "task-1",
    "task-10",
    "3",
    "a",
    "a" * 64,
    "a.b",
    "v1.2.3",
    "x_y-z",
    "console",
    "com10",
    "x.locked",
    "com0",
)

_ALNUM = string.ascii_letters + string.digits
task_ids = (
    st.builds(str.__add__, st.sampled_from(_ALNUM), st.text(_ALNUM + "-_", max_size=20))
    | st.sampled_from(["task-S2", "task-S2-S3", "a-S1", "x-S02", "a.b-S4"])
).filter(
    lambda value: value.lower() not in {"con", "prn", "aux", "nul"} and not value.startswith("fallback-")
)


@pytest.mark.parametrize("value", [*ESCAPING, *WIDENING, *ALSO_BAD])
def test_an_id_that_could_leave_its_folder_or_be_no_name_is_refused(value: str) -> None:
    with pytest.raises(BadId) as caught:
        check_task_id(value)
    assert (caught.value.kind, caught.value.value) == ("task", value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("value", [value for value in (*ESCAPING, *WIDENING, *ALSO_BAD) if value])
def test_a_session_id_is_held_to_the_same_rule(value: str) -> None:
    with pytest.raises(BadId) as caught:
        check_session_id(value)
    assert caught.value.kind == "session"


@pytest.mark.parametrize("value", GOOD)
def test_a_good_id_is_given_back_as_it_is(value: str) -> None:
    assert check_task_id(value) == value
    assert check_session_id(value) == value


@pytest.mark.parametrize("value", [None, "", "  ", "null", "NULL", "None", "undefined", "\n"])
def test_a_session_without_an_id_owns_nothing(value: str | None) -> None:
    with pytest.raises(NoSession) as caught:
        check_session_id(value)
    assert caught.value.value == value
    assert isinstance(caught.value, CallerError)


@pytest.mark.parametrize("value", [CONDUCTOR, "fallback-abc", "fallback-task-00"])
def test_the_conductors_row_and_fallback_rows_are_no_tasks_of_a_plan(value: str) -> None:
    assert is_reserved(value)
    for plan_id in ("tasks", "Tasks", "task-00"):
        with pytest.raises(BadId, match="no plan id"):
            check_plan_id(plan_id)
    with pytest.raises(BadId, match="log"):
        check_task_id("run.Log")
    assert check_plan_id("first") == "first"
    with pytest.raises(BadId, match="reserved"):
        check_task_id(value)


def test_a_fallback_row_is_named_after_its_session_and_reserved() -> None:
    assert fallback_id("abc123") == "fallback-abc123"
    assert is_reserved(fallback_id("abc123"))
    assert not is_reserved("task-000")


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("#3", "task-03"),
        ("3", "task-03"),
        (" #12 ", "task-12"),
        ("120", "task-120"),
        ("#007", "task-07"),
        ("task-03", "task-03"),
        (" docs ", "docs"),
    ],
)
def test_a_number_in_a_launch_prompt_means_the_task_of_that_number(said: str, meant: str) -> None:
    assert parse_launch_reference(said) == meant


@pytest.mark.parametrize("said", ["#0", "0", "#", "#-1", "##3", "٣", "#x y", ""])
def test_a_launch_prompt_that_names_no_task_is_refused(said: str) -> None:
    with pytest.raises(BadId):
        parse_launch_reference(said)


STANDARD = """\
SELECT message FROM orchestration_messages
WHERE task_id = 'task-07' AND message_type = 'instruction' ORDER BY timestamp ASC LIMIT 1;

**Context:**
- **Task ID:** `task-07`
- Phase: 2 (task-08 comes later)
"""


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (STANDARD, "task-07"),
        ("Task ID: #3", "task-03"),
        ("Read the instruction.\n> task id: 12\n", "task-12"),
        ("task-03", "task-03"),
        ("#3 and mind the accents", "task-03"),
    ],
)
def test_a_launch_prompt_names_its_task_in_the_context_block_or_at_once(said: str, meant: str) -> None:
    """S-BOOT-3: the sources' standard prompt is understood."""
    assert parse_launch_prompt(said) == meant


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("Read task #3 from messages", "task-03"),
        ("please do 3", "task-03"),
        ("Read task 3 from messages.", "task-03"),
        ("task #3, it took 5 minutes last time", "task-03"),
        ("go on with `task-07`, please", "task-07"),
        ("task-07 once task-06 is done", "task-07"),
        ("play the docs next", "docs"),
    ],
)
def test_a_task_is_found_among_words(said: str, meant: str) -> None:
    """AUDIT-P10: the sources' own example, and how people put it."""
    assert parse_launch_prompt(said, {"docs", "task-03"}) == meant


@pytest.mark.parametrize(
    "said",
    [
        "",
        "\n",
        "(no idea)",
        "Task ID: ../../outside",
        "Task ID: '",
        "#0",
        "please go on",
        "between #3 and #4",
        "3 or 4",
    ],
)
def test_a_launch_prompt_without_a_task_is_refused(said: str) -> None:
    """S-BOOT-2, AUDIT-P10: nothing is guessed, and no word is taken for a task that is none."""
    with pytest.raises(BadId):
        parse_launch_prompt(said)


def test_sessions_of_a_task_are_named_as_the_sources_name_them() -> None:
    assert [succession_name("task-03", number) for number in (1, 2, 3)] == [
        "musician-task-03",
        "musician-task-03-S2",
        "musician-task-03-S3",
    ]


@given(task_ids, st.integers(1, 10_000))
def test_a_succession_name_comes_back_as_its_number(task_id: str, number: int) -> None:
    assert succession_number(succession_name(task_id, number), task_id) == number


@given(task_ids, task_ids, st.integers(1, 50))
def test_a_succession_name_of_one_task_counts_no_session_of_another(
    one: str, other: str, number: int
) -> None:
    name = succession_name(one, number)
    found = succession_number(name, other)
    assert found is None or succession_name(other, found) == name


@pytest.mark.parametrize(
    "worked_by",
    [
        "",
        "conductor",
        "musician-",
        "musician-task-10",
        "musician-task-1-S1",
        "musician-task-1-S02",
        "musician-task-1-S",
        "musician-task-1-S2 ",
        "musician-task-1-S٢",
        "Musician-task-1",
    ],
)
def test_what_names_no_session_of_the_task_has_no_number(worked_by: str) -> None:
    assert succession_number(worked_by, "task-1") is None


def test_sessions_are_counted_from_one() -> None:
    with pytest.raises(ValueError, match="counted from 1"):
        succession_name("task-03", 0)
