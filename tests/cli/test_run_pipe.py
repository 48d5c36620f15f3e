"""``run`` in a pipe and with --json: real conductors, real musicians."""

import fcntl
import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from musician.testing.waiting import HANG_S
from tests.surroundings import git

Call = Callable[..., Any]

LINE = re.compile(r"\d\d:\d\d:\d\d  task-0\d  [a-z_]+ +\S.*")
STOP_LIMIT_S = 15.0
"""A run that waited for its musicians or its reader would take longer."""
GREEN = re.compile("All passing .*?(?=, smoothness|$)")
"""What a verification says of itself is its own matter."""

TEST = "    #### Checkpoint 1: it is there\n    - test: `test -e made-{0}`\n".replace("    ", "")


def task(name: str, body: str) -> str:
    return f"### {name}: Make {name} ✓\n#### Step 1: Make it\n```bash run\n{body}\n```\n{TEST.format(name)}"


HEAD = "---\nplan: greeter\nreview: {review}\n---\n# Greet people\n\n## Phase 1: Both\n\n"


def plan(*tasks: str, review: str = "rules") -> str:
    return HEAD.format(review=review) + "\n".join(tasks)


QUICK = plan(
    task("task-01", "touch made-task-01"), task("task-02", "echo '::context 21%'; touch made-task-02")
)
HUMAN = plan(task("task-01", "touch made-task-01"), review="human")
LONG = plan(task("task-01", "touch made-task-01; sleep 600"))


@pytest.fixture
def with_plan(repository: Path, call: Call) -> Callable[[str], Path]:
    """Commit a plan in a repository that is set up."""

    def write(text: str) -> Path:
        (repository / "PLAN.md").write_text(text, encoding="utf-8")
        for arguments in (("add", "-A"), ("commit", "-qm", "plan")):
            subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@b.c", *arguments], check=True)
        call("init")
        return repository

    return write


def read_until(stream: IO[str], word: str) -> str:
    """What comes up to the line with ``word``."""
    guard = threading.Timer(HANG_S, stream.close)
    guard.start()
    said = ""
    for line in stream:
        said += line
        if word in line:
            guard.cancel()
            return said
    raise AssertionError(f"{word!r} never came: {said}")


def test_every_line_of_a_pipe_is_an_event_and_the_end_says_what_was_merged(
    with_plan: Call, program: Call
) -> None:
    with_plan(QUICK)
    done = program("run", "PLAN.md", "--jobs", "2", env={**os.environ, "TZ": "UTC"})
    assert (done.code, done.err) == (0, "")
    assert "\x1b" not in done.out
    head, story, table, summary = re.split(r"\n\n|(?<=UTC)\n", done.out.rstrip("\n"), maxsplit=3)
    assert head.startswith("greeter: Greet people (2 tasks in 1 phase, up to 2 musicians at once)\n"), (
        done.out
    )
    lines = story.split("\n")
    assert all(LINE.fullmatch(line) for line in lines), story
    assert len(lines) == len(set(lines))
    of_one = [GREEN.sub("green", line[10:]) for line in lines if " task-01 " in line]
    assert of_one == [
        "task-01  watching         open: Make task-01 ✓",
        "task-01  working          musician-task-01 claimed it",
        "task-01  working          step 1 started: Make it",
        "task-01  working          step 1 completed",
        "task-01  working          checkpoint 1 verified: green",
        "task-01  needs_review     submitted for completion (checkpoint 1 of 1), smoothness 0 of 9",
        "task-01  review_approved  Approved; merged and verified with the others' work.",
        "task-01  complete         complete; report in docs/implementation/reports/task-01-completion.md",
    ]
    assert table.split("\n") == [
        "TASK     STATE     MUSICIAN          SESSIONS  TITLE",
        "task-01  complete  musician-task-01  1         Make task-01 ✓",
        "task-02  complete  musician-task-02  1         Make task-02 ✓",
    ]
    assert summary.startswith("greeter is complete: 2 of 2 tasks complete, 2 sessions, in 0:")
    assert "your branch trunk was moved to the result." in summary
    assert subprocess.run(["git", "cat-file", "-e", "trunk:made-task-02"]).returncode == 0


@pytest.mark.deep
def test_a_finished_plan_may_be_run_again(with_plan: Call, program: Call) -> None:
    with_plan(plan(task("task-01", "touch made-task-01")))
    assert program("run", "PLAN.md", "--json").code == 0
    again = program("run", "PLAN.md")
    assert again.code == 0
    assert "task-01  complete         found so; last played by musician-task-01" in again.out
    assert "claimed" not in again.out
    assert "your branch trunk has it all" in again.out


