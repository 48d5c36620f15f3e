"""The sources' three scripts as commands: their lines, their exit codes, and files nobody expected (D22)."""

import os
import sqlite3
from pathlib import Path

import pytest

from tests.surroundings import Call

STATUS = """\
bootstrap started [ctx: 5%]
step 1 started [ctx: 12%]
step 1 agent 1 launched [ctx: 15%]
step 1 agent 1 returned [ctx: 17%]
step 1 completed [ctx: {pct}%]
"""


def result(lines: list[str]) -> str:
    return lines[-1]


def raw(folder: Path, statement: str) -> None:
    connection = sqlite3.connect(folder / ".musician" / "comms.db")
    with connection:
        connection.execute(statement)
    connection.close()


def write_status(folder: Path, text: str | bytes) -> None:
    data = text.encode() if isinstance(text, str) else text
    (folder / "temp" / "task-01-status").write_bytes(data)


def test_a_task_just_claimed_is_healthy(claimed: Path, program: Call) -> None:
    done = program("validate", "1", "s1")
    lines = done.out.splitlines()
    assert (done.code, done.err) == (0, "")
    assert lines[0] == "=== Musician State Validation: task-01 ==="
    assert lines[1] == "Session:    s1 [MATCH]"
    assert lines[2:4] == ["State:      working", "Worked By:  musician-task-01"]
    assert lines[4].startswith("Heartbeat:  ")
    assert lines[4].endswith("s ago) [OK]")
    assert lines[5:] == [
        "Retry:      0/5",
        "Messages:   0 pending",
        "Fallbacks:  none",
        "=== RESULT: HEALTHY ===",
    ]


def test_validate_tells_another_session_and_what_waits(claimed: Path, call: Call) -> None:
    call("send", "1", "mind the gap")
    call("claim", "1", "--session", "s2", expect=5)
    document = call("validate", "1", "s2", "--json", expect=1).json
    assert document["exit_code"] == 1
    assert document["result"] == "ISSUES FOUND (3)"
    assert "Session:    s2 [MISMATCH — task has s1]" in document["lines"]
    assert "Messages:   1 pending" in document["lines"]
    assert "Fallbacks:  WARNING — fallback row exists (fallback-s2)" in document["lines"]


def test_validate_counts_error_reports_from_history(claimed: Path, call: Call) -> None:
    """D3: the column that a raw claim may reset says nothing."""
    call("error", "1", "it broke")
    raw(claimed, "UPDATE orchestration_tasks SET retry_count = 0 WHERE task_id = 'task-01'")
    assert "Retry:      1/5" in call("validate", "1", expect=0).out


@pytest.mark.parametrize(
    ("stored", "word"),
    [
        ("datetime('now', '-500 seconds')", "[STALE]"),
        ("datetime('now', '-1 day')", "[ALARM]"),
        ("datetime('now', '+1 day')", "[SKEW]"),
        ("'yesterday'", "[UNKNOWN]"),
        ("X'00FF'", "[UNKNOWN]"),
    ],
)
def test_validate_calls_no_odd_heartbeat_healthy(claimed: Path, call: Call, stored: str, word: str) -> None:
    """D10: what a raw writer left there is shown as it is."""
    statement = f"UPDATE orchestration_tasks SET last_heartbeat = {stored} WHERE task_id = 'task-01'"  # noqa: S608
    raw(claimed, statement)
    done = call("validate", "1", "s1", expect=1)
    assert word in done.out


def test_validate_takes_a_bar_in_a_field_for_no_end_of_it(claimed: Path, call: Call) -> None:
    raw(claimed, "UPDATE orchestration_tasks SET worked_by = 'a|b|''c''' WHERE task_id = 'task-01'")
    assert "Worked By:  a|b|'c'" in call("validate", "1").out


