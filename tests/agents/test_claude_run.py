"""``musician run --agent claude``: the real client plays a plan to its end, against a scripted model."""

import os
import re
import signal
import threading
from pathlib import Path

from musician import service
from musician.protocol.states import State
from musician.store.opening import open_store
from musician.testing import Received, Reply, ToolUse, say, use
from musician.testing.script import Step
from tests.agents.whole_run import DICE, PLAN, TEST, claude_shell, play, writing
from tests.surroundings import git


class Model:
    """It tries to push, deviates, and is killed with its musician in the middle of step 2, once."""

    def __init__(self) -> None:
        self.refused = ""
        self.told = ""
        self.killed = threading.Event()

    def __call__(self, received: Received) -> Step:
        news = received.news_text
        self.told += news
        if "step 1: Write" in news:
            return use("Bash", command="git push origin HEAD")
        if received.answers and received.answers[0].is_error:
            self.refused = received.answers[0].text
            text = "I write it.\n::deviation Low the names are short"
            return Reply(text=text, uses=(_write("dice.py", DICE),))
        if "step 2: Test" in news:
            if self.killed.is_set():
                return _using(_write("test_dice.py", TEST))
            return use("Bash", command="echo half > half; echo pid=$MUSICIAN_PID")
        if (pid := re.search(r"pid=(\d+)", news)) is not None:
            self.killed.set()
            os.kill(int(pid[1]), signal.SIGKILL)
        return say("done.")


def _using(tool: ToolUse) -> Reply:
    return Reply(uses=(tool,))


def _write(name: str, text: str) -> ToolUse:
    return claude_shell(writing(name, text))


def test_a_plan_is_played_by_the_real_client_to_its_end(tmp_path: Path) -> None:
    """What is refused is refused, and a musician that dies in the middle loses nothing."""
    model = Model()
    ran = play(tmp_path, PLAN, model)
    project, told = ran.project, ran.told
    assert "push" in model.refused
    assert "deviation in step 1 (Low): the names are short" in told
    assert "musician-task-01-S2" in told
    store = open_store(project / ".musician" / "comms.db")
    view = service.task_view(store, "task-01")
    store.close()
    assert {(row.item, row.claim_epoch) for row in view.usage} >= {("step 1", 1)}
    assert all(row.model and row.input_tokens and row.cost_usd for row in view.usage)
    assert re.search(r"Used by this plan so far: \S+ tokens in, \S+ out, \$[\d.]+ \(claude", told)
    assert view.row.state is State.COMPLETE
    assert "Your program was started anew" in model.told
    assert "% of its context used: died" in model.told
    assert any(row.text.startswith("claude goes on with its last conversation, ") for row in view.journal)
    assert git(project, "ls-files").split() == ["PLAN.md", "dice.py", "test_dice.py"]
