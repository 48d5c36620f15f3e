"""Bringing finished work together: trial merges, what is sent back, and the user's own branch (D24)."""

import re
import shutil
import signal
from typing import TYPE_CHECKING

import pytest

from musician import service
from musician.protocol.states import State

if TYPE_CHECKING:
    from tests.runtime.conftest import Stage

HEAD = """\
---
plan: pair
test: {test}
isolation: {isolation}
---
# Pair

## Overview
Two tasks that meet.

## Phase 1: All
"""

TASK = """
### task-{number:02}: Task {number}
```yaml task
{keys}
```
#### Step 1: Write
```bash run
{run}
```
```bash rework
{rework}
```
"""


def plan(*tasks: str, test: str = "'true'", isolation: str = "worktree") -> str:
    return HEAD.format(test=test, isolation=isolation) + "".join(tasks)


def task(number: int, run: str, *, rework: str = ":", keys: str = "labels: []") -> str:
    return TASK.format(number=number, run=run, rework=rework, keys=keys)


def verdicts(stage: "Stage", task_id: str) -> list[tuple[State | None, str | None]]:
    return [(each.verdict, each.verdict_text) for each in stage.view(task_id).submissions]


def kinds(stage: "Stage", task_id: str) -> list[str]:
    return [row.kind for row in stage.view(task_id).journal]


def clash(gate: str, rework: str) -> str:
    """Two tasks that start from the same commit and write the same file; the second waits at the gate."""
    return plan(
        task(1, "echo one > song.txt"),
        task(2, f"{gate}echo two > song.txt", rework=rework),
    )


def play_second_after_first(stage: "Stage") -> int:
    """Exit code of a run in which the second task finishes once the first is complete."""
    run = stage.start("run", "PLAN.md")
    stage.wait_at("second")
    stage.until(lambda: stage.state("task-01") is State.COMPLETE)
    stage.open_gate("second")
    return stage.end(run).code


def test_a_conflict_is_sent_back_with_both_sides_named_and_goes_to_a_person_if_nobody_resolves_it(
    stage: "Stage",
) -> None:
    """AUDIT-K8: with the command that resolves it, and what the other side has changed. AUDIT-N2: the run tells it in
    one line, not the whole change."""
    stage.write(clash(stage.gate("second"), rework=":"))
    assert play_second_after_first(stage) == 1
    ((first, text),) = verdicts(stage, "task-02")
    assert first is State.REVIEW_FAILED
    assert text is not None
    assert "song.txt" in text
    assert "task-01 (" in text
    assert "task-02 (" in text
    for side in re.findall(r"all of it: `git (diff [^`]*)`", text):
        assert "song.txt" in stage.git(*side.split()), "both sides as they were, by a command each"
    assert "`git merge --no-commit musician/pair/_integration`" in text
    assert "\n+one" in text
    shown = "".join(path.read_text() for path in stage.hall.glob("out-*"))
    assert "song.txt" in shown
    assert "+one" not in shown
    (ask,) = service.open_asks(stage.store)
    assert (ask.task_id, ask.kind) == ("task-02", "conflict")
    assert "a merge has conflicts left" in ask.text
    assert "`git merge --no-commit musician/pair/_integration`" in ask.text
    assert stage.git("show", "musician/pair/_integration:song.txt") == "one\n"
    assert stage.git("log", "--format=%s", "main") == "begin\n"


@pytest.mark.deep
def test_a_conflict_that_is_resolved_when_it_is_sent_back_is_merged(stage: "Stage") -> None:
    """AUDIT-N8: the rework finds the other side in its files, and in its feedback what was said, and no word more."""
    keep = 'printf "%s" "$MUSICIAN_FEEDBACK" > "$MUSICIAN_TEST_HALL/feedback"\n'
    resolve = keep + "grep -q '^=======' song.txt; printf 'one\\ntwo\\n' > song.txt; git add song.txt"
    stage.write(clash(stage.gate("second"), rework=resolve))
    assert play_second_after_first(stage) == 0, stage.told()
    stage.check_whole()
    assert stage.merged("song.txt") == "one\ntwo\n"
    heard, _, rest = (stage.hall / "feedback").read_text().partition("\n\nConflict ahead")
    assert heard == verdicts(stage, "task-02")[0][1]
    assert rest.count("\n") <= 1, "at most a forecast, if one was told before the trial"
    assert [verdict for verdict, _ in verdicts(stage, "task-02")] == [
        State.REVIEW_FAILED,
        State.REVIEW_APPROVED,
    ]


