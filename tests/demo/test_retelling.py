"""Retelling a run: only what the views say, whatever went on."""

from pathlib import Path

import pytest

from musician.cli import demo
from musician.demo.retelling import Episode, retell
from musician.protocol.states import State
from musician.service import TaskView
from musician.store.rows import HistoryRow, SessionRow, SubmissionRow, TaskRow

AT = "2026-01-02 03:04:05"


def _row(task_id: str, state: State) -> TaskRow:
    return TaskRow(
        task_id=task_id,
        state=state,
        session_id=None,
        worked_by=None,
        started_at=None,
        last_heartbeat=None,
        heartbeat_age_s=None,
        completed_at=None,
        retry_count=0,
        last_error=None,
        report_path=None,
        instruction_path=None,
        claim_epoch=1,
        title=None,
        plan_id="p",
        phase=1,
        position=0,
        retry_limit=5,
        created_at=AT,
    )


def _change(number: int, task_id: str, state: State, epoch: int) -> HistoryRow:
    return HistoryRow(
        id=number,
        task_id=task_id,
        from_state=None,
        to_state=state,
        who="somebody",
        session_id=None,
        claim_epoch=epoch,
        message_id=None,
        message_type=None,
        submission_id=None,
        at=AT,
    )


def _session(task_id: str, epoch: int, number: int, reason: str | None) -> SessionRow:
    return SessionRow(
        task_id=task_id,
        claim_epoch=epoch,
        session_id=f"s{epoch}",
        number=number,
        agent="shell",
        started_at=AT,
        ended_at=AT,
        exit_reason=reason,
        context_pct=None,
    )


def _view(
    task_id: str,
    state: State,
    *,
    history: tuple[HistoryRow, ...] = (),
    sessions: tuple[SessionRow, ...] = (),
    submissions: tuple[SubmissionRow, ...] = (),
) -> TaskView:
    return TaskView(
        row=_row(task_id, state),
        history=history,
        sessions=sessions,
        processes=(),
        journal=(),
        submissions=submissions,
        verifications=(),
        asks=(),
        reports={},
        unread=0,
    )


def test_a_run_that_never_began_has_only_its_end_to_tell() -> None:
    (only,) = retell([_view("a", State.WATCHING)])
    assert only.title == "finished"
    assert only.text.startswith("0 of 1 task complete")


def test_sessions_that_only_touch_are_not_side_by_side() -> None:
    one = _view(
        "a",
        State.COMPLETE,
        history=(_change(1, "a", State.WORKING, 1), _change(2, "a", State.COMPLETE, 1)),
        sessions=(_session("a", 1, 1, "complete"),),
    )
    after = _view(
        "b",
        State.COMPLETE,
        history=(_change(3, "b", State.WORKING, 1), _change(4, "b", State.COMPLETE, 1)),
        sessions=(_session("b", 1, 1, "complete"),),
    )
    assert [episode.title for episode in retell([one, after])] == ["finished"]


def test_sessions_that_overlap_are_side_by_side_also_when_one_dies() -> None:
    dies = _view(
        "a",
        State.COMPLETE,
        history=(
            _change(1, "a", State.WORKING, 1),
            _change(3, "a", State.FIX_PROPOSED, 2),
            _change(4, "a", State.WORKING, 3),
            _change(5, "a", State.COMPLETE, 3),
        ),
        sessions=(_session("a", 1, 1, "died"), _session("a", 3, 2, "complete")),
    )
    other = _view(
        "b",
        State.COMPLETE,
        history=(_change(2, "b", State.WORKING, 1), _change(6, "b", State.COMPLETE, 1)),
        sessions=(_session("b", 1, 1, "complete"),),
    )
    together, killed, _ = retell([dies, other])
    assert together.text.startswith("a and b were played at the same time")
    assert killed.text.startswith("musician-a died. ")
    assert "musician-a-S2" in killed.text


def test_work_that_was_sent_back_and_never_approved_is_not_called_approved() -> None:
    rejected = SubmissionRow(
        id=1,
        message_id=1,
        message_type="completion",
        claim_epoch=1,
        at=AT,
        message="m",
        verdict=State.REVIEW_FAILED,
        verdict_text="1. no\n2. never",
    )
    view = _view(
        "a",
        State.NEEDS_REVIEW,
        history=(_change(1, "a", State.WORKING, 1),),
        sessions=(_session("a", 1, 1, None),),
        submissions=(rejected,),
    )
    sent_back, end = retell([view])
    assert "“1. no 2. never”" in sent_back.text
    assert "approved" not in sent_back.text
    assert end.text.startswith("0 of 1")


@pytest.mark.parametrize("columns", [50, 80, 110])
def test_the_story_is_laid_out_in_the_terminal_s_own_columns(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A terminal breaks a longer line in the middle of a word."""
    monkeypatch.setenv("COLUMNS", str(columns))
    episodes = [Episode(title="side by side", text="all at once, " * 30)]
    demo._sum_up(tmp_path, 0, tuple(episodes), kept=False)
    told = [line for line in capsys.readouterr().out.splitlines() if "at once" in line]
    assert columns - 14 < max(map(len, told)) <= columns
    assert {line.index("all at once,") for line in told if line.lstrip().startswith("all")} <= {16}
