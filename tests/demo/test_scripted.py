"""``musician demo --scripted``: the whole story through real agents, and nothing of the user's (issue 9, its proof)."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from musician.protocol.journal import EntryKind
from musician.protocol.states import State
from musician.testing.acp_homes import find_agents
from musician.testing.waiting import HANG_S
from tests.demo.test_demo_run import MUSICIAN, environment, nothing_runs, views_of
from tests.needs import need, refuse
from tests.nightly import at_night

STORY = ["side by side", "called", "killed", "sent back", "handed off", "parked", "finished"]


def _user(place: Path) -> dict[str, str]:
    """Somebody with a login, settings and hooks of his own, each of which would leave a trace."""
    home = place / "user"
    trace = f"touch {home}/read"
    hook = {"hooks": [{"type": "command", "command": trace}]}
    files = {
        ".claude/settings.json": json.dumps({"hooks": {"SessionStart": [hook], "PreToolUse": [hook]}}),
        ".gitconfig": f"[core]\n\tfsmonitor = {trace}\n",
        ".codex/config.toml": f'notify = ["touch", "{home}/read"]\nmodel_provider = "nowhere"\n',
        ".config/opencode/opencode.json": '{"model": "nowhere/none"}',
    }
    for name, text in files.items():
        home.joinpath(name).parent.mkdir(parents=True, exist_ok=True)
        home.joinpath(name).write_text(text)
    nowhere = "http://127.0.0.1:9"
    keys = {"ANTHROPIC_API_KEY": "mine", "OPENAI_API_KEY": "mine", "ANTHROPIC_BASE_URL": nowhere}
    return environment(place, HOME=str(home), CLAUDE_CONFIG_DIR=str(home / ".claude"), **keys)


def _files(home: Path) -> dict[str, bytes]:
    return {str(path.relative_to(home)): path.read_bytes() for path in home.rglob("*") if path.is_file()}


def _demo(place: Path, env: Mapping[str, str], *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*MUSICIAN, "demo", "--scripted", *words],
        cwd=place,
        env=env,
        capture_output=True,
        encoding="utf-8",
        timeout=HANG_S,
    )


@pytest.mark.deep
@pytest.mark.parametrize("agent", at_night(["claude", "codex", "opencode"], but=["claude", "opencode"]))
def test_the_whole_story_is_played_through_the_real_agent(agent: str, tmp_path: Path) -> None:
    """CLI-8: a rejection, an emergency, a crash, a quota wall and a handoff; OpenCode waits its wall out by itself."""
    if agent != "claude":
        need("node")
        if find_agents() is None:
            refuse(f"the agent {agent} from npm")
    env = _user(tmp_path)
    before = _files(tmp_path / "user")
    ran = _demo(tmp_path, env, "--agent", agent, "--keep", "post", "--json")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "nothing was paid" in " ".join(ran.stderr.split())
    told = {each["title"]: each["text"] for each in json.loads(ran.stdout)["episodes"]}
    story = [title for title in STORY if title != "parked" or agent != "opencode"]
    assert list(told) == story
    assert "in the middle of step 3 (Tell the time of flight); what ran was ended" in told["called"]

    views = views_of(tmp_path / "post")
    assert {view.row.state for view in views.values()} == {State.COMPLETE}
    assert {session.agent for view in views.values() for session in view.sessions} == {agent}
    assert [each.exit_reason for each in views["task-01"].sessions] == ["died", "complete"]
    assert [each.verdict for each in views["task-02"].submissions] == [
        State.REVIEW_FAILED,
        State.REVIEW_APPROVED,
    ]
    assert views["task-03"].sessions[0].context_pct == pytest.approx(67)
    limits = [row for row in views["task-04"].journal if row.kind == EntryKind.LIMITED]
    assert bool(limits) is (agent != "opencode")
    assert len(views["task-04"].sessions) == 1

    assert _files(tmp_path / "user") == before
    assert sorted(os.listdir(tmp_path)) == ["post", "user"]
    nothing_runs(tmp_path)


@pytest.mark.parametrize(
    ("agent", "remedy"),
    [("shell", "claude, codex, opencode"), ("codex", "npm install -g @agentclientprotocol/")],
)
def test_what_is_not_there_is_said_before_anything_is_made(agent: str, remedy: str, tmp_path: Path) -> None:
    """CLI-8."""
    env = environment(tmp_path)
    env.pop("ACP_AGENTS", None)
    env["PATH"] = "/usr/bin:/bin"
    ran = _demo(tmp_path, env, "--agent", agent, "--keep", "post")
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1)
    assert remedy in ran.stderr
    assert list(tmp_path.iterdir()) == []
