"""Messages: sending, the inbox, waiting (D12, B14, B18)."""

import contextlib
import os
import shlex
import sqlite3
import subprocess
import sys
from pathlib import Path

import apsw
import psutil
import pytest

from musician.testing.waiting import HANG_S
from tests.surroundings import Call

BODIES = [
    "it's done",
    "'); UPDATE orchestration_tasks SET state='complete' WHERE ('1'='1",
    "$(touch PWNED) `touch PWNED`",
    "-- trailing comment",
    "ends with a backslash \\",
    "%s %d {0} {task_id} :name ?1 @p",
    "two\nlines\n\n  and  spaces \t",
    "Grüße ☂ \U0001f3bb",
]
"""B18."""


def test_bodies_round_trip_byte_for_byte(ready: Path, call: Call) -> None:
    """B18."""
    for body in BODIES:
        call("send", "task-01", "--", body)
    stored = [message["message"] for message in call("messages", "task-01", "--json").json["messages"]]
    assert stored[1:] == BODIES
    states = {task["state"] for task in call("status", "--json").json["tasks"]}
    assert states == {"watching"}
    assert not (ready / "PWNED").exists()


def test_a_body_from_standard_input_is_stored_as_it_is(ready: Path, program: Call, call: Call) -> None:
    body = "line\n\nend \\\n'"
    assert program("send", "task-01", "-", input=body.encode()).code == 0
    assert call("messages", "task-01", "--json").json["messages"][-1]["message"] == body


@pytest.mark.parametrize("data", [b"\xff\xfe", b"", b" \n", b"x" * 1_000_001])
def test_what_is_no_message_is_refused(ready: Path, program: Call, call: Call, data: bytes) -> None:
    assert program("send", "task-01", "-", input=data).code == 2
    assert len(call("messages", "task-01", "--json").json["messages"]) == 1


def test_an_argument_that_is_no_text_is_refused(ready: Path, shell: Call) -> None:
    done = shell("$MUSICIAN send task-01 $'\\xff'", LC_ALL="C.UTF-8")
    assert done.code == 2
    assert done.err.count("\n") == 1


@pytest.mark.deep
def test_thirty_parallel_sends_all_land(ready: Path, command: tuple[str, ...], call: Call) -> None:
    """B14, with a writer who holds the lock meanwhile and knows nothing of any queue."""
    holder = sqlite3.connect(ready / ".musician" / "comms.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    senders = [
        subprocess.Popen([*command, "send", "task-01", f"text {n}"], stdout=subprocess.DEVNULL)
        for n in range(30)
    ]
    holder.execute("ROLLBACK")
    holder.close()
    assert [sender.wait(HANG_S) for sender in senders] == [0] * 30
    found = [message["message"] for message in call("messages", "task-01", "--json").json["messages"]]
    assert sorted(found[1:]) == sorted(f"text {n}" for n in range(30))


def test_what_a_message_could_do_to_a_terminal_it_does_not(ready: Path, call: Call) -> None:
    """Control characters are for JSON; a page or a screen shows none."""
    call("send", "task-01", "red \x1b[31m alert\x07")
    assert not {"\x1b", "\x07"} & set(call("messages", "task-01").out)
    assert "\x1b[31m" in call("messages", "task-01", "--json").json["messages"][-1]["message"]


def test_a_cut_list_of_messages_says_so(ready: Path, call: Call) -> None:
    for number in range(3):
        said = call("send", "task-01", f"text {number}").out
        assert "nobody plays it now: its next session reads it" in said
    cut = call("messages", "task-01", "--most", "2", "--json").json
    assert cut["truncated"]
    assert [message["message"] for message in cut["messages"]] == ["text 1", "text 2"]
    assert "older messages are left out" in call("messages", "task-01", "--most", "2").out
    assert not call("messages", "task-01", "--most", "4", "--json").json["truncated"]


def test_the_inbox_delivers_and_acknowledges_apart(claimed: Path, call: Call) -> None:
    """D12."""
    call("send", "task-01", "first")
    call("send", "task-01", "second", "--urgent")
    for _ in range(2):
        found = call("inbox", "task-01", "--json").json["messages"]
        assert [(message["message"], message["message_type"]) for message in found] == [
            ("first", "note"),
            ("second", "emergency"),
        ]
    assert "first" in call("inbox", "task-01", "--ack").out
    assert call("inbox", "task-01").out == "nothing new\n"


def test_what_could_not_be_printed_is_not_acknowledged(claimed: Path, shell: Call, call: Call) -> None:
    call("send", "task-01", "precious")
    assert shell("$MUSICIAN inbox task-01 --ack > /dev/full").code == 1
    assert "precious" in call("inbox", "task-01").out


def test_a_foreign_session_gets_no_inbox(claimed: Path, call: Call) -> None:
    call("send", "task-01", "for s1")
    assert call("inbox", "task-01", "--session", "s2", expect=4).out == ""


def test_wait_returns_at_once_when_something_is_unread(claimed: Path, call: Call) -> None:
    call("send", "task-01", "here")
    assert call("wait", "task-01", "--json").json == {
        "task_id": "task-01",
        "changed": True,
        "state": "working",
        "unread": 1,
        "plan_pause": None,
    }


def test_wait_gives_up_with_exit_code_1(claimed: Path, call: Call) -> None:
    assert not call("wait", "task-01", "--timeout", "0.05", "--json", expect=1).json["changed"]


