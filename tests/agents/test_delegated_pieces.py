"""A delegated piece is played in a conversation of its own; only its report reaches the musician's."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from musician import service
from musician.store.opening import open_store
from musician.testing import Received, Reply, Usage, say
from musician.testing.script import Step
from musician.testing.waiting import HANG_S
from tests.agents.whole_run import DICE, PLAN, TEST, play, shell_of, writing
from tests.nightly import at_night
from tests.surroundings import git

PIECE = "#### Step 2: Draw\n##### Agent 1: Draw the table\nA table of all rolls in table.md.\n"
URGENT = "Mind the blind: no colours."
REPORT = "table.md has all 36 rolls; no doubts."
LOOKED_AT = "the whole history of dice"
MUSICIANS_TOKENS, SUBAGENTS_TOKENS = 40_000, 2_000


class Orchestra:
    """A musician, and its subagent that looks at much."""

    def __init__(self, agent: str) -> None:
        self._shell = shell_of(agent)
        self.musicians: list[Received] = []
        self.subagents: list[Received] = []
        self.project = Path()
        self._caller: subprocess.Popen[bytes] | None = None

    def prepare(self, project: Path, _home: Path) -> Mapping[str, str]:
        self.project = project
        return {}

    def sent(self) -> int:
        assert self._caller is not None
        return self._caller.wait(HANG_S)

    def __call__(self, received: Received) -> Step:
        if "You are given this task part by part" in received.all_text:
            self.musicians.append(received)
            return self._step(received, received.news_text)
        self.subagents.append(received)
        if self._caller is None:
            command = [sys.executable, "-m", "musician", "send", "task-01", URGENT, "--urgent"]
            self._caller = subprocess.Popen(command, cwd=self.project, stdout=subprocess.DEVNULL)
            return self._run("sleep 300", SUBAGENTS_TOKENS)
        usage = Usage(input=SUBAGENTS_TOKENS)
        if received.answers:
            return say(f"::context 99%\n{REPORT}", usage=usage)
        return self._run(f"echo {LOOKED_AT}; echo table > table.md", SUBAGENTS_TOKENS)

    def _step(self, received: Received, news: str) -> Step:
        if not received.answers and "step 3: Test" in news:
            return self._run(writing("test_dice.py", TEST), MUSICIANS_TOKENS)
        if not received.answers and "step 1: Write" in news:
            return self._run(writing("dice.py", DICE), MUSICIANS_TOKENS)
        return say("I did.", usage=Usage(input=MUSICIANS_TOKENS))

    def _run(self, command: str, tokens: int) -> Reply:
        return Reply(text="I go on.", uses=(self._shell(command),), usage=Usage(input=tokens))


LEAST_CONTEXT_PCT = {"claude": 4, "codex": 21}
"""What the musician's tokens are of its window, as each counts it."""

PROMPTS = {"claude": "model: sonnet\n", "codex": "subagent-model: gpt-5.5\ntest-first: no\n"}
MODELS = {"claude": ("sonnet", "opus"), "codex": ("gpt-5.5", "gpt-5.5")}
"""What musician and subagent play with then; Claude's subagent by default."""


@pytest.mark.deep
@pytest.mark.parametrize("agent", at_night(["claude", "codex"], but=["claude"]))
def test_what_a_subagent_reads_fills_no_musicians_context(agent: str, tmp_path: Path) -> None:
    """D34.1: it knows its five parts, and nothing of the orchestra; the musician goes on with its own conversation.

    S-TIER-4: it plays with the model that is named for it, and the musician with its own.
    """
    model = Orchestra(agent)
    ran = play(
        tmp_path,
        PLAN.replace("#### Step 2", f"{PIECE}#### Step 3").replace("test:", f"{PROMPTS[agent]}test:"),
        model,
        agent=agent,
        prepare=model.prepare,
    )
    assert model.sent() == 0
    assert all("## Deliverables" in each.all_text for each in model.subagents)
    assert not any("with read(text)" in each.all_text for each in model.subagents)
    musicians, subagents = MODELS[agent]
    assert all(musicians in each.model for each in model.musicians)
    assert all(subagents in each.model for each in model.subagents)
    assert ("write its test first" in model.musicians[0].all_text) is (agent == "claude")
    assert not any("write its test first" in each.all_text for each in model.subagents)
    last = model.musicians[-1].all_text
    assert "step 1: Write" in last
    assert "step 3: Test" in last
    assert REPORT in last
    assert URGENT in model.subagents[-1].all_text
    assert URGENT in last
    assert LOOKED_AT not in last
    assert "## Deliverables" not in last
    assert "table.md" in git(ran.project, "ls-files").split()
    store = open_store(ran.project / ".musician" / "comms.db")
    view = service.task_view(store, "task-01")
    store.close()
    assert {row.item for row in view.usage} >= {"step 1", "step 2 agent 1", "step 3"}
    (session,) = view.sessions
    assert session.context_pct is not None
    assert session.context_pct < LEAST_CONTEXT_PCT[agent] + 1
