"""What goes wrong while a task is played, and how it is answered (D1, D3, D11, D18)."""

from typing import TYPE_CHECKING

import pytest

from musician import service
from musician.protocol.messages.submissions import Completion
from musician.protocol.states import State

if TYPE_CHECKING:
    from tests.runtime.conftest import Stage

TASK = "task-01"

PLAN = """\
---
plan: solo
test: {test}
---
# Solo

## Overview
One task.

## Phase 1: All

### task-01: The tune
#### Step 1: Begin
```bash run
{run}
```
"""


NEXT_STEP = """
```
#### Step 2: Go on
```bash run
"""


def plan(run: str, test: str = "test -s one.txt") -> str:
    return PLAN.format(run=run, test=test)


def asks(stage: "Stage") -> list[tuple[str, str]]:
    return [(ask.kind, ask.text) for ask in service.open_asks(stage.store)]


def kinds(stage: "Stage") -> list[str]:
    return [row.kind for row in stage.view(TASK).journal if row.kind in ("failed", "error", "completed")]


UNTIL_TOLD = 'grep -q cure <<< "$MUSICIAN_FEEDBACK" && echo one > one.txt'


@pytest.mark.deep
def test_a_step_that_asks_and_then_fails_holds_nobody_up(stage: "Stage") -> None:
    """Its session plays on no more: the run ends, and says what waits for a person."""
    asked = '"$MUSICIAN_TEST_HALL/asked"'
    once = f'test -e {asked} || {{ touch {asked}; echo "::question which key?"; exit 1; }}'
    stage.write(plan(f"{once}; echo one > one.txt"))
    assert stage.conduct().code == 1
    assert ("question", "which key?") in asks(stage)
    assert stage.run("send", TASK, "the cure is known").code == 0
    stage.to_the_end()


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(("send", TASK, "the cure is known"), id="send"),
        pytest.param(("review", "fix", TASK, "use the cure"), id="review fix", marks=pytest.mark.deep),
    ],
)
def test_a_step_that_fails_is_tried_once_more_and_then_a_person_is_asked(
    stage: "Stage", answer: tuple[str, ...]
) -> None:
    stage.write(plan(f"echo trying; {UNTIL_TOLD}"))
    assert stage.conduct().code == 1
    ((kind, text),) = asks(stage)
    assert kind == "error"
    assert "step 1: block 1 ended with exit code 1" in text
    assert kinds(stage) == ["failed", "error", "failed", "error"]
    assert stage.conduct().code == 1, "nobody has answered yet"
    assert kinds(stage) == ["failed", "error", "failed", "error"]
    assert stage.run(*answer).code == 0
    stage.to_the_end()
    stage.check_whole()
    assert stage.merged("one.txt") == "one\n"


def test_a_database_that_somebody_holds_is_waited_for_and_costs_nothing(stage: "Stage") -> None:
    """AUDIT-P22: longer than any write waits; it is told who holds it, and the work has not failed."""
    stand = stage.gate("held")
    stage.write(plan(f"{stand}\necho one > one.txt"), settings="[time]\nbusy_timeout_s = 0.1\n")
    conductor = stage.start("run", "PLAN.md")
    stage.wait_at("held")
    with stage.store.write():
        stage.open_gate("held")
        stage.until(lambda: "waiting for the database, held by" in stage.said_by(TASK))
    done = stage.end(conductor)
    assert done.code == 0, (done, stage.told())
    assert kinds(stage) == ["completed"]
    assert len(stage.view(TASK).sessions) == 1
    stage.check_whole()


IMPATIENT = """\
[time]
busy_timeout_s = 0.1
[heartbeat]
refresh_after_s = 1.0
stale_after_s = 2.0
[conductor]
beat_every_s = 1.0
[waiting]
background_poll_s = 0.5
pause_poll_s = 0.5
"""


@pytest.mark.deep
def test_a_database_that_is_held_for_good_ends_the_session_and_is_no_failure_of_the_work(
    stage: "Stage",
) -> None:
    """AUDIT-P22: the step was played and is not written down; the next session finds its commit."""
    stand = stage.gate("held")
    stage.write(plan(f"{stand}\necho one >> one.txt"), settings=IMPATIENT)
    conductor = stage.start("run", "PLAN.md")
    stage.wait_at("held")
    with stage.store.write():
        stage.open_gate("held")
        assert stage.end(conductor).code
        stage.check_quiet()
    stage.to_the_end()
    assert "failed" not in kinds(stage)
    assert "error" not in kinds(stage)
    assert stage.merged("one.txt") == "one\n"


