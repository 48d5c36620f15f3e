"""Doing it again: a task that is retried, started over or skipped, beside a run and without one."""

import json
import signal
import subprocess
from functools import partial
from typing import TYPE_CHECKING

import pytest

from musician import service
from musician.protocol.states import State

if TYPE_CHECKING:
    from tests.runtime.conftest import Stage

HEAD = '---\nplan: band\ntest: "true"\n---\n# Band\n## Phase 1: First\n'
KEYS = "```yaml task\n{keys}\n```\n"
STEP = "#### Step {number}: S\n```bash run\n{run}\n```\n"
FAILS = 'test -e "$MUSICIAN_TEST_HALL/mended" || exit 3'
"""Until a person has mended the cause."""


def task(number: int, *runs: str, keys: str = "labels: []") -> str:
    steps = "".join(STEP.format(number=each, run=run) for each, run in enumerate(runs, start=1))
    return f"### task-{number:02}: T\n{KEYS.format(keys=keys)}{steps}"


def mend(stage: "Stage") -> None:
    (stage.hall / "mended").touch()


def refs(stage: "Stage", folder: str) -> list[str]:
    return stage.git("for-each-ref", "--format=%(refname)", f"refs/musician/{folder}/").split()


def is_asked(stage: "Stage", task_id: str) -> bool:
    return any(ask.task_id == task_id for ask in service.open_asks(stage.store))


def waits_for_review(stage: "Stage", task_id: str) -> bool:
    return stage.state(task_id) is State.NEEDS_REVIEW


@pytest.mark.deep
def test_what_failed_is_retried_while_the_run_goes_on(stage: "Stage") -> None:
    """AGAIN-RETRY: its session waits in the error and goes on; two retries at once are one; its errors count anew."""
    stage.write(
        HEAD + task(1, "echo a > a", FAILS + "; echo b > b") + task(2, stage.gate("long") + "echo 2 > f2")
    )
    run = stage.start("run", "PLAN.md", "--jobs", "2")
    stage.wait_at("long")
    stage.until(lambda: is_asked(stage, "task-01"))
    refused = stage.run("task", "retry", "task-01", "--from-start")
    assert (refused.code, "musician stop task-01" in refused.err) == (4, True), refused
    mend(stage)
    both = [stage.start("task", "retry", "task-01", "it is mended") for _ in range(2)]
    codes = sorted(stage.end(each).code for each in both)
    assert codes in ([0, 0], [0, 4]), stage.told()
    stage.until(lambda: stage.state("task-01") is State.COMPLETE)
    stage.open_gate("long")
    assert stage.end(run).code == 0, stage.told()
    stage.check_whole()
    view = stage.view("task-01")
    assert (view.row.retry_limit - view.error_count, len(view.sessions)) == (5, 1)
    assert stage.git("log", "--format=%s", "main", "--", "a").count("\n") == 1, "step 1 was played once"
    complete = stage.run("task", "retry", "task-01")
    assert (complete.code, "task-01-fix" in complete.err) == (4, True), complete


@pytest.mark.deep
def test_a_task_is_started_over_and_its_old_work_is_kept_for_good(stage: "Stage") -> None:
    """AGAIN-START-OVER: whoever is killed on the way; the next run takes the order up, from the plan's branch."""
    stage.write(
        HEAD
        + task(
            1, 'echo "$(wc -l < "$MUSICIAN_TEST_HALL/tries")" > a', "mkdir deep; " + FAILS + "; echo b > b"
        )
        + task(2, "echo c > c"),
        settings="",
    )
    (stage.hall / "tries").write_text("1\n")
    assert stage.conduct().code == 1
    old = stage.git("rev-parse", "musician/band/task-01").strip()
    (stage.hall / "tries").write_text("1\n2\n")
    mend(stage)
    told = json.loads(stage.run("task", "retry", "task-01", "--from-start", "--json").out)
    assert (told["state"], told["from_start"]) == ("fix_proposed", True)
    assert not is_asked(stage, "task-01")
    assert stage.git("rev-parse", "musician/band/task-01").strip() == old, "until somebody takes it up"
    for where in ("before", "after"):
        died = stage.start(
            "work", "task-01", **stage.armed("work", f"{where}:musician.trees.partial:discard_to", 2)
        )
        assert stage.end(died).code == -signal.SIGKILL, stage.told()
        (stage.hall / "killed").unlink()
    stage.to_the_end()
    (kept,) = refs(stage, "replaced")
    assert kept == told["kept_at"]
    stage.git("merge-base", "--is-ancestor", old, kept)
    assert (stage.merged("a"), stage.merged("b")) == ("2\n", "b\n")
    with pytest.raises(subprocess.CalledProcessError):
        stage.git("merge-base", "--is-ancestor", old, "main")
    assert kept in stage.run("timeline").out
    stage.run("clean")
    stage.git("reflog", "expire", "--expire=now", "--all")
    stage.git("gc", "-q", "--prune=now")
    assert stage.git("show", f"{kept}:a") == "1\n"


