"""Merges of several tasks are verified side by side, and the plan's branch gets what was verified and nothing else."""

import signal

import pytest

from musician.protocol.states import State
from tests.runtime.conftest import Stage
from tests.runtime.test_merging import plan, task, verdicts

MEETING = """\
|
  case "$PWD" in *_integration*)
    cd "$MUSICIAN_TEST_HALL"; touch "began-$MUSICIAN_TASK"
    for _ in $(seq 400); do [ "$(ls began-* | wc -l)" -ge 2 ] && break; sleep 0.05; done
    [ "$(ls began-* | wc -l)" -ge 2 ] || exit 1
    cd "$OLDPWD"
    if grep -qs bad *.txt; then exit 1; fi
    git rev-parse HEAD >> "$MUSICIAN_TEST_HALL/green" ;;
  esac"""
"""No merge's verification ends before another's has begun; work that is bad is red where it is merged."""

SECOND = 'until [ -e "$MUSICIAN_TEST_HALL/began-task-01" ]; do sleep 0.05; done; echo two > two.txt'


@pytest.mark.deep
@pytest.mark.parametrize("first", ["good", "bad"])
def test_merges_are_verified_side_by_side_and_a_red_one_is_no_others_fault(stage: Stage, first: str) -> None:
    """D24.11: the second was verified when the first was done; where that is red, it is merged without it."""
    one = task(1, f"echo {first} > one.txt", rework="echo good > one.txt")
    stage.write(plan(one, task(2, SECOND), test=MEETING))
    stage.to_the_end()
    assert (stage.merged("one.txt"), stage.merged("two.txt")) == ("good\n", "two\n")
    assert [verdict for verdict, _ in verdicts(stage, "task-02")] == [State.REVIEW_APPROVED]
    sent_back = [State.REVIEW_FAILED] if first == "bad" else []
    assert [verdict for verdict, _ in verdicts(stage, "task-01")] == [*sent_back, State.REVIEW_APPROVED]
    # along the plan's branch: whether the rework took the other's merge in depends on which of the two was faster
    told = stage.git("log", "--merges", "--first-parent", "--format=%s", "musician/pair/_integration")
    merges = told.splitlines()
    assert merges == [
        f"Merge task-0{number}: Task {number}" for number in ((2, 1) if first == "good" else (1, 2))
    ]
    taken = stage.git(
        "log", "--merges", "--first-parent", "--format=%H", "musician/pair/_integration"
    ).split()
    assert set(taken) <= set((stage.hall / "green").read_text().split()), "nothing but what was verified"
    assert [each.name for each in (stage.root / ".musician/trees/pair").glob("_*")] == ["_integration"]


HELD = """\
|
  case "$PWD" in *_integration*)
    touch "$MUSICIAN_TEST_HALL/began-$MUSICIAN_TASK"
    until [ -e "$MUSICIAN_TEST_HALL/go" ]; do sleep 0.05; done ;;
  esac"""


@pytest.mark.deep
def test_a_conductor_that_is_killed_with_two_undecided_has_taken_neither(stage: Stage) -> None:
    """D24.11: the next run makes both anew, and leaves no tree of theirs behind."""
    stage.write(plan(task(1, "echo one > one.txt"), task(2, "echo two > two.txt"), test=HELD))
    run = stage.start("run", "PLAN.md")
    stage.until(lambda: len(list(stage.hall.glob("began-*"))) == 2)
    run.kill()
    assert stage.end(run).code == -signal.SIGKILL
    assert stage.git("log", "--merges", "--format=%s", "musician/pair/_integration") == ""
    assert len(list((stage.root / ".musician/trees/pair").glob("_integration*"))) == 2
    (stage.hall / "go").touch()
    stage.to_the_end()
    assert (stage.merged("one.txt"), stage.merged("two.txt")) == ("one\n", "two\n")
    assert [each.name for each in (stage.root / ".musician/trees/pair").glob("_*")] == ["_integration"]


@pytest.mark.deep
def test_more_than_stand_side_by_side_wait_for_a_tree(stage: Stage) -> None:
    """D24.11: four have one; each of the others is merged when the first is decided."""
    tasks = [task(number, f"echo {number} > {number}.txt") for number in range(1, 8)]
    stage.write(plan(*tasks, test=MEETING.replace("-ge 2", "-ge 4")))
    assert stage.conduct("--jobs", "7").code == 0, stage.told()
    assert [stage.merged(f"{number}.txt") for number in range(1, 8)] == [f"{n}\n" for n in range(1, 8)]
    taken = stage.git("log", "--merges", "--format=%H", "musician/pair/_integration").split()
    assert set(taken) <= set((stage.hall / "green").read_text().split())
    assert len(taken) == 7
