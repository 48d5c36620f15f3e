"""Checks of the repository: its settings, its working tree and its file system."""

from collections.abc import Iterator
from pathlib import Path

from musician.cli.context import App
from musician.cli.doctor.check import ok, warn
from musician.cli.init import network_warnings
from musician.plugin.check_result import CheckResult
from musician.protocol.errors import MusicianError
from musician.trees.base import check_base


def is_known(app: App) -> bool:
    """Whether the current folder is in a usable repository."""
    try:
        return bool(app.root.path)
    except MusicianError:
        return False


def repository(app: App) -> Iterator[CheckResult]:
    yield ok(str(app.root.path))


def settings(app: App) -> Iterator[CheckResult]:
    _ = app.settings
    yield ok("the defaults" if not app.root.config.exists() else str(app.root.config))


def tree(app: App) -> Iterator[CheckResult]:
    base = check_base(app.root)
    yield ok(f"{base.branch or 'detached'} at {base.commit[:12]}, clean")


def disk(app: App) -> Iterator[CheckResult]:
    warnings = network_warnings(Path(app.database))
    if warnings:
        found, _, remedy = warnings[0].partition("; ")
        yield warn(found, remedy)
    else:
        yield ok("the database is on a local file system")
