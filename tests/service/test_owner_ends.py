"""How an owner's claim ends (D1, sources "Terminal Write Atomicity")."""

from collections.abc import Callable
from pathlib import Path

import pytest

from musician import service
from musician.protocol.errors import BadField, DatabaseUnusable, EvidenceMissing, IllegalEvent
from musician.protocol.messages.kinds import MessageType
from musician.protocol.settings import Settings
from musician.protocol.states import ACTIVE, State
from musician.store.bell import Bell
from musician.store.port import Store
from musician.store.queries.work import Work
from musician.store.sqlite.store import SqliteStore
from tests.conftest import Walk
from tests.said import submission
from tests.service.owning import Untouched, at, finish, leave, state_of, submit


@pytest.mark.parametrize("state", sorted(ACTIVE))
def test_an_exit_stores_handoff_reason_message_and_then_the_state(
    store: Store, walk: Walk, state: State
) -> None:
    claim = at(walk, store, state)
    leave(store, claim)
    view = service.task_view(store, "task-01")
    assert view.row.state is State.EXITED
    [session] = view.sessions
    assert (session.exit_reason, session.context_pct) == ("context", 66)
    assert session.ended_at is not None
    last = view.history[-1]
    assert (last.from_state, last.to_state, last.message_type) == (state, State.EXITED, MessageType.HANDOFF)
    with store.read() as tx:
        handoff = tx.one(Work.latest_document, task_id="task-01", kind="handoff")
    assert handoff is not None
    assert (handoff.body, handoff.path, handoff.written_by) == (
        "next: step 2",
        "temp/HANDOFF",
        "program",
    )
    assert service.claims_of(store, "a") == ()


@pytest.mark.parametrize(("reason", "handoff"), [("", "next"), ("context", " \n")])
def test_no_exit_without_its_reason_and_handoff(
    store: Store, walk: Walk, untouched: Untouched, reason: str, handoff: str
) -> None:
    claim = at(walk, store, State.WORKING)
    with untouched(), pytest.raises((BadField, EvidenceMissing), match=r"reason cannot|no HANDOFF"):
        leave(store, claim, reason=reason, handoff=handoff)


@pytest.mark.parametrize("resumes", [True, False])
def test_an_approved_completion_completes_the_task(store: Store, walk: Walk, resumes: bool) -> None:
    claim = at(walk, store, State.REVIEW_APPROVED)
    if resumes:
        service.resume(store, claim)
    assert service.approved_work(store, "task-01").said == submission(MessageType.COMPLETION, "TASK COMPLETE")
    with Bell(Path(store.name), "task-00") as bell:
        finish(store, claim)
        assert bell.drain()
    view = service.task_view(store, "task-01")
    assert (view.row.state, view.row.report_path) == (State.COMPLETE, "docs/report.md")
    assert view.row.completed_at is not None
    assert view.history[-1].message_type == MessageType.COMPLETED
    assert view.sessions[0].exit_reason == "complete"


def test_nothing_completes_without_an_approved_completion(
    store: Store, walk: Walk, untouched: Untouched
) -> None:
    claim = at(walk, store, State.WORKING)
    with untouched(), pytest.raises(EvidenceMissing, match="no approved completion"):
        finish(store, claim)
    for kind, verdict in (
        (MessageType.COMPLETION, State.REVIEW_FAILED),
        (MessageType.COMPLETION, State.FIX_PROPOSED),
        (MessageType.REVIEW_REQUEST, State.REVIEW_APPROVED),
    ):
        submit(store, claim, kind)
        service.judge(store, "task-01", verdict, "so be it")
        service.resume(store, claim)
        with untouched(), pytest.raises(EvidenceMissing):
            finish(store, claim)


def test_a_later_submission_takes_an_approval_away(store: Store, walk: Walk, untouched: Untouched) -> None:
    claim = at(walk, store, State.REVIEW_APPROVED)
    submit(store, claim)
    service.judge(store, "task-01", State.REVIEW_APPROVED, "good")
    with untouched(), pytest.raises(EvidenceMissing):
        finish(store, claim)


def test_a_raw_resubmission_takes_an_approval_away_before_its_message_came(
    store: Store, walk: Walk, untouched: Untouched
) -> None:
    claim = at(walk, store, State.REVIEW_APPROVED)
    assert isinstance(store, SqliteStore)
    for state in ("needs_review", "error"):
        store.connection.execute("UPDATE orchestration_tasks SET state = ?", (state,))
    store.connection.execute(
        "INSERT INTO orchestration_messages (task_id, from_session, message_type, message)"
        " VALUES ('task-01', 'a', 'error', 'x')"
    )
    service.judge(store, "task-01", State.REVIEW_APPROVED, "go on")
    with untouched(), pytest.raises(EvidenceMissing, match="no approved completion"):
        finish(store, claim)


def test_no_completion_without_its_report(store: Store, walk: Walk, untouched: Untouched) -> None:
    claim = at(walk, store, State.REVIEW_APPROVED)
    with untouched(), pytest.raises(EvidenceMissing, match="no report"):
        finish(store, claim, text=" ")


@pytest.mark.parametrize("state", sorted(ACTIVE - {State.WORKING, State.REVIEW_APPROVED}))
def test_a_task_completes_from_two_states_only(
    store: Store, walk: Walk, untouched: Untouched, state: State
) -> None:
    claim = at(walk, store, state)
    with untouched(), pytest.raises(IllegalEvent):
        finish(store, claim)


def test_an_approval_outlives_its_session(store: Store, walk: Walk) -> None:
    """D7: approved, died, taken over: the successor completes without asking again."""
    first = at(walk, store, State.REVIEW_APPROVED)
    service.fence(store, "task-01", epoch=first.epoch)
    service.take_over(store, "task-01", "approved already", reason="dead")
    second = service.claim(store, "task-01", "b", settings=Settings()).claim
    finish(store, second)
    assert state_of(store) is State.COMPLETE


def test_a_foreign_trigger_that_drops_a_change_is_noticed(
    store: Store, walk: Walk, untouched: Untouched
) -> None:
    claim = at(walk, store, State.REVIEW_APPROVED)
    assert isinstance(store, SqliteStore)
    store.connection.execute(
        "CREATE TRIGGER meddling BEFORE UPDATE OF state ON orchestration_tasks BEGIN SELECT RAISE(IGNORE); END"
    )
    acts: list[Callable[[], None]] = [
        lambda: finish(store, claim),
        lambda: leave(store, claim),
        lambda: service.resume(store, claim),
    ]
    for act in acts:
        with untouched(), pytest.raises(DatabaseUnusable, match="musician doctor") as refused:
            act()
        assert refused.value.kind == "refused"
