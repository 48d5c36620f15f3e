"""Makes an agent from its name in a plan (DESIGN 7: ``shell``, ``claude``, ``acp:<command>``), and says whose it is."""

import shlex
import shutil
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from musician.agents.acp.profiles import KNOWN, Profile, profile_of
from musician.agents.claude.client import find_client
from musician.own_python import install_extra
from musician.protocol.errors import AgentUnavailable

if TYPE_CHECKING:
    from musician.agents.port import Agent
    from musician.plans.model import TaskSpec

_ADAPTERS = {
    "claude-agent-acp": "claude",
    "claude-code-acp": "claude",
    "opencode-ai": "opencode",
    **{known.command[0]: name for name, known in KNOWN.items()},
}
"""Programs that speak the protocol for an agent, on its own login."""

_RUNNERS = frozenset({"bunx", "npx", "uvx"})
"""Programs that run the package which is named next."""


def make_agent(spec: str) -> "Agent":
    """Return a new agent for one session; :class:`AgentUnavailable` if this version cannot play with it."""
    found = find_agent(spec)
    # Two need an extra that is slow to import; and who only looks for agents needs none of them.
    if found is None:
        from musician.agents.shell import ShellAgent

        return ShellAgent()
    if isinstance(found, Path):
        from musician.agents.claude.agent import ClaudeAgent

        return ClaudeAgent(found)
    from musician.agents.acp.agent import AcpAgent

    return AcpAgent(found)


def find_agent(spec: str) -> Path | Profile | None:
    """Return what an agent is played with on this machine: its client, its profile, or nothing besides.

    Imports none. Raises :class:`AgentUnavailable`, as :func:`make_agent`.
    """
    if spec == "shell":
        return None
    if spec == "claude":
        client = find_client()
        if client is None:
            raise AgentUnavailable(agent="claude", remedy=f"its SDK is an extra: {install_extra('claude')}")
        return client
    profile = profile_of(spec)
    if profile is None:
        raise AgentUnavailable(agent=spec)
    if find_spec("acp") is None:
        raise AgentUnavailable(agent=spec, remedy=f"its protocol is an extra: {install_extra('acp')}")
    if shutil.which(profile.command[0]) is None:
        raise AgentUnavailable(
            agent=spec, remedy=f"install {profile.command[0]!r:.80}: it is not on the PATH"
        )
    return profile


def model_of_subagents(spec: str) -> str:
    """Return the model of an agent's subagents by default, "" for the musician's own (sources "Subagent Model")."""
    return "opus" if spec == "claude" else ""


def account_for(task: "TaskSpec", agent: str) -> str:
    """Return the account that an agent plays a task on: agents on one have the same limits, whatever their names.

    What the plan says; else that of the agent's kind, which a command of its adapter is, too. Another command is an
    account of its own, and so is one that begins with ``env``: that is how people give an agent another login.
    """
    if task.account:
        return task.account
    prefix, _, command = agent.partition(":")
    return _ADAPTERS.get(_program(command), agent) if prefix == "acp" else agent


def _program(command: str) -> str:
    """Return the name of the program, or of the package, that a command runs: ``npx -y @scope/name@1`` is ``name``."""
    try:
        words = shlex.split(command)
    except ValueError:  # a quote that is never closed
        return ""
    if words and PurePosixPath(words[0]).name in _RUNNERS:
        words = [word for word in words[1:] if not word.startswith("-")]
    name = PurePosixPath(words[0]).name if words else ""
    return name.partition("@")[0]


def found_agents() -> Iterator[str]:
    """Yield the names of the agents that can be used on this machine."""
    for name in ("shell", "claude", *KNOWN):
        with suppress(AgentUnavailable):
            find_agent(name)
            yield name
