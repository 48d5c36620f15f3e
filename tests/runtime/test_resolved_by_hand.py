"""A merge that a person resolves by hand in a task's own tree: taken in, verified, merged (D24)."""

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from musician import service
from musician.protocol.journal import EntryKind
from musician.protocol.states import State
from tests.nightly import at_night
from tests.runtime.test_merging import clash, kinds, play_second_after_first, task

if TYPE_CHECKING:
    from tests.runtime.conftest import Stage

pytestmark = pytest.mark.deep

BOTH = "one\ntwo\n"
MERGE = ("merge", "-q", "musician/pair/_integration")
WAYS = {
    "a merge that is committed": (MERGE, BOTH, ("add", "-A"), ("commit", "-q", "--no-edit")),
    "a merge that is staged": (MERGE, BOTH, ("add", "-A")),
    "a merge that is neither": (MERGE, BOTH),
    "both sides, written": (BOTH,),
    "both sides, written and committed": (BOTH, ("commit", "-qam", "by hand")),
}

IN_ITS_TREE = """git -C "$(git for-each-ref --format='%(worktreepath)' refs/heads/musician/pair/task-02)"/."""
"""Of a command that works from any tree; tests/cli/test_named_plan.py plays it."""


def resolve(stage: "Stage", way: tuple[object, ...]) -> None:
    """As a person would, in the tree that the message names."""
    tree = stage.root / ".musician" / "trees" / "pair" / "task-02"
    for each in way:
        if isinstance(each, str):
            (tree / "song.txt").write_text(each)
        elif isinstance(each, tuple) and each == MERGE:
            with pytest.raises(Exception, match="returned non-zero"):
                stage.git("-C", str(tree), *each)  # it is in conflict
        elif isinstance(each, tuple):
            stage.git("-C", str(tree), *each)


def answer(stage: "Stage") -> None:
    """By the command that the question names."""
    assert stage.run("review", "fix", "task-02", "resolved by hand").code == 0


def check_taken_in(stage: "Stage", text: str = BOTH) -> None:
    assert stage.merged("song.txt") == text
    reworked = [row for row in stage.view("task-02").journal if row.kind == EntryKind.REWORKED]
    assert [row.text for row in reworked][-1:] == ["resolved by hand"]
    after = kinds(stage, "task-02")[
        [row.id for row in stage.view("task-02").journal].index(reworked[-1].id) :
    ]
    assert after.index("verified") < after.index("submitted"), "verified first"
    deviations = [row.text for row in stage.view("task-02").journal if row.kind == EntryKind.DEVIATION]
    assert deviations == [], "what was to be done is no mismatch"


@pytest.mark.parametrize("way", WAYS)
def test_a_resolution_by_hand_is_taken_in_when_the_session_is_gone(stage: "Stage", way: str) -> None:
    """AUDIT-V19: it was set aside as unfinished work, and the conflict reported again."""
    stage.write(clash(stage.gate("second"), rework="exit 1"))
    assert play_second_after_first(stage) == 1
    (ask,) = service.open_asks(stage.store)
    assert (ask.kind, "conflicts with" in ask.text) == ("conflict", True)
    resolve(stage, WAYS[way])
    answer(stage)
    stage.to_the_end()
    stage.check_whole()
    check_taken_in(stage)


@pytest.mark.parametrize("way", at_night(WAYS, but=["a merge that is staged"]))
def test_a_resolution_by_hand_is_taken_in_by_the_session_that_waits(stage: "Stage", way: str) -> None:
    """AUDIT-V19: an error was reported again, without a look at the tree."""
    third = task(3, f"{stage.gate('third')}echo three > three.txt")
    stage.write(clash(stage.gate("second"), rework="exit 1") + third)
    run = stage.start("run", "PLAN.md", "--jobs", "3")
    stage.wait_at("second")
    stage.wait_at("third")
    stage.until(lambda: stage.state("task-01") is State.COMPLETE)
    stage.open_gate("second")
    stage.until(lambda: stage.view("task-02").open_asks)
    session = stage.view("task-02").row.session_id
    resolve(stage, WAYS[way])
    answer(stage)
    stage.until(lambda: stage.state("task-02") is State.COMPLETE)
    assert stage.view("task-02").sessions[-1].session_id == session
    stage.open_gate("third")
    assert stage.end(run).code == 0, stage.told()
    stage.check_whole()
    check_taken_in(stage)


@pytest.mark.parametrize("way", at_night(WAYS, but=["both sides, written"]))
def test_a_resolution_by_hand_is_taken_in_though_the_session_that_heard_of_it_is_killed(
    stage: "Stage", way: str
) -> None:
    """AUDIT-V19: between the verdict and the commit it was set aside with what the session had left."""
    third = task(3, f"{stage.gate('third')}echo three > three.txt")
    stage.write(clash(stage.gate("second"), rework="exit 1") + third)
    look = "before:musician.runtime.musician.player:take_up_resolution"
    at_the_verdict = stage.armed("work", look, number=3)  # after two that failed by the plan's own rework
    run = stage.start("run", "PLAN.md", "--jobs", "3", **at_the_verdict)
    stage.wait_at("second")
    stage.wait_at("third")
    stage.until(lambda: stage.state("task-01") is State.COMPLETE)
    stage.open_gate("second")
    stage.until(lambda: stage.view("task-02").open_asks)
    resolve(stage, WAYS[way])
    answer(stage)
    stage.until(lambda: stage.state("task-02") is State.COMPLETE)
    assert stage.killed_at
    assert len(stage.view("task-02").sessions) == 2
    stage.open_gate("third")
    assert stage.end(run).code == 0, stage.told()
    stage.check_whole()
    check_taken_in(stage)


