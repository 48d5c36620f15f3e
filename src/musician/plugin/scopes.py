"""Says where an installation is and by which settings Claude Code finds it.

The client finds a plugin through its marketplace, a folder that the settings name. It reads the plugin in place and
offline, and none of its own commands is needed. Each scope has one folder and one settings file:

- *user*: the user's data folder and settings, for every session of this user;
- *project*: the repository's ``.musician/`` and its local settings. They are not committed, because they hold paths of
  this machine. The client reads them only if the user has marked the folder as trusted.

The client keeps one list of marketplace names for all projects, so a project's marketplace has a name of its own.
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
    """``folder`` is the marketplace, ``settings`` the client's settings file, ``config_dir`` the client's folder."""

    scope: Scope
    folder: Path
    settings: Path
    marketplace: str
    config_dir: Path

    @property
    def plugin(self) -> Path:
        """The plugin's folder, as `claude --plugin-dir` takes it."""
        return self.folder / "plugin"

    @property
    def record(self) -> Path:
        """The file that says which entries the installation made in which settings file."""
        return self.folder / "installed.json"

    @property
    def plugin_id(self) -> str:
        return f"musician@{self.marketplace}"


def for_user(environ: Mapping[str, str]) -> Installation:
    """Return the user's installation, by the variables of the client and of the XDG standard."""
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
    """Return the installation of one repository."""
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
