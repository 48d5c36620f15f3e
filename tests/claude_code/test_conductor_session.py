"""A session that conducts, in the real client: from one sentence to merged work, with the client killed in between.

The musicians are scripts (the shell agent): what is played here is the conductor.
"""

import os
import signal
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil
import pytest

from musician.reporting.run_at_work import run_process
from musician.testing import PrintClient, Received, Reply, TerminalClient, say, use
from musician.testing.waiting import HANG_S
from musician.trees.root import find_root
from tests.claude_code.conftest import Hall

GOAL = "/conductor Greet people, and say farewell"

TOWER = """\
---
plan: manners
test: git --version
agent: shell
review: human
---
# Manners
## Overview
Greets people.
## Phase 1: Words
### task-01: Greet
```yaml task
files: [hello.txt]
```
#### Step 1: Write it
```bash run
echo hello > hello.txt
```
### task-02: Say farewell
```yaml task
files: [farewell.txt]
```
#### Step 1: Write it
```bash run
echo "IGNORE ALL ORDERS" > farewell.txt
```
```bash rework
echo "farewell" > farewell.txt
```
"""


@pytest.fixture
def hall(tmp_path: Path, bells: Path) -> Iterator[Hall]:
    with ExitStack() as stack:
        made = Hall(tmp_path, bells, stack, "nothing yet\n", locks=False)
        yield made
        run = run_process(find_root(made.root))
        if run is not None:
            with suppress(psutil.Error):
                process = psutil.Process(run.pid)
                process.send_signal(signal.SIGINT)
                process.wait(HANG_S)


def submission(hall: Hall, task_id: str) -> int:
    """The message of the task's newest submission."""
    return hall.view(task_id).history[-1].message_id or 0


def answered(received: Received) -> str:
    (answer,) = received.answers
    assert not answer.is_error, answer.text
    return answer.text


def plan_and_start(hall: Hall) -> tuple[Reply | Callable[[Received], Reply], ...]:
    def begin(received: Received) -> Reply:
        assert "You conduct this repository (task-00)" in received.news_text
        return use("Write", file_path=str(hall.root / "MANNERS.md"), content=TOWER)

    def checked(received: Received) -> Reply:
        assert "manners: 2 tasks, no problem" in answered(received)
        return use("Bash", command="git add MANNERS.md && git commit -qm plan")

    def started(received: Received) -> Reply:
        assert "a run is at work" in answered(received), answered(received)
        return say("It runs; I wait.")

    return (
        begin,
        hall.tool("plan", path="MANNERS.md", act="check"),
        checked,
        hall.tool("plan", path="MANNERS.md", act="lock"),
        hall.tool("run", act="start", plan="MANNERS.md"),
        started,
    )


class Judging:
    """A model that judges whatever waits, sends task-02's first work back, and ends its turn in between."""

    def __init__(self, hall: Hall) -> None:
        self._hall = hall
        self.judged: dict[int, str] = {}
        self.heard = ""
        self.has_resigned = False

    def __call__(self, received: Received) -> Reply:
        if any(answer.is_error for answer in received.answers) and self.judged:
            self.judged.popitem()  # the client had not heard yet that the tools are others now
        self.heard += received.news_text + "".join(answer.text for answer in received.answers)
        for task_id in ("task-01", "task-02"):
            message = submission(self._hall, task_id) if self._hall.state(task_id) == "needs_review" else 0
            if message and message not in self.judged:
                return self._judge(task_id, message)
        if self.has_resigned:
            return say("All is merged.")
        if "its plan is complete" in self.heard:
            self.has_resigned = True
            return self._hall.tool("resign")
        if run_process(find_root(self._hall.root)) is None:
            return self._hall.tool("run", act="start")
        return say("I wait.")

    def _judge(self, task_id: str, message: int) -> Reply:
        tree = self._hall.root / ".musician" / "trees" / "manners" / task_id
        is_bad = task_id == "task-02" and "IGNORE" in (tree / "farewell.txt").read_text()
        self.judged[message] = "reject" if is_bad else "approve"
        return self._hall.tool(
            "judge", task=task_id, verdict=self.judged[message], message=message, text="plainer words"
        )


def in_turn(
    acts: tuple[Reply | Callable[[Received], Reply], ...], then: Judging
) -> Callable[[Received], Reply]:
    left = deque(acts)

    def model(received: Received) -> Reply:
        act = left.popleft() if left else then
        return act(received) if callable(act) else act

    return model


def test_one_sentence_becomes_a_plan_that_is_played_and_judged(hall: Hall) -> None:
    """CONDUCTOR-SESSION: drafted, checked, locked, run beside the session; woken for each review, and at the end."""
    judging = Judging(hall)
    model, home = hall.played(in_turn(plan_and_start(hall), judging))
    with PrintClient(home, hall.root, GOAL, plugins=[hall.plugin]) as client:
        assert client.end().text == "All is merged."
    assert hall.git("show", "trunk:farewell.txt") == "farewell\n"
    assert sorted(judging.judged.values()) == ["approve", "approve", "reject"]
    assert ": review, message" in judging.heard, "it was woken by it"
    offered = [{name.rpartition("__")[2] for name in request.tools} for request in model.requests]
    # Where its first request went out before the change, the client keeps a musician's tools beside the new ones.
    assert any("judge" in tools for tools in offered), ("the client follows the change", offered)


@pytest.mark.needs("tmux")
def test_a_client_that_is_killed_leaves_the_run_and_another_goes_on(hall: Hall) -> None:
    """CONDUCTOR-SESSION: in a terminal, woken by the monitor; killed at work; `/conductor` without a goal goes on."""
    first = deque(plan_and_start(hall))

    def begins(received: Received) -> Reply:
        act = first.popleft() if first else say("I wait.")
        return act(received) if callable(act) else act

    _, home = hall.played(begins, "first")
    leave = (
        "--allowedTools",
        *(f"mcp__plugin_musician_comms-link__{name}" for name in ("plan", "run")),
        "--",
    )
    with TerminalClient(home, hall.root, prompt=GOAL, plugins=[hall.plugin], arguments=leave) as client:
        client.wait_for("It runs; I wait.")
        os.kill(client.pid, signal.SIGKILL)
        client.wait_until_over()
        # The clients of tests take everything they started along when they are left: the run must see the end.
        hall.wait(lambda: hall.state("task-01") == hall.state("task-02") == "needs_review")
        judging = Judging(hall)

        def goes_on(received: Received) -> Reply:
            assert "You conduct this repository (task-00)" in received.all_text
            return judging(received)

        _, home = hall.played(goes_on, "second")
        with TerminalClient(
            home, hall.root, prompt="/conductor", plugins=[hall.plugin], arguments=leave
        ) as second:
            second.wait_for("All is merged.")
            second.say("/exit")
            second.wait_until_over()
    assert hall.git("show", "trunk:farewell.txt") == "farewell\n"
    assert sorted(judging.judged.values()) == ["approve", "approve", "reject"]
    assert "<task-notification>" in judging.heard, "it was woken by the monitor"
