"""Ceilings with the real client: two musicians side by side reach one in the middle of a turn."""

import re
import subprocess
import sys
import threading
from pathlib import Path

from musician import service
from musician.protocol.journal import CEILING_REACHED, EntryKind
from musician.protocol.rules.ceilings import Scope
from musician.protocol.states import State
from musician.store.opening import open_store
from musician.testing import ClientHome, Received, Reply, ScriptedModel, ToolUse, Usage, say
from musician.testing.script import Step
from musician.testing.waiting import HANG_S
from tests.surroundings import begin, git

PLAN = """\
---
plan: pair
agent: claude
test: test -n "$(ls *.txt)"
---
# Pair

## Overview
Two files.

## Phase 1: All of it
### task-01: Write left
#### Step 1: Write it
Write left.txt.
### task-02: Write right
#### Step 1: Write it
Write right.txt.
"""
A_MESSAGE = Usage(input=100_000, output=5_000)
A_MESSAGE_USD = 0.5
CEILING_USD = 2.0
MUSICIANS = 2


class Spender:
    """It works on and on, in both tasks at once, and comes to an end only once the ceiling was raised."""

    def __init__(self) -> None:
        self.is_raised = threading.Event()
        self.both = threading.Event()
        self.answers: dict[str, int] = {}

    def __call__(self, received: Received) -> Step:
        name = "left" if "Write left.txt" in received.all_text else "right"
        if self.is_raised.is_set():
            if received.answers:
                return say("done.")
            return self._using(f"echo {name} > {name}.txt")
        self.answers[name] = self.answers.get(name, 0) + 1
        if len(self.answers) == MUSICIANS:
            self.both.set()
        return self._using(f"echo half >> {name}.half")

    def _using(self, command: str) -> Reply:
        use = ToolUse(name="Bash", input={"command": command})
        return Reply(uses=(use,), usage=A_MESSAGE, hold=self.both)


def test_two_that_reach_a_plans_ceiling_in_a_turn_overshoot_by_one_message_each_and_go_on_when_it_is_raised(
    tmp_path: Path,
) -> None:
    """CEIL-15."""
    project, model = tmp_path / "project", Spender()
    begin(project, {"PLAN.md": PLAN})
    with ScriptedModel(model) as server:
        home = ClientHome(tmp_path / "home", model_url=server.url)

        def musician(*words: str, code: int = 0) -> str:
            done = subprocess.run(
                [sys.executable, "-m", "musician", *words],
                cwd=project,
                env=home.env,
                capture_output=True,
                text=True,
                timeout=HANG_S,
                check=False,
            )
            assert done.returncode == code, done.stdout + done.stderr
            return done.stdout

        musician("init")
        (project / ".musician" / "config.toml").write_text(f"[ceilings]\nplan_cost_usd = {CEILING_USD}\n")
        told = musician("run", "PLAN.md", code=1)
        store = open_store(project / ".musician" / "comms.db")
        views = service.everything(store, "pair")
        used_usd = service.accounts_of_task(store, "task-01")[Scope.PLAN].used.cost_usd
        assert CEILING_USD <= used_usd <= CEILING_USD + MUSICIANS * A_MESSAGE_USD
        assert sum(model.answers.values()) * A_MESSAGE_USD == used_usd, "nothing was used that is not counted"
        for view in views:
            (session,) = view.sessions
            assert (session.exit_reason or "").startswith(f"{CEILING_REACHED}its plan has used $"), told
            assert view.error_count == 0
            assert not any(row.kind in (EntryKind.FAILED, EntryKind.ERROR) for row in view.journal)
        assert [ask.kind for view in views for ask in view.asks] == ["budget"], "once, for both"
        command = re.search(r'musician send (task-0\d) "go on" --more 5usd', told)
        assert command is not None, told
        kept = git(project, "for-each-ref", "--format=%(refname)", "refs/musician/partial").split()
        assert len(kept) == MUSICIANS, "what was begun is kept"

        model.is_raised.set()
        musician("send", command[1], "go on", "--more", "5usd")
        musician("run", "PLAN.md")
        views = service.everything(store, "pair")
        store.close()
    assert {view.row.state for view in views} == {State.COMPLETE}
    for view in views:
        assert any(row.text.startswith("claude goes on with its last conversation") for row in view.journal)
        assert sum(row.turns for row in view.usage) >= 1
    assert set(git(project, "ls-files").split()) == {"PLAN.md", "left.txt", "right.txt"}
