"""A task taken up by hand that another session has worked on (sources "Mid-Session Resumption Protocol")."""

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from musician.testing import until

Call = Callable[..., Any]

HANG_S = 60.0

AT_THE_GATE = """\
import os
import unittest

class Greeting(unittest.TestCase):
    def test_it_is_there(self):
        if os.path.exists("{gate}"):
            with open("{gate}") as gate:
                gate.read()
        self.assertTrue(os.path.exists("greeter.py"))
"""
"""Stands at the gate, a FIFO, while there is one."""


def tree_of(folder: Path) -> Path:
    return folder / ".musician" / "trees" / "greeter" / "task-01"


def status_lines(folder: Path) -> list[str]:
    return (folder / "temp" / "task-01-status").read_text().splitlines()


def told(call: Call, message_type: str) -> list[str]:
    found = call("messages", "1", "--json").json["messages"]
    return [each["message"] for each in found if each["message_type"] == message_type]


def reached(gate: Path) -> int:
    """The gate's open end, once somebody stands at it."""
    ends: list[int] = []

    def stands() -> bool:
        with suppress(OSError):  # nobody reads yet
            ends.append(os.open(gate, os.O_WRONLY | os.O_NONBLOCK))
        return bool(ends)

    until(stands)
    return ends[0]


@pytest.fixture
def left(claimed: Path, call: Call) -> Path:
    """Session s1 has got checkpoint 1 approved, and has handed off in the middle of step 2."""
    call("step", "1", "start", "1")
    (tree_of(claimed) / "greeter.py").write_text("def greet(name): return name\n")
    call("step", "1", "done", "1", "--commit")
    call("checkpoint", "1")
    call("review", "approve", "1")
    call("inbox", "1", "--ack")
    call("step", "1", "start", "2")
    (tree_of(claimed) / "half.py").write_text("half = True\n")
    call("exit", "1", "--reason", "context exhaustion", "--context", "72")
    call("review", "fix", "1", "go on with step 2")
    return claimed


def test_a_clean_handoff_is_assessed_verified_anew_and_announced(left: Path, call: Call) -> None:
    """D20: git, the database and the HANDOFF agree, and still the tests are run again."""
    taken = call("claim", "1", "--session", "s2", "--context", "18", "--json").json
    found = taken["resumption"]
    assert (taken["worked_by"], taken["is_new"], taken["warning"]) == ("musician-task-01-S2", True, None)
    assert (taken["next_item"], taken["next_title"]) == ("step 2", "Polish it")
    assert taken["done"] == ["step 1", "checkpoint 1"]
    assert taken["pending"] == ["step 2 (Polish it)", "checkpoint 2 (final)"]
    assert taken["question"] is None
    assert found["handoff"] == "present (clean exit at 72% context)"
    assert found["assessment"] == "clean handoff"
    assert found["verification"].startswith("checkpoint 1: All passing")
    [message] = told(call, "resumption_status")
    assert found["message"] == message
    for line in (
        "RESUMPTION: musician-task-01-S2 taking over",
        "  Previous session: s1",
        "  Context Usage (fresh session): 18%",
        "  Pending conductor messages: 1",
        "  Resuming from: step 2 (Polish it)",
        "  Estimated remaining work: 1 piece and 1 checkpoint (~8% context)",
    ):
        assert line in message.split("\n")
    assert message.split("\n")[0] in status_lines(left)


def test_claiming_again_tells_the_same_and_does_nothing_twice(left: Path, call: Call) -> None:
    first = call("claim", "1", "--session", "s2", "--json").json
    (tree_of(left) / "greeter.py").write_text("def greet(name): return 'hello ' + name\n")
    again = call("claim", "1", "--session", "s2", "--json").json
    assert again == {**first, "is_new": False}
    assert len(told(call, "resumption_status")) == 1
    assert "hello" in (tree_of(left) / "greeter.py").read_text()
    assert status_lines(left).count("bootstrap started: task claimed, session: s2") == 1