def test_json_is_one_document_and_nothing_else(with_plan: Call, program: Call) -> None:
    with_plan(HUMAN)
    done = program("run", "PLAN.md", "--json")
    assert (done.code, done.err) == (1, "")
    document = json.loads(done.out)
    assert list(document) == [
        "plan",
        "ending",
        "tasks",
        "phases",
        "needs_human",
        "spending",
        "paused",
        "pruned",
        "unmerged",
        "branch",
        "tests",
        "work",
        "sent_back",
        "ended_early",
        "deviations",
        "proposals",
        "archived_proposals",
        "page",
    ]
    assert (document["plan"], document["ending"]) == ("greeter", "needs human")
    (one,) = document["tasks"]
    assert (one["task_id"], one["state"], one["worked_by"], one["done"], one["of"]) == (
        "task-01",
        "needs_review",
        "musician-task-01",
        1,
        2,
    )
    (ask,) = document["needs_human"]
    assert (ask["task_id"], ask["kind"]) == ("task-01", "review")
    assert ask["commands"][:2] == ["musician review show task-01", "musician review approve task-01"]
    assert document["branch"] == {
        "name": "musician/greeter/_integration",
        "base": "trunk",
        "move": None,
        "reason": None,
        "command": None,
    }


def test_what_needs_a_person_is_said_with_commands_that_work(
    with_plan: Call, program: Call, shell: Call
) -> None:
    with_plan(HUMAN)
    done = program("run", "PLAN.md")
    assert done.code == 1
    assert "needs a person (review): the plan asks for a person's review" in done.out
    assert "greeter waits for you: 0 of 1 task complete" in done.out
    assert done.out.rstrip().endswith("Then run the same command again: musician run PLAN.md")
    commands = [line.strip() for line in done.out.splitlines() if line.startswith("    musician review")]
    assert len(commands) == 4
    approve = re.split(r"  +", commands[1])[0].removeprefix("musician ")
    assert shell(f"$MUSICIAN {approve}").code == 0
    again = program("run", "PLAN.md")
    assert again.code == 0
    assert "musician-task-01-S2 claimed it, after musician-task-01" in again.out


@pytest.mark.deep
def test_a_branch_that_has_moved_on_is_left_alone_and_the_end_says_what_to_type(
    with_plan: Call, program: Call
) -> None:
    with_plan(plan(task("task-01", "touch made-task-01")))
    program("plan", "lock", "PLAN.md")
    Path("mine.txt").write_text("mine\n")
    git(Path.cwd(), "add", "mine.txt")
    git(Path.cwd(), "commit", "-qm", "mine")
    done = program("run", "PLAN.md")
    assert done.code == 0
    assert "Your branch was left alone: branch 'trunk' has got commits of its own." in done.out
    (command,) = re.findall("To take it: (.*)", done.out)
    assert command == "git checkout trunk && git merge musician/greeter/_integration"
    who = {f"GIT_{role}_{what}": "a@b.c" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    subprocess.run(["bash", "-c", command], check=True, env={**os.environ, **who, "GIT_EDITOR": "true"})
    assert Path("made-task-01").exists()


@pytest.fixture
def started(command: tuple[str, ...]) -> Iterator[Call]:
    """Start the program in the background; it is ended with the test."""
    running: list[subprocess.Popen[str]] = []

    def start(*arguments: str, **how: Any) -> "subprocess.Popen[str]":
        how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how}
        process = subprocess.Popen([*command, *arguments], encoding="utf-8", **how)
        running.append(process)
        return process

    yield start
    for process in running:
        process.kill()
        process.communicate()


def test_an_interrupted_run_says_so_and_the_same_command_goes_on(
    with_plan: Call, started: Call, program: Call
) -> None:
    with_plan(LONG)
    running = started("run", "PLAN.md")
    read_until(running.stdout, "step 1 started")
    running.send_signal(signal.SIGTERM)
    out, err = running.communicate(timeout=STOP_LIMIT_S)
    assert (running.returncode, err) == (130, "")
    assert "task-01  exited           musician-task-01 handed off: interrupted by SIGTERM" in out
    assert "greeter was interrupted: 0 of 1 task complete, 1 session. State saved; nothing is lost." in out
    assert out.endswith("Run the same command again to go on: musician run PLAN.md\n")
    again = started("run", "PLAN.md")
    said = read_until(again.stdout, "step 1 started")
    assert "task-01  exited           found so; last played by musician-task-01" in said
    assert "musician-task-01-S2 claimed it, after musician-task-01" in said
    again.send_signal(signal.SIGINT)
    again.communicate(timeout=STOP_LIMIT_S)
    assert again.returncode == 130


