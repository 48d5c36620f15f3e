"""Where an installation lies and by which settings Claude Code finds it.

The client knows a plugin by its marketplace, a folder that its settings name; it reads the plugin in place, offline,
and needs no command of its own to be told. Each scope has one folder and one settings file:

- *user*: the user's data folder and settings, for every session of this user;
- *project*: the repository's ``.musician/`` and its local settings, which nobody commits, because they name paths of
  this machine. The client reads them once the user has said that the folder is trusted.

A marketplace's name is known to the client once for all projects, so a project's names its own folder.
"""

import hashlib
import os
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

from musician.protocol.values import dataclass
from musician.trees.root import Root

MARKETPLACE = "musician"
_DIGEST_BYTES = 4


class Scope(StrEnum):
    USER = "user"
    PROJECT = "project"


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """``folder`` is the marketplace, ``settings`` the client's file, ``config_dir`` the client's own folder."""

    scope: Scope
    folder: Path
    settings: Path
    marketplace: str
    config_dir: Path

    @property
    def plugin(self) -> Path:
        """What `claude --plugin-dir` takes."""
        return self.folder / "plugin"

    @property
    def record(self) -> Path:
        """What the installation made in which settings file."""
        return self.folder / "installed.json"

    @property
    def plugin_id(self) -> str:
        return f"musician@{self.marketplace}"


def for_user(environ: Mapping[str, str]) -> Installation:
    """The user's installation; the variables are those that the client and the desktop standards use."""
    home = Path(environ.get("HOME") or Path.home())
    data = environ.get("XDG_DATA_HOME", "")
    config_dir = _config_dir(environ, home)
    return Installation(
        scope=Scope.USER,
        folder=Path(data if os.path.isabs(data) else home / ".local" / "share") / "musician" / "claude-code",
        settings=config_dir / "settings.json",
        marketplace=MARKETPLACE,
        config_dir=config_dir,
    )


def for_project(root: Root, environ: Mapping[str, str]) -> Installation:
    """The installation of one repository."""
    digest = hashlib.blake2b(os.fsencode(root.path), digest_size=_DIGEST_BYTES).hexdigest()
    return Installation(
        scope=Scope.PROJECT,
        folder=root.musician_dir / "claude-code",
        settings=root.path / ".claude" / "settings.local.json",
        marketplace=f"{MARKETPLACE}-{digest}",
        config_dir=_config_dir(environ, Path(environ.get("HOME") or Path.home())),
    )


def _config_dir(environ: Mapping[str, str], home: Path) -> Path:
    named = environ.get("CLAUDE_CONFIG_DIR", "")
    return Path(named).absolute() if named else home / ".claude"