@pytest.mark.parametrize(
    ("text", "handoff"),
    [
        (None, "missing"),
        ("# HANDOFF: task-01\n\n## Session Info\n- Session ID: s0\n- Exit reason: done\n", "stale"),
        ("# HANDOFF: task-01\n\n## Session Info\n- Session ID: s1\n- Exit", "torn"),
        ("# HANDOFF: task-02\n\n## Session Info\n- Session ID: s1\n- Exit reason: done\n", "foreign"),
    ],
)
def test_a_handoff_that_is_not_whole_is_told_and_is_no_clean_exit(
    left: Path, call: Call, text: str | None, handoff: str
) -> None:
    """D20, B29."""
    place = left / "temp" / "task-01-HANDOFF"
    place.unlink() if text is None else place.write_text(text)
    found = call("claim", "1", "--session", "s2", "--json").json["resumption"]
    assert found["handoff"] == handoff
    assert found["assessment"] == "needs verification (crash)"


def test_a_session_that_ended_over_80_per_cent_is_distrusted(claimed: Path, call: Call) -> None:
    call("exit", "1", "--context", "85")
    call("review", "fix", "1", "go on")
    found = call("claim", "1", "--session", "s2", "--json").json["resumption"]
    assert found["handoff"] == "present (dirty at 85% context)"
    assert found["assessment"] == "needs verification (dirty)"
    assert found["verification"] == "nothing approved yet to re-verify"


def test_what_is_red_now_is_the_conductor_s_to_answer_first(left: Path, call: Call) -> None:
    """D20: an approval and a HANDOFF count for nothing against the tests; nothing is begun before the answer."""
    git = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    subprocess.run([*git, "rm", "-q", "greeter.py"], cwd=tree_of(left), check=True)
    subprocess.run([*git, "commit", "-qm", "tidy up"], cwd=tree_of(left), check=True)
    taken = call("claim", "1", "--session", "s2", "--json").json
    assert taken["resumption"]["assessment"] == "needs guidance"
    assert "approved before, and red now: checkpoint 1: 1 of 1 failing" in taken["question"]
    assert told(call, "question") == [taken["question"]]
    assert "not answered" in call("step", "1", "start", "2", "--session", "s2", expect=4).err
    call("send", "1", "put it back first")
    call("step", "1", "start", "2", "--session", "s2")


@pytest.fixture
def gate(left: Path, call: Call) -> Path:
    """The approved test stands at a gate from now on."""
    place = left.parent / "gate"
    test = tree_of(left) / "test_greeter.py"
    test.write_text(AT_THE_GATE.format(gate=place))
    git = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    subprocess.run([*git, "commit", "-qam", "a test that waits"], cwd=tree_of(left), check=True)
    os.mkfifo(place)
    return place


