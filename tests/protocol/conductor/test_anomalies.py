"""The four mechanical signals, exact at their bounds."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from musician.protocol.conductor.anomalies import Noted, Signal, anomalies, in_journal
from musician.protocol.journal import AWAITS_ANSWER, Entry, EntryKind
from musician.protocol.rules.deviations import Severity


def noted(*entries: Entry, epoch: int = 1) -> list[Noted]:
    return [Noted(id=number, epoch=epoch, entry=each) for number, each in enumerate(entries, start=1)]


def done(context_pct: float | None) -> Entry:
    return Entry(kind=EntryKind.COMPLETED, item="step 1", context_pct=context_pct)


def deviation(severity: Severity, *, ruled: bool = False) -> Entry:
    return Entry(kind=EntryKind.DEVIATION, item="step 1", text="otherwise", severity=severity, ruled=ruled)


CORRECTED = Entry(kind=EntryKind.SELF_CORRECTION, item="step 2", text="wrote it anew", context_pct=40.0)


def signals(
    journal: list[Noted], *, epoch: int = 1, is_played: bool = True, quiet_s: float | None = 0.0
) -> list[Signal]:
    found = anomalies(journal, epoch=epoch, is_played=is_played, quiet_s=quiet_s)
    return [each.signal for each in found]


def test_an_ordinary_journal_shows_nothing() -> None:
    assert signals(noted(done(10.0), done(None), done(25.0))) == []
    assert signals([]) == []


def test_a_self_correction_is_a_signal_of_its_session() -> None:
    (found,) = anomalies(noted(CORRECTED), epoch=1, is_played=True, quiet_s=None)
    assert (found.signal, found.text, found.entry_id) == (Signal.SELF_CORRECTION, "step 2: wrote it anew", 1)
    assert signals(noted(CORRECTED), epoch=2) == [], "another's context bears it"


@pytest.mark.parametrize(("severity", "found"), [(Severity.HIGH, True), (Severity.MEDIUM, False)])
def test_a_high_deviation_is_a_signal_until_it_is_ruled(severity: Severity, found: bool) -> None:
    journal = noted(deviation(severity))
    assert signals(journal) == [Signal.HIGH_DEVIATION] * found
    assert signals(journal, epoch=2) == [Signal.HIGH_DEVIATION] * found, "it is still to be ruled"
    assert signals(noted(deviation(severity, ruled=True))) == []


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [(20.0, 35.0, False), (20.0, 35.1, True), (35.1, 20.0, False), (0.0, 15.0, False), (0.0, 16.0, True)],
)
def test_a_rise_by_more_than_fifteen_points_between_two_readings_is_a_jump(
    before: float, after: float, found: bool
) -> None:
    assert signals(noted(done(before), done(None), done(after))) == [Signal.CONTEXT_JUMP] * found


def test_the_reading_of_a_limit_before_any_other_begins_no_jump() -> None:
    """The scripted demo told one: a quota wall at the first request read 1 %, the first answer 22 %."""
    limited = Entry(kind=EntryKind.LIMITED, item="step 1", text="quota", context_pct=1.0)
    assert signals(noted(limited, done(22.0))) == []
    assert signals(noted(limited, done(22.0), done(40.0))) == [Signal.CONTEXT_JUMP]
    assert signals(noted(done(2.0), limited, done(22.0))) == [Signal.CONTEXT_JUMP], (
        "it had been measured before"
    )
    assert signals(noted(done(2.0), Entry(kind=EntryKind.LIMITED, context_pct=22.0))) == [Signal.CONTEXT_JUMP]


def test_two_sessions_readings_are_not_compared() -> None:
    first, second = noted(done(5.0)), [Noted(id=2, epoch=2, entry=done(50.0))]
    assert list(in_journal([*first, *second])) == []
    third = Noted(id=3, epoch=2, entry=done(66.0))
    assert [each.entry_id for each in in_journal([*first, *second, third])] == [3]


@given(st.lists(st.none() | st.floats(0, 100), max_size=8))
def test_jumps_agree_with_comparing_each_reading_with_the_one_before_it(readings: list[float | None]) -> None:
    known = [each for each in readings if each is not None]
    expected = sum(after - before > 15 for before, after in pairwise(known))
    assert len(list(in_journal(noted(*map(done, readings))))) == expected


@pytest.mark.parametrize(("quiet_s", "found"), [(299.9, False), (300.0, True), (None, False), (-1.0, False)])
def test_five_minutes_without_a_word_from_a_session_that_plays_are_a_silence(
    quiet_s: float | None, found: bool
) -> None:
    assert signals(noted(done(None)), quiet_s=quiet_s) == [Signal.SILENCE] * found
    assert signals([], quiet_s=quiet_s) == [Signal.SILENCE] * found
    assert signals(noted(done(None)), quiet_s=quiet_s, is_played=False) == []


def test_a_silence_names_its_length_and_the_last_word_before_it() -> None:
    (found,) = anomalies(noted(done(None)), epoch=1, is_played=True, quiet_s=479.0)
    assert (found.text, found.entry_id) == ("for 7 minutes", 1)


@pytest.mark.parametrize(
    "last", [Entry(kind=EntryKind.PAUSED, text="all pause"), Entry(kind=EntryKind.NOTE, text=AWAITS_ANSWER)]
)
def test_a_session_that_waits_is_not_silent(last: Entry) -> None:
    assert signals(noted(last), quiet_s=900.0) == []
    assert signals(noted(last, done(None)), quiet_s=900.0) == [Signal.SILENCE]