def test_a_merge_that_turns_red_is_sent_back_and_then_goes_to_a_person(stage: "Stage") -> None:
    gate = stage.gate("second")
    stage.write(
        plan(
            task(1, "echo one > one.txt"),
            task(2, f"{gate}echo two > two.txt"),
            test="test ! -e one.txt || test ! -e two.txt",
        )
    )
    assert play_second_after_first(stage) == 1
    (first, text), *_ = verdicts(stage, "task-02")
    assert first is State.REVIEW_FAILED
    assert "turns red" in (text or "")
    assert [ask.task_id for ask in service.open_asks(stage.store)] == ["task-02"]
    assert "two.txt" not in stage.git("ls-tree", "--name-only", "musician/pair/_integration")


@pytest.mark.deep
def test_two_sound_changes_that_close_an_import_cycle_are_no_green_merge(stage: "Stage") -> None:
    """No test imports either file: only how they hold together tells (D16, D24)."""
    gate = stage.gate("second")
    stage.write(
        plan(task(1, "echo 'import b' > a.py"), task(2, f"{gate}\necho 'import a' > b.py")),
        **{"a.py": "", "b.py": ""},
    )
    assert play_second_after_first(stage) == 1
    verdict, text = verdicts(stage, "task-02")[0]
    assert (verdict, "new import cycle: b.py -> a.py -> b.py" in (text or "")) == (State.REVIEW_FAILED, True)


def test_the_users_branch_is_moved_only_while_it_is_clean(stage: "Stage") -> None:
    gate = stage.gate("only")
    stage.write(plan(task(1, f"{gate}echo one > song.txt")), **{"notes.txt": "mine\n"})
    run = stage.start("run", "PLAN.md")
    stage.wait_at("only")
    (stage.root / "notes.txt").write_text("changed meanwhile\n")
    stage.open_gate("only")
    ended = stage.end(run)
    assert ended.code == 0
    assert "merge --ff-only --no-overwrite-ignore musician/pair/_integration" in ended.out
    assert stage.git("log", "--format=%s", "main") == "begin\n"
    assert (stage.root / "notes.txt").read_text() == "changed meanwhile\n"
    stage.git("commit", "-qam", "mine")
    assert stage.conduct().code == 0
    assert stage.git("log", "-1", "--format=%s", "main") == "mine\n", (
        "it has work of its own: nothing to forward"
    )


@pytest.mark.deep
def test_work_in_a_shared_tree_is_neither_committed_nor_merged(stage: "Stage") -> None:
    stage.write(
        plan(
            task(1, "echo one > one.txt"),
            task(2, "cat one.txt > two.txt", keys="after: [task-01]"),
            isolation="shared",
        )
    )
    stage.to_the_end()
    assert (stage.root / "two.txt").read_text() == "one\n"
    assert stage.git("log", "--all", "--format=%s") == "begin\n"
    assert set(stage.states().values()) == {"complete"}


@pytest.mark.deep
def test_a_completion_that_a_person_approved_is_merged_all_the_same(stage: "Stage") -> None:
    stage.write(plan(task(1, "echo one > song.txt")))
    assert stage.conduct("--review", "human").code == 1
    assert stage.state("task-01") is State.NEEDS_REVIEW
    assert stage.run("review", "approve", "task-01").code == 0
    assert stage.conduct("--review", "human").code == 0
    stage.check_whole()
    assert stage.merged("song.txt") == "one\n"


@pytest.mark.deep
def test_what_a_person_rejects_between_two_runs_is_answered_by_the_session_that_mends_it(
    stage: "Stage",
) -> None:
    """A rejection outlives the session that did not hear it, as an approval does (D7)."""
    stage.write(plan(task(1, "echo bad > song.txt", rework="echo good > song.txt")))
    assert stage.conduct("--review", "human").code == 1
    assert stage.run("review", "reject", "task-01", "not this song").code == 0
    assert stage.conduct("--review", "human").code == 1
    again = stage.view("task-01").submissions[-1].message or ""
    assert '1. "not this song": not answered; rework 1.1 was played since' in again
    assert "Deviations: 1 (Medium" in again
    assert stage.run("review", "approve", "task-01").code == 0
    stage.to_the_end()
    assert stage.merged("song.txt") == "good\n"


