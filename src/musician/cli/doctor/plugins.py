"""Checks of Claude Code's plugin, wherever it is installed."""

import os
from collections.abc import Iterator

from musician.cli.context import App
from musician.cli.doctor.check import ok
from musician.cli.doctor.repository import is_known
from musician.plugin.check_result import CheckResult, Level
from musician.plugin.installation import is_installed
from musician.plugin.rendering import this_program
from musician.plugin.scopes import Installation, for_project, for_user
from musician.plugin.selfcheck import check_plugin
from musician.protocol.errors import MusicianError
from musician.protocol.values import replace


def installed(app: App) -> Iterator[CheckResult]:
    """Check each installation; yield what is wrong with it, or one line if nothing is."""
    found = [installation for installation in installations(app) if _exists(installation)]
    for installation in found:
        yield from _parts(installation)
    if not found:
        yield ok("Claude Code's is not installed; `musician plugin install` installs it")


def installations(app: App) -> list[Installation]:
    """Return the user's installation and, in a repository, the project's, whether or not they exist."""
    return [for_user(os.environ), *([for_project(app.root, os.environ)] if is_known(app) else [])]


def _exists(installation: Installation) -> bool:
    """Whether there is something to check; unreadable settings are."""
    try:
        return installation.record.exists() or is_installed(installation)
    except MusicianError:
        return True


def _parts(installation: Installation) -> Iterator[CheckResult]:
    results = check_plugin(installation, this_program())
    wrong = [result for result in results if result.level is not Level.OK]
    if not wrong:
        yield ok(f"{installation.plugin}: every part answers")
    for result in wrong:
        yield replace(result, found=f"{installation.scope}: {result.check}: {result.found}")
