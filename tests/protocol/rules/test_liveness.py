"""Liveness: ages, locks and doubt (D2, D10)."""

from itertools import product
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from musician.protocol.rules.liveness import (
    HeartbeatStatus,
    Owner,
    heartbeat_status,
    holds_claim,
    is_fresh,
    owner_standing,
    standing_by_heartbeat,
    trusts_ages,
)
from musician.protocol.settings import Heartbeat, Settings

SETTINGS = Settings()


@pytest.mark.parametrize(
    ("age_s", "expected"),
    [
        (None, HeartbeatStatus.UNKNOWN),
        (nan, HeartbeatStatus.UNKNOWN),
        (inf, HeartbeatStatus.UNKNOWN),
        (-inf, HeartbeatStatus.UNKNOWN),
        (-3600, HeartbeatStatus.SKEW),
        (-2.001, HeartbeatStatus.SKEW),
        (-2, HeartbeatStatus.OK),
        (-0.4, HeartbeatStatus.OK),
        (0, HeartbeatStatus.OK),
        (479, HeartbeatStatus.OK),
        (480, HeartbeatStatus.OK),
        (480.001, HeartbeatStatus.REFRESH),
        (481, HeartbeatStatus.REFRESH),
        (539.999, HeartbeatStatus.REFRESH),
        (540, HeartbeatStatus.STALE),
        (541, HeartbeatStatus.STALE),
        (10**9, HeartbeatStatus.STALE),
    ],
)
def test_a_heartbeat_is_judged_by_its_age_exactly(age_s: float | None, expected: HeartbeatStatus) -> None:
    assert heartbeat_status(age_s, SETTINGS) is expected
    assert is_fresh(age_s, SETTINGS) is (expected in (HeartbeatStatus.OK, HeartbeatStatus.REFRESH))


def test_the_thresholds_are_those_of_the_settings() -> None:
    quick = Settings(heartbeat=Heartbeat(refresh_after_s=500, stale_after_s=600, skew_tolerance_s=0))
    ages = (-0.1, 500, 500.1, 600)
    assert [heartbeat_status(age, quick).value for age in ages] == ["skew", "ok", "refresh", "stale"]


@given(st.floats(-1000, 2000))
def test_status_agrees_with_a_ladder_read_from_the_top(age_s: float) -> None:
    ladder = [(540, "stale"), (480.0000001, "refresh"), (-2, "ok")]
    expected = next((name for least, name in ladder if age_s >= least), "skew")
    if not 480 < age_s < 480.0000001:
        assert heartbeat_status(age_s, SETTINGS) == expected


@pytest.mark.parametrize(("status", "lock_held"), list(product(HeartbeatStatus, [True, False, None])))
def test_the_owner_stands_by_lock_first_then_by_heartbeat(
    status: HeartbeatStatus, lock_held: bool | None
) -> None:
    by_heartbeat = {
        "ok": Owner.LIVE,
        "refresh": Owner.LIVE,
        "stale": Owner.STALE,
        "unknown": Owner.DOUBTFUL,
        "skew": Owner.DOUBTFUL,
    }
    expected = Owner.DEAD if lock_held is False else by_heartbeat[status.value]
    if lock_held and expected is not Owner.LIVE:
        expected = Owner.SILENT  # D38.2
    assert owner_standing(status, lock_held=lock_held) is expected


@pytest.mark.parametrize(
    ("since_gap_s", "expected"), [(None, True), (0, False), (479.9, False), (480, True), (9999, True)]
)
def test_after_a_gap_in_its_ticks_the_conductor_waits_one_refresh_period(
    since_gap_s: float | None, expected: bool
) -> None:
    assert trusts_ages(since_gap_s, SETTINGS) is expected


def test_by_its_heartbeat_alone_an_owner_lives_is_stale_or_doubtful() -> None:
    """D38: and only who is stale or known dead holds no claim."""
    by = {status: standing_by_heartbeat(status) for status in HeartbeatStatus}
    assert {status for status, owner in by.items() if owner is Owner.LIVE} == {
        HeartbeatStatus.OK,
        HeartbeatStatus.REFRESH,
    }
    assert by[HeartbeatStatus.STALE] is Owner.STALE
    assert {owner for owner in Owner if not holds_claim(owner)} == {Owner.STALE, Owner.DEAD}
