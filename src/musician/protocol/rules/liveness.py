"""Decides whether an owner lives, by the age of its heartbeat and by the life lock on the same host (D2, D10).

Ages are seconds by the database's clock. The store turns stored times into ages; a time it cannot read arrives here as
None. An unknown age counts neither as fresh nor as stale: on a reading that makes no sense nobody is called alive, and
nobody's task is taken over.
"""

from enum import StrEnum
from math import isfinite
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from musician.protocol.settings import Settings


class HeartbeatStatus(StrEnum):
    OK = "ok"
    REFRESH = "refresh"
    """The owner lives, and its watcher is due to refresh the heartbeat."""
    STALE = "stale"
    UNKNOWN = "unknown"
    """There is no heartbeat, or it is unreadable."""
    SKEW = "skew"
    """The heartbeat is in the future: a clock other than the database's wrote it."""


class Owner(StrEnum):
    """The liveness of a claim's owner. One that ``lives`` is expected to go on."""

    LIVE = "live"
    SILENT = "silent"
    """Its process lives on this host, but its heartbeat is old. It counts as alive until a conductor has seen it so for
    one further refresh period; then it hangs (D38)."""
    STALE = "stale"
    """Its heartbeat is stale. The task may be taken over, by the four steps of D23."""
    DEAD = "dead"
    """It is known to be gone. There is no need to wait for a stale heartbeat."""
    DOUBTFUL = "doubtful"
    """Nothing is known. A claim on its task is blocked as if it lived; it is flagged and never taken over."""

    @property
    def lives(self) -> bool:
        return self in (Owner.LIVE, Owner.SILENT)


def heartbeat_status(age_s: float | None, settings: "Settings") -> HeartbeatStatus:
    """Classify the age of a heartbeat. By default one older than 480 s is REFRESH, and from 540 s on it is STALE.

    A negative age within ``heartbeat.skew_tolerance_s`` is a rounding error and OK; beyond that it is SKEW.
    """
    if age_s is None or not isfinite(age_s):
        return HeartbeatStatus.UNKNOWN
    if age_s < -settings.heartbeat.skew_tolerance_s:
        return HeartbeatStatus.SKEW
    if age_s >= settings.heartbeat.stale_after_s:
        return HeartbeatStatus.STALE
    if age_s > settings.heartbeat.refresh_after_s:
        return HeartbeatStatus.REFRESH
    return HeartbeatStatus.OK


def is_fresh(age_s: float | None, settings: "Settings") -> bool:
    """Whether a heartbeat of this age shows that the owner lives."""
    return heartbeat_status(age_s, settings) in (HeartbeatStatus.OK, HeartbeatStatus.REFRESH)


def owner_standing(status: HeartbeatStatus, *, lock_held: bool | None) -> Owner:
    """Judge an owner by its heartbeat and by its life lock.

    ``lock_held`` is None if no lock can be seen: on another host, or for a session opened by hand. A free lock
    outweighs a fresh heartbeat. A held lock outweighs an old heartbeat, because a clock may have been set; but a
    stopped or hanging process keeps its lock too, so such an owner is only SILENT.
    """
    if lock_held is False:
        return Owner.DEAD
    if status in (HeartbeatStatus.OK, HeartbeatStatus.REFRESH):
        return Owner.LIVE
    return Owner.SILENT if lock_held else standing_by_heartbeat(status)


def standing_by_heartbeat(status: HeartbeatStatus) -> Owner:
    """Judge an owner by its heartbeat alone: no lock is visible, or its process has been silent for too long."""
    if status in (HeartbeatStatus.OK, HeartbeatStatus.REFRESH):
        return Owner.LIVE
    return Owner.STALE if status is HeartbeatStatus.STALE else Owner.DOUBTFUL


def holds_claim(owner: Owner) -> bool:
    """Whether the owner blocks a claim on its task: any owner does that is not stale or known dead."""
    return owner not in (Owner.STALE, Owner.DEAD)


def trusts_ages(since_gap_s: float | None, settings: "Settings") -> bool:
    """Whether the conductor may call anyone stale.

    ``since_gap_s`` is the time since its own ticks last had a gap (the machine slept), None if they never had. After a
    gap one refresh period must pass, so that healthy owners can refresh their heartbeats first (D10).
    """
    return since_gap_s is None or since_gap_s >= settings.heartbeat.refresh_after_s