@pytest.mark.deep
def test_a_reader_that_goes_away_does_not_stop_the_run(with_plan: Call, started: Call, call: Call) -> None:
    """The run goes on silently, to its own exit code."""
    with_plan(QUICK)
    running = started("run", "PLAN.md")
    running.stdout.readline()
    running.stdout.close()
    assert running.wait(HANG_S) == 0
    assert running.stderr.read() == ""
    assert {each["state"] for each in call("status", "--json").json["tasks"]} == {"complete"}


@pytest.mark.deep
def test_an_output_that_is_full_does_not_stop_the_run(with_plan: Call, shell: Call, call: Call) -> None:
    with_plan(QUICK)
    done = shell("$MUSICIAN run PLAN.md > /dev/full")
    assert (done.code, done.err) == (0, "")
    assert {each["state"] for each in call("status", "--json").json["tasks"]} == {"complete"}


@pytest.mark.deep
def test_a_reader_that_does_not_read_neither_stops_the_run_nor_its_interruption(
    with_plan: Call, started: Call, call: Call
) -> None:
    """Ctrl-C in a run whose pager stands still."""
    with_plan(plan(task("task-01", "touch made-task-01"), task("task-02", "sleep 600")))
    reading, writing = full_pipe()
    running = started("run", "PLAN.md", stdout=writing)
    os.close(writing)
    until_state(call, "task-01", "complete")
    running.send_signal(signal.SIGTERM)
    assert running.wait(STOP_LIMIT_S) == 130
    assert running.stderr.read() == ""
    os.close(reading)


def full_pipe() -> tuple[int, int]:
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(writing, False)
    try:
        while True:
            os.write(writing, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(writing, True)
    return reading, writing


def until_state(call: Call, task_id: str, state: str) -> None:
    import time

    end_s = time.monotonic() + HANG_S
    while call("status", task_id, "--json", expect=None).out.find(f'"state": "{state}"') < 0:
        assert time.monotonic() < end_s
        time.sleep(0.1)


def test_a_second_run_is_refused_in_one_line(with_plan: Call, started: Call, program: Call) -> None:
    """D13."""
    with_plan(LONG)
    running = started("run", "PLAN.md")
    read_until(running.stdout, "step 1 started")
    second = program("run", "PLAN.md")
    assert second.code == 4
    assert second.out == ""
    assert second.err.startswith("musician: a conductor is already running (session conductor-")
    assert second.err.count("\n") == 1


def test_a_run_before_init_says_what_to_do(repository: Path, program: Call) -> None:
    done = program("run", "PLAN.md")
    assert (done.code, done.out) == (2, "")
    assert done.err.endswith("run `musician init` here\n")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("jobs", ["-1", "65", "many"])
def test_jobs_are_bounded(with_plan: Call, program: Call, jobs: str) -> None:
    with_plan(QUICK)
    done = program("run", "PLAN.md", "--jobs", jobs)
    assert done.code == 2
    assert "--jobs" in done.err


@pytest.mark.deep
def test_a_run_that_a_client_s_session_has_started_is_no_part_of_it(
    with_plan: Callable[[str], Path], program: Call
) -> None:
    """CONDUCTOR-SESSION-ENV: neither it nor an agent can be taken for that session; the user's own settings stay."""
    folder = with_plan(plan(task("task-01", "env > seen; touch made-task-01")))
    given = {
        "CLAUDECODE": "1",
        "CLAUDE_CODE_SESSION_ID": "of-the-conductor",
        "MUSICIAN_SESSION": "of-the-conductor",
        "MUSICIAN_HOST": "1",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
        "GIT_CONFIG_COUNT": "0",
    }
    program("run", "PLAN.md", env={**os.environ, **given})
    seen = dict(line.split("=", 1) for line in git(folder, "show", "HEAD:seen").splitlines() if "=" in line)
    assert seen.keys() & {"CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "MUSICIAN_HOST"} == set()
    assert seen["MUSICIAN_SESSION"] != "of-the-conductor"
    assert (seen["ANTHROPIC_BASE_URL"], seen["GIT_CONFIG_COUNT"]) == ("http://127.0.0.1:9", "0")
