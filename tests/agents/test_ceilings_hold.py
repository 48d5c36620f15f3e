"""Ceilings with real agents: musicians side by side reach one in the middle of a turn."""

import re
import threading
from pathlib import Path

import pytest

from musician.protocol.journal import CEILING_REACHED, EntryKind
from musician.protocol.states import State
from musician.testing import Received, Reply, Usage, say
from musician.testing.script import Step
from tests.agents.whole_run import house, shell_of
from tests.surroundings import git

PLAN = """\
---
plan: pair
test: test -n "$(ls *.txt)"
---
# Pair

## Overview
Two files.

## Phase 1: All of it
### task-01: Write left
#### Step 1: Write it
Write left.txt.
"""
BOTH = f"""{PLAN}### task-02: Write right
#### Step 1: Write it
Write right.txt.
"""


class Spender:
    """It works on and on, in all tasks at once, and comes to an end only once the ceiling was raised."""

    def __init__(self, agent: str, usage: Usage, musicians: int) -> None:
        self._shell, self._usage, self._musicians = shell_of(agent), usage, musicians
        self.is_raised = threading.Event()
        self.all_play = threading.Event()
        self.answers: dict[str, int] = {}

    def __call__(self, received: Received) -> Step:
        name = "left" if "Write left.txt" in received.all_text else "right"
        if self.is_raised.is_set():
            if any("written" in answer.text for answer in received.answers):  # not what was cut off
                return say("done.", usage=self._usage)
            return self._using(f"echo {name} > {name}.txt; echo written")
        self.answers[name] = self.answers.get(name, 0) + 1
        if len(self.answers) == self._musicians:
            self.all_play.set()
        return self._using(f"echo half | tee -a {name}.half")

    def _using(self, command: str) -> Reply:
        return Reply(uses=(self._shell(command),), usage=self._usage, hold=self.all_play)


@pytest.mark.deep
def test_two_that_reach_a_plans_ceiling_in_a_turn_overshoot_by_one_message_each_and_go_on_when_it_is_raised(
    tmp_path: Path,
) -> None:
    """CEIL-15: a message of the model's costs half a dollar, and four are paid for."""
    model = Spender("claude", Usage(input=100_000, output=5_000), musicians=2)
    with house(tmp_path, BOTH, model, settings="[ceilings]\nplan_cost_usd = 2.0\n") as found:
        told = found.run("run", "PLAN.md", "--agent", "claude", code=1)
        views = [found.view("task-01"), found.view("task-02")]
        used_usd = sum(row.cost_usd or 0 for view in views for row in view.usage)
        assert 2.0 <= used_usd <= 3.0
        assert sum(model.answers.values()) * 0.5 == used_usd, "nothing was used that is not counted"
        for view in views:
            (session,) = view.sessions
            assert (session.exit_reason or "").startswith(f"{CEILING_REACHED}its plan has used $"), told
            assert view.error_count == 0
            assert not any(row.kind in (EntryKind.FAILED, EntryKind.ERROR) for row in view.journal)
        assert [ask.kind for view in views for ask in view.asks] == ["budget"], "once, for both"
        command = re.search(r'musician send (task-0\d) "go on" --more 5usd', told)
        assert command is not None, told
        kept = git(found.project, "for-each-ref", "--format=%(refname)", "refs/musician/partial").split()
        assert len(kept) == 2, "what was begun is kept"

        model.is_raised.set()
        found.run("send", command[1], "go on", "--more", "5usd")
        found.run("run", "PLAN.md", "--agent", "claude")
        views = [found.view("task-01"), found.view("task-02")]
    assert {view.row.state for view in views} == {State.COMPLETE}
    for view in views:
        assert any(row.text.startswith("claude goes on with its last conversation") for row in view.journal)
    assert set(git(found.project, "ls-files").split()) == {"PLAN.md", "left.txt", "right.txt"}


@pytest.mark.deep
def test_a_turn_of_codex_that_reaches_a_ceiling_is_cut_off_and_the_task_completed_when_it_is_raised(
    tmp_path: Path,
) -> None:
    """CEIL-16: 1,100 tokens a message; the third reaches the ceiling, and at most one more was begun."""
    model = Spender("codex", Usage(input=1_000, output=100), musicians=1)
    with house(tmp_path, PLAN, model, agent="codex", settings="[ceilings]\ntask_tokens = 3000\n") as found:
        told = found.run("run", "PLAN.md", "--agent", "codex", code=1)
        view = found.view()
        (session,) = view.sessions
        assert (session.exit_reason or "").startswith(f"{CEILING_REACHED}it has used "), told
        assert view.error_count == 0
        assert 3 <= model.answers["left"] <= 4
        assert 'musician send task-01 "go on" --more 2000000tokens' in told
        model.is_raised.set()
        found.run("send", "task-01", "go on", "--more", "2000000tokens")
        found.run("run", "PLAN.md", "--agent", "codex")
        assert found.view().row.state is State.COMPLETE
    assert git(found.project, "show", "HEAD:left.txt") == "left\n"


@pytest.mark.deep
def test_a_ceiling_of_money_is_refused_for_codex_which_has_no_price(tmp_path: Path) -> None:
    """CEIL-12."""
    model = Spender("codex", Usage(), musicians=1)
    with house(tmp_path, PLAN, model, agent="codex", settings="[ceilings]\nday_cost_usd = 5\n") as found:
        told = found.run("run", "PLAN.md", "--agent", "codex", code=2)
    assert "agent 'codex' does not say what it costs" in told
    assert model.answers == {}
