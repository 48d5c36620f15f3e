"""Handoffs between real sessions: the next is told by the program what it must know, and is given no old transcript."""

import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from musician import service
from musician.protocol.states import State
from musician.service import TaskView
from musician.store.opening import open_store
from musician.testing import ClientHome, Received, Reply, ScriptedModel, ToolUse, Usage, say
from musician.testing.acp_homes import agent_home, find_agents, path_of
from musician.testing.script import Step
from musician.testing.waiting import HANG_S
from tests.agents.playbook import codex_shell
from tests.agents.whole_run import DICE, PLAN, TEST, claude_shell, writing
from tests.needs import need, refuse
from tests.surroundings import begin, git

STEP_3 = "#### Step 3: Tell\nA line in README.md.\n"
PERCENT_TOKENS = 10_000
"""Of the window that Claude Code takes the scripted model's for."""

SCRIPTS = {
    "step 1": (writing("dice.py", DICE), "I wrote read().\n::deviation Low the names are short"),
    "step 2": (writing("test_dice.py", TEST), "I tested three dice."),
    "step 3": ("echo Roll 3d6. > README.md", "I told about it."),
}


class Pianist:
    """Plays each step by its script; how full each conversation is is given. Keeps what each began with.

    ``before`` hears which step is asked for, and may give an event that its answer waits for.
    """

    def __init__(
        self,
        *used_pct: int,
        shell: Callable[[str], ToolUse] = claude_shell,
        before: Callable[[str], threading.Event | None] = lambda _: None,
    ) -> None:
        self._used_pct, self._shell, self._before = used_pct, shell, before
        self.openings: list[str] = []

    def __call__(self, received: Received) -> Step:
        messages = received.messages
        prompts = [
            (at, name)
            for at, each in enumerate(messages)
            for name in SCRIPTS
            if each.role == "user" and f"\n{name}: " in f"\n{each.text}"
        ]
        at, name = prompts[-1]
        hold = self._before(name)
        script, words = SCRIPTS[name]
        is_played = any(each.role == "assistant" for each in messages[at:])
        if len(prompts) == 1 and not is_played:
            self.openings.append(messages[at].text)
        usage = Usage(input=self._used_pct[len(self.openings) - 1] * PERCENT_TOKENS, output=0)
        if is_played:
            return replace(say(f"{words}\n", usage=usage), hold=hold)
        return Reply(text="I begin.", uses=(self._shell(script),), usage=usage, hold=hold)


def musician(project: Path, env: dict[str, str], *words: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "musician", *words],
        cwd=project,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def done(process: "subprocess.Popen[str]", code: int = 0) -> str:
    told, _ = process.communicate(timeout=HANG_S)
    assert process.returncode == code, told
    return told


def view_of(project: Path) -> TaskView:
    store = open_store(project / ".musician" / "comms.db")
    try:
        return service.task_view(store, "task-01")
    finally:
        store.close()


@pytest.mark.deep
def test_a_full_context_hands_off_and_the_next_session_is_briefed_by_the_program(tmp_path: Path) -> None:
    """At 65 % after the step, at 75 % in the middle of one: three sessions, each with a fresh context."""
    project = tmp_path / "dice"
    begin(project, {"PLAN.md": PLAN + STEP_3})
    pianist = Pianist(67, 76, 10)
    with ScriptedModel(pianist) as model:
        env = ClientHome(tmp_path / "home", model_url=model.url).env
        done(musician(project, env, "init"))
        told = done(musician(project, env, "run", "PLAN.md", "--agent", "claude"))
    view = view_of(project)
    assert view.row.state is State.COMPLETE, told
    assert view.row.worked_by == "musician-task-01-S3"
    first, second, _ = view.sessions
    assert (first.context_pct, second.context_pct) == (67, 76)
    assert {each.agent for each in view.sessions} == {"claude"}

    beginning, after_65, after_75 = pianist.openings
    assert "\ntask-01: Read what to roll\n\nDice.\n\n" in beginning
    assert "earlier session" not in beginning
    for opening, used in ((after_65, 67), (after_75, 76)):
        assert "- step 1 (Write the function): done. I wrote read()." in opening
        assert f"It ended with {used} % of its context used: context exhaustion" in opening
        assert "Deviation (Low, not ruled on yet): the names are short" in opening
        assert "I begin." not in opening
    assert "\n- step 2 (Test it)\n" in after_65
    assert "Work only in the current folder" in after_75


@pytest.mark.deep
def test_what_claude_has_begun_codex_finishes(tmp_path: Path) -> None:
    """9.7: another agent has no conversation to go on with, and is told what it must know."""
    need("node")
    modules = find_agents()
    if modules is None:
        refuse("the agent codex from npm")
    project = tmp_path / "dice"
    begin(project, {"PLAN.md": PLAN})
    at_step_2, never = threading.Event(), threading.Event()

    def hold(name: str) -> threading.Event | None:
        if name != "step 2":
            return None
        at_step_2.set()
        return never

    with ScriptedModel(Pianist(10, before=hold)) as model:
        env = ClientHome(tmp_path / "home", model_url=model.url).env
        done(musician(project, env, "init"))
        run = musician(project, env, "run", "PLAN.md", "--agent", "claude")
        assert at_step_2.wait(HANG_S)
        run.send_signal(signal.SIGINT)
        done(run, 130)
    codex = Pianist(0, shell=codex_shell)
    with ScriptedModel(codex) as model:
        more = agent_home("codex", tmp_path / "codex", model_url=model.url)
        env |= {"PATH": path_of("codex", modules), **more}
        told = done(musician(project, env, "run", "PLAN.md", "--agent", "codex"))
    view = view_of(project)
    assert view.row.state is State.COMPLETE, told
    assert [each.agent for each in view.sessions] == ["claude", "codex"]
    (opening,) = codex.openings
    assert "- step 1 (Write the function): done. I wrote read()." in opening
    assert "It ended" in opening
    assert "interrupted" in opening
    assert git(project, "ls-files").split() == ["PLAN.md", "dice.py", "test_dice.py"]
