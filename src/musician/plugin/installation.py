"""Installing and uninstalling: safe to repeat, and what was the user's stays the user's.

Order: the files first, so that settings never name what is not there; the settings last, when everything that could
be refused has been. Taking away goes the other way round. The record beside the files says what was made in which
settings file, so that exactly that is taken away again; several configuration folders of the client may share one
user's files.
"""

import json
import shutil
from collections.abc import Iterable
from contextlib import suppress
from enum import StrEnum
from typing import Any

from musician.plugin.places import Installation
from musician.plugin.rendering import PluginRuntime, render, shell_word
from musician.plugin.settings_file import Keys, SettingsFile
from musician.protocol.errors import SettingsUnreadable
from musician.protocol.values import dataclass

STATUS_LINE: Keys = ("statusLine",)


class StatusLine(StrEnum):
    """Whose status line the settings have."""

    OURS = "ours"
    KEPT = "kept"
    """The user's own, which is never replaced."""
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """``is_new``: something was changed."""

    is_new: bool
    status_line: StatusLine


def install(
    installation: Installation, program: PluginRuntime, *, with_status_line: bool = False
) -> Installed:
    """Make the files and tell the client of them. :class:`SettingsUnreadable` before anything is written."""
    settings = SettingsFile.read(installation.settings)
    before = settings.text
    made: list[Keys] = []
    for keys, value in _members(installation):
        made += settings.put(keys, value)
    line = (
        _add_status_line(settings, installation, program)
        if with_status_line
        else _has_line(settings, installation)
    )
    files = render(installation, program)
    if settings.text != before:
        _remember(installation, made)
        settings.save()
    return Installed(is_new=bool(files) or settings.text != before, status_line=line)


def uninstall(installation: Installation) -> bool:
    """Take away exactly what :func:`install` made, and the files with the last settings; whether there was anything."""
    settings = SettingsFile.read(installation.settings)
    record = _recorded(installation)
    made = [tuple(keys) for keys in record.pop(str(installation.settings), [])]
    ours = [keys for keys, _ in _members(installation)]
    ours += [STATUS_LINE] if _has_line(settings, installation) is StatusLine.OURS else []
    found = [settings.take(keys, made=made) for keys in ours]
    if any(found):
        _write_back(settings, has_made=() in made)
    _forget_marketplace(installation)
    if record:
        _save_record(installation, record)
        return any(found)
    was_there = installation.folder.exists()
    shutil.rmtree(installation.folder, ignore_errors=True)
    with suppress(OSError):  # somebody else's is in it
        installation.folder.parent.rmdir()
    return any(found) or was_there


def is_installed(installation: Installation) -> bool:
    """Whether the client's settings turn the plugin on."""
    settings = SettingsFile.read(installation.settings)
    return all(settings.get(keys) == value for keys, value in _members(installation))


def status_line_command(installation: Installation, program: PluginRuntime) -> str:
    """What the client's shell runs for the status line."""
    python, boot = shell_word(program.python), shell_word(str(installation.plugin / "boot.py"))
    return f"{python} -I -S -X utf8 {boot} statusline"


def _members(installation: Installation) -> Iterable[tuple[Keys, object]]:
    source = {"source": {"source": "directory", "path": str(installation.folder)}}
    yield ("extraKnownMarketplaces", installation.marketplace), source
    yield ("enabledPlugins", installation.plugin_id), True


def _add_status_line(
    settings: SettingsFile, installation: Installation, program: PluginRuntime
) -> StatusLine:
    """Offered, never forced: one of the user's own stays."""
    if settings.get(STATUS_LINE) is None or _has_line(settings, installation) is StatusLine.OURS:
        command = status_line_command(installation, program)
        settings.put(STATUS_LINE, {"type": "command", "command": command})
        return StatusLine.OURS
    return StatusLine.KEPT


def _has_line(settings: SettingsFile, installation: Installation) -> StatusLine:
    value = settings.get(STATUS_LINE)
    command = value.get("command") if isinstance(value, dict) else None
    boot = shell_word(str(installation.plugin / "boot.py"))
    ours = isinstance(command, str) and command.endswith(f" {boot} statusline")
    if value is None:
        return StatusLine.NONE
    return StatusLine.OURS if ours else StatusLine.KEPT


def _write_back(settings: SettingsFile, *, has_made: bool) -> None:
    if not (has_made and settings.is_empty):
        settings.save()
        return
    settings.path.unlink(missing_ok=True)
    with suppress(OSError):  # the user has something there
        settings.path.parent.rmdir()


def _forget_marketplace(installation: Installation) -> None:
    """The client has noted our folder among those it knows; a note on a folder that is gone is a riddle to its user."""
    try:
        known = SettingsFile.read(installation.config_dir / "plugins" / "known_marketplaces.json")
        keys = (installation.marketplace,)
        if known.get((*keys, "installLocation")) == str(installation.folder):
            known.take(keys)
            known.save()
    except (SettingsUnreadable, OSError):
        return


def _recorded(installation: Installation) -> dict[str, Any]:
    """Which objects were made, by settings file; nothing where the record is lost or torn."""
    try:
        record = json.loads(installation.record.read_bytes())
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def _remember(installation: Installation, made: list[Keys]) -> None:
    record = _recorded(installation)
    kept = [tuple(keys) for keys in record.get(str(installation.settings), [])]
    record[str(installation.settings)] = list(dict.fromkeys([*kept, *made]))
    _save_record(installation, record)


def _save_record(installation: Installation, record: dict[str, Any]) -> None:
    file = SettingsFile(installation.record, json.dumps(record, ensure_ascii=False, indent=1) + "\n")
    file.save()