@pytest.mark.deep
def test_a_red_checkpoint_that_the_plan_cannot_mend_says_what_failed_and_what_to_add_and_is_not_retried(
    stage: "Stage",
) -> None:
    text = plan("echo two > two.txt", test="test ! -e two.txt || test -s one.txt")
    stage.write(text)
    assert stage.conduct().code == 1
    ((kind, said),) = asks(stage)
    line = 1 + text.splitlines().index("#### Step 1: Begin")
    assert kind == "error"
    assert said.splitlines()[0] == (
        "checkpoint 1: exit code 1 from `test ! -e two.txt || test -s one.txt`; nothing mends it:"
        f" the plan has no `rework` block for it; add one at PLAN.md:{line}"
    )
    assert kinds(stage) == ["completed", "error"]
    mended = f"{text}```bash rework\necho one > one.txt\n```\n"
    stage.plan.write_text(mended, encoding="utf-8")
    assert stage.run("plan", "amend", "PLAN.md").code == 0
    assert stage.run("review", "fix", TASK, "there is one now").code == 0
    stage.to_the_end()


SUBAGENT = """
```
##### Agent 1: Write it
```yaml agent
files: [one.txt]
{size}
```
```bash run
echo "$MUSICIAN_ITEM" >> "$MUSICIAN_TEST_HALL/attempts"
{script}"""


@pytest.mark.deep
def test_a_small_piece_that_no_subagent_gets_done_is_played_by_the_musician(stage: "Stage") -> None:
    """What the failed attempts leave shows how small it is (D19)."""
    fourth = 'echo one > one.txt; [ "$(wc -l < "$MUSICIAN_TEST_HALL/attempts")" -eq 4 ]'
    stage.write(plan("echo two > two.txt" + SUBAGENT.format(size="", script=fourth)))
    stage.to_the_end()
    stage.check_whole()
    told = [(row.kind, row.item) for row in stage.view(TASK).journal if "agent" in row.item]
    piece = "step 1 agent 1"
    assert told == [
        ("launched", piece),
        ("failed", piece),
        ("retried", piece),
        ("failed", f"{piece} retry 1"),
        ("retried", piece),
        ("failed", f"{piece} retry 2"),
        ("absorbed", piece),
        ("completed", piece),
    ]
    assert stage.merged("one.txt") == "one\n"


@pytest.mark.deep
def test_what_a_subagent_claims_is_held_against_what_is_found(stage: "Stage") -> None:
    said = "echo one > one.txt; echo 'Files created: one.txt, three.txt'; echo '4 tests passed'"
    stage.write(plan("echo two > two.txt" + SUBAGENT.format(size="size: 1", script=said)))
    stage.to_the_end()
    [submission] = stage.view(TASK).submissions
    told = Completion.parse(submission.message or "").tests
    assert "claimed otherwise: step 1 agent 1: three.txt was claimed and is not there" in told
    assert "step 1 agent 1: what it claims of tests is not checked" in told


@pytest.mark.deep
def test_an_answer_while_the_run_goes_on_is_heard_at_once(stage: "Stage") -> None:
    """The conductor waits for another task, and the musician for the person."""
    second = PLAN[PLAN.index("### task-01") :].replace("task-01", "task-02")
    stage.write(plan(UNTIL_TOLD) + "\n" + second.format(run=stage.gate("other") + "echo > one.txt"))
    run = stage.start("run", "PLAN.md")
    stage.wait_at("other")
    stage.until(lambda: asks(stage))
    assert stage.run("review", "fix", TASK, "use the cure").code == 0
    stage.until(lambda: stage.state(TASK) is State.COMPLETE)
    stage.open_gate("other")
    ended = stage.end(run)
    assert ended.code == 1, "task-02 writes the same file: its merge conflicts, and a person decides"


@pytest.mark.deep
def test_a_question_is_answered_before_anything_else_is_played(stage: "Stage") -> None:
    first = 'echo "::question which key?"\necho one >> one.txt'
    stage.write(plan(first + NEXT_STEP + 'echo "two $MUSICIAN_FEEDBACK" >> one.txt'))
    assert stage.conduct().code == 1
    ((kind, text),) = asks(stage)
    assert kind == "question"
    assert "which key?" in text
    assert kinds(stage) == ["completed"]
    assert stage.run("send", TASK, "the key of C").code == 0
    stage.to_the_end()
    stage.check_whole()
    lines = stage.merged("one.txt").splitlines()
    assert lines[0] == "one"
    assert "the key of C" in stage.merged("one.txt")


@pytest.mark.deep
def test_a_step_that_asks_and_plays_on_is_let_finish(stage: "Stage") -> None:
    stage.write(plan('echo "::question which key?"\n' + stage.gate("step") + "echo one >> one.txt"))
    run = stage.start("run", "PLAN.md")
    stage.wait_at("step")
    stage.until(lambda: asks(stage))
    stage.open_gate("step")
    assert stage.end(run).code == 1
    assert kinds(stage) == ["completed"]