@pytest.mark.deep
def test_a_failure_from_before_a_start_over_is_not_the_same_twice(stage: "Stage") -> None:
    """AGAIN-START-OVER: the first failure after it is tried once more, as any first one is."""
    stage.write(HEAD + task(1, FAILS))
    for reported in (2, 4):
        assert stage.conduct().code == 1
        assert stage.view("task-01").error_count == reported
        assert stage.run("task", "retry", "task-01", "--from-start").code == 0


@pytest.mark.deep
def test_a_skipped_task_is_told_and_holds_nobody_up(stage: "Stage") -> None:
    """AGAIN-SKIP: what is to be played after it is asked about; the plan ends complete, and says what was left out."""
    stage.write(
        HEAD
        + task(1, FAILS + "; echo 1 > f1")
        + task(2, "echo 2 > f2", keys="after: [task-01]")
        + task(3, "echo 3 > f3", keys="after: [task-02]")
        + task(4, stage.gate("long") + "echo 4 > f4")
        + "## Phase 2: Second\n"
        + task(5, "echo 5 > f5")
    )
    run = stage.start("run", "PLAN.md", "--jobs", "2")
    stage.wait_at("long")
    stage.until(lambda: is_asked(stage, "task-01"))
    lives = stage.run("task", "skip", "task-01", "not worth it", "--dependents", "play")
    assert (lives.code, "musician stop task-01" in lives.err) == (4, True), lives
    stage.run("stop", "task-01")
    stage.until(lambda: stage.state("task-01") is State.EXITED)
    open_end = stage.run("task", "skip", "task-01", "not worth it")
    assert (open_end.code, "task-02, task-03 wait for task-01" in open_end.err) == (4, True), open_end
    skipped = stage.run("task", "skip", "task-02", "nor this", "--dependents", "skip")
    assert skipped.out.startswith("skipped: task-02, task-03\n"), skipped
    assert stage.run("task", "skip", "task-01", "not worth it").code == 0
    assert stage.run("task", "retry", "task-02").code == 0, "it is taken back"
    stage.until(lambda: stage.state("task-02") is State.COMPLETE)
    stage.open_gate("long")
    done = stage.end(run)
    assert done.code == 0, stage.told()
    assert "3 of 3 tasks complete (2 skipped)" in done.out
    assert "\ntask-01  skipped " in done.out, "and not exited: it holds nobody up"
    assert "\ntask-03  skipped " in done.out
    assert "  task-01: not worth it\n  task-03: skipped with task-02: nor this\n" in done.out
    assert "Nothing of task-01" not in done.out
    assert stage.merged("f5") == "5\n"
    told = {row["task_id"]: row["skipped"] for row in json.loads(stage.run("status", "--json").out)["tasks"]}
    assert (told["task-01"], told["task-02"]) == ("not worth it", None)
    assert stage.run("needs-me").code == 0
    blocked = stage.run("claim", "task-01", "--session", "s")
    assert (blocked.code, "it is skipped" in blocked.err) == (5, True), blocked
    mend(stage)
    assert stage.run("task", "retry", "task-01").code == 0
    assert stage.conduct().code == 0, stage.told()
    assert stage.state("task-01") is State.COMPLETE


@pytest.mark.deep
def test_a_plan_is_amended_while_it_is_played(stage: "Stage") -> None:
    """AGAIN-AMEND, AGAIN-ADD, AUDIT-N9: all is taken up but what a session plays; the branch moves."""
    played = task(1, stage.gate("long") + "echo 1 > f1")
    late = "## Phase 2: Second\n"
    stage.write(HEAD + played + late + task(2, "echo old > f2") + task(3, "echo 3 > f3"))
    run = stage.start("run", "PLAN.md", "--jobs", "2")
    stage.wait_at("long")
    added = task(4, "echo 4 > f4; " + stage.gate("added"))
    changed = HEAD + played.replace("echo 1 >", "echo otherwise >") + added + late + task(2, "echo new > f2")
    stage.plan.write_text(changed)
    stage.git("commit", "-qam", "the plan, amended")
    amended = stage.run("plan", "amend", "PLAN.md", "--json")
    told = json.loads(amended.out)
    assert amended.code == 4
    assert (told["added"], told["changed"], told["withdrawn"], told["kept"]) == (
        ["task-04"],
        ["task-02"],
        ["task-03"],
        ["task-01"],
    )
    stage.wait_at("added")
    gone = stage.plan.read_text().replace(added, "")
    stage.plan.write_text(gone)
    refused = stage.run("plan", "amend", "PLAN.md")
    assert (refused.code, "musician stop task-04" in refused.err) == (4, True), refused
    stage.plan.write_text(changed)
    (stage.root / "extra.md").write_text("# Extra\n" + STEP.format(number=1, run="cat f4 > f5")[2:])
    add = ("task", "add", "task-05", "--instructions", "extra.md", "--to", "PLAN.md", "--phase", "1")
    assert stage.run(*add, "--after", "task-02").code == 2, "that is in another phase"
    assert stage.plan.read_text() == changed
    assert "added: task-05\n" in stage.run(*add, "--after", "task-04").out
    changed = stage.plan.read_text()
    stage.git("add", "-A")
    stage.git("commit", "-qm", "one more")
    for gate in ("long", "added"):
        stage.open_gate(gate)
    done = stage.end(run)
    assert done.code == 0, (done, stage.told())
    assert "4 of 4 tasks complete (1 withdrawn)" in done.out
    assert [stage.merged(name) for name in ("f1", "f2", "f5")] == ["1\n", "new\n", "4\n"]
    assert stage.git("show", "main:PLAN.md") == changed
    again = stage.conduct()
    assert (again.code, "-echo 1 > f1" in again.err or "echo otherwise" in again.err) == (2, True), again
    assert json.loads(stage.run("plan", "amend", "PLAN.md", "--json").out)["too_late"] == ["task-01"]


