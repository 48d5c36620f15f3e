"""Conflicts are seen coming: told while both sides are played, seen by whoever looks, and gone when they are."""

import json

import pytest

from musician import service
from musician.protocol.messages.kinds import MessageType
from musician.protocol.states import State
from musician.reporting.ahead import Met, met_ahead
from tests.runtime.conftest import Stage
from tests.runtime.test_merging import plan, task


def two_steps(number: int, first: str, second: str, *, keys: str, rework: str = ":") -> str:
    told = f'echo "{number}: $MUSICIAN_FEEDBACK" >> "$MUSICIAN_TEST_HALL/told"'
    again = f"\n#### Step 2: Go on\n```bash run\n{second}\n```\n"
    return task(number, first, rework=f"{told}; {rework}", keys=keys) + again


def ahead(stage: Stage) -> tuple[Met, ...]:
    return met_ahead(service.foreseen(stage.store, "pair"))


def forecasts(stage: Stage, task_id: str) -> list[str]:
    rows = service.messages_of(stage.store, task_id)
    return [row.message for row in rows if row.message_type == MessageType.FORECAST]


def test_a_conflict_is_told_to_both_sides_before_a_merge_and_is_gone_after_it(stage: Stage) -> None:
    """D24.12: told once to each at its next boundary, shown by `status` in another terminal, said once by the
    run; with what is merged once one side is; and gone once it is resolved."""
    one, two = stage.gate("one"), stage.gate("two")
    solve = "printf 'both\\n' > song.txt; git add -A"
    first = two_steps(1, "echo one > song.txt", f"{one}echo 1 > one.txt", keys="labels: []")
    second = two_steps(2, "echo two > song.txt", f"{two}echo 2 > two.txt", keys="labels: []", rework=solve)
    stage.write(plan(first, second))
    run = stage.start("run", "PLAN.md", "--jobs", "2")
    stage.wait_at("one")
    stage.wait_at("two")
    met = Met(task_id="task-01", other="task-02", paths=("song.txt",))
    stage.until(lambda: ahead(stage) == (met,))
    assert "task-01: will conflict with task-02 in song.txt" in stage.run("status").out
    (shown,) = json.loads(stage.run("status", "task-02", "--json").out)["ahead"]
    assert shown == {"task_id": "task-02", "other": "task-01", "paths": ["song.txt"], "waits": False}
    assert stage.git("rev-list", "main..musician/pair/_integration") == "", "nothing is merged yet"
    stage.until(lambda: len(forecasts(stage, "task-01")) == len(forecasts(stage, "task-02")) == 1)
    for task_id, other in (("task-01", "task-02"), ("task-02", "task-01")):
        (told,) = forecasts(stage, task_id)
        assert f"your work and {other} do not merge in song.txt" in told
        assert "git diff HEAD...musician/pair/TASK -- FILE" in told
    stage.open_gate("one")
    stage.until(lambda: stage.state("task-01") is State.COMPLETE)
    stage.until(lambda: [(met.task_id, met.other) for met in ahead(stage)] == [("task-02", "_integration")])
    stage.open_gate("two")
    done = stage.end(run)
    assert done.code == 0, (done, stage.told())
    assert stage.merged("song.txt") == "both\n"
    assert done.out.count("will conflict with task-02 in song.txt") == 1
    assert done.out.count("conflicts with what is merged already in song.txt") == 1
    assert done.out.count("no longer conflicts with what is merged already") == 1
    assert ahead(stage) == ()
    heard = (
        "FROM receipts r JOIN orchestration_messages m ON m.id = r.message_id AND m.message_type = 'forecast'"
    )
    said = stage.raw(f"SELECT r.task_id {heard} WHERE r.acknowledged_at IS NOT NULL ORDER BY 1")
    assert [name for (name,) in said] == ["task-01", "task-02", "task-02", "task-02"], "heard by its session"


@pytest.mark.deep
def test_avoiding_conflicts_plays_what_would_meet_one_after_the_other(stage: Stage) -> None:
    """D24.14: by what the plan names and by what the other has changed; told why; and never for good."""
    gate = stage.gate("one")
    first = two_steps(1, "echo one > song.txt", f"{gate}echo 1 > one.txt", keys="labels: []")
    second = task(2, "echo two >> song.txt", keys="files: [song.txt]")
    other = task(3, "echo three > three.txt", keys="files: [three.txt]")
    stage.write(plan(first, second, other))
    run = stage.start("run", "PLAN.md", "--jobs", "1", "--avoid-conflicts")
    stage.wait_at("one")
    said = "task-02: waits until task-01 is merged: both touch song.txt"
    stage.until(lambda: bool(ahead(stage)))
    assert said in stage.run("status").out
    assert not stage.view("task-02").sessions
    stage.open_gate("one")
    done = stage.end(run)
    assert done.code == 0, (done, stage.told())
    assert stage.merged("song.txt") == "one\ntwo\n"
    assert done.out.count("waits until task-01 is merged: both touch song.txt") == 1
    assert ahead(stage) == ()
