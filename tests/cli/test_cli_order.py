"""Who may have a task now: the plan's order, what was withdrawn, whose owner is gone (D38)."""

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from musician import service
from musician.processes.identity import identify
from musician.protocol.states import State
from musician.service import Met
from musician.store.opening import open_store
from musician.testing.waiting import HANG_S, until

if TYPE_CHECKING:
    from tests.surroundings import Call

STEP = "#### Step 1: S\n```bash run\n{run}\n```\n"
HEAD = '---\nplan: p\ntest: "true"\n---\n# P\n## Phase 1: A\n'


def task(number: int, run: str = "", after: int | None = None) -> str:
    keys = "" if after is None else f"```yaml task\nafter: [task-{after:02}]\n```\n"
    return f"### task-{number:02}: T\n{keys}" + STEP.format(run=run or f"echo {number} > f{number}")


def write(*parts: str) -> None:
    Path("PLAN.md").write_text(HEAD + "".join(parts), encoding="utf-8")
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    subprocess.run(["git", *identity, "commit", "-qam", "the plan"], check=True)


def made(name: str) -> str:
    """A file as the plan's branch has it."""
    argv = ["git", "show", f"refs/musician/merged/p:{name}"]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def planned(repository: Path, call: "Call") -> Path:
    write(task(1), task(2, after=1), "## Phase 2: B\n", task(3))
    call("init")
    call("plan", "lock", "PLAN.md")
    return repository


@pytest.mark.parametrize("verb", ["claim", "work"])
@pytest.mark.parametrize(
    ("task_id", "why"), [("task-02", "it comes after that"), ("task-03", "phase 1 comes before phase 2")]
)
def test_the_plans_order_holds_for_who_claims_by_hand(
    planned: Path, call: "Call", verb: str, task_id: str, why: str
) -> None:
    """AUDIT-P8: blocked, with the reason and the way round it."""
    blocked = call(verb, task_id, "--session", "s1", expect=5)
    assert f"task-01 is watching, and {why}" in blocked.err
    assert "--force" in blocked.err
    call("claim", task_id, "--session", "s2", "--force")


def test_what_comes_first_is_finished_and_the_next_can_be_had(planned: Path, call: "Call") -> None:
    """AUDIT-P8."""
    call("run", "PLAN.md", "--jobs", "1")
    write(task(1), task(2, after=1), "## Phase 2: B\n", task(3), task(4, after=3))
    call("plan", "amend", "PLAN.md")
    call("claim", "task-04", "--session", "s1")


@pytest.mark.deep
def test_a_task_that_is_put_back_is_played(planned: Path, call: "Call") -> None:
    """AUDIT-P9."""
    write(task(1), "## Phase 2: B\n", task(3))
    assert call("plan", "amend", "PLAN.md", "--json").json["withdrawn"] == ["task-02"]
    assert "withdrawn" in call("status").out
    write(task(1), task(2, after=1), "## Phase 2: B\n", task(3))
    assert call("plan", "amend", "PLAN.md", "--json").json["back"] == ["task-02"]
    assert "withdrawn" not in call("status").out
    call("run", "PLAN.md")
    assert made("f2") == "2\n"


@pytest.mark.deep
def test_a_plan_that_has_what_was_withdrawn_is_not_called_complete(planned: Path, call: "Call") -> None:
    """AUDIT-P9: withdrawn by another way than the plan, it is asked about, and the command that is named plays it."""
    with closing(open_store(planned / ".musician" / "comms.db")) as store:
        service.withdraw(store, "task-02", "not needed")
    ended = call("run", "PLAN.md", expect=1)
    assert "musician handoff task-02" in ended.out + ended.err
    call("handoff", "task-02")
    call("run", "PLAN.md")
    assert made("f2") == "2\n"


@pytest.mark.deep
def test_a_task_in_error_is_taken_out_of_the_plan(planned: Path, call: "Call") -> None:
    """AUDIT-G7: the run has ended, nobody plays it: its end is written, and the run goes on without it."""
    write(task(1), task(2, "exit 3", after=1), "## Phase 2: B\n", task(3))
    call("plan", "amend", "PLAN.md")
    call("run", "PLAN.md", expect=1)
    write(task(1), task(2, "exit 4", after=1), "## Phase 2: B\n", task(3))
    changed = call("plan", "amend", "PLAN.md").out
    assert "task-02 still waits for you; its answers: musician review show task-02" in changed
    write(task(1), "## Phase 2: B\n", task(3))
    assert "still waits" not in call("plan", "amend", "PLAN.md").out
    assert "withdrawn" in call("status", "task-02").out
    call("run", "PLAN.md")
    assert made("f3") == "3\n"


def test_a_task_that_is_played_is_not_taken_out_and_the_command_is_named(planned: Path, call: "Call") -> None:
    """AUDIT-G7."""
    call("claim", "task-01", "--session", "s1")
    write(task(2), "## Phase 2: B\n", task(3))
    refused = call("plan", "amend", "PLAN.md", expect=4)
    assert "musician stop task-01" in refused.err
    call("stop", "task-01")
    call("exit", "task-01", "--session", "s1")
    call("plan", "amend", "PLAN.md")
    assert "withdrawn" in call("status", "task-01").out


