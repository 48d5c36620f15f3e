"""Installs and uninstalls the plugin. Both can be repeated safely, and neither touches the user's own settings.

The files are written first and the settings last, so the settings never name files that are missing, and nothing is
written if anything has to be refused. Uninstalling goes the other way round. A record beside the files says which
entries were made in which settings file, so exactly these are removed again. Several configuration folders of the
client may share the files of one user.
"""

import json
import shutil
from collections.abc import Iterable
from contextlib import suppress
from enum import StrEnum
from typing import Any

from musician.plugin.rendering import PluginRuntime, render, shell_word
from musician.plugin.scopes import Installation
from musician.plugin.settings_file import Keys, SettingsFile
from musician.protocol.errors import SettingsUnreadable
from musician.protocol.values import dataclass

STATUS_LINE: Keys = ("statusLine",)


class StatusLine(StrEnum):
    """Whose status line the client's settings name."""

    OURS = "ours"
    KEPT = "kept"
    """It is the user's own and is never replaced."""
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """``is_new`` is true if anything was changed."""

    is_new: bool
    status_line: StatusLine


def install(
    installation: Installation, program: PluginRuntime, *, with_status_line: bool = False
) -> Installed:
    """Write the files and add them to the client's settings.

    Raises :class:`SettingsUnreadable` before anything is written.
    """
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
    """Remove what :func:`install` made in these settings, and the files if no other settings use them.

    Returns whether there was anything to remove.
    """
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
    with suppress(OSError):  # the folder holds something else
        installation.folder.parent.rmdir()
    return any(found) or was_there


def is_installed(installation: Installation) -> bool:
    """Whether the client's settings turn the plugin on."""
    settings = SettingsFile.read(installation.settings)
    return all(settings.get(keys) == value for keys, value in _members(installation))


def status_line_command(installation: Installation, program: PluginRuntime) -> str:
    """Return the shell command that prints the status line."""
    python, boot = shell_word(program.python), shell_word(str(installation.plugin / "boot.py"))
    return f"{python} -I -S -X utf8 {boot} statusline"


def _members(installation: Installation) -> Iterable[tuple[Keys, object]]:
    source = {"source": {"source": "directory", "path": str(installation.folder)}}
    yield ("extraKnownMarketplaces", installation.marketplace), source
    yield ("enabledPlugins", installation.plugin_id), True


def _add_status_line(
    settings: SettingsFile, installation: Installation, program: PluginRuntime
) -> StatusLine:
    """Set our status line, unless the user has one of their own."""
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
    with suppress(OSError):  # the folder holds files of the user's
        settings.path.parent.rmdir()


def _forget_marketplace(installation: Installation) -> None:
    """Remove our folder from the client's own list of marketplaces, where it would be an error once it is gone."""
    try:
        known = SettingsFile.read(installation.config_dir / "plugins" / "known_marketplaces.json")
        keys = (installation.marketplace,)
        if known.get((*keys, "installLocation")) == str(installation.folder):
            known.take(keys)
            known.save()
    except (SettingsUnreadable, OSError):
        return


def _recorded(installation: Installation) -> dict[str, Any]:
    """Return the entries that were made, by settings file; an empty record if it is lost or damaged."""
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