@pytest.mark.deep
def test_what_a_person_rejects_while_its_merge_is_verified_is_not_merged(stage: "Stage") -> None:
    merging = f'case "$PWD" in *_integration) {stage.gate("merge")} ;; esac'
    test = "|\n  " + "\n  ".join(merging.splitlines())
    stage.write(plan(task(1, "echo bad > song.txt", rework="echo good > song.txt"), test=test))
    run = stage.start("run", "PLAN.md")
    stage.wait_at("merge")
    assert stage.run("review", "reject", "task-01", "not this song").code == 0
    stage.open_gate("merge")
    assert stage.end(run).code == 0
    stage.check_whole()
    assert stage.merged("song.txt") == "good\n"
    merges = stage.git("log", "--merges", "--format=%s", "musician/pair/_integration").splitlines()
    assert merges == ["Merge task-01: Task 1"]


@pytest.mark.deep
def test_what_a_person_merges_while_another_merge_is_verified_has_that_tried_once_more(
    stage: "Stage",
) -> None:
    """The branch has gone on: nothing is wrong, and nobody is asked."""
    merging = f'case "$PWD" in *_integration) {stage.gate("merge")} ;; esac'
    test = "|\n  " + "\n  ".join(merging.splitlines())
    stage.write(plan(task(1, "echo one > one.txt"), test=test))
    run = stage.start("run", "PLAN.md")
    stage.wait_at("merge")
    own, other = "musician/pair/_integration", "musician/pair/task-09"
    stage.git("worktree", "add", "-q", "-b", other, "../elsewhere", own)
    (stage.root.parent / "elsewhere" / "nine.txt").write_text("nine\n")
    stage.git("-C", "../elsewhere", "add", "nine.txt")
    stage.git("-C", "../elsewhere", "commit", "-qm", "nine")
    made = stage.git("commit-tree", f"{other}^{{tree}}", "-p", own, "-p", other, "-m", "by hand").strip()
    stage.git("update-ref", f"refs/heads/{own}", made)
    stage.open_gate("merge")
    assert stage.end(run).code == 0
    assert not stage.view("task-01").asks
    assert (stage.merged("one.txt"), stage.merged("nine.txt")) == ("one\n", "nine\n")
    merges = stage.git("log", "--merges", "--format=%s", own).splitlines()
    assert merges == ["Merge task-01: Task 1", "by hand"]


@pytest.mark.deep
def test_a_branch_somebody_tidied_away_after_its_merge_is_not_missed(stage: "Stage") -> None:
    stage.write(plan(task(1, "echo one > song.txt"), task(2, "echo two > other.txt")))
    stage.to_the_end()
    merged = stage.git("rev-parse", "main", "musician/pair/_integration")
    for number in (1, 2):
        stage.git("worktree", "remove", "--force", f".musician/trees/pair/task-0{number}")
        stage.git("branch", "-D", f"musician/pair/task-0{number}")
    stage.to_the_end()
    assert stage.git("rev-parse", "main", "musician/pair/_integration") == merged
    assert stage.git("branch", "--list", "musician/pair/task-*") == ""
    assert (stage.merged("song.txt"), stage.merged("other.txt")) == ("one\n", "two\n")


@pytest.mark.deep
def test_a_merge_that_git_cannot_take_waits_for_a_person(stage: "Stage") -> None:
    """Somebody has checked the plan's own branch out."""
    gate = stage.gate("only")
    stage.write(plan(task(1, f"{gate}echo one > song.txt")))
    run = stage.start("run", "PLAN.md")
    stage.wait_at("only")
    stage.git("worktree", "add", "-q", "../elsewhere", "musician/pair/_integration")
    stage.open_gate("only")
    assert stage.end(run).code == 1
    (ask,) = service.open_asks(stage.store)
    assert ask.kind == "trouble"
    assert "checked out" in ask.text
    assert stage.conduct().code == 1, "it waits until somebody says that it is mended"
    stage.git("worktree", "remove", "../elsewhere")
    assert stage.run("send", "task-01", "mended").code == 0
    stage.to_the_end()
    assert stage.merged("song.txt") == "one\n"


