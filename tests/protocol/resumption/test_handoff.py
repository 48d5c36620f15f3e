"""HANDOFF documents: rendered whole, read leniently, never believed more than they can be checked (D20, B29)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from musician.protocol.resumption.handoff import Ending, Handoff, HandoffKind, assess_ending, classify, read

STALE = """# HANDOFF: task-03

## Session Info
- Session ID: sess-two-sessions-ago
- Exit reason: context exhaustion
- Context at exit: 72%
- Timestamp: 2025-01-02 03:04:05

## Pending Steps
- Step 2
"""
TORN = "# HANDOFF: task-03\n\n## Session Info\n- Session ID: sess-aaa\n- Exit rea"
WRONG_TASK = """# HANDOFF: task-30

## Session Info
- Session ID: sess-aaa
- Exit reason: conductor requested

## Pending Steps
- Step 9
"""


def handoff(**changes: object) -> Handoff:
    values: dict[str, object] = {
        "task_id": "task-03",
        "session_id": "sess-aaa",
        "worked_by": "musician-task-03",
        "epoch": 1,
        "reason": "context exhaustion",
        "context_pct": 72.0,
        "at": "2026-02-07 16:45:00",
        "written_by": "agent",
        "completed": ("step 1",),
        "pending": ("step 2 (Test)",),
        "tree": ("Commit: abc",),
        "deviations": (),
        "self_correction": "",
        "proposals": (),
        "verification": "",
        "instructions": ("Claim the task",),
    }
    return Handoff(**{**values, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (None, HandoffKind.MISSING),
        ("", HandoffKind.EMPTY),
        (" \n", HandoffKind.EMPTY),
        (STALE, HandoffKind.STALE),
        (TORN, HandoffKind.TORN),
        (WRONG_TASK, HandoffKind.FOREIGN),
        ("no handoff at all", HandoffKind.TORN),
        (handoff().render(), HandoffKind.WHOLE),
        (handoff(task_id="task-3").render(), HandoffKind.FOREIGN),
        (handoff(session_id="sess-bbb").render(), HandoffKind.STALE),
    ],
)
def test_each_found_text_is_named_for_what_it_is(text: str | None, kind: HandoffKind) -> None:
    assert classify(text, task_id="task-03", last_session_id="sess-aaa") is kind


@given(cut=st.integers(min_value=0, max_value=len(handoff().render()) - 1))
def test_no_part_of_a_handoff_is_taken_for_the_whole(cut: int) -> None:
    part = handoff().render()[:cut]
    assert classify(part, task_id="task-03", last_session_id="sess-aaa") is not HandoffKind.WHOLE


def test_what_is_rendered_is_read_again() -> None:
    found = read(
        handoff(
            reason="two\nlines", self_correction="step 2: rewrote", agent_notes="## Next\nmind x"
        ).render()
    )
    assert (found.task_id, found.session_id, found.written_by) == ("task-03", "sess-aaa", "agent")
    assert found.is_whole


def test_a_handoff_with_nothing_to_say_is_whole_too() -> None:
    bare = handoff(completed=(), pending=(), tree=(), instructions=(), context_pct=None)
    assert "## Pending Steps\n- none" in bare.render()
    assert "- Context at exit: unknown" in bare.render()
    assert classify(bare.render(), task_id="task-03", last_session_id="sess-aaa") is HandoffKind.WHOLE


def test_the_sources_example_without_a_hash_is_read() -> None:
    found = read("HANDOFF: task-03\n\n## Session Info\n- Session ID: abc123-def456-789\n")
    assert (found.task_id, found.session_id) == ("task-03", "abc123-def456-789")


@pytest.mark.parametrize(
    ("kind", "written_by", "reason", "context_pct", "ending"),
    [
        (HandoffKind.WHOLE, "agent", "context exhaustion", 80.0, Ending.CLEAN),
        (HandoffKind.WHOLE, "agent", "context exhaustion", 80.1, Ending.DIRTY),
        (HandoffKind.WHOLE, "agent", None, None, Ending.CLEAN),
        (HandoffKind.WHOLE, "program after a crash", "died", 10.0, Ending.CRASH),
        (HandoffKind.TORN, "agent", "conductor requested", 10.0, Ending.CRASH),
        (HandoffKind.MISSING, None, "died", None, Ending.CRASH),
        (HandoffKind.WHOLE, "agent", "retry exhaustion: step 2", 10.0, Ending.RETRY_EXHAUSTION),
    ],
)
def test_only_a_whole_handoff_of_the_session_itself_is_a_clean_exit(
    kind: HandoffKind, written_by: str | None, reason: str | None, context_pct: float | None, ending: Ending
) -> None:
    found = assess_ending(kind, written_by=written_by, exit_reason=reason, context_pct=context_pct)
    assert found is ending
