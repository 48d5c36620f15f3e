"""From a name in a plan to an agent."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from musician.agents.acp.agent import AcpAgent
from musician.agents.acp.profiles import KNOWN, profile_of
from musician.agents.claude.agent import ClaudeAgent
from musician.agents.registry import account_for, make_agent
from musician.agents.shell import ShellAgent
from musician.plans.model import TaskSpec
from musician.protocol.errors import AgentUnavailable


def test_the_shell_agent_is_there_new_for_each_session() -> None:
    first, second = make_agent("shell"), make_agent("shell")
    assert isinstance(first, ShellAgent)
    assert first is not second


@pytest.mark.parametrize("spec", ["nobody", "Shell", "", "acp:", "acp: ", "acp:'never closed", "ACP:x"])
def test_any_other_is_refused_with_what_to_do(spec: str) -> None:
    with pytest.raises(AgentUnavailable, match="the agents are shell, claude, codex, opencode") as refused:
        make_agent(spec)
    assert refused.value.agent == spec
    assert refused.value.exit_code == 2


def test_one_that_speaks_the_protocol_is_started_by_its_command() -> None:
    spec = f"acp:{sys.executable} --flag 'two words'"
    assert isinstance(make_agent(spec), AcpAgent)
    profile = profile_of(spec)
    assert profile is not None
    assert profile.command == (sys.executable, "--flag", "two words")
    assert (profile.env, profile.mode) == ({}, "")


@pytest.mark.parametrize("spec", [*KNOWN, "acp:not-installed --acp"])
def test_one_that_is_not_installed_is_refused_before_anything_is_claimed(
    spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(AgentUnavailable, match=r"install '\S+': it is not on the PATH"):
        make_agent(spec)


def test_without_the_extra_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("musician.agents.registry.find_spec", lambda _: None)
    with pytest.raises(AgentUnavailable, match=r"pip install 'musician\[acp\]'"):
        make_agent(f"acp:{sys.executable}")


def test_claude_is_there_with_its_sdk_and_else_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(make_agent("claude"), ClaudeAgent)
    monkeypatch.setattr("musician.agents.claude.client.find_spec", lambda _: None)
    with pytest.raises(AgentUnavailable, match=r"pip install 'musician\[claude\]'"):
        make_agent("claude")


@pytest.mark.parametrize(
    ("agent", "account"),
    [
        ("shell", "shell"),
        ("claude", "claude"),
        ("codex", "codex"),
        ("acp:codex-acp --verbose", "codex"),
        ("acp:/opt/tools/claude-agent-acp", "claude"),
        ("acp:npx -y @zed-industries/claude-code-acp@latest", "claude"),
        ("acp:npx @agentclientprotocol/codex-acp", "codex"),
        ("acp:bunx opencode-ai acp", "opencode"),
        ("acp:opencode acp", "opencode"),
        ("acp:gemini --acp", "acp:gemini --acp"),
        ("acp:env CODEX_HOME=/home/other codex-acp", "acp:env CODEX_HOME=/home/other codex-acp"),
        ("acp:npx -y", "acp:npx -y"),
        ("acp:'never closed", "acp:'never closed"),
        ("acp:", "acp:"),
    ],
)
def test_an_account_is_that_of_the_agents_kind_unless_the_plan_names_one(agent: str, account: str) -> None:
    """LIMIT-6."""
    task = TaskSpec(task_id="task-01", title="t", overview="", items=(), source_path="p.md", line=1)
    assert account_for(task, agent) == account
    assert account_for(replace(task, account="work"), agent) == "work"
