"""The three scripts: the sources' labels and exit codes, without the shell versions' faults (D22)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from musician.protocol.inspections import RowFacts, TempFacts, headroom, no_database, validate, verify_temp
from musician.protocol.settings import Heartbeat

STATUS = """bootstrap started [ctx: 5%]
task claimed, session: abc [ctx: 7%]
step 1 started [ctx: 12%]
step 1 agent 1 launched [ctx: 15%]
step 1 agent 1 returned [ctx: 17%]
step 1 completed [ctx: 18%]
step 2 started [ctx: 19%]
step 2 agent 1 launched [ctx: 20%]
"""


def row(**changes: object) -> RowFacts:
    values: dict[str, object] = {
        "task_id": "task-03",
        "state": "working",
        "session_id": "sess-a",
        "worked_by": "musician-task-03",
        "heartbeat": "2026-02-07 10:00:00",
        "age_s": 12.0,
        "errors": 0,
        "retry_limit": 5,
        "unread": 0,
        "has_fallback": False,
    }
    return RowFacts(**{**values, **changes})  # type: ignore[arg-type]


def temp(**changes: object) -> TempFacts:
    values: dict[str, object] = {
        "task_id": "task-03",
        "status": STATUS,
        "deviations": "",
        "handoff": None,
        "handoff_path": "temp/task-03-HANDOFF",
    }
    return TempFacts(**{**values, **changes})  # type: ignore[arg-type]


def test_a_healthy_task_is_healthy() -> None:
    found = validate(row(), task_id="task-03", session_id="sess-a", limits=Heartbeat())
    assert found.exit_code == 0
    assert found.lines == (
        "=== Musician State Validation: task-03 ===",
        "Session:    sess-a [MATCH]",
        "State:      working",
        "Worked By:  musician-task-03",
        "Heartbeat:  2026-02-07 10:00:00 (12s ago) [OK]",
        "Retry:      0/5",
        "Messages:   0 pending",
        "Fallbacks:  none",
        "=== RESULT: HEALTHY ===",
    )


def test_an_unknown_task_is_said_to_be_unknown() -> None:
    found = validate(None, task_id="task-9", session_id=None, limits=Heartbeat())
    assert found.exit_code == 1
    assert found.lines[1:] == ("ERROR: No task found with task_id=task-9", "=== RESULT: TASK NOT FOUND ===")


@pytest.mark.parametrize(
    ("age_s", "word", "issues"),
    [
        (0.0, "OK", 0),
        (-0.4, "OK", 0),
        (479.9, "OK", 0),
        (480.0, "STALE", 1),
        (539.9, "STALE", 1),
        (540.0, "ALARM", 1),
        (-30.0, "SKEW", 1),
        (None, "UNKNOWN", 1),
    ],
)
def test_a_heartbeat_is_what_its_age_says_and_never_ok_when_it_cannot_be(
    age_s: float | None, word: str, issues: int
) -> None:
    found = validate(row(age_s=age_s), task_id="task-03", session_id="sess-a", limits=Heartbeat())
    assert found.lines[4].endswith(f"[{word}]")
    assert found.exit_code == issues


@pytest.mark.parametrize(
    ("state", "exit_code"), [("working", 1), ("needs_review", 1), ("watching", 0), ("exited", 0)]
)
def test_a_heartbeat_never_set_matters_where_somebody_should_be_at_work(state: str, exit_code: int) -> None:
    found = validate(
        row(state=state, heartbeat=None, age_s=None),
        task_id="task-03",
        session_id="sess-a",
        limits=Heartbeat(),
    )
    assert "Heartbeat:  <never set>" in found.lines
    assert found.exit_code == exit_code


def test_every_issue_is_counted() -> None:
    found = validate(
        row(state="wurking", session_id=None, worked_by=None, age_s=600.0, unread=2, has_fallback=True),
        task_id="task-03",
        session_id="sess|b",
        limits=Heartbeat(),
    )
    assert found.exit_code == 1
    assert "Session:    sess|b [MISMATCH — task has ]" in found.lines
    assert "State:      WARNING — 'wurking' is not a recognized state" in found.lines
    assert "Worked By:  <unset>" in found.lines
    assert "Messages:   2 pending" in found.lines
    assert "Fallbacks:  WARNING — fallback row exists (fallback-sess|b)" in found.lines
    assert found.lines[-1] == "=== RESULT: ISSUES FOUND (5) ==="


def test_without_a_session_nothing_is_compared() -> None:
    found = validate(row(), task_id="task-03", session_id=None, limits=Heartbeat())
    assert "Session:    sess-a (no session_id provided to compare)" in found.lines
    assert "Fallbacks:  (skipped — no session_id)" in found.lines
    assert found.exit_code == 0


def test_whole_temp_files_are_ok() -> None:
    found = verify_temp(
        temp(deviations="step 2: parser swapped [Medium]\nstep 3: a low wall, high cost [Low]\n")
    )
    assert found.exit_code == 0
    assert found.lines == (
        "=== temp/ File Verification: task-03 ===",
        "Status File:    task-03-status (8 lines)",
        "  Last Entry:   step 2 agent 1 launched [ctx: 20%]",
        "  Last Context:  20%",
        "Deviations:     task-03-deviations (2 entries)",
        "  Breakdown:    0 High, 1 Medium, 1 Low",
        "Self-Correction: none",
        "HANDOFF:        not present (expected if session still active)",
        "=== RESULT: OK ===",
    )


def test_missing_files_are_named() -> None:
    found = verify_temp(temp(status=None, deviations=None, others=("task-04-status",)))
    assert found.exit_code == 1
    assert found.lines[1:] == (
        "Status File:    MISSING — task-03-status",
        "Deviations:     MISSING — task-03-deviations",
        "Other Tasks:    files for other task IDs found in temp/",
        "  - task-04-status",
        "HANDOFF:        not present (expected if session still active)",
        "=== RESULT: MISSING FILES (2 required file(s) absent) ===",
    )


def test_an_empty_status_file_is_an_issue() -> None:
    found = verify_temp(temp(status="\n"))
    assert "  WARNING: status file is empty" in found.lines
    assert "  Last Context:  (no [ctx: XX%] tag found)" in found.lines
    assert found.exit_code == 1


def test_self_corrections_are_events_not_words() -> None:
    status = (
        "step 1 started [ctx: 10%]\n"
        "step 2 self-correction: rewrote tokenizer [ctx: 34%]\n"
        "self-correction: true (step 3, agent 2)\n"
        "checkpoint 1 sent back: no self-correction was reported\n"
    )
    found = verify_temp(temp(status=status))
    assert "Self-Correction: 2 event(s)" in found.lines
    assert "  - 2:step 2 self-correction: rewrote tokenizer [ctx: 34%]" in found.lines


def test_a_handoff_is_looked_into() -> None:
    handoff = (
        "# HANDOFF: task-03\n- Exit reason: context | exhaustion\n## Pending Steps\n- Step 2 remaining\n"
    )
    found = verify_temp(temp(handoff=handoff))
    assert "HANDOFF:        present (temp/task-03-HANDOFF)" in found.lines
    assert "  Exit Reason:  context | exhaustion" in found.lines
    assert "  Pending refs: 2 lines mentioning pending/remaining" in found.lines
    assert not any("Exit Reason" in line for line in verify_temp(temp(handoff="nothing")).lines)


def test_a_missing_database_is_a_result_of_its_own() -> None:
    found = no_database("task-03", "/x/comms.db")
    assert found.lines[:2] == (
        "=== Musician State Validation: task-03 ===",
        "ERROR: Database not found at /x/comms.db",
    )
    assert (found.result, found.exit_code) == ("DB MISSING", 1)


def test_headroom_tells_trajectory_agents_and_steps() -> None:
    found = headroom(STATUS, task_id="task-03", path="temp/task-03-status")
    assert found.exit_code == 0
    assert found.lines == (
        "=== Context Headroom: task-03 ===",
        "Current:     20% (entry 8 of status file)",
        "Trajectory:  +2.1% per entry avg",
        "Headroom:    60% remaining to 80% ceiling",
        "Agents:      1 completed, 1 in-flight (~15.0% per agent avg)",
        "Est. Agents Left: ~4 agents fit in remaining budget",
        "Steps:       1 completed, step 2 in progress",
        "Self-Correction: NO",
        "=== RESULT: HEALTHY ===",
    )


@pytest.mark.parametrize(
    ("pct", "result", "exit_code"),
    [
        (59, "HEALTHY", 0),
        (60, "CAUTION (context at 60%)", 1),
        (74, "CAUTION (context at 74%)", 1),
        (75, "CRITICAL (context at 75%)", 2),
        (100, "CRITICAL (context at 100%)", 2),
    ],
)
def test_the_result_changes_exactly_at_60_and_75(pct: int, result: str, exit_code: int) -> None:
    found = headroom(f"step 1 started [ctx: {pct}%]\n", task_id="task-03", path="p")
    assert found.lines[-1] == f"=== RESULT: {result} ==="
    assert found.exit_code == exit_code
    assert "Trajectory:  (only 1 entry — insufficient data)" in found.lines


@pytest.mark.parametrize("reading", ["101", "130", "999", "-5"])
def test_a_reading_that_cannot_be_is_none_to_the_scripts_either(reading: str) -> None:
    """B28: what somebody wrote into the file by hand forces nothing."""
    status = f"step 1 started [ctx: 40%]\nstep 1 completed [ctx: {reading}%]\n"
    found = headroom(status, task_id="task-03", path="p")
    assert (found.result, found.exit_code) == ("HEALTHY", 0)
    assert "Current:     40% (entry 1 of status file)" in found.lines
    alone = headroom(f"step 1 started [ctx: {reading}%]\n", task_id="task-03", path="p")
    assert alone.result == "NO DATA"


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ("step 1 started\nstep 1 completed\n", "1 completed, none in progress"),
        ("step 1 started\nstep 1 completed\nstep 2 started\n", "1 completed, step 2 in progress"),
        # a session that ended in step 2, and its successor
        ("step 1 completed\nstep 2 started\nstep 2 started\n", "1 completed, step 2 in progress"),
        # a step that is played again after its revert
        ("step 1 started\nstep 1 completed\nstep 1 started\n", "0 completed, step 1 in progress"),
        ("step 1 completed\nstep 1 completed\n", "1 completed, none in progress"),
    ],
)
def test_headroom_counts_each_step_once_and_names_the_one_at_work(status: str, said: str) -> None:
    lines = headroom(f"claimed [ctx: 5%]\n{status}", task_id="t", path="p").lines
    assert f"Steps:       {said}" in lines


def test_a_self_correction_is_a_caution_below_60() -> None:
    found = headroom(
        "step 1 of 3 started [ctx: 10%]\nstep 1 self-correction: x [ctx: 12%]\n", task_id="t", path="p"
    )
    assert found.lines[-1] == "=== RESULT: CAUTION (self-correction detected) ==="
    assert "Steps:       0 of 3 completed, step 1 in progress" in found.lines
    assert found.exit_code == 1


def test_missing_and_empty_status_files_are_no_data() -> None:
    missing = headroom(None, task_id="t", path="temp/t-status")
    assert missing.lines[1:] == (
        "ERROR: Status file not found at temp/t-status",
        "=== RESULT: FILE MISSING ===",
    )
    empty = headroom("step 1 started\n", task_id="t", path="p")
    assert empty.lines[-1] == "=== RESULT: NO DATA ==="
    assert (missing.exit_code, empty.exit_code) == (1, 1)


def test_agents_without_a_growing_context_have_no_average() -> None:
    status = "step 1 agent 1 launched [ctx: 40%]\nstep 1 agent 1 returned [ctx: 30%]\n"
    found = headroom(status, task_id="t", path="p")
    assert "Agents:      1 completed, 0 in-flight (no avg yet)" in found.lines
    assert "Trajectory:  -10.0% per entry avg" in found.lines
    assert "Agents:      no agent entries found" in headroom("x [ctx: 1%]", task_id="t", path="p").lines


def test_a_subagent_that_failed_is_not_in_flight_and_its_retry_is() -> None:
    status = (
        "step 1 agent 1 launched [ctx: 10%]\n"
        "step 1 agent 1 FAILED: no (launched) colspan [ctx: 20%]\n"
        "step 1 agent 1 retry 1 launched (adjusted prompt: no colspan) [ctx: 20%]\n"
        "step 1 agent 1 launched itself [ctx: 20%]\n"
    )
    lines = headroom(status, task_id="t", path="p").lines
    assert "Agents:      0 completed, 1 in-flight (no avg yet)" in lines


@given(text=st.text(), deviations=st.text(), handoff=st.text())
def test_no_text_breaks_the_scripts(text: str, deviations: str, handoff: str) -> None:
    found = verify_temp(temp(status=text, deviations=deviations, handoff=handoff))
    assert found.lines[-1].startswith("=== RESULT: ")
    assert headroom(text, task_id="t", path="p").exit_code in (0, 1, 2)


@pytest.mark.parametrize("value", ["false", "NO", "none", "no (step 2)", "False [ctx: 34%]"])
def test_a_self_correction_that_was_none_counts_as_none(value: str) -> None:
    """AUDIT-P21: the sources' own form has a value, and it decides."""
    status = f"step 2 started [ctx: 30%]\nstep 2 self-correction: {value}\n"
    assert headroom(status, task_id="t", path="p").exit_code == 0
    assert "Self-Correction: NO" in headroom(status, task_id="t", path="p").lines


@pytest.mark.parametrize("value", ["true", "no longer parsed by hand", "none of the old parser is left"])
def test_a_self_correction_in_words_counts(value: str) -> None:
    """AUDIT-P21."""
    status = f"step 2 started [ctx: 30%]\nstep 2 self-correction: {value}\n"
    assert headroom(status, task_id="t", path="p").exit_code == 1


def test_a_deviation_is_counted_with_the_context_behind_it() -> None:
    """AUDIT-P22: as the sources write their entries."""
    entry = "step 2 deviation: switched parsing strategy (Medium) [ctx: 41%]\n"
    found = TempFacts(task_id="task-03", status="x\n", deviations=entry, handoff=None, handoff_path="h")
    assert any("0 High, 1 Medium, 0 Low" in line for line in verify_temp(found).lines)
