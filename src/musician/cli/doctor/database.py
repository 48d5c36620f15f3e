"""The database: whether it is sound, and its times believable."""

import time
from collections.abc import Iterator

import apsw

from musician.cli.context import App
from musician.cli.doctor.check import fail, ok
from musician.plugin.finding import Finding
from musician.service.health import ahead_of_clock_s, check_integrity

__all__ = ["clock", "soundness"]

_EARLIEST_YEAR_S = 1_704_067_200
"""2024: a clock before it was never set."""


def soundness(app: App) -> Iterator[Finding]:
    check_integrity(app.store)
    yield ok(f"{app.database}, sound (SQLite {apsw.sqlite_lib_version()})")


def clock(app: App) -> Iterator[Finding]:
    ahead_s = ahead_of_clock_s(app.store)
    if ahead_s > app.settings.heartbeat.skew_tolerance_s:
        yield fail(
            f"the database holds a time {ahead_s:.0f} s in the future",
            "set this machine's clock right; heartbeats cannot be judged before",
        )
    elif time.time() < _EARLIEST_YEAR_S:
        yield fail("this machine's clock was never set", "set it, for example with ntp")
    else:
        yield ok("believable")