@pytest.mark.parametrize("by", ["service", "raw sql"])
def test_wait_is_woken_by_the_message_itself(
    claimed: Path, command: tuple[str, ...], bells: Path, call: Call, by: str
) -> None:
    """D11.1, D11.9: long before the slow look, whether its writer rings or not."""
    (claimed / ".musician" / "config.toml").write_text(
        "[heartbeat]\nrefresh_after_s = 100\n[waiting]\npause_poll_s = 400\n"
    )
    waiting = subprocess.Popen([*command, "wait", "task-01", "--json"], stdout=subprocess.PIPE, text=True)
    while not any(bells.glob("*/*/*")):
        assert waiting.poll() is None
        os.sched_yield()
    if by == "service":
        call("stop", "task-01")
    else:
        # Whatever `wait` has looked at when this comes: the message is unread.
        with contextlib.closing(apsw.Connection(str(claimed / ".musician" / "comms.db"))) as raw, raw:
            raw.execute(
                "INSERT INTO orchestration_messages (task_id, from_session, message_type, message)"
                " VALUES ('task-01', 'task-00', 'exit_request', 'by hand')"
            )
            raw.execute("UPDATE orchestration_tasks SET state = 'exit_requested' WHERE task_id = 'task-01'")
    out, _ = waiting.communicate(timeout=HANG_S)
    assert waiting.returncode == 0
    assert '"state": "exit_requested"' in out


def test_wait_without_a_place_for_its_bell_looks_by_itself(
    claimed: Path, command: tuple[str, ...], call: Call
) -> None:
    """A folder that others can write is not used."""
    nowhere = {"XDG_RUNTIME_DIR": "/proc", "TMPDIR": "/proc"}
    done = subprocess.run(
        [*command, "wait", "task-01", "--timeout", "0.05"], env={**os.environ, **nowhere}, check=False
    )
    assert done.returncode == 1


def test_wait_ends_with_whoever_called_it(claimed: Path, shell: Call, bells: Path) -> None:
    """AUDIT-P17: an orphan keeps no dead session's heartbeat alive."""
    (claimed / ".musician" / "config.toml").write_text("[waiting]\npause_poll_s = 0.1\n", encoding="utf-8")
    waits = f"until compgen -G '{bells}/*/*/*' > hung; do :; done"
    orphan = int(shell(f"$MUSICIAN wait task-01 > wait.out 2>&1 & {waits}; echo $!").out)
    with contextlib.suppress(psutil.NoSuchProcess):
        psutil.Process(orphan).wait(HANG_S)
    assert not psutil.pid_exists(orphan)


def test_wait_ends_when_the_claim_is_a_successor_s(claimed: Path, call: Call) -> None:
    assert "claim" in call("wait", "task-01", "--epoch", "7", expect=4).err


def test_stop_and_handoff_request_the_exit(claimed: Path, call: Call) -> None:
    call("stop", "task-01", "enough")
    types = [message["message_type"] for message in call("inbox", "task-01", "--json").json["messages"]]
    assert types == ["emergency", "exit_request"]
    assert call("status", "task-01", "--json").json["state"] == "exit_requested"


def test_a_stopped_task_waits_for_a_person_and_goes_on_when_told(claimed: Path, call: Call) -> None:
    call("stop", "task-01", "enough")
    [ask] = call("status", "--json").json["needs_human"]
    assert (ask["task_id"], ask["kind"], ask["text"]) == ("task-01", "stopped", "enough")
    call("send", "task-01", "go on")
    assert call("status", "--json").json["needs_human"] == []


def test_a_person_may_grant_more_retries_with_an_answer(claimed: Path, call: Call) -> None:
    call("send", "task-01", "try the other parser", "--retries", "3")
    assert "Retry:      0/8" in call("validate", "task-01", expect=1).out


def test_handoff_opens_a_task_whose_session_has_exited_for_the_next_one(claimed: Path, call: Call) -> None:
    call("exit", "task-01", "--reason", "context")
    opened = call("handoff", "task-01", "Mind the tests.", "--json").json
    assert opened["state"] == "fix_proposed"
    assert "Mind the tests." in call("messages", "task-01").out
    call("claim", "task-01", "--session", "s2")
    assert call("status", "task-01", "--json").json["session_id"] == "s2"


def test_handoff_is_no_emergency(claimed: Path, call: Call) -> None:
    call("handoff", "task-01")
    assert call("status", "--json").json["needs_human"] == []
    found = call("inbox", "task-01", "--json").json["messages"]
    assert [message["message_type"] for message in found] == ["exit_request"]


def test_what_is_granted_is_said_in_the_message_and_can_be_taken_back(claimed: Path, call: Call) -> None:
    """D21.1: the conductor grants an act in a message."""
    assert call("send", "task-01", "Push it.", "--grant", "push", "--json").json["granted"] == ["push"]
    call("send", "task-01", "No more.", "--revoke", "push")
    told = [message["message"] for message in call("inbox", "task-01", "--json").json["messages"]]
    assert told[-2:] == ["Push it.\n\nGranted: push", "No more.\n\nNo longer granted: push"]
    call("send", "task-01", "x", "--grant", "conduct", expect=2)


def test_what_could_not_be_printed_is_neither_delivered_nor_acknowledged(claimed: Path, call: Call) -> None:
    """AUDIT-P18: standard output closed, or a full disk behind it."""
    call("send", "task-01", "read this")
    for target in (">&-", "> /dev/full"):
        command = f"{shlex.quote(sys.executable)} -P -m musician inbox task-01 --ack {target}"
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
        assert done.returncode != 0, target
    found = call("inbox", "task-01", "--json").json
    assert [each["message"] for each in found["messages"]] == ["read this"]
