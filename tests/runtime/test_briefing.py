"""What a conversation begins with is bounded, whatever has happened before it."""

from musician.protocol.journal import EntryKind
from musician.protocol.musician.program import CheckpointItem, Play, Program
from musician.protocol.states import State
from musician.protocol.values import replace
from musician.runtime.briefing import MOST_ABOUT_CHARS, MOST_LEFT_BYTES, briefing_of
from musician.service import TaskView
from musician.store.rows import JournalRow, SessionRow, TaskRow, VerificationRow

AT = "2026-01-02 03:04:05"
STEPS = 300
MOST_OF_OURS_BYTES = 200


def _row() -> TaskRow:
    return TaskRow(
        task_id="task-01",
        state=State.WORKING,
        session_id="now",
        worked_by="musician-task-01-S2",
        started_at=AT,
        last_heartbeat=AT,
        heartbeat_age_s=0,
        completed_at=None,
        retry_count=0,
        last_error=None,
        report_path=None,
        instruction_path="docs/task-01.md",
        claim_epoch=2,
        title="Everything",
        plan_id="p",
        phase=1,
        position=0,
        retry_limit=5,
        created_at=AT,
    )


def _entry(number: int, kind: EntryKind, item: str, text: str, severity: str | None = None) -> JournalRow:
    return JournalRow(
        id=number,
        task_id="task-01",
        claim_epoch=1,
        session_id="before",
        kind=kind,
        item=item,
        text=text,
        severity=severity,
        context_pct=None,
        commit_id=None,
        at=AT,
        ruled_by=None,
    )


def _program(overview: str) -> Program:
    steps = [
        Play(item=f"step {number}", title="long " * 100, prose="", scripts=(), step=number)
        for number in range(1, STEPS + 1)
    ]
    check = CheckpointItem(
        item="checkpoint 1", number=1, of=1, title="all", commands=(), rework=(), final=True
    )
    return Program(task_id="task-01", title="Everything", items=(*steps, check), overview=overview)


def _view() -> TaskView:
    said = "a\udc80\x1b[31m line\n# of much " * 300
    journal = [
        entry
        for number in range(1, STEPS)
        for entry in (
            _entry(3 * number, EntryKind.COMPLETED, f"step {number}", said),
            _entry(3 * number + 1, EntryKind.DEVIATION, f"step {number}", said, "Medium"),
            _entry(3 * number + 2, EntryKind.SELF_CORRECTION, f"step {number}", said),
        )
    ]
    before = SessionRow(
        task_id="task-01",
        claim_epoch=1,
        session_id="before",
        number=1,
        agent="claude",
        started_at=AT,
        ended_at=AT,
        exit_reason=said,
        context_pct=66.0,
    )
    return TaskView(
        row=_row(),
        history=(),
        sessions=(before,),
        processes=(),
        journal=tuple(journal),
        submissions=(),
        verifications=(),
        asks=(),
        reports={},
        unread=0,
    )


def test_a_long_life_is_told_within_bounds_and_what_is_next_stands_in_it() -> None:
    handoff = f"# HANDOFF: task-01\n\n## Notes\n> {'mind ' * 2000}\n## Next Session Instructions\n1. go on\n"
    for is_gone_on_with in (True, False):
        told = briefing_of(
            _view(), _program("é" * 50_000), handoff, epoch=2, is_gone_on_with=is_gone_on_with, rules=""
        )
        about_bytes = 0 if is_gone_on_with else 2 * MOST_ABOUT_CHARS
        assert len(told.encode()) <= MOST_LEFT_BYTES + about_bytes + MOST_OF_OURS_BYTES
        assert f"- step {STEPS} (long long" in told
        assert "\x1b" not in told
        assert ("docs/task-01.md" in told) is not is_gone_on_with


def test_the_notes_of_a_handoff_are_told_whole_and_nothing_else_of_it() -> None:
    view = replace(_view(), journal=())
    handoff = "# HANDOFF: task-01\n\n## Session Info\n- x: y\n\n## Notes\n> mind the gap\n\n## Next\n1. go\n"
    program = _program("")
    short = Program(task_id="task-01", title="Everything", items=program.items[-1:])
    told = briefing_of(view, short, handoff, epoch=2, is_gone_on_with=False, rules="")
    assert "It left these notes:\n> mind the gap" in told
    assert "x: y" not in told


def test_a_verification_of_another_version_is_told_by_its_outcome() -> None:
    """Its details cannot be read; it must keep neither a successor nor a HANDOFF from being written."""
    torn = VerificationRow(
        id=1,
        task_id="task-01",
        claim_epoch=1,
        checkpoint=1,
        covers_all=False,
        outcome="red",
        tree_id="0" * 40,
        journal_id=0,
        result='{"of": "the next version"}',
        submission_id=None,
        at=AT,
    )
    view = replace(_view(), journal=(), verifications=(torn,))
    told = briefing_of(view, _program(""), None, epoch=2, is_gone_on_with=False, rules="")
    assert f"checkpoint 1: red ({AT})" in told