def test_a_conflict_that_was_resolved_wrongly_and_then_by_hand(stage: "Stage") -> None:
    """AUDIT-V19: the second conflict waits for a person with the submission; the command it names goes on, and
    an approval of what cannot be merged, which would be complete and merged by nobody, names that command."""
    wrongly = 'git merge --abort; echo "not at all" > song.txt'
    stage.write(clash(stage.gate("second"), rework=wrongly))
    assert play_second_after_first(stage) == 1
    (ask,) = service.open_asks(stage.store)
    assert (ask.kind, stage.state("task-02")) == ("conflict", State.NEEDS_REVIEW)
    refused = stage.run("review", "approve", "task-02")
    assert (refused.code, 'musician review fix task-02 "resolved by hand"' in refused.err) == (4, True), (
        refused
    )
    assert f"{IN_ITS_TREE} merge" in stage.run("review", "show", "task-02").out
    resolve(stage, WAYS["a merge that is committed"])
    answer(stage)
    stage.to_the_end()
    stage.check_whole()
    assert stage.merged("song.txt") == BOTH


def test_a_resolution_that_turns_the_tests_red_is_not_merged_and_not_lost(stage: "Stage") -> None:
    """AUDIT-V19: verified first, like any rework."""
    text = clash(stage.gate("second"), rework="exit 1").replace("'true'", "'! grep -q wrong song.txt'")
    stage.write(text)
    assert play_second_after_first(stage) == 1
    resolve(stage, (MERGE, "wrong\n", ("add", "-A"), ("commit", "-q", "--no-edit")))
    answer(stage)
    assert stage.conduct().code == 1
    assert stage.git("show", "musician/pair/_integration:song.txt") == "one\n"
    assert stage.git("show", "musician/pair/task-02:song.txt") == "wrong\n"
    resolve(stage, (BOTH,))
    answer(stage)
    stage.to_the_end()
    assert stage.merged("song.txt") == BOTH


def test_a_conflict_that_is_left_open_is_no_resolution(stage: "Stage") -> None:
    """AUDIT-V19: with markers in it, it is unfinished work, which is kept."""
    stage.write(clash(stage.gate("second"), rework="exit 1"))
    assert play_second_after_first(stage) == 1
    resolve(stage, (MERGE,))
    answer(stage)
    assert stage.conduct().code == 1
    assert "reworked" not in kinds(stage, "task-02")
    kept = stage.git("for-each-ref", "--format=%(refname)", "refs/musician/partial/pair/task-02").split()
    assert any("<<<<<<<" in stage.git("show", f"{ref}:song.txt") for ref in kept)


def test_what_a_rework_that_fails_leaves_is_no_resolution(stage: "Stage") -> None:
    """AUDIT-V19: else it would be verified and submitted, though whoever made it says that it is not done."""
    rework = "printf 'one\\ntwo\\n' > song.txt; git add song.txt; exit 1"
    stage.write(clash(stage.gate("second"), rework=rework))
    assert play_second_after_first(stage) == 1
    answer(stage)
    assert stage.conduct().code == 1
    assert "reworked" not in kinds(stage, "task-02")


def test_what_a_rework_that_is_killed_leaves_is_no_resolution(stage: "Stage") -> None:
    """AUDIT-V19: who lay down in the middle of it is not a person who has finished."""
    half = f"printf 'half\\n' > song.txt; git add song.txt; {stage.gate('half')}"
    stage.write(
        clash(stage.gate("second"), rework=f"{half}printf 'one\\ntwo\\n' > song.txt; git add song.txt")
    )
    run = stage.start("run", "PLAN.md")
    stage.wait_at("second")
    stage.until(lambda: stage.state("task-01") is State.COMPLETE)
    stage.open_gate("second")
    stage.wait_at("half")
    os.kill(stage.musician("task-02").pid, signal.SIGKILL)
    assert stage.end(run).code == 0, stage.told()
    assert stage.merged("song.txt") == BOTH
    kept = stage.git("for-each-ref", "--format=%(refname)", "refs/musician/partial/pair/task-02").split()
    assert any(stage.git("show", f"{ref}:song.txt") == "half\n" for ref in kept)


def test_the_place_and_the_commands_that_a_conflict_names_are_there(stage: "Stage") -> None:
    """AUDIT-V19: the run's end tells them, and they are what works."""
    stage.write(clash(stage.gate("second"), rework="exit 1"))
    run = stage.start("run", "PLAN.md")
    stage.wait_at("second")
    stage.until(lambda: stage.state("task-01") is State.COMPLETE)
    stage.open_gate("second")
    said = stage.end(run).out
    assert f"{IN_ITS_TREE} merge musician/pair/_integration" in said
    assert 'musician review fix task-02 "resolved by hand"' in said
    assert Path(stage.root, ".musician/trees/pair/task-02/song.txt").read_text() == "two\n", (
        "nothing half done"
    )
