"""Claude Code's plugin, wherever it is installed."""

import os
from collections.abc import Iterator

from musician.cli.context import App
from musician.cli.doctor.check import ok
from musician.cli.doctor.place import is_known
from musician.plugin.finding import Finding, Level
from musician.plugin.installation import is_installed
from musician.plugin.places import Installation, for_project, for_user
from musician.plugin.rendering import this_program
from musician.plugin.selfcheck import check_plugin
from musician.protocol.errors import MusicianError
from musician.protocol.values import replace


def installed(app: App) -> Iterator[Finding]:
    """What is wrong with each installation; one word where nothing is."""
    places = [for_user(os.environ), *([for_project(app.root, os.environ)] if is_known(app) else [])]
    found = [place for place in places if _is_there(place)]
    for place in found:
        yield from _parts(place)
    if not found:
        yield ok("Claude Code's is not installed; `musician plugin install` installs it")


def _is_there(place: Installation) -> bool:
    """Whether something is to be checked; settings that cannot be read are."""
    try:
        return place.record.exists() or is_installed(place)
    except MusicianError:
        return True


def _parts(place: Installation) -> Iterator[Finding]:
    wrong = [finding for finding in check_plugin(place, this_program()) if finding.level is not Level.OK]
    if not wrong:
        yield ok(f"{place.plugin}: every part answers")
    for finding in wrong:
        yield replace(finding, found=f"{place.scope}: {finding.check}: {finding.found}")
