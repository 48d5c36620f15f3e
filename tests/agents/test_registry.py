"""From a name in a plan to an agent."""

import pytest

from musician.agents.registry import make_agent
from musician.agents.shell import ShellAgent
from musician.protocol.errors import AgentUnavailable


def test_the_shell_agent_is_there_new_for_each_session() -> None:
    first, second = make_agent("shell"), make_agent("shell")
    assert isinstance(first, ShellAgent)
    assert first is not second


@pytest.mark.parametrize("spec", ["claude", "acp:gemini --acp", "Shell", ""])
def test_any_other_is_refused_with_what_to_do(spec: str) -> None:
    with pytest.raises(AgentUnavailable, match="shell agent only") as refused:
        make_agent(spec)
    assert refused.value.agent == spec
    assert refused.value.exit_code == 2
