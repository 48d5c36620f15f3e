"""Checks of the database: its integrity, its lock, its contents and its times."""

import time
from collections.abc import Iterator

import apsw

from musician.cli.context import App
from musician.cli.doctor.check import fail, ok, warn
from musician.plugin.check_result import CheckResult
from musician.processes.output import printable
from musician.protocol.states import State
from musician.service import guarded, kept_settings, open_tasks
from musician.service.health import ahead_of_clock_s
from musician.store.sqlite.faults import letting_go

_MOST_TOLD = 20

_OWNED = frozenset(
    {State.WORKING, State.NEEDS_REVIEW, State.REVIEW_APPROVED, State.REVIEW_FAILED, State.ERROR}
)
"""The states in which a session owns the task."""

_EARLIEST_YEAR_S = 1_704_067_200
"""The year 2024. A clock that shows an earlier time was never set."""


def soundness(app: App) -> Iterator[CheckResult]:
    app.store.check()
    yield ok(f"{app.database}, sound (SQLite {apsw.sqlite_lib_version()})")


def gate(app: App) -> Iterator[CheckResult]:
    """Check, without waiting, whether a process keeps all other writers out."""
    is_held, pid = app.store.holder()
    if is_held:
        who = "another process" if pid is None else f"pid {pid}"
        yield warn(
            f"{who} holds the database: nobody else can write until it lets go",
            letting_go(pid),
        )
    else:
        yield ok("free")


def contents(app: App) -> Iterator[CheckResult]:
    """Check the guards, and look for rows that they would not have allowed."""
    found = app.store.broken()
    for line in found[:_MOST_TOLD]:
        yield fail(printable(line), "`musician init` mends it")
    if len(found) > _MOST_TOLD:
        yield fail(f"and {len(found) - _MOST_TOLD} more", "`musician init` mends them")
    kept, wanted = kept_settings(app.store), guarded(app.settings)
    for name, value in wanted.items():
        if kept.get(name) != value:
            yield warn(
                f"the database uses {name} = {kept.get(name)}, but the settings say {value:g}",
                "`musician init` updates the database",
            )
    rows = () if found else open_tasks(app.store)
    ownerless = [row.task_id for row in rows if row.session_id is None and row.state in _OWNED]
    if ownerless:
        yield fail(
            f"in work but without an owner: {', '.join(ownerless)}",
            "open each for a new session: musician handoff TASK",
        )
    if not found and not ownerless and kept == wanted:
        yield ok("all guards are in place, and every row conforms to them")


def clock(app: App) -> Iterator[CheckResult]:
    ahead_s = ahead_of_clock_s(app.store)
    if ahead_s > app.settings.heartbeat.skew_tolerance_s:
        yield fail(
            f"the database holds a time {ahead_s:.0f} s in the future",
            "correct this machine's clock; until then heartbeats cannot be judged",
        )
    elif time.time() < _EARLIEST_YEAR_S:
        yield fail("this machine's clock was never set", "set it, for example with ntp")
    else:
        yield ok("plausible")