SETUP = "setup: |\n  {setup}\ntest:"


def with_setup(setup: str, text: str) -> str:
    return text.replace("test:", SETUP.format(setup=setup), 1)


def test_a_set_up_runs_once_in_every_tree(stage: "Stage") -> None:
    once = '[ ! -e ready.mark ] && basename "$PWD" >> "$MUSICIAN_TEST_HALL/trees" && echo ready > ready.mark'
    text = plan(task(1, "cat ready.mark > song.txt"), test="test -e ready.mark")
    stage.write(with_setup(once, text), **{".gitignore": "ready.mark\n"})
    stage.to_the_end()
    assert stage.merged("song.txt") == "ready\n"
    trees = (stage.hall / "trees").read_text().split()
    assert sorted(trees) == ["_base", "_integration", "task-01"]


@pytest.mark.deep
def test_what_a_set_up_leaves_is_there_again_after_it_was_set_aside(stage: "Stage") -> None:
    """Git ignores nothing here: a failed step's tree is restored, and a second merge comes into the same tree."""
    fails_once = 'if mkdir "$MUSICIAN_TEST_HALL/once"; then exit 1; fi'
    first = task(1, f"test -e ready.mark; {fails_once}; echo one > one.txt")
    second = task(2, "echo two > two.txt", keys="after: [task-01]")
    stage.write(with_setup("touch ready.mark", plan(first, second, test="test -e ready.mark")))
    stage.to_the_end()
    stage.check_whole()


@pytest.mark.deep
def test_tasks_in_one_tree_set_it_up_once_and_wait_for_it(stage: "Stage") -> None:
    once = f'echo x >> "$MUSICIAN_TEST_HALL/setups"; {stage.gate("setup")} touch ready.mark'
    setup = "\n  ".join(once.splitlines())
    tasks = [task(number, f"cat ready.mark > song-{number}.txt") for number in (1, 2)]
    text = with_setup(setup, plan(*tasks, isolation="shared"))
    stage.write(text, **{".gitignore": "ready.mark\n"})
    run = stage.start("run", "PLAN.md")
    stage.wait_at("setup")
    stage.until(lambda: all("started" in kinds(stage, f"task-0{number}") for number in (1, 2)))
    stage.open_gate("setup")
    assert stage.end(run).code == 0
    assert (stage.hall / "setups").read_text() == "x\n"


@pytest.mark.deep
def test_a_tree_that_was_deleted_by_hand_is_set_up_anew(stage: "Stage") -> None:
    step = stage.gate("step") + "cat ready.mark > song.txt"
    text = plan(task(1, step), test="test -e ready.mark")
    stage.write(with_setup("echo ready > ready.mark", text), **{".gitignore": "ready.mark\n"})
    run = stage.start("run", "PLAN.md")
    stage.wait_at("step")
    run.send_signal(signal.SIGINT)
    assert stage.end(run).code == 130
    shutil.rmtree(stage.root / ".musician" / "trees" / "pair" / "task-01")
    stage.to_the_end()
    assert stage.merged("song.txt") == "ready\n"


def test_a_set_up_that_fails_is_an_error_of_the_step(stage: "Stage") -> None:
    stage.write(with_setup("echo no network; exit 7", plan(task(1, "echo one > song.txt"))))
    assert stage.conduct().code == 1
    (ask,) = service.open_asks(stage.store)
    assert (ask.kind, "set-up ended with exit code 7: no network" in ask.text) == ("error", True)


@pytest.mark.deep
def test_a_set_up_that_fails_where_work_is_merged_is_nobodys_fault(stage: "Stage") -> None:
    setup = 'case "$PWD" in *_integration) exit 3 ;; esac'
    stage.write(with_setup(setup, plan(task(1, "echo one > song.txt"))))
    assert stage.conduct().code == 1
    (ask,) = service.open_asks(stage.store)
    assert (ask.kind, "set-up ended with exit code 3" in ask.text) == ("trouble", True)
    assert stage.state("task-01") is State.NEEDS_REVIEW