@pytest.mark.deep
def test_an_amendment_is_taken_up_by_the_next_run_where_the_first_was_killed(stage: "Stage") -> None:
    """AGAIN-AMEND: nothing is owed to the one that was at work; and an order that it did not hear is not lost."""
    first = HEAD + task(1, stage.gate("long") + "echo 1 > f1") + task(2, FAILS + "; echo 2 > f2")
    stage.write(first)
    run = stage.start("run", "PLAN.md", "--jobs", "2")
    stage.wait_at("long")
    stage.until(lambda: is_asked(stage, "task-02"))
    run.send_signal(signal.SIGSTOP)
    stage.plan.write_text(first + task(3, "echo 3 > f3"))
    assert stage.run("plan", "amend", "PLAN.md").code == 0
    mend(stage)
    assert stage.run("task", "retry", "task-02").code == 0
    run.kill()
    assert stage.end(run).code == -signal.SIGKILL
    stage.git("commit", "-qam", "the plan, amended")
    stage.to_the_end()
    assert [stage.merged(name) for name in ("f1", "f2", "f3")] == ["1\n", "2\n", "3\n"]


def test_work_of_a_task_that_is_taken_out_is_told_and_kept(stage: "Stage") -> None:
    """D32: one that was complete and not merged yet was left out of the result without a word."""
    stage.write(HEAD + task(1, "echo 1 > f1") + task(2, "echo 2 > f2", FAILS) + task(3, "echo 3 > f3"))
    stage.lock()
    played = stage.start("work", "task-01")
    stage.until(lambda: stage.state("task-01") is State.NEEDS_REVIEW)
    assert stage.run("review", "approve", "task-01").code == 0
    assert (stage.end(played).code, stage.state("task-01")) == (0, State.COMPLETE)
    failed = stage.start("work", "task-02")
    stage.until(lambda: stage.state("task-02") is State.ERROR)
    assert stage.run("stop", "task-02").code == 0
    stage.end(failed)
    skipped = stage.run("task", "skip", "task-02", "not worth it")
    stage.plan.write_text(HEAD + task(3, "echo 3 > f3"))
    stage.git("commit", "-qam", "without two")
    amended = json.loads(stage.run("plan", "amend", "PLAN.md", "--json").out)
    assert [each["task_id"] for each in amended["left"]] == ["task-01", "task-02"]
    assert f"git merge {amended['left'][1]['ref']}" in skipped.out, skipped
    assert stage.conduct().code == 0, stage.told()
    for branch in ("task-01", "task-02"):
        stage.git("worktree", "remove", "--force", f".musician/trees/band/{branch}")
        stage.git("branch", "-D", f"musician/band/{branch}")
    for each, name in zip(amended["left"], ("f1", "f2"), strict=True):
        stage.git("merge", "-q", "-m", "his", each["ref"])
        assert (stage.root / name).exists()
    assert stage.run("plan", "amend", "PLAN.md").out == "no task changed\n", "it is merged, and told no more"


def test_what_is_asked_of_complete_work_that_cannot_be_merged_can_be_given_as_it_stands(
    stage: "Stage",
) -> None:
    """It named a word to the task, which is refused to a complete one, and a switch back from within a merge."""
    stage.write(HEAD + task(1, "echo 1 > song") + task(2, "echo 2 > song"), song="0\n")
    stage.lock()
    for task_id in ("task-01", "task-02"):
        played = stage.start("work", task_id)
        stage.until(partial(waits_for_review, stage, task_id))
        assert stage.run("review", "approve", task_id).code == 0
        assert stage.end(played).code == 0
    assert stage.conduct().code == 1
    (need,) = json.loads(stage.run("needs-me", "--json").out)["waiting"]
    (task_id, kind), answers = (need["task_id"], need["kind"]), [each["command"] for each in need["answers"]]
    assert (kind, len(answers)) == ("merge", 2)
    switch, merge = answers[0].split(" && ")
    stage.git(*switch.split()[1:])
    with pytest.raises(subprocess.CalledProcessError):
        stage.git(*merge.split()[1:])
    (stage.root / "song").write_text("both\n")
    stage.git("commit", "-qam", "by hand")
    stage.git("switch", "-q", "-")
    assert answers[1] == f"musician task retry {task_id}"
    assert stage.run(*answers[1].split()[1:]).code == 0
    assert stage.conduct().code == 0, stage.told()
    assert stage.merged("song") == "both\n"