def test_a_claim_that_is_killed_while_it_verifies_is_ended_by_the_next(
    left: Path, gate: Path, call: Call
) -> None:
    """The heartbeat is kept fresh meanwhile, and what was not done yet is done once."""
    (left / ".musician" / "config.toml").write_text("[heartbeat]\nrefresh_after_s = 0.2\n")
    call("plan", "amend", "PLAN.md")  # a plan keeps the settings of its lock until it is amended
    claim = [sys.executable, "-m", "musician", "claim", "1", "--session", "s2"]
    started = subprocess.Popen(claim, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(reached(gate), "w"):
        call("heartbeat", "1", "--session", "s2")
        before = call("status", "1", "--json").json["last_heartbeat"]
        until(lambda: call("status", "1", "--json").json["last_heartbeat"] != before)
        started.kill()
        started.wait()
        gate.unlink()
    assert told(call, "resumption_status") == []
    (tree_of(left) / "mine.py").write_text("mine = True\n")
    taken = call("claim", "1", "--session", "s2", "--json").json
    assert taken["is_new"] is False
    assert taken["resumption"]["verification"].startswith("checkpoint 1: All passing")
    assert len(told(call, "resumption_status")) == 1
    assert (tree_of(left) / "mine.py").exists(), "what a session has begun is not set aside under its hands"
    assert status_lines(left).count("bootstrap started: task claimed, session: s2") == 1


def test_correction_steps_come_first_by_hand_too_and_the_program_does_the_revert(
    claimed: Path, call: Call
) -> None:
    """D17.6: a person's answer to a submission."""
    call("step", "1", "start", "1")
    (tree_of(claimed) / "greeter.py").write_text("def greet(name): return name\n")
    call("step", "1", "done", "1", "--commit")
    call("checkpoint", "1")
    call("review", "fix", "1", "Not so.", "--correct", "revert step 1", "--correct", "write hello.py\nfirst")
    call("inbox", "1", "--ack")
    assert "correction" in call("step", "1", "start", "1", expect=4).err
    assert "comes before anything else" in call("checkpoint", "1", expect=4).err
    (tree_of(claimed) / "half.py").write_text("half = True\n")
    assert "unfinished work" in call("correction", "1", expect=None).err
    (tree_of(claimed) / "half.py").unlink()
    reverted = call("correction", "1", "--json").json
    assert len(reverted["commit_id"]) == 40
    assert not (tree_of(claimed) / "greeter.py").exists()
    (tree_of(claimed) / "hello.py").write_text("hello = True\n")
    assert call("claim", "1", "--json").json["next_title"] == "write hello.py"
    assert call("correction", "1", "--json").json["item"].endswith(".2")
    assert "no correction step waits" in call("correction", "1", expect=4).err
    assert call("claim", "1", "--json").json["next_item"] == "step 1"
    call("step", "1", "start", "1")
    kept = [line for line in status_lines(claimed) if line.startswith(("step 1", "correction"))]
    assert [line.split(" at ")[0].split(":")[0] for line in kept] == [
        "step 1 started",
        "step 1 completed",
        reverted["item"] + " ordered",
        reverted["item"].replace(".1", ".2") + " ordered",
        reverted["item"] + " completed",
        "step 1 undone",
        reverted["item"].replace(".1", ".2") + " completed",
        "step 1 started",
    ]


def test_corrections_that_were_never_heard_are_the_successor_s(left: Path, call: Call) -> None:
    """D17.6: the session that was to hear them has handed off, and they were acknowledged unread."""
    call("send", "1", "and this", "--correct", "revert step 1 and skip it")
    taken = call("claim", "1", "--session", "s2", "--json").json
    assert taken["next_title"] == "revert step 1 and skip it"
    call("correction", "1", "--session", "s2")
    again = call("claim", "1", "--session", "s2", "--json").json
    assert (again["next_item"], again["done"]) == ("checkpoint 1", ["step 1"])


def test_red_work_that_began_after_an_approval_is_work_in_progress(claimed: Path, call: Call) -> None:
    """AUDIT-V9, D27: the approved tree is verified as it was; nothing is asked."""
    call("step", "1", "start", "1")
    (tree_of(claimed) / "greeter.py").write_text("def greet(name): return name\n")
    call("step", "1", "done", "1", "--commit")
    call("checkpoint", "1")
    call("review", "approve", "1")
    call("step", "1", "start", "2")
    (tree_of(claimed) / "greeter.py").rename(tree_of(claimed) / "greeting.py")
    call("step", "1", "done", "2", "--commit")
    call("exit", "1")
    call("review", "fix", "1", "go on")
    taken = call("claim", "1", "--session", "s2", "--json").json
    assert taken["resumption"]["verification"] == "checkpoint 1: All passing (1 test)"
    assert taken["question"] in (None, "")
    assert taken["next_item"] == "checkpoint 2"


def test_before_the_first_approval_the_tests_of_what_is_finished_are_run_and_told(
    claimed: Path, call: Call
) -> None:
    """AUDIT-V10, D27."""
    call("step", "1", "start", "1")
    (tree_of(claimed) / "other.py").write_text("x = 1\n")
    call("step", "1", "done", "1", "--commit")
    call("exit", "1")
    call("review", "fix", "1", "go on")
    taken = call("claim", "1", "--session", "s2", "--json").json
    assert taken["resumption"]["verification"].startswith(
        "nothing approved yet; the tests of checkpoint 1: 1 of 1 failing"
    )
    assert taken["question"] in (None, ""), "it is told, and stops nobody"
