"""SIGTERM, SIGINT and SIGHUP end a conductor or a musician at once, with everything saved (B32).

"At once" is two seconds; a test does not measure how busy this machine is, so ``HANG_S`` stands in for it, and what
was stopped says itself whether it came to a regular end: by its exit code, and by what it saved.
"""

import os
import signal
import subprocess
from typing import TYPE_CHECKING

import psutil
import pytest

from musician import service
from musician.protocol.resumption.handoff import ENDED_WAITING, read
from musician.protocol.settings import Settings
from musician.protocol.states import State
from tests.said import farewell

if TYPE_CHECKING:
    from tests.runtime.conftest import Stage

pytestmark = pytest.mark.deep

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
INTERRUPTED = 130

PLAN = """\
---
plan: solo
test: |
  {in_test}
  test -s one.txt
review: {review}
---
# Solo

## Overview
Each step adds a line, once.

## Phase 1: All

### task-01: The tune
#### Step 1: Begin
```bash run
{solo}
{in_step}
echo one >> one.txt
```
#### Checkpoint 1: it has begun
#### Step 2: Go on
```bash run
{solo}
{in_second}
echo two >> one.txt
```
"""

AGAIN = """
if [ -e "$MUSICIAN_TEST_HALL/again" ]; then
{stand}
fi
"""


def begin(stage: "Stage", *, review: str = "rules", **parts: str) -> None:
    texts = dict.fromkeys(("in_test", "in_step", "in_second"), ":") | parts
    texts["in_test"] = "\n  ".join(texts["in_test"].splitlines())
    stage.write(PLAN.format(solo=stage.solo, review=review, **texts))


def stop(stage: "Stage", started: "subprocess.Popen[str]", number: signal.Signals) -> str:
    """Signal it, wait for its end; what it said."""
    started.send_signal(number)
    ended = stage.end(started)
    assert ended.code == INTERRUPTED, (ended, stage.told())
    assert "Traceback" not in ended.err
    stage.check_quiet()
    return ended.out


def check_end(stage: "Stage") -> None:
    stage.to_the_end()
    stage.check_whole()
    assert stage.merged("one.txt") == "one\ntwo\n"


def play_louder(stage: "Stage") -> None:
    """There is a way to mend what was sent back."""
    rework = '```\n```bash rework\necho "mended, $MUSICIAN_FEEDBACK" >> one.txt\n```\n#### Checkpoint 1'
    stage.plan.write_text(stage.plan.read_text().replace("```\n#### Checkpoint 1", rework, 1))
    stage.git("commit", "-qam", "a way to mend it")


def last_session(stage: "Stage") -> str | None:
    return stage.view("task-01").sessions[-1].exit_reason


# -- a musician ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", SIGNALS)
def test_a_musician_that_plays_sets_its_work_aside_and_hands_off(
    stage: "Stage", number: signal.Signals
) -> None:
    begin(stage, in_step="echo half > half.txt" + stage.gate("step"))
    stage.lock()
    musician = stage.start("work", "task-01")
    stage.wait_at("step")
    stop(stage, musician, number)
    assert stage.state("task-01") is State.EXITED
    assert last_session(stage) == f"interrupted by {number.name}"
    handoff = (stage.root / "temp" / "task-01-HANDOFF").read_text()
    assert f"interrupted by {number.name}" in handoff
    kept = stage.git("for-each-ref", "--format=%(refname)", "refs/musician/partial").split()
    assert [stage.git("show", f"{each}:half.txt") for each in kept] == ["half\n"]
    assert kept[0] in handoff
    check_end(stage)


def test_a_musician_that_verifies_ends_the_tests_and_hands_off(stage: "Stage") -> None:
    begin(stage, in_test=stage.gate("test"))
    stage.lock()
    musician = stage.start("work", "task-01")
    stage.wait_at("test")
    stop(stage, musician, signal.SIGHUP)
    assert stage.state("task-01") is State.EXITED
    assert not stage.view("task-01").verifications
    check_end(stage)


def test_a_musician_that_waits_for_a_verdict_leaves_its_submission_waiting(stage: "Stage") -> None:
    begin(stage)
    stage.lock()
    musician = stage.start("work", "task-01")
    stage.until(lambda: stage.state("task-01") is State.NEEDS_REVIEW)
    stop(stage, musician, signal.SIGINT)
    assert stage.state("task-01") is State.NEEDS_REVIEW
    assert last_session(stage) is None
    check_end(stage)
    view = stage.view("task-01")
    assert [each.verdict for each in view.submissions] == [State.REVIEW_APPROVED] * 2
    assert [each.exit_reason for each in view.sessions] == [ENDED_WAITING, "complete"]


