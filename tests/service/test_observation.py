"""Looking: whole answers from one snapshot, nobody's fallback row among the tasks (D9, D18)."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from musician import service
from musician.protocol.claim import Claim
from musician.protocol.conductor.anomalies import Signal
from musician.protocol.errors import ClaimBlocked, UnknownTask
from musician.protocol.journal import Entry, EntryKind
from musician.protocol.messages.kinds import MessageType
from musician.protocol.settings import Settings
from musician.protocol.states import State
from musician.reporting.standing import Standing
from musician.store.bell import Bell
from musician.store.port import Store
from musician.store.queries.history import History
from musician.store.queries.tasks import Tasks
from musician.store.sqlite.store import SqliteStore
from tests.conftest import Walk
from tests.said import evidence, submission


def test_siblings_are_the_other_tasks(store: Store, walk: Walk) -> None:
    service.start_conducting(store, "c", settings=Settings())
    for number in (1, 2, 3):
        walk(store, f"task-0{number}", State.WORKING)
    with pytest.raises(ClaimBlocked):
        service.claim(store, "task-01", "b", settings=Settings())
    assert [row.task_id for row in service.siblings(store, "task-02")] == ["task-01", "task-03"]


def test_a_view_has_everything_of_one_task_and_nothing_of_another(store: Store, walk: Walk) -> None:
    for task_id in ("task-1", "task-10"):
        claim = walk(store, task_id, State.NEEDS_REVIEW, session_id=f"of-{task_id}")
        assert claim is not None
        service.record(store, claim, Entry(kind=EntryKind.NOTE, text=task_id))
        service.ask_human(store, task_id, kind="review", subject_id=1, text=task_id)
    view = service.task_view(store, "task-1")
    assert view.row.task_id == "task-1"
    assert {change.task_id for change in view.history} == {"task-1"}
    assert [session.session_id for session in view.sessions] == ["of-task-1"]
    assert [entry.text for entry in view.journal] == ["task-1"]
    assert len(view.submissions) == len(view.verifications) == 1
    assert [ask.text for ask in view.open_asks] == ["task-1"]
    assert view.unread == 1


def grow_old(store: Store, table: str, column: str, *, seconds: int) -> None:
    """As if that much time had passed, against what keeps the past as it is."""
    assert isinstance(store, SqliteStore)
    names = "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ?"
    for (name,) in list(store.connection.execute(names, (table,))):
        store.connection.execute(f"DROP TRIGGER {name}")
    store.connection.execute(f"UPDATE {table} SET {column} = datetime('now', '-{seconds} seconds')")  # noqa: S608


def test_since_when_nothing_was_heard_of_a_task_counts_whatever_its_musician_wrote(
    store: Store, walk: Walk
) -> None:
    claim = walk(store, "task-01", State.WORKING)
    assert claim is not None
    service.record(store, claim, Entry(kind=EntryKind.STARTED, item="step 1"))

    def quiet_s() -> float:
        before = service.now(store)
        view = service.task_view(store, "task-01")
        assert before <= view.at <= service.now(store)
        assert view.quiet_s is not None
        return view.quiet_s

    assert quiet_s() < 100
    grow_old(store, "history", "at", seconds=900)
    assert quiet_s() < 100, "its journal is young"
    assert Standing(service.task_view(store, "task-01")).anomalies == ()
    grow_old(store, "journal", "at", seconds=400)
    assert 400 <= quiet_s() < 500
    (found,) = Standing(service.task_view(store, "task-01")).anomalies
    assert (found.signal, found.text) == (Signal.SILENCE, "for 6 minutes")
    service.send(store, "task-01", "are you there?")
    assert quiet_s() >= 400, "that is the conductor's word, not its own"
    service.ask(store, claim, "which?")
    assert quiet_s() < 100


def test_a_view_has_the_newest_question_that_nobody_has_answered(store: Store, walk: Walk) -> None:
    claim = walk(store, "task-01", State.WORKING)
    assert claim is not None
    assert service.task_view(store, "task-01").question is None
    service.ask(store, claim, "which?")
    newest = service.ask(store, claim, "which, please?")
    walk(store, "task-02", State.WORKING)
    question = service.task_view(store, "task-01").question
    assert question is not None
    assert (question.id, question.message) == (newest, "which, please?")
    assert service.task_view(store, "task-02").question is None
    service.pause(store, "task-01", "for a checkpoint")
    assert service.task_view(store, "task-01").question is not None, "that is no answer"
    service.send(store, "task-01", "the left one")
    assert service.task_view(store, "task-01").question is None


def test_what_waits_for_a_person_is_recorded_once(store: Store, walk: Walk) -> None:
    """D18."""
    walk(store, "task-01", State.NEEDS_REVIEW)
    with Bell(Path(store.name), "task-00") as bell:
        service.ask_human(store, "task-01", kind="review", subject_id=7, text="please look")
        assert bell.drain()
    service.ask_human(store, "task-01", kind="review", subject_id=7, text="please look, again")
    service.ask_human(store, "task-01", kind="merge", subject_id=7, text="a conflict")
    assert [(ask.kind, ask.text) for ask in service.open_asks(store)] == [
        ("review", "please look"),
        ("merge", "a conflict"),
    ]
    assert service.task_row(store, "task-01").state is State.NEEDS_REVIEW
    assert service.resolve_asks(store, "task-01", "done") == 2
    assert service.resolve_asks(store, "task-01", "done") == 0
    assert service.open_asks(store) == ()


def test_a_watcher_sees_its_verdict_with_the_progress_it_rules(store: Store, walk: Walk) -> None:
    claim = walk(store, "task-01", State.WORKING, session_id="a")
    assert claim is not None
    service.record(store, claim, Entry(kind=EntryKind.COMPLETED, item="step 1"))
    submitted = service.submit(store, claim, submission(MessageType.REVIEW_REQUEST, "x"), verified=evidence())
    waiting = service.observe(store, claim, awaiting_id=submitted)
    assert (waiting.owns, waiting.state, waiting.verdict) == (True, State.NEEDS_REVIEW, None)
    assert waiting.conductor_age_s is None
    service.ask_human(store, "task-01", kind="review", subject_id=submitted, text="please look")
    assert service.observe(store, claim, awaiting_id=submitted).waits_for_human
    service.start_conducting(store, "c", settings=Settings())
    service.judge(store, "task-01", State.REVIEW_FAILED, "not yet")
    seen = service.observe(store, claim, awaiting_id=submitted)
    assert (seen.verdict, seen.verdict_text, seen.waits_for_human) == (State.REVIEW_FAILED, "not yet", False)
    assert seen.progress.completed == ("step 1",)
    assert seen.conductor_age_s is not None
    assert service.observe(store, claim, awaiting_id=None).verdict is None


def test_a_watcher_sees_an_exit_request_and_the_loss_of_its_claim(store: Store, walk: Walk) -> None:
    claim = walk(store, "task-01", State.WORKING, session_id="a")
    assert claim is not None
    service.request_exit(store, "task-01", "please leave", urgent=False)
    asked = service.observe(store, claim, awaiting_id=None)
    assert (asked.state, asked.exit_text, asked.owns) == (State.EXIT_REQUESTED, "please leave", True)
    service.fence(store, "task-01", epoch=claim.epoch)
    assert not service.observe(store, claim, awaiting_id=None).owns


def test_a_raw_verdict_without_its_message_is_seen_all_the_same(store: Store, walk: Walk) -> None:
    claim = walk(store, "task-01", State.NEEDS_REVIEW)
    assert claim is not None
    submitted = service.task_view(store, "task-01").submissions[-1].message_id
    with store.write() as tx:
        tx.run(Tasks.move_by_conductor, task_id="task-01", state="review_approved", from_state="needs_review")
    seen = service.observe(store, claim, awaiting_id=submitted)
    assert (seen.verdict, seen.verdict_text) == (State.REVIEW_APPROVED, "")


def test_the_time_is_the_databases(store: Store) -> None:
    """D10."""
    with store.read() as tx:
        now = tx.only(History.now)
    assert service.now(store)[:10] == now[:10]
    assert len(service.now(store)) == len("2026-01-01 00:00:00")


def test_a_program_whose_own_clock_is_wrong_measures_ages_all_the_same(
    store: Store, walk: Walk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D10.1: a day off in this process, and the heartbeat is as fresh as the database says, its owner as alive."""
    real = time.time()
    monkeypatch.setattr(time, "time", lambda: real + 86_400)
    walk(store, "task-01", State.WORKING)
    age_s = service.task_row(store, "task-01").heartbeat_age_s
    assert age_s is not None
    assert 0 <= age_s < 60
    assert service.now(store) < datetime.fromtimestamp(real + 3600, UTC).strftime("%Y-%m-%d %H:%M:%S")
    with pytest.raises(ClaimBlocked):
        service.claim(store, "task-01", "b", settings=Settings())


def test_looking_at_what_is_not_there_says_so(
    store: Store, untouched: Callable[[], AbstractContextManager[None]]
) -> None:
    with untouched(), pytest.raises(UnknownTask):
        service.observe(store, Claim(task_id="task-01", session_id="a", epoch=1), awaiting_id=None)
    assert service.tasks_of(store, "nothing") == ()