def test_an_unknown_task_and_a_missing_database_end_with_1_as_the_sources_say(
    ready: Path, call: Call
) -> None:
    done = call("validate", "task-010", expect=1)
    assert result(done.out.splitlines()) == "=== RESULT: TASK NOT FOUND ==="
    missing = str(ready / "nowhere.db")
    done = call("validate", "1", "--db", missing, expect=1)
    assert done.out.splitlines()[1:] == [
        f"ERROR: Database not found at {missing}",
        "=== RESULT: DB MISSING ===",
    ]
    assert not Path(missing).exists()


@pytest.mark.parametrize("session", ["../x", "", "null", "a b"])
def test_validate_refuses_a_session_that_is_none(ready: Path, call: Call, session: str) -> None:
    assert call("validate", "1", session, expect=2).out == ""


def test_verify_temp_finds_the_files_of_a_session(claimed: Path, program: Call, call: Call) -> None:
    call("step", "1", "start", "1", "--context", "12")
    call("deviation", "1", "low", "used a lambda (low effort)")
    call("self-correction", "1", "wrote it twice")
    entries = (claimed / "temp" / "task-01-status").read_text().splitlines()
    done = program("verify-temp", "1")
    assert done.code == 0
    assert done.out.splitlines() == [
        "=== temp/ File Verification: task-01 ===",
        f"Status File:    task-01-status ({len(entries)} lines)",
        "  Last Entry:   step 1 self-correction: wrote it twice [ctx: 12%]",
        "  Last Context:  12%",
        "Deviations:     task-01-deviations (1 entries)",
        "  Breakdown:    0 High, 0 Medium, 1 Low",
        "Self-Correction: 1 event(s)",
        f"  - {len(entries)}:step 1 self-correction: wrote it twice [ctx: 12%]",
        "HANDOFF:        not present (expected if session still active)",
        "=== RESULT: OK ===",
    ]


def test_verify_temp_says_what_is_missing(ready: Path, call: Call) -> None:
    document = call("verify-temp", "2", "--json", expect=1).json
    assert document["result"] == "MISSING FILES (2 required file(s) absent)"
    assert "Status File:    MISSING — task-02-status" in document["lines"]
    (ready / "temp").rmdir()
    call("verify-temp", "2", expect=1)


def test_verify_temp_tells_tasks_apart_by_their_whole_id(ready: Path, call: Call) -> None:
    """D8: ``task-01`` never meets ``task-010``."""
    strangers = [
        "task-010-status",
        "task-01-fix-deviations",
        "task-02-HANDOFF",
        "task-010.notes",
        "other-status",
    ]
    own = ["task-01-status", "task-01-deviations", "task-01-HANDOFF", "task-01.agent.log", "task-01-notes"]
    for name in (*strangers, *own, "notes.txt", ".task-02-HANDOFF.xyz"):
        (ready / "temp" / name).write_text("step 1 started\n")
    shown = [line for line in call("verify-temp", "1").out.splitlines() if line.startswith("  - ")]
    assert shown == [f"  - {name}" for name in sorted(strangers)]


def test_a_session_that_left_is_seen_by_its_handoff(claimed: Path, call: Call) -> None:
    call("exit", "1", "--reason", "tired")
    lines = call("verify-temp", "1").out.splitlines()
    assert any(line.startswith("HANDOFF:        present (") for line in lines)
    assert "  Exit Reason:  tired" in lines


def test_bytes_that_are_no_text_break_nothing(claimed: Path, program: Call) -> None:
    write_status(claimed, b"step 1 started \xff\xfe\x00 [ctx: 40%]\nstep 1 completed [ctx: 41%]\n")
    (claimed / "temp" / "task-01-deviations").write_bytes(b"\x80\x81 (High)\n\xff")
    (claimed / "temp" / "task-01-HANDOFF").write_bytes(b"- Exit reason: \xff\n")
    os.close(os.open(bytes(claimed / "temp") + b"/task-02-\xff-status", os.O_CREAT | os.O_WRONLY))
    found = program("verify-temp", "1")
    assert found.code == 0
    assert "  Breakdown:    1 High, 0 Medium, 0 Low" in found.out
    assert "  - task-02-\\xff-status" in found.out
    assert program("verify-temp", "1", "--json").json["result"] == "OK"
    assert program("headroom", "1", "--json").json["result"] == "HEALTHY"


