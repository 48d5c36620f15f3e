"""Who lives: what the age of a heartbeat says, and what a lock on the same host adds (D2, D10).

Knows ages in seconds by the database's clock, never times: turning a stored text into an age is the
store's part, and one it cannot read comes here as None. What is not known is never taken for fresh, and
never for stale either: nobody is called alive, and nobody's task is taken, on a reading that makes no
sense.
"""

from enum import StrEnum
from math import isfinite
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from musician.protocol.settings import Settings


class HeartbeatStatus(StrEnum):
    OK = "ok"
    REFRESH = "refresh"
    """Alive, and due to be refreshed by its watcher."""
    STALE = "stale"
    UNKNOWN = "unknown"
    """No heartbeat, or an unreadable one."""
    SKEW = "skew"
    """In the future: a clock other than the database's wrote it."""


class Owner(StrEnum):
    """How the owner of a claim stands. ``lives``: it is expected to go on."""

    LIVE = "live"
    SILENT = "silent"
    """Its process lives on this host, its heartbeat does not say so. It counts as alive, but for a conductor that has
    seen it so for one further refresh period: it hangs (D38)."""
    STALE = "stale"
    """Its task may be taken over, by the four steps of D23."""
    DEAD = "dead"
    """Known to be gone, without waiting for its heartbeat to go stale."""
    DOUBTFUL = "doubtful"
    """A claim on its task is blocked as if it lived; it is flagged and never taken over."""

    @property
    def lives(self) -> bool:
        return self in (Owner.LIVE, Owner.SILENT)


def heartbeat_status(age_s: float | None, settings: "Settings") -> HeartbeatStatus:
    """Older than 480 s is REFRESH, from 540 s on STALE, by default.

    A negative age within ``heartbeat.skew_tolerance_s`` is rounding and OK; beyond it SKEW.
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
    """Whether a heartbeat of that age says that somebody lives."""
    return heartbeat_status(age_s, settings) in (HeartbeatStatus.OK, HeartbeatStatus.REFRESH)


def owner_standing(status: HeartbeatStatus, *, lock_held: bool | None) -> Owner:
    """The owner, by its heartbeat and by the lock its process holds.

    ``lock_held`` is None where no lock can be seen: another host, or a session opened by hand. A free lock
    outweighs a fresh heartbeat. A held one outweighs any that is not: a clock may have been set. But a stopped
    or hanging process keeps its lock, and so it does not for ever.
    """
    if lock_held is False:
        return Owner.DEAD
    if status in (HeartbeatStatus.OK, HeartbeatStatus.REFRESH):
        return Owner.LIVE
    return Owner.SILENT if lock_held else standing_by_heartbeat(status)


def standing_by_heartbeat(status: HeartbeatStatus) -> Owner:
    """The owner, where only its heartbeat speaks for it, or its process has been silent for too long."""
    if status in (HeartbeatStatus.OK, HeartbeatStatus.REFRESH):
        return Owner.LIVE
    return Owner.STALE if status is HeartbeatStatus.STALE else Owner.DOUBTFUL


def holds_claim(owner: Owner) -> bool:
    """Whether a claim on its task is blocked: all but who is stale or known dead."""
    return owner not in (Owner.STALE, Owner.DEAD)


def trusts_ages(since_gap_s: float | None, settings: "Settings") -> bool:
    """Whether the conductor may call anyone stale.

    ``since_gap_s`` is how long ago its own ticks had a gap (the machine slept), None if they never had:
    one refresh period must pass first, so that healthy owners can show themselves (D10).
    """
    return since_gap_s is None or since_gap_s >= settings.heartbeat.refresh_after_s
