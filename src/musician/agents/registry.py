"""From the name a plan gives an agent to the agent (DESIGN 7: ``shell``, ``claude``, ``acp:<command>``)."""

from musician.agents.port import Agent
from musician.agents.shell import ShellAgent
from musician.protocol.errors import AgentUnavailable


def make_agent(spec: str) -> Agent:
    """A new agent for one session; :class:`AgentUnavailable` for one this version cannot play with."""
    if spec == "shell":
        return ShellAgent()
    raise AgentUnavailable(agent=spec)