def test_a_session_that_ends_with_the_run_ends_cleanly(stage: "Stage") -> None:
    """AUDIT-P16: whatever it waited for and whoever answers meanwhile, nobody says of it that it died or crashed."""
    begin(stage, review="human")
    play_louder(stage)
    stage.lock()
    said = ""
    for number in range(3):
        conducted = stage.conduct()
        assert conducted.code == 1, conducted
        said += conducted.out
        handoff = (stage.root / "temp" / "task-01-HANDOFF").read_text()
        assert read(handoff).is_whole
        service.judge(stage.store, "task-01", State.REVIEW_FAILED, f"louder {number}")
    said += stage.conduct().out
    resumed = [row.text for row in stage.view("task-01").journal if row.kind == "resumed"]
    assert len(resumed) == 3
    for text in (said, handoff, *resumed):
        assert not [word for word in ("died", "crash") if word in text], text
    assert all("present (clean exit" in text for text in resumed)
    assert {each.exit_reason for each in stage.view("task-01").sessions[:-1]} == {ENDED_WAITING}


def test_a_musician_that_verifies_anew_what_was_approved_does_not_wait_for_the_tests(stage: "Stage") -> None:
    begin(stage, in_test=AGAIN.format(stand=stage.gate("test")), in_second=stage.gate("second"))
    stage.lock()
    first = stage.start("work", "task-01")
    stage.until(lambda: stage.state("task-01") is State.NEEDS_REVIEW)
    service.judge(stage.store, "task-01", State.REVIEW_APPROVED, "so be it")
    stage.wait_at("second")
    stop(stage, first, signal.SIGTERM)
    service.reopen(stage.store, "task-01", "go on")
    (stage.hall / "again").touch()
    second = stage.start("work", "task-01")
    stage.wait_at("test")
    stop(stage, second, signal.SIGTERM)
    assert stage.state("task-01") is State.EXITED
    assert last_session(stage) == f"interrupted by {signal.SIGTERM.name}"
    check_end(stage)


def test_a_rejection_outlives_the_session_that_asked_for_it(stage: "Stage") -> None:
    begin(stage)
    play_louder(stage)
    stage.lock()
    musician = stage.start("work", "task-01")
    stage.until(lambda: stage.state("task-01") is State.NEEDS_REVIEW)
    stop(stage, musician, signal.SIGTERM)
    service.judge(stage.store, "task-01", State.REVIEW_FAILED, "louder")
    stage.to_the_end()
    stage.check_whole()
    text = stage.merged("one.txt")
    assert text.startswith("one\nmended, louder\n")
    assert text.endswith("\ntwo\n")
    assert text.count("mended") == 1