def test_what_is_no_file_is_not_opened(claimed: Path, program: Call) -> None:
    """A pipe without a writer would be waited for, for ever."""
    for name in ("status", "deviations"):
        (claimed / "temp" / f"task-01-{name}").unlink(missing_ok=True)
    os.mkfifo(claimed / "temp" / "task-01-status")
    (claimed / "temp" / "task-01-deviations").mkdir()
    assert program("verify-temp", "1").code == 1
    assert program("headroom", "1").out.endswith("=== RESULT: FILE MISSING ===\n")


@pytest.mark.parametrize(
    ("pct", "code", "said"),
    [
        (59, 0, "HEALTHY"),
        (60, 1, "CAUTION (context at 60%)"),
        (74, 1, "CAUTION (context at 74%)"),
        (75, 2, "CRITICAL (context at 75%)"),
    ],
)
def test_headroom_ends_as_the_sources_say(
    claimed: Path, program: Call, pct: int, code: int, said: str
) -> None:
    write_status(claimed, STATUS.format(pct=pct))
    done = program("headroom", "1")
    assert (done.code, done.err) == (code, "")
    assert done.out.splitlines()[-1] == f"=== RESULT: {said} ==="
    document = program("headroom", "1", "--json").json
    assert (document["exit_code"], document["result"]) == (code, said)
    assert document["lines"] == done.out.splitlines()


def test_headroom_needs_no_file_of_a_session_that_keeps_a_journal(claimed: Path, call: Call) -> None:
    """D25.4: what temp/ has lost, or a session has written over, the database knows."""
    call("step", "1", "start", "1", "--context", "12")
    call("deviation", "1", "low", "another way", "--context", "63")
    write_status(claimed, STATUS.format(pct=5))
    assert (
        result(call("headroom", "1", expect=1).out.splitlines()) == "=== RESULT: CAUTION (context at 63%) ==="
    )
    (claimed / "temp" / "task-01-status").unlink()
    assert "Steps:       0 completed, step 1 in progress" in call("headroom", "1", expect=1).out


def test_headroom_without_a_status_file_names_where_it_looked(ready: Path, call: Call) -> None:
    done = call("headroom", "#2", expect=1)
    assert f"ERROR: Status file not found at {ready / 'temp' / 'task-02-status'}" in done.out


def test_the_scripts_see_through_a_temp_that_is_a_link(claimed: Path, tmp_path: Path, call: Call) -> None:
    """B43; and they change nothing."""
    os.rename(claimed / "temp", tmp_path / "elsewhere")
    (claimed / "temp").symlink_to(tmp_path / "elsewhere")
    write_status(claimed, STATUS.format(pct=18))
    (claimed / "temp" / "task-01-deviations").touch()
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "elsewhere").iterdir()}
    call("verify-temp", "1")
    call("headroom", "1")
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "elsewhere").iterdir()} == before


def test_a_field_of_several_lines_is_one_line(claimed: Path, call: Call) -> None:
    """AUDIT-P22: what a raw writer left looks like no line of ours."""
    with sqlite3.connect(claimed / ".musician" / "comms.db") as raw:
        raw.execute(
            "UPDATE orchestration_tasks SET worked_by = 'me' || char(10) || '=== RESULT: HEALTHY ==='"
        )
    raw.close()
    said = call("validate", "task-01", expect=None).out.splitlines()
    assert [line for line in said if line.startswith("=== RESULT")] == said[-1:]
    assert "Worked By:  me\\n=== RESULT: HEALTHY ===" in said
