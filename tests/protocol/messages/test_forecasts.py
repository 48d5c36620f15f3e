"""What is foretold of a merge is a fold over what was told of it, and nothing is told twice."""

from hypothesis import given
from hypothesis import strategies as st

from musician.protocol.messages.forecasts import (
    MERGED,
    MOST_PATHS,
    Forecast,
    Foreseen,
    Meeting,
    meeting,
    named,
)
from musician.protocol.messages.stored import fields_of, read_forecast

OTHERS = ("task-02", "task-03", MERGED)

meetings = st.builds(
    lambda found: tuple(meeting(other, tuple(sorted(paths))) for other, paths in sorted(found.items())),
    st.dictionaries(st.sampled_from(OTHERS), st.sets(st.sampled_from("abc"), min_size=1)),
)
foreseen = st.builds(
    lambda conflicts, waits: Foreseen(
        conflicts=conflicts,
        waits_for=tuple(each for each in waits if each.other not in {c.other for c in conflicts}),
    ),
    meetings,
    meetings,
)


@given(st.lists(foreseen, max_size=6))
def test_what_is_told_adds_up_to_what_is_foreseen_and_the_same_is_told_once(moments: list[Foreseen]) -> None:
    """D24.12."""
    told = Foreseen()
    for now in moments:
        news = now.news_since(told)
        if news is not None:
            assert read_forecast(fields_of(news)) == news
            told = told.after(news)
        assert told == now
        assert now.news_since(told) is None


def test_it_is_said_with_the_files_and_how_the_other_side_is_seen() -> None:
    first = Foreseen(conflicts=(meeting("task-02", ("a.py", "b\nc")), meeting(MERGED, ("x",))))
    news = first.news_since(Foreseen(), "See a side: `git diff`.")
    assert news is not None
    assert news.render().splitlines() == [
        "Conflict ahead: your work and task-02 do not merge in a.py, b\\nc.",
        "Conflict ahead: your work and what is merged already do not merge in x.",
        "Whoever is merged second resolves it. See a side: `git diff`.",
    ]
    after = Foreseen(waits_for=(meeting("task-03", ("y",)),)).news_since(first)
    assert after is not None
    assert after.render().splitlines() == [
        "Not begun before task-03 is merged: both touch y.",
        "Settled: what is merged already, task-02.",
    ]


def test_of_many_files_some_are_named() -> None:
    found = meeting("task-02", tuple(f"{number}" for number in range(MOST_PATHS + 3)))
    assert (len(found.paths), found.paths[-1]) == (MOST_PATHS + 1, "and 3 more")
    assert found.where.endswith("9, and 3 more")
    assert (found.who, named(MERGED)) == ("task-02", "what is merged already")


def test_what_others_write_foretells_nothing() -> None:
    """A raw writer's message has no fields, and anybody may write some that are none."""
    for fields in (
        None,
        "",
        "[]",
        '{"conflicts": 3}',
        '{"what": 1}',
        '{"conflicts": [{"other": 1, "paths": []}]}',
    ):
        assert read_forecast(fields) is None
    assert read_forecast("{}") == Forecast()
    assert Foreseen().after(Forecast(conflicts=(Meeting(other="a", paths=()),))).others == {"a"}
