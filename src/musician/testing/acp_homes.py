"""Surroundings of their own for two real agents that speak the Agent Client Protocol, played against a scripted model.

As with ``client_home``: a home, settings and a made-up key below the folder, nothing inherited, loopback only.
The agents are npm packages. ``ACP_AGENTS`` names the folder where they were installed; it is read, never written.
"""

import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from musician.testing.client_home import MADE_UP_KEY

INSTALLED = "ACP_AGENTS"
PACKAGES = {"codex": "@agentclientprotocol/codex-acp@2.6.0", "opencode": "opencode-linux-x64@1.18.33"}

WINDOW_TOKENS = 200_000
_PROGRAMS = {"codex": ".bin", "opencode": "opencode-linux-x64/bin"}

_CODEX = """\
model = "gpt-5.5"
model_provider = "scripted"
model_context_window = {window}
approval_policy = "on-request"
sandbox_mode = "read-only"
check_for_update_on_startup = false
web_search = "disabled"
[analytics]
enabled = false
[feedback]
enabled = false
[otel]
exporter = "none"
metrics_exporter = "none"
trace_exporter = "none"
[features]
apps = false
plugins = false
[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = 1
stream_max_retries = 1
[tui]
screen_reader_detection_done = true
[notice.model_migrations]
"gpt-5.5" = "gpt-6-sol"
"""
"""The last two tables answer what its terminal would ask first: on a loaded machine it takes the keys of one question
for those of the next, and quits.
"""
_CODEX_TRUSTS = """[projects.{folder}]
trust_level = "trusted"
"""


def find_agents() -> Path | None:
    """Return the folder with the agents' programs; None if ``ACP_AGENTS`` does not say where they are."""
    named = os.environ.get(INSTALLED)
    return Path(named, "node_modules") if named else None


def path_of(agent: str, modules: Path) -> str:
    """Return a PATH on which the agent's name is its program."""
    return os.pathsep.join((str(modules / _PROGRAMS[agent]), os.environ.get("PATH", os.defpath)))


def _codex(folder: Path, model_url: str, trusts: Iterable[Path]) -> dict[str, str]:
    """Configure Codex. An unknown model would get no tool to edit files; the key's variable must not be a
    real one.
    """
    home = folder / ".codex"
    home.mkdir(parents=True)
    written = [_CODEX.format(url=model_url, window=WINDOW_TOKENS)]
    written += (_CODEX_TRUSTS.format(folder=json.dumps(str(each.resolve()))) for each in trusts)
    home.joinpath("config.toml").write_text("".join(written), encoding="utf-8")
    return {"CODEX_HOME": str(home), "SCRIPTED_KEY": MADE_UP_KEY, "MODEL_PROVIDER": "scripted"}


def _opencode(folder: Path, model_url: str, _trusts: Iterable[Path]) -> dict[str, str]:
    """Configure OpenCode. The dead registry address keeps it from downloading a plugin into the home."""
    limits = {"context": WINDOW_TOKENS, "output": 8192}
    model = {"name": "scripted", "tool_call": True, "limit": limits, "cost": {"input": 1, "output": 2}}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "scripted",
        "options": {"baseURL": f"{model_url}/v1", "apiKey": MADE_UP_KEY},
        "models": {"model": model, "other": model},
    }
    config = {
        "model": "scripted/model",
        "small_model": "scripted/model",
        "enabled_providers": ["scripted"],
        "provider": {"scripted": provider},
        "lsp": False,
        "formatter": False,
    }
    place = folder / ".config" / "opencode"
    place.mkdir(parents=True)
    place.joinpath("opencode.json").write_text(json.dumps(config), encoding="utf-8")
    quiet = ("MODELS_FETCH", "DEFAULT_PLUGINS", "CLAUDE_CODE")
    return {f"OPENCODE_DISABLE_{name}": "1" for name in quiet} | {
        "npm_config_registry": "http://127.0.0.1:9/"
    }


_HOMES: Mapping[str, Callable[[Path, str, Iterable[Path]], dict[str, str]]] = {
    "codex": _codex,
    "opencode": _opencode,
}


def agent_home(agent: str, folder: Path, *, model_url: str, trusts: Iterable[Path] = ()) -> dict[str, str]:
    """Return the environment variables that keep the agent below ``folder``.

    ``trusts``: the tops of the projects in which its terminal does not ask first whether to work there.
    """
    temporary = folder / "tmp"
    temporary.mkdir(parents=True)
    return {
        "HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder / ".config"),
        "XDG_DATA_HOME": str(folder / ".local" / "share"),
        "XDG_CACHE_HOME": str(folder / ".cache"),
        "XDG_STATE_HOME": str(folder / ".local" / "state"),
        "TMPDIR": str(temporary),
        "NO_PROXY": "127.0.0.1,localhost",
        **_HOMES[agent](folder, model_url, trusts),
    }
