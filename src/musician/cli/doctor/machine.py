"""Checks of the machine: git, bash and the ``sqlite3`` program."""

import shutil
import subprocess
from collections.abc import Iterator

from musician.cli.context import App
from musician.cli.doctor.check import fail, ok, warn
from musician.plugin.check_result import CheckResult
from musician.processes.sandbox import why_no_sandbox
from musician.trees.git import OLDEST, git_version
from musician.trees.in_memory import OLDEST as MERGES_IN_MEMORY

_AFFECTED = ((3, 7, 0), (3, 51, 3))
"""SQLite from the first version up to, but not including, the second can corrupt a WAL database at a checkpoint."""

_ASK_LIMIT_S = 10


def git(_app: App) -> Iterator[CheckResult]:
    said = ".".join(map(str, git_version()))
    oldest, merging = (".".join(map(str, each)) for each in (OLDEST, MERGES_IN_MEMORY))
    if git_version() == (0, 0):
        yield warn("git names no version", f"install git {oldest} or newer")
    elif git_version() < OLDEST:
        yield fail(f"git {said} is too old", f"install git {oldest} or newer")
    elif git_version() < MERGES_IN_MEMORY:
        yield warn(f"git {said} foretells no conflicts between tasks", f"install git {merging} or newer")
    else:
        yield ok(f"git {said}")


def shell(_app: App) -> Iterator[CheckResult]:
    """Check the ``sqlite3`` program, which people use to look at the database."""
    program = shutil.which("sqlite3")
    if program is None:
        yield ok("no sqlite3 shell on PATH; none is needed")
        return
    try:
        said = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=_ASK_LIMIT_S, check=False
        ).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        yield warn(f"{program} does not answer ({error})", "")
        return
    version = said.split(" ")[0]
    if is_affected_sqlite(version):
        yield warn(
            f"{program} is {version}, which can corrupt a WAL database that others write to",
            "only look with it (sqlite3 -readonly) while a plan runs; to write raw SQL, install 3.51.3 or newer",
        )
    else:
        yield ok(f"{program} {version}")


def is_affected_sqlite(version: str) -> bool:
    """Whether a SQLite version has the WAL-reset bug. An unreadable version counts as affected."""
    try:
        numbers = tuple(int(part) for part in version.split("."))
    except ValueError:
        return True
    return _AFFECTED[0] <= numbers < _AFFECTED[1]


def agents(_app: App) -> Iterator[CheckResult]:
    program = shutil.which("bash")
    if program is None:
        yield fail("the shell agent needs bash, which is not on PATH", "install bash")
    else:
        yield ok(f"shell ({program})")


def sandbox(_app: App) -> Iterator[CheckResult]:
    why = why_no_sandbox()
    yield ok("bubblewrap works") if not why else ok(f"none: {why}; `sandbox: required` is refused")