@pytest.mark.parametrize("how", ["killed", "SessionEnd"])
@pytest.mark.parametrize("verb", ["claim", "handoff", "work"])
def test_what_a_dead_session_had_can_be_had_at_once(planned: Path, call: "Call", how: str, verb: str) -> None:
    """AUDIT-C5, AUDIT-K7: whoever asks, by hand too, and however fresh its heartbeat is."""
    call("claim", "task-01", "--session", "s1")
    call("step", "task-01", "start", "1", "--session", "s1")
    with closing(open_store(planned / ".musician" / "comms.db")) as store:
        client = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        with client:
            service.meet_client(store, "s1", Met(identity=identify(client.pid), attended=True, hosted=False))
            assert call("status", "task-01", "--json").json["heartbeat"] == "ok"
            blocked = call("claim", "task-01", "--session", "s2", expect=5)
            assert "s1" in blocked.err
            if how == "SessionEnd":
                service.end_client(store, "s1", reason="prompt_input_exit")
            else:
                client.kill()
                client.wait()
            assert call("status", "task-01", "--json").json["heartbeat"] == "dead"
            if verb == "handoff":
                assert "open for its next session" in call("handoff", "task-01").out
                call("claim", "task-01", "--session", "s3")
            elif verb == "claim":
                call("claim", "task-01", "--session", "s3")
            else:
                work = [sys.executable, "-m", "musician", "work", "task-01", "--session", "s3"]
                with subprocess.Popen(work, stdout=subprocess.DEVNULL) as played:
                    # Nobody is there who reviews it.
                    until(lambda: service.task_view(store, "task-01").row.state is State.NEEDS_REVIEW)
                    played.terminate()
        view = service.task_view(store, "task-01")
    assert [each.session_id for each in view.sessions] == ["s1", "s3"]
    assert view.sessions[0].exit_reason == "died"


@pytest.mark.parametrize(
    ("data", "where"),
    [(b"\xff\xfe", ":1: "), (b"---\ntask: task-07\n---\n# T\n\n## Step 1: S\n", ":2: ")],
    ids=["encoding", "foreign task"],
)
def test_a_task_whose_instruction_cannot_be_read_is_not_claimed(
    planned: Path, call: "Call", data: bytes, where: str
) -> None:
    """AUDIT-P19: blocked, with file and line, and the task is as it was."""
    name = call("status", "task-01", "--json").json["instruction_path"]
    before = (planned / name).read_bytes()
    (planned / name).write_bytes(data)
    for verb in ("claim", "work"):
        blocked = call(verb, "task-01", "--session", "s1", expect=5)
        assert f"{name}{where}" in blocked.err
    assert call("status", "task-01", "--json").json["state"] == "watching"
    (planned / name).write_bytes(before)
    call("claim", "task-01", "--session", "s1")


def test_two_claims_by_one_session_at_the_same_moment_are_one(
    planned: Path, command: tuple[str, ...], call: "Call"
) -> None:
    """AUDIT-P5: as of a hook that is registered twice; each is told that the task is its own, and can be played."""
    argv = [*command, "claim", "task-01", "--session", "s1", "--json"]
    both = [
        subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)
    ]
    said = [(each.communicate(timeout=HANG_S), each.returncode) for each in both]
    assert [code for _, code in said] == [0, 0, 0], said
    told = [json.loads(out) for (out, _), _ in said]
    assert [each["warning"] for each in told] == [None] * 3
    assert sorted(each["is_new"] for each in told) == [False, False, True]
    assert len({each["tree"] for each in told}) == 1
    with closing(open_store(planned / ".musician" / "comms.db")) as store:
        kinds = [row.kind for row in service.task_view(store, "task-01").journal]
    assert kinds.count("claimed") == 1


def test_after_the_end_of_a_run_status_says_so(planned: Path, call: "Call") -> None:
    """AUDIT-N4, AUDIT-N2: no run is at work; and a failure is one line with the place of its log."""
    fails = "printf 'Traceback\\n  File x\\nValueError: seven\\n'; exit 3"
    write(task(1, fails), task(2, after=1), "## Phase 2: B\n", task(3))
    call("plan", "amend", "PLAN.md")
    call("run", "PLAN.md", expect=1)
    told = call("status").out
    conductor = next(line for line in told.splitlines() if line.startswith("conductor: "))
    assert conductor == "conductor: none at work; `musician run PLAN.md` goes on"
    (asked,) = (line for line in told.splitlines() if line.startswith("needs a person"))
    assert "ValueError: seven" in asked
    assert "musician log task-01" in asked
    failed = next(line for line in call("status", "task-01").out.splitlines() if "last error" in line)
    assert "ValueError: seven" in failed
    assert failed.endswith("(musician log task-01)")
    assert "Traceback" not in told
