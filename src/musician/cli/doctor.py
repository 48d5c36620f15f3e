"""Everything that must be right for a run, and how to mend what is not."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import apsw
import click

from musician.agents.registry import make_agent
from musician.cli.context import App
from musician.cli.faults import FAILED
from musician.cli.findings import report
from musician.cli.init import network_warnings
from musician.cli.options import command
from musician.plugin.finding import Finding, Level
from musician.plugin.installation import is_installed
from musician.plugin.places import Installation, for_project, for_user
from musician.plugin.rendering import this_program
from musician.plugin.selfcheck import check_plugin
from musician.protocol.errors import MusicianError
from musician.service.health import ahead_of_clock_s, check_integrity
from musician.trees.base import check_base
from musician.trees.git import Git

__all__ = ["doctor", "examine", "is_affected_sqlite"]

_AFFECTED = ((3, 7, 0), (3, 51, 3))
"""SQLite from the first up to before the second can corrupt a WAL database when a checkpoint resets it."""

_EARLIEST_YEAR_S = 1_704_067_200
"""2024: a clock before it was never set."""

_ASK_LIMIT_S = 10


@command("doctor")
@click.pass_obj
@click.pass_context
def doctor(context: click.Context, app: App) -> None:
    """Check everything and say how to mend it.

    Git, repository, settings, database, agents, clock, Claude Code's plugin. Exit code 1 if something must be mended.
    """
    if report(app, list(examine(app))):
        context.exit(FAILED)


def examine(app: App) -> Iterator[Finding]:
    """One finding to a check; a check that cannot be made because of an earlier one is left out."""
    yield _guarded("git", _git)
    repository = _guarded("repository", lambda: _repository(app))
    yield repository
    if repository.level is Level.FAIL and app.db is None:
        return
    yield _guarded("settings", lambda: _settings(app))
    if repository.level is not Level.FAIL:
        yield _guarded("tree", lambda: _tree(app), worst=Level.WARN)
    database = _guarded("database", lambda: _database(app))
    yield database
    yield _guarded("disk", lambda: _disk(app))
    yield _shell()
    if database.level is Level.OK:
        yield _guarded("clock", lambda: _clock(app))
    yield _guarded("agents", _agents)
    yield from _plugins(app, has_root=repository.level is not Level.FAIL)


def _plugins(app: App, *, has_root: bool) -> Iterator[Finding]:
    places = [for_user(os.environ), *([for_project(app.root, os.environ)] if has_root else [])]
    installed = [place for place in places if _is_there(place)]
    for place in installed:
        yield from _plugin(place)
    if not installed:
        found = "Claude Code's is not installed; `musician plugin install` installs it"
        yield Finding(check="plugin", level=Level.OK, found=found)


def _is_there(place: Installation) -> bool:
    """Whether something is to be checked; settings that cannot be read are."""
    try:
        return place.record.exists() or is_installed(place)
    except MusicianError:
        return True


def _plugin(place: Installation) -> Iterator[Finding]:
    """What is wrong with an installation; one word where nothing is."""
    wrong = [finding for finding in check_plugin(place, this_program()) if finding.level is not Level.OK]
    if not wrong:
        yield Finding(check="plugin", level=Level.OK, found=f"{place.plugin}: every part answers")
    for finding in wrong:
        yield replace(finding, check="plugin", found=f"{place.scope}: {finding.check}: {finding.found}")


def _guarded(check: str, examine_one: Callable[[], Finding], *, worst: Level = Level.FAIL) -> Finding:
    try:
        return examine_one()
    except MusicianError as error:
        return Finding(check=check, level=worst, found=error.message, remedy=error.remedy)


def _git() -> Finding:
    return Finding(check="git", level=Level.OK, found=Git(Path.cwd()).text("--version"))


def _repository(app: App) -> Finding:
    return Finding(check="repository", level=Level.OK, found=str(app.root.path))


def _settings(app: App) -> Finding:
    _ = app.settings
    where = "the defaults" if not app.root.config.exists() else str(app.root.config)
    return Finding(check="settings", level=Level.OK, found=where)


def _tree(app: App) -> Finding:
    base = check_base(app.root)
    return Finding(
        check="tree", level=Level.OK, found=f"{base.branch or 'detached'} at {base.commit[:12]}, clean"
    )


def _database(app: App) -> Finding:
    check_integrity(app.store)
    found = f"{app.database}, sound (SQLite {apsw.sqlite_lib_version()})"
    return Finding(check="database", level=Level.OK, found=found)


def _disk(app: App) -> Finding:
    warnings = network_warnings(app.database)
    if not warnings:
        return Finding(check="disk", level=Level.OK, found="the database lies on a local file system")
    found, _, remedy = warnings[0].partition("; ")
    return Finding(check="disk", level=Level.WARN, found=found, remedy=remedy)


def _shell() -> Finding:
    """The ``sqlite3`` program, with which people look at the database."""
    program = shutil.which("sqlite3")
    if program is None:
        return Finding(check="sqlite3", level=Level.OK, found="no sqlite3 shell on PATH; none is needed")
    try:
        said = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=_ASK_LIMIT_S, check=False
        ).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding(check="sqlite3", level=Level.WARN, found=f"{program} does not answer ({error})")
    version = said.split(" ")[0]
    if is_affected_sqlite(version):
        return Finding(
            check="sqlite3",
            level=Level.WARN,
            found=f"{program} is {version}, which can corrupt a WAL database that others write to",
            remedy="only look with it (sqlite3 -readonly) while a plan runs, or install 3.51.3 or newer",
        )
    return Finding(check="sqlite3", level=Level.OK, found=f"{program} {version}")


def is_affected_sqlite(version: str) -> bool:
    """Whether a SQLite has the WAL-reset bug; one that says no readable version counts as affected."""
    try:
        numbers = tuple(int(part) for part in version.split("."))
    except ValueError:
        return True
    return _AFFECTED[0] <= numbers < _AFFECTED[1]


def _clock(app: App) -> Finding:
    ahead_s = ahead_of_clock_s(app.store)
    if ahead_s > app.settings.heartbeat.skew_tolerance_s:
        return Finding(
            check="clock",
            level=Level.FAIL,
            found=f"the database holds a time {ahead_s:.0f} s in the future",
            remedy="set this machine's clock right; heartbeats cannot be judged before",
        )
    if time.time() < _EARLIEST_YEAR_S:
        return Finding(
            check="clock",
            level=Level.FAIL,
            found="this machine's clock was never set",
            remedy="set it, for example with ntp",
        )
    return Finding(check="clock", level=Level.OK, found="believable")


def _agents() -> Finding:
    make_agent("shell")
    program = shutil.which("bash")
    if program is None:
        return Finding(
            check="agents",
            level=Level.FAIL,
            found="the shell agent needs bash, which is not on PATH",
            remedy="install bash",
        )
    return Finding(check="agents", level=Level.OK, found=f"shell ({program})")
