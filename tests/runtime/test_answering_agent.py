"""An answering agent in the place of the person who conducts, with real commands in real trees."""

from typing import TYPE_CHECKING

import pytest

from musician import service
from musician.protocol.conductor.engine import BY_AGENT
from musician.protocol.names import CONDUCTOR
from tests.transcripts import text_of

if TYPE_CHECKING:
    from tests.runtime.conftest import Stage

HEAD = """\
---
plan: band
test: "true"
answers: agent
---
# Band

## Overview
Answered by an agent.

## Phase 1: All
"""

TASK = """
### task-0{number}: Task {number}
```yaml task
answerer: |
{answerer}
```
"""
STEP = """
#### Step {number}: Write
```bash run
{run}
```
"""

ASKS = 'echo "::question which key?"\necho secret words\necho one > {number}.txt'
WRITES_DOWN = 'echo "$MUSICIAN_FEEDBACK" >> {number}.txt'

CAREFUL = """
grep -q "which key?" "$MUSICIAN_QUESTION"
grep -q "step 1 (Write): done" "$MUSICIAN_STANDING"
grep -q "secret words" "$MUSICIAN_OUTPUT"
grep -q one 1.txt
case "$PWD" in *musician-review-*) ;; *) exit 4 ;; esac
git rm -qf 1.txt
echo "::reply the key"
echo "::reply of C"
"""
"""It looks at everything it is given, and does harm where it stands."""


def task(number: int, answerer: str, *runs: str) -> str:
    script = "\n".join(f"  {line}" for line in answerer.strip().splitlines())
    steps = (
        STEP.format(number=n, run=run.replace("{number}", str(number))) for n, run in enumerate(runs, start=1)
    )
    return TASK.format(number=number, answerer=script) + "".join(steps)


def asks(stage: "Stage") -> dict[str, tuple[str, str]]:
    return {ask.task_id: (ask.kind, ask.text) for ask in service.open_asks(stage.store)}


def said(stage: "Stage", task_id: str) -> list[str]:
    """What the task's conductor has answered in the agent's words."""
    rows = stage.raw(
        "SELECT message FROM orchestration_messages WHERE task_id = :task_id AND from_session = :who ORDER BY id",
        task_id=task_id,
        who=CONDUCTOR,
    )
    return [text for (text,) in rows if BY_AGENT in text]


@pytest.mark.deep
def test_an_agent_answers_before_a_person_is_asked_and_what_is_no_clear_answer_goes_to_a_person(
    stage: "Stage",
) -> None:
    """A question and an error that the rules do not decide are answered; no answer, or a third, is a person's."""
    cure = 'grep -q "the cure" <<< "$MUSICIAN_FEEDBACK" && echo two > 2.txt'
    stage.write(
        HEAD
        + task(1, CAREFUL, ASKS, WRITES_DOWN)
        + task(2, "grep -q 'the same error twice' $MUSICIAN_QUESTION\necho '::reply use the cure'", cure)
        + task(3, 'echo "::reply C"; echo "::ask-person it costs money"', ASKS, WRITES_DOWN)
        + task(4, 'echo "::reply C"; exit 7', ASKS, WRITES_DOWN)
        + task(5, 'echo "::reply $MUSICIAN_TASK"', ASKS, ASKS, ASKS, WRITES_DOWN)
    )
    assert stage.conduct("--jobs", "5").code == 1, stage.told()
    told = asks(stage)
    assert set(told) == {"task-03", "task-04", "task-05"}, (stage.states(), told, stage.told())
    none = "which key?\nThe plan's agent gave no answer: "
    assert told["task-03"] == ("question", f"{none}it costs money")
    assert told["task-04"][1].startswith(f"{none}block 1 ended with exit code 7")
    assert told["task-05"] == ("question", f"{none}it has been asked 2 times already")
    assert said(stage, "task-01") == [f"{BY_AGENT}the key\nof C"]
    assert [text.splitlines()[0] for text in said(stage, "task-02")] == [f"{BY_AGENT}use the cure"]
    assert len(said(stage, "task-05")) == 2
    logs = stage.root / ".musician/logs"
    assert "the key" in text_of(*(logs / "task-01").glob("answer.*"))
    for number in (3, 4, 5):
        assert stage.run("send", f"task-0{number}", "the key of D").code == 0
    stage.to_the_end()
    stage.check_whole()
    assert "of C" in stage.merged("1.txt")
    assert "the key of D" in stage.merged("5.txt")


@pytest.mark.deep
def test_a_person_who_answers_first_has_answered(stage: "Stage") -> None:
    stage.write(HEAD + task(1, stage.gate("answering") + 'echo "::reply the key of C"', ASKS, WRITES_DOWN))
    run = stage.start("run", "PLAN.md")
    stage.wait_at("answering")
    assert stage.run("send", "task-01", "the key of D").code == 0
    stage.open_gate("answering")
    assert stage.end(run).code == 0, stage.told()
    assert said(stage, "task-01") == []
    assert "the key of D" in stage.merged("1.txt")


@pytest.mark.deep
def test_what_an_agent_has_answered_outlives_the_conductor_and_it_is_not_asked_twice(stage: "Stage") -> None:
    count = 'echo asked >> "$MUSICIAN_TEST_HALL/asked"\necho "::reply the key of C"'
    stage.write(HEAD + task(1, count, ASKS, WRITES_DOWN))
    stage.conduct(**stage.armed("run", "before:musician.service:send"))
    assert stage.killed_at == "before send"
    stage.until(lambda: not stage.processes())
    assert said(stage, "task-01") == []
    stage.to_the_end()
    assert said(stage, "task-01") == [f"{BY_AGENT}the key of C"]
    assert (stage.hall / "asked").read_text() == "asked\n"


@pytest.mark.deep
def test_an_agent_that_takes_too_long_answers_nothing(stage: "Stage") -> None:
    plan = HEAD + task(1, "exec sleep 1000", ASKS)
    stage.write(plan, settings="[time]\nreview_limit_s = 1\n")
    assert stage.conduct().code == 1, stage.told()
    assert "ran out of time" in asks(stage)["task-01"][1]
    stage.check_quiet()
