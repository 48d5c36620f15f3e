"""One breaker a provider: how long nothing is asked of it."""

import math
from dataclasses import replace

import pytest

from musician.protocol.rules.breaker import (
    AGAIN_WITHIN_S,
    MOST_BELIEVED,
    MOST_IN_VAIN,
    MOST_OWN_S,
    MOST_SAID_S,
    PROBE_S,
    Leave,
    Limit,
    is_in_vain,
    leave,
    met,
)

NOW_S = 1_800_000_000.0
OWN_S = 300.0


def first(said_s: float | None = None) -> Limit:
    return met(None, now_s=NOW_S, said_s=said_s, own_s=OWN_S)


def test_what_a_provider_says_is_waited_for() -> None:
    assert first(90.0) == Limit(met_at_s=NOW_S, until_s=NOW_S + 90, times=1)
    assert first(90.0).left_s(NOW_S + 60) == 30
    assert first(90.0).left_s(NOW_S + 91) == 0


@pytest.mark.parametrize("said_s", [None, 0.0, -3600.0, math.nan, math.inf, 10 * 365 * 86_400.0])
def test_a_reset_that_is_unknown_over_or_years_away_is_a_pause_of_our_own(said_s: float | None) -> None:
    assert first(said_s).left_s(NOW_S) == OWN_S


def test_a_month_is_believed() -> None:
    assert first(MOST_SAID_S).left_s(NOW_S) == MOST_SAID_S


def test_our_own_pause_grows_while_it_is_met_again_and_again_and_not_without_end() -> None:
    limit, now_s, waits_s = None, NOW_S, []
    for _ in range(6):
        limit = met(limit, now_s=now_s, said_s=None, own_s=OWN_S)
        waits_s.append(limit.left_s(now_s))
        now_s = limit.until_s + 5
    assert waits_s == [300, 600, 1200, 2400, MOST_OWN_S, MOST_OWN_S]
    later = met(limit, now_s=now_s + AGAIN_WITHIN_S, said_s=None, own_s=OWN_S)
    assert (later.times, later.left_s(now_s + AGAIN_WITHIN_S)) == (1, OWN_S)


def test_a_provider_that_says_a_time_again_and_again_and_gives_nothing_is_believed_a_few_times() -> None:
    """LIMIT-12: of an overload that says one second it would be asked a thousand times."""
    limit, now_s, waits_s = None, NOW_S, []
    for _ in range(MOST_BELIEVED + 3):
        limit = met(limit, now_s=now_s, said_s=20.0, own_s=OWN_S)
        waits_s.append(limit.left_s(now_s))
        now_s = limit.until_s + 5
    assert waits_s == [20, 20, 20, 300, 600, 1200]
    assert met(limit, now_s=now_s, said_s=86_400.0, own_s=OWN_S).left_s(now_s) == 86_400, (
        "what is longer still is"
    )


def test_after_so_many_waits_in_vain_a_person_is_asked() -> None:
    """LIMIT-12: and not where something was given between, or after a long while."""
    limit, now_s, met_in_vain = None, NOW_S, []
    for _ in range(MOST_IN_VAIN + 1):
        met_in_vain.append(is_in_vain(limit, now_s=now_s))
        limit = met(limit, now_s=now_s, said_s=None, own_s=OWN_S)
        now_s = limit.until_s + 5
    assert met_in_vain == [False] * MOST_IN_VAIN + [True]
    assert 6 * 3600 < now_s - NOW_S < 9 * 3600, "a night's outage is waited for"
    assert limit is not None
    assert not is_in_vain(replace(limit, is_proven=True), now_s=now_s)
    assert not is_in_vain(limit, now_s=now_s + AGAIN_WITHIN_S)


def test_a_first_pause_that_somebody_has_set_longer_is_kept() -> None:
    assert met(None, now_s=NOW_S, said_s=None, own_s=7200.0).left_s(NOW_S) == 7200


def test_what_three_meet_at_the_same_moment_is_one_limit() -> None:
    limit = first()
    for said_s in (None, 90.0, None):
        limit = met(limit, now_s=NOW_S, said_s=said_s, own_s=OWN_S)
    assert limit == first()
    assert met(limit, now_s=NOW_S, said_s=5000.0, own_s=OWN_S).left_s(NOW_S) == 5000


def test_a_clock_that_jumps_ends_a_limit_and_parks_nobody_for_years() -> None:
    assert first(90.0).left_s(NOW_S - 365 * 86_400) == 0
    assert first(90.0).left_s(NOW_S + 365 * 86_400) == 0
    again = met(first(90.0), now_s=NOW_S - 86_400, said_s=None, own_s=OWN_S)
    assert again == Limit(met_at_s=NOW_S - 86_400, until_s=NOW_S - 86_400 + OWN_S, times=1)


@pytest.mark.parametrize(
    ("limit", "is_probe", "expected"),
    [
        (Limit(met_at_s=NOW_S - 9, until_s=NOW_S + 1), False, Leave.WAIT),
        (Limit(met_at_s=NOW_S - 9, until_s=NOW_S + 1, is_proven=True), False, Leave.FREE),
        (Limit(met_at_s=NOW_S - 9, until_s=NOW_S), False, Leave.PROBE),
        (Limit(met_at_s=NOW_S - 9, until_s=NOW_S - 1, is_proven=True), False, Leave.FREE),
        (Limit(met_at_s=NOW_S - 9, until_s=NOW_S - 1, probed_at_s=NOW_S), False, Leave.WAIT),
        (Limit(met_at_s=NOW_S - 9, until_s=NOW_S - 1, probed_at_s=NOW_S), True, Leave.PROBE),
        (Limit(met_at_s=NOW_S - 9, until_s=NOW_S - 1, probed_at_s=NOW_S - PROBE_S + 1), False, Leave.WAIT),
        (Limit(met_at_s=NOW_S - 9, until_s=NOW_S - 1, probed_at_s=NOW_S - PROBE_S), False, Leave.PROBE),
        (Limit(met_at_s=NOW_S - 9, until_s=NOW_S - 1, probed_at_s=NOW_S + 5), False, Leave.PROBE),
    ],
)
def test_one_asks_first_after_a_limit_and_one_that_is_silent_is_replaced(
    limit: Limit, is_probe: bool, expected: Leave
) -> None:
    """LIMIT-5: nobody while it holds, everybody once it is proven; a clock that was set back holds nobody."""
    assert leave(limit, now_s=NOW_S, is_probe=is_probe) is expected


def test_an_overload_that_comes_and_goes_does_not_grow_the_pause_of_a_provider_that_gives_between() -> None:
    """LIMIT-8: after a few turns of it everybody stood still for an hour."""
    found, now_s = None, 1000.0
    for _ in range(6):
        found = met(found, now_s=now_s, said_s=None, own_s=60.0)
        assert (found.times, found.until_s) == (1, now_s + 60.0)
        now_s = found.until_s + 5.0
        found = replace(found, is_proven=True)