@pytest.mark.deep
def test_a_verification_that_cannot_run_goes_to_a_person(stage: "Stage") -> None:
    stage.write(plan("echo one > one.txt", test="no-such-program-anywhere"))
    assert stage.conduct().code == 1
    ((kind, text),) = asks(stage)
    assert (kind, text.split(":")[0]) == ("review", "the verification cannot run")
    assert stage.run("review", "approve", TASK).code == 0
    done = stage.conduct()
    assert done.code == 1, "a person approved it, and still nobody could verify the merge"


def test_a_checkpoint_that_stays_red_is_reported(stage: "Stage") -> None:
    stage.write(plan("echo one > one.txt\n```\n```bash rework\n:", test="test ! -e one.txt"))
    assert stage.conduct().code == 1
    ((kind, text),) = asks(stage)
    assert kind == "error"
    assert "red 3 times in a row" in text


@pytest.mark.deep
def test_a_rough_checkpoint_is_verified_in_full_before_it_is_approved(stage: "Stage") -> None:
    """Smoothness 5: an error report, a self-correction, a Low deviation. By the conductor's own hand (D18)."""
    rough = """\
echo "::deviation Low a shorter name"
echo "::self-correction began anew"
mkdir "$MUSICIAN_TEST_HALL/failed" && exit 1
echo one >> one.txt"""
    checkpoint = "\n```\n#### Checkpoint 1: begun\n#### Step 2: Go on\n```bash run\necho two >> one.txt"
    stage.write(plan(rough + checkpoint, test="echo checked; test -s one.txt"))
    stage.to_the_end()
    stage.check_whole()
    assert "checked" in (stage.root / ".musician" / "logs" / f"{TASK}.review.log").read_text()
    assert [each.verdict for each in stage.view(TASK).submissions] == [State.REVIEW_APPROVED] * 2


@pytest.mark.deep
def test_a_self_correction_that_breaks_the_estimate_goes_to_a_person_once(stage: "Stage") -> None:
    """At 30 %, four pieces of 8 % are a clear way to the next checkpoint; six times as dear they are none (D17)."""
    first = 'echo "::context 30%"; echo "::self-correction began anew"; echo one > one.txt'
    steps = (f"#### Step {n}: Go on\n```bash run\necho {n} >> one.txt\n" for n in range(2, 6))
    stage.write(plan(f"{first}\n```\n#### Checkpoint 1: begun\n" + "```\n".join(steps)))
    assert stage.conduct().code == 1
    ((kind, text),) = asks(stage)
    assert (kind, "made the way to the next checkpoint too dear" in text) == ("review", True)
    assert stage.run("review", "approve", TASK).code == 0
    stage.to_the_end()
    stage.check_whole()


def test_an_agent_that_is_not_available_is_refused_before_anything_is_started(stage: "Stage") -> None:
    stage.write(plan("echo one > one.txt").replace("test:", "agent: acp:not-installed --acp\ntest:", 1))
    for command in (
        ("run", "PLAN.md"),
        ("run", "PLAN.md", "--agent", "nobody"),
        ("work", TASK, "--agent", "nobody"),
    ):
        done = stage.run(*command)
        assert (done.code, "is not available" in done.err) == (2, True), done
    assert stage.view(TASK).sessions == ()
    assert stage.conduct("--agent", "shell").code == 0


def test_a_task_whose_instruction_file_is_missing_is_not_to_be_had(stage: "Stage") -> None:
    """AUDIT-P19: said before anything is claimed."""
    stage.write(plan("echo one > one.txt"))
    stage.lock()
    path = stage.root / (stage.view(TASK).row.instruction_path or "")
    path.unlink()
    blocked = stage.run("work", TASK)
    assert blocked.code == 5
    assert "its instruction cannot be read" in blocked.err
    assert stage.view(TASK).sessions == ()
    assert stage.state(TASK) is State.WATCHING
    stage.to_the_end()  # locking writes what is missing
    stage.check_whole()


def test_a_step_that_cannot_be_kept_is_reported_as_failed(stage: "Stage") -> None:
    """A repository of its own in the tree: git would drop its files without a word."""
    stage.write(plan("git init -q inner; echo x > inner/x; echo one > one.txt"))
    assert stage.conduct().code == 1
    ((kind, text),) = asks(stage)
    assert kind == "error"
    assert "a git repository of its own" in text
    assert stage.state(TASK) is State.ERROR


def test_files_of_any_name_stop_no_submission(stage: "Stage") -> None:
    stage.write(plan("echo one > one.txt; touch $'two\\nlines' ' blank' '~$doc' 'plain'"))
    stage.to_the_end()
    stage.check_whole()
    text = stage.view(TASK).submissions[-1].message or ""
    assert "Files Modified: 5" in text
    assert "- plain (created)" in text


