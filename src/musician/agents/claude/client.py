"""Finds the Claude Code client to play with, without importing the SDK, which takes half a second."""

import shutil
from importlib.util import find_spec
from pathlib import Path


def bundled_client() -> Path | None:
    """Return the client that is bundled with ``claude-agent-sdk``, and so matches it."""
    spec = find_spec("claude_agent_sdk")
    for folder in (spec and spec.submodule_search_locations) or ():
        client = Path(folder, "_bundled", "claude")
        if client.is_file():
            return client
    return None


def find_client() -> Path | None:
    """Return the SDK's own client, else the one on the PATH; None without the SDK, or with neither."""
    if find_spec("claude_agent_sdk") is None:
        return None
    on_path = shutil.which("claude")
    return bundled_client() or (Path(on_path) if on_path else None)