def test_a_musician_whose_conductor_has_let_go_hands_off(stage: "Stage") -> None:
    begin(stage, in_step=stage.gate("step"))
    stage.lock()
    with subprocess.Popen(
        [*stage.command, "work", "task-01"],
        cwd=stage.root,
        env={**stage.env, "MUSICIAN_LEASE": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    ) as musician:
        stage.wait_at("step")
        assert musician.stdin is not None
        musician.stdin.close()
        assert musician.wait() == 1
    stage.check_quiet()
    assert last_session(stage) == "the conductor is gone"
    check_end(stage)


def test_a_session_that_was_ended_from_outside_is_no_empty_one(stage: "Stage") -> None:
    """Three sessions without progress go to a person (D1); three times Ctrl-C do not."""
    begin(stage)
    stage.lock()
    for number in range(3):
        claim = service.claim(stage.store, "task-01", f"session-{number}", settings=Settings()).claim
        reason = "interrupted by SIGINT" if number else "the conductor is gone"
        service.exit_task(stage.store, claim, farewell(reason, path="temp/x"), handoff="x")
        service.reopen(stage.store, "task-01", "go on")
    check_end(stage)


# -- the conductor ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_conductor_has_its_musicians_hand_off(stage: "Stage", number: signal.Signals) -> None:
    """AUDIT-N6: what ended it is told as what it was, a Ctrl-C above all."""
    begin(stage, in_step="trap '' TERM INT HUP" + stage.gate("step"))
    conductor = stage.start("run", "PLAN.md")
    stage.wait_at("step")
    stop(stage, conductor, number)
    assert stage.state("task-01") is State.EXITED
    assert last_session(stage) == f"interrupted by {number.name}", "AUDIT-N6"
    row = service.conductor_row(stage.store)
    assert row is not None
    assert row.state is State.EXIT_REQUESTED
    check_end(stage)


def test_a_conductor_that_verifies_a_merge_ends_the_tests(stage: "Stage") -> None:
    merging = f'case "$PWD" in *_integration) {stage.gate("merge")} ;; esac'
    begin(stage, in_test=merging)
    conductor = stage.start("run", "PLAN.md")
    stage.wait_at("merge")
    stop(stage, conductor, signal.SIGTERM)
    assert stage.state("task-01") is State.NEEDS_REVIEW
    check_end(stage)


def test_a_musician_that_does_not_answer_is_ended_by_force(stage: "Stage") -> None:
    begin(stage, in_step=stage.gate("step"))
    conductor = stage.start("run", "PLAN.md")
    stage.wait_at("step")
    stage.suspend(stage.musician("task-01"))
    stop(stage, conductor, signal.SIGINT)
    check_end(stage)
    assert [each.exit_reason for each in stage.view("task-01").sessions] == ["died", "complete"]


def test_a_second_ctrl_c_does_not_wait_for_anybody(stage: "Stage") -> None:
    """The musicians notice by themselves that their conductor is gone."""
    begin(stage, in_step=stage.gate("step"))
    conductor = stage.start("run", "PLAN.md")
    stage.wait_at("step")
    musician = stage.musician("task-01")
    stage.suspend(musician)
    stage.until(lambda: _struck(conductor))
    assert conductor.returncode == -signal.SIGINT
    assert musician.status() == psutil.STATUS_STOPPED
    musician.resume()
    stage.check_quiet()
    assert last_session(stage) in ("interrupted by SIGINT", "the conductor is gone")
    check_end(stage)


def _struck(process: "subprocess.Popen[str]") -> bool:
    process.send_signal(signal.SIGINT)
    return process.poll() is not None


@pytest.mark.parametrize(
    ("where", "number", "told"),
    [
        ("before:musician.cli.main:run", signal.SIGINT, ""),
        ("before:musician.cli.main:run", signal.SIGTERM, ""),
        ("before:musician.cli.run:lock_plan_file", signal.SIGHUP, ""),
        ("after:musician.cli.run:lock_plan_file", signal.SIGTERM, ""),
        ("before:musician.runtime.conductor.conduct:conducting_run", signal.SIGINT, "State saved"),
        ("before:musician.runtime.conductor.conduct:PlanRun", signal.SIGTERM, "State saved"),
        ("before:musician.service:interrupt_conducting", signal.SIGHUP, "waits for you"),
        ("before:atexit:_run_exitfuncs", signal.SIGTERM, "waits for you"),
    ],
)
def test_whenever_a_run_is_stopped_it_ends_with_130_or_as_it_would_have_ended(
    stage: "Stage", where: str, number: signal.Signals, told: str
) -> None:
    """While it is imported, before it listens, and once it is over."""
    begin(stage, review="human")
    conductor = stage.start("run", "PLAN.md", **stage.armed("run", where), MUSICIAN_TEST_STOP="1")
    stage.until(lambda: stage.stopped(conductor.pid))
    conductor.send_signal(number)
    os.kill(conductor.pid, signal.SIGCONT)
    ended = stage.end(conductor)
    would_have = 1 if "interrupt_conducting" in where else INTERRUPTED
    assert (ended.code, ended.err) == (would_have, ""), (ended, stage.told())
    assert told in ended.out if told else not ended.out, ended
    stage.check_quiet()
    assert stage.conduct().code == 1
    assert [ask.kind for ask in service.open_asks(stage.store)] == ["review"]
    assert {each.exit_reason for each in stage.view("task-01").sessions} <= {None, ENDED_WAITING}


@pytest.mark.parametrize("number", SIGNALS)
def test_a_worker_that_is_stopped_between_two_looks_says_so(stage: "Stage", number: signal.Signals) -> None:
    begin(stage)
    stage.lock()
    where = stage.armed("worker", "before:musician.runtime.fleet:claimable")
    worker = stage.start("worker", **where, MUSICIAN_TEST_STOP="1")
    stage.until(lambda: stage.stopped(worker.pid))
    worker.send_signal(number)
    os.kill(worker.pid, signal.SIGCONT)
    ended = stage.end(worker)
    assert (ended.code, ended.err) == (INTERRUPTED, ""), ended
    assert ended.out.endswith("interrupted\n")
    stage.check_quiet()


def test_a_signal_before_anything_was_played_is_heard_too(stage: "Stage") -> None:
    """The claim is made, the tree is not: the session still says why it ends."""
    begin(stage)
    stage.lock()
    where = "before:musician.runtime.tasktree:open_tree"
    hold = {"MUSICIAN_TEST_STOP": "1"}
    musician = stage.start("work", "task-01", **stage.armed("work", where), **hold)
    stage.until(lambda: stage.stopped(musician.pid))
    musician.send_signal(signal.SIGTERM)
    os.kill(musician.pid, signal.SIGCONT)
    assert stage.end(musician).code == INTERRUPTED
    assert last_session(stage) == "interrupted by SIGTERM"
    check_end(stage)
