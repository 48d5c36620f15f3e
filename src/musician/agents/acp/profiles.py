"""The agents known by a short name: how each is started, and bound to ask before it acts (D21).

Adapters start in modes that approve everything by themselves; the settings here undo that. Of
``acp:<command>`` nothing is known: it is started as it is, and its user sees to its settings.
"""

import json
import shlex
from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from musician.protocol.values import dataclass

if TYPE_CHECKING:
    from musician.agents.hosted import OwnPlace

_ASK_FIRST = {
    "edit": "ask",
    "bash": "ask",
    "external_directory": "deny",
    "webfetch": "ask",
    "question": "deny",
}
_OPENCODE_IGNORES = "node_modules\npackage.json\npackage-lock.json\nbun.lock\n.gitignore\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """``env`` is added to ours. ``mode`` is set for the session, which is not begun if that fails; "" leaves
    it alone.
    """

    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    mode: str = ""
    joins_prompts: bool = False
    """A second prompt joins the turn that runs; to others it may be a turn of its own, or the end of the first."""
    tells_price: bool = False
    keeps: "tuple[OwnPlace, ...]" = ()
    sealed: tuple[str, ...] = ()
    """Its own folders, and what of them is, as :func:`musician.agents.hosted.own_folders` is told them."""
    hosts: tuple[str, ...] = ()
    """What it reaches its model by."""
    leaves: "Mapping[OwnPlace, str]" = field(default_factory=dict)
    """Files that it makes at its first start and cannot start without, in folders that a sandbox closes."""
    terminal: tuple[str, ...] = ()
    """The program with which a person goes on with a session, whose id is its last argument; () if there is none."""


KNOWN: Mapping[str, Profile] = {
    "codex": Profile(
        command=("codex-acp",),
        env={"INITIAL_AGENT_MODE": "read-only", "NO_BROWSER": "1"},
        mode="read-only",
        keeps=(("CODEX_HOME", ".codex", ""),),
        hosts=("api.openai.com", "auth.openai.com", "chatgpt.com"),
        sealed=("AGENTS.md", "config.toml", "hooks.json", "prompts", "rules", "skills"),
        # Without the daemon, which would outlive the terminal; it asks the person, as the adapter asks us.
        terminal=("codex", "resume", "--no-daemon", "--sandbox=read-only", "--ask-for-approval=on-request"),
    ),
    "opencode": Profile(
        command=("opencode", "acp"),
        env={
            "OPENCODE_CONFIG_CONTENT": json.dumps(
                {"autoupdate": False, "share": "disabled", "permission": _ASK_FIRST}
            ),
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_SHARE": "1",
        },
        joins_prompts=True,
        tells_price=True,
        keeps=(
            ("XDG_DATA_HOME", ".local/share", "opencode"),
            ("XDG_STATE_HOME", ".local/state", "opencode"),
            ("XDG_CACHE_HOME", ".cache", "opencode"),
        ),
        hosts=("opencode.ai", "models.dev"),
        leaves={("XDG_CONFIG_HOME", ".config", "opencode/.gitignore"): _OPENCODE_IGNORES},
    ),
}

_PREFIX = "acp:"


def profile_of(spec: str) -> Profile | None:
    """Return the profile of an agent by its name in a plan or command; None if it does not speak this
    protocol.
    """
    if spec in KNOWN:
        return KNOWN[spec]
    if not spec.startswith(_PREFIX):
        return None
    try:
        command = tuple(shlex.split(spec.removeprefix(_PREFIX)))
    except ValueError:  # a quote that is never closed
        return None
    return Profile(command=command) if command else None
