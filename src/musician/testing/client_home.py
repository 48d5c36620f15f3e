"""Surroundings of its own for one client: home, settings, temporary folder, a made-up key, and nothing inherited.

Whatever a client writes stays below the folder it is given; it meets nobody's credentials, settings, hooks or
memories. Its first-run questions are answered beforehand, for the folders it is told to trust and no others.
"""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from musician.agents.claude.client import bundled_client
from musician.own_python import install_extra
from musician.protocol.errors import OperatorError

MADE_UP_KEY = "made-up-key-of-the-musician-testing-kit"

_KEY_TAIL_CHARS = 20
"""The client remembers an approved key by its end."""

_QUIET = {
    "DISABLE_TELEMETRY": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
}


def plugin_arguments(plugins: Iterable[Path]) -> list[str]:
    """Return the client's options that load these plugins."""
    return [part for plugin in plugins for part in ("--plugin-dir", str(plugin))]


class ClientMissing(OperatorError):
    """There is no Claude Code client to play with."""

    def __init__(self) -> None:
        super().__init__("no Claude Code client is installed", remedy=install_extra("claude"))


def find_client() -> Path:
    """Return the client that comes with ``claude-agent-sdk``, found without importing that.

    :class:`ClientMissing` if it is not installed.
    """
    client = bundled_client()
    if client is None:
        raise ClientMissing
    return client


class ClientHome:
    """One client's surroundings below ``folder``. ``env`` is the whole environment, ready to be run with.

    ``trusts``: folders it works in without asking. ``allows``: tools it uses without asking, as in the client's
    own settings. ``mcp_servers``: the user's own, by name. ``env``: more variables, over all others.
    """

    def __init__(
        self,
        folder: Path,
        *,
        model_url: str,
        trusts: Iterable[Path] = (),
        allows: Iterable[str] = (),
        settings: Mapping[str, Any] | None = None,
        mcp_servers: Mapping[str, Any] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.folder = folder
        self.config = folder / ".claude"
        self.temporary = folder / "tmp"
        for each in (self.config, self.temporary):
            each.mkdir(parents=True, exist_ok=True)
        self.client = find_client()
        self.env = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(folder),
            "CLAUDE_CONFIG_DIR": str(self.config),
            "TMPDIR": str(self.temporary),
            "LANG": "C.UTF-8",
            "GIT_CONFIG_NOSYSTEM": "1",
            "ANTHROPIC_BASE_URL": model_url,
            "ANTHROPIC_API_KEY": MADE_UP_KEY,
            **_QUIET,
            **(env or {}),
        }
        self._answer_first_questions(trusts, mcp_servers or {})
        # Not the client's own default, in which a model we do not script would be asked about each call; and no
        # question in the middle of a session whether it should be.
        permissions = {"allow": list(allows), "defaultMode": "default"}
        own = {"permissions": permissions, "skipAutoPermissionPrompt": True, **(settings or {})}
        (self.config / "settings.json").write_text(json.dumps(own), encoding="utf-8")

    def _answer_first_questions(self, trusts: Iterable[Path], mcp_servers: Mapping[str, Any]) -> None:
        trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        answers = {
            "hasCompletedOnboarding": True,
            "hasResetAutoModeOptInForDefaultOffer": True,
            "theme": "dark",
            "customApiKeyResponses": {"approved": [MADE_UP_KEY[-_KEY_TAIL_CHARS:]], "rejected": []},
            "projects": {str(each.resolve()): trusted for each in trusts},
            "mcpServers": dict(mcp_servers),
        }
        (self.config / ".claude.json").write_text(json.dumps(answers), encoding="utf-8")