@pytest.mark.deep
def test_a_step_that_takes_a_finished_one_away_is_not_kept(stage: "Stage") -> None:
    """A reset would lose what was done without a word; the next try finds it in the tree again (D24)."""
    away = '[ -e "$MUSICIAN_TEST_HALL/cure" ] || git reset -q --hard HEAD~1; echo two > two.txt'
    stage.write(plan(f"echo one > one.txt{NEXT_STEP}{away}"))
    assert stage.conduct().code == 1
    ((kind, text),) = asks(stage)
    assert kind == "error"
    assert "no longer contains" in text
    (stage.hall / "cure").touch()
    assert stage.run("send", TASK, "leave what is finished alone").code == 0
    stage.to_the_end()
    stage.check_whole()
    assert (stage.merged("one.txt"), stage.merged("two.txt")) == ("one\n", "two\n")


@pytest.mark.deep
def test_musicians_that_never_claim_are_not_started_forever(stage: "Stage") -> None:
    stage.write(plan("echo one > one.txt"))
    nowhere = stage.armed("work", "before:musician.cli.work:play_task")
    nowhere["MUSICIAN_TEST_KILL"] = nowhere["MUSICIAN_TEST_KILL"].replace("/killed", "/no/such/folder")
    done = stage.conduct(**nowhere)
    assert done.code == 1
    ((kind, text),) = asks(stage)
    assert kind == "launch"
    assert f"{TASK}.musician.log" in text
    assert stage.run("send", TASK, "mended").code == 0
    stage.to_the_end()
    stage.check_whole()


@pytest.mark.deep
def test_a_musician_that_cannot_be_started_is_trouble_for_a_person(stage: "Stage") -> None:
    stage.write(plan("echo one > one.txt"))
    logs = stage.root / ".musician" / "logs"
    logs.write_text("something else stands here")
    assert stage.conduct().code == 1
    ((kind, text),) = asks(stage)
    assert (kind, text.split(":")[0]) == ("trouble", "no musician starts")
    logs.unlink()
    assert stage.run("send", TASK, "mended").code == 0
    stage.to_the_end()
    stage.check_whole()


def test_three_sessions_without_progress_go_to_a_person(stage: "Stage") -> None:
    stage.write(plan('[ -e "$MUSICIAN_TEST_HALL/cure" ] || kill -KILL "$MUSICIAN_PID"; echo one > one.txt'))
    assert stage.conduct().code == 1
    ((kind, text),) = asks(stage)
    assert kind == "progress"
    assert "3 sessions in a row ended without progress" in text
    (stage.hall / "cure").touch()
    assert stage.run("send", TASK, "try again").code == 0
    stage.to_the_end()
    assert len(stage.view(TASK).sessions) == 4


@pytest.mark.deep
def test_work_that_interrupts_its_own_musician_does_not_go_on_for_ever(stage: "Stage") -> None:
    stage.write(plan('kill -TERM "$MUSICIAN_PID"; sleep 30'))
    assert stage.conduct().code == 1
    ((kind, text),) = asks(stage)
    assert kind == "progress"
    assert "interrupted by SIGTERM" in text
    assert len(stage.view(TASK).sessions) == 3


@pytest.mark.deep
def test_retries_that_are_used_up_go_to_a_person(stage: "Stage") -> None:
    stage.write(plan('echo "try $(date +%N)"; false'), "[limits]\nerror_retries = 2\n")
    assert stage.conduct().code == 1
    ((kind, text),) = asks(stage)
    assert kind == "retries"
    assert text.startswith("gave up after retry exhaustion")
    assert stage.state(TASK) is State.EXITED
    stage.check_quiet()


@pytest.mark.deep
def test_a_partial_result_and_a_context_handoff_come_to_the_end(stage: "Stage") -> None:
    first = 'echo "::partial no refrain yet"; echo one >> one.txt; echo "::context 67%"'
    stage.write(plan(first + NEXT_STEP + 'echo two >> one.txt; echo "::context 12%"'))
    stage.to_the_end()
    stage.check_whole()
    assert stage.merged("one.txt") == "one\ntwo\n"
    assert len(stage.view(TASK).sessions) == 2
    assert (stage.view(TASK).sessions[0].exit_reason or "").startswith("context exhaustion")


@pytest.mark.deep
def test_the_same_failure_told_with_other_numbers_goes_to_a_person_at_its_second_report(
    stage: "Stage",
) -> None:
    """AUDIT-V15: durations and scratch folders in what the tests say made every report another."""
    test = "'echo took 0.$RANDOM s in /tmp/musician-$RANDOM/x; test ! -e one.txt'"
    stage.write(plan("echo one > one.txt\n```\n```bash rework\necho $RANDOM$RANDOM >> one.txt", test=test))
    assert stage.conduct().code == 1
    ((kind, text),) = asks(stage)
    assert (kind, text.split(": ")[0]) == ("error", "the same error twice")
    assert stage.view(TASK).error_count == 2
