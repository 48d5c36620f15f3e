"""Makes an agent from its name in a plan (DESIGN 7: ``shell``, ``claude``, ``acp:<command>``)."""

import shutil
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec

from musician.agents.acp.profiles import KNOWN, profile_of
from musician.agents.claude.client import find_client
from musician.agents.port import Agent
from musician.agents.shell import ShellAgent
from musician.protocol.errors import AgentUnavailable


def make_agent(spec: str) -> Agent:
    """Return a new agent for one session; :class:`AgentUnavailable` if this version cannot play with it."""
    if spec == "shell":
        return ShellAgent()
    if spec == "claude":
        return _claude()
    profile = profile_of(spec)
    if profile is None:
        raise AgentUnavailable(agent=spec)
    if find_spec("acp") is None:
        raise AgentUnavailable(agent=spec, remedy="its protocol is an extra: pip install 'musician[acp]'")
    if shutil.which(profile.command[0]) is None:
        raise AgentUnavailable(
            agent=spec, remedy=f"install {profile.command[0]!r:.80}: it is not on the PATH"
        )
    from musician.agents.acp.agent import AcpAgent  # needs an extra, and is slow to import

    return AcpAgent(profile)


def model_of_subagents(spec: str) -> str:
    """Return the model of an agent's subagents by default, "" for the musician's own (sources "Subagent Model")."""
    return "opus" if spec == "claude" else ""


def found_agents() -> Iterator[str]:
    """Yield the names of the agents that can be used on this machine."""
    for name in ("shell", "claude", *KNOWN):
        with suppress(AgentUnavailable):
            make_agent(name)
            yield name


def _claude() -> Agent:
    client = find_client()
    if client is None:
        raise AgentUnavailable(agent="claude", remedy="its SDK is an extra: pip install 'musician[claude]'")
    from musician.agents.claude.agent import ClaudeAgent  # needs an extra, and is slow to import

    return ClaudeAgent(client)
