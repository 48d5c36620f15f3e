"""What the status file and a HANDOFF tell of a task's progress, whoever wrote them."""

import pytest

from musician.protocol.resumption.file_claims import FileClaims, claims_of_handoff, claims_of_status

ITEMS = ("step 1", "step 2 agent 1", "step 2 agent 2", "step 3", "checkpoint 1")


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([], FileClaims()),
        (["whatever somebody writes", ""], FileClaims()),
        (["step 1 started [ctx: 12%]"], FileClaims(current="step 1")),
        (["step 1 started", "step 1 completed [ctx: 18%]"], FileClaims(completed=frozenset({"step 1"}))),
        (
            ["step 2 agent 1 launched", "step 2 agent 1 returned", "step 3 started"],
            FileClaims(completed=frozenset({"step 2 agent 1"}), current="step 3"),
        ),
        (["step 1 found completed: by its commit"], FileClaims(completed=frozenset({"step 1"}))),
        (["step 1 completed", "step 1 undone: reverted"], FileClaims()),
        (["step 1 completed", "started over: x", "step 2 started"], FileClaims(current="step 2")),
        (["step 1 skipped: not needed"], FileClaims(completed=frozenset({"step 1"}))),
        (["checkpoint 1 approved"], FileClaims(approved=frozenset({"checkpoint 1"}), passed=True)),
        (["checkpoint 1 verification: All passing"], FileClaims(passed=True)),
        (["checkpoint 1 verification failed: 1 of 2"], FileClaims()),
        (["checkpoint 1 approved", "clean exit preparing"], FileClaims(approved=frozenset({"checkpoint 1"}))),
        (["task complete [ctx: 40%]"], FileClaims(is_complete=True)),
        (["task complete", "step 4 started"], FileClaims(current="step 4")),
    ],
)
def test_the_status_file_is_read_from_the_top(lines: list[str], told: FileClaims) -> None:
    assert claims_of_status(lines) == told


def test_a_handoff_of_the_program_s_is_read() -> None:
    text = """# HANDOFF: task-01

## Completed Steps
- step 1 ✅
- checkpoint 1 ✅

## Pending Steps
- step 3 (Polish it)
- checkpoint 2 (final)

## Tree
- Commit: 0123456789abcdef
- Unfinished work: none

## Deviations
- none
"""
    assert claims_of_handoff(text, ITEMS) == FileClaims(
        completed=frozenset({"step 1"}),
        approved=frozenset({"checkpoint 1"}),
        current="step 3",
        commit="0123456789abcdef",
        deviations=0,
    )


def test_the_sources_handoff_is_read_with_its_steps_in_part_and_its_steps_whole() -> None:
    text = """HANDOFF: task-03

## Completed Steps
- Step 1: Testing pattern extraction ✅
- Step 2: Quality assurance ✅
- Step 3: Documentation ✅ (partial — agents 1-2 done)
- a remark of no step

## Pending Steps
- Step 2 agent 2: Table of contents

## Deviations
- Checkpoint 2 review_failed (Medium) — 3 issues resolved
- Step 5 agent 3 skipped (Low)
"""
    told = claims_of_handoff(text, ITEMS)
    assert told.completed == {"step 1", "step 2", "step 2 agent 1"}
    assert (told.current, told.deviations, told.commit) == ("step 2 agent 2", 2, None)


def test_what_a_handoff_does_not_say_is_unknown() -> None:
    assert claims_of_handoff("# HANDOFF: task-01\n", ITEMS) == FileClaims()
