"""What a conductor does: judge, ask for an exit, grant, fence, take over, reopen, withdraw."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from musician import service
from musician.protocol.errors import (
    BadField,
    BadId,
    ClaimBlocked,
    EvidenceMissing,
    IllegalEvent,
    StaleVerdict,
    StillPlayed,
    TaskIsOver,
    UnknownTask,
)
from musician.protocol.journal import Entry, EntryKind
from musician.protocol.messages.kinds import VERDICT_OF, MessageType
from musician.protocol.rules.ceilings import Amounts
from musician.protocol.rules.deviations import Severity
from musician.protocol.settings import Settings
from musician.protocol.states import ACTIVE, VERDICTS, WAITING, State
from musician.reporting.standing import Standing
from musician.store.bell import Bell
from musician.store.port import Store
from musician.store.queries.tasks import Tasks
from musician.store.queries.work import Work
from musician.store.sqlite.store import SqliteStore
from tests.conftest import Walk
from tests.said import evidence, submission
from tests.said import report as report_of

SETTINGS = Settings()
Untouched = Callable[[], AbstractContextManager[None]]


Act = Callable[[Store, str], object]

ACTS: dict[str, Act] = {
    "approve": lambda store, task: service.judge(store, task, State.REVIEW_APPROVED, "x"),
    "request_exit": lambda store, task: service.request_exit(store, task, "x", urgent=False),
    "grant": lambda store, task: service.send(store, task, "go on", retries=1),
    "fence": lambda store, task: service.fence(store, task, epoch=1),
    "take_over": lambda store, task: service.take_over(store, task, "x", reason="dead"),
    "reopen": lambda store, task: service.reopen(store, task, "x"),
    "withdraw": lambda store, task: service.withdraw(store, task, "x"),
    "send": lambda store, task: service.send(store, task, "x"),
}


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize(
    "task_id", ["zzz' OR task_id='task-03", "task-03' --", "task_03", "task-0%", "task-3"]
)
def test_an_unknown_task_is_not_found(
    store: Store, walk: Walk, untouched: Untouched, act: str, task_id: str
) -> None:
    """B18."""
    walk(store, "task-03", State.NEEDS_REVIEW)
    with untouched(), pytest.raises(UnknownTask) as unknown:
        ACTS[act](store, task_id)
    assert unknown.value.exit_code == 3


@pytest.mark.parametrize("act", ACTS)
def test_the_conductors_own_row_and_fallback_rows_are_no_tasks(
    store: Store, untouched: Untouched, act: str
) -> None:
    service.start_conducting(store, "conductor", settings=SETTINGS)
    with store.write() as tx:
        tx.run(Tasks.block_claim, fallback_id="fallback-b", session_id="b")
    for row in ("task-00", "fallback-b"):
        with untouched(), pytest.raises(BadId, match="no task"):
            ACTS[act](store, row)


# Verdicts (D7, D17).


@pytest.mark.parametrize("state", sorted(WAITING))
@pytest.mark.parametrize("verdict", sorted(VERDICTS))
def test_a_verdict_is_bound_to_what_it_judged(store: Store, walk: Walk, state: State, verdict: State) -> None:
    walk(store, "task-01", state, session_id="a")
    judged = service.history_of(store, "task-01")[-1].message_id
    with Bell(Path(store.name), "task-01") as bell:
        message_id = service.judge(store, "task-01", verdict, "because", submission_id=judged)
        assert bell.drain()
    row = service.task_row(store, "task-01")
    assert (row.state, row.session_id) == (verdict, "a")
    last = service.history_of(store, "task-01")[-1]
    assert (last.who, last.message_id, last.message_type, last.submission_id) == (
        "task-00",
        message_id,
        VERDICT_OF[verdict],
        judged,
    )


def test_a_submission_shows_its_verdict(store: Store, walk: Walk) -> None:
    walk(store, "task-01", State.NEEDS_REVIEW)
    service.judge(store, "task-01", State.REVIEW_FAILED, "not yet")
    [submission] = service.task_view(store, "task-01").submissions
    assert (submission.verdict, submission.verdict_text) == (State.REVIEW_FAILED, "not yet")


@pytest.mark.parametrize("state", sorted(set(State) - WAITING))
def test_where_nothing_waits_there_is_nothing_to_judge(
    store: Store, walk: Walk, untouched: Untouched, state: State
) -> None:
    walk(store, "task-01", state)
    for verdict in VERDICTS:
        with untouched(), pytest.raises(IllegalEvent) as refused:
            service.judge(store, "task-01", verdict, "x")
        assert refused.value.exit_code == 4


def test_a_verdict_on_an_older_submission_is_stale(store: Store, walk: Walk, untouched: Untouched) -> None:
    """D7."""
    claim = walk(store, "task-01", State.NEEDS_REVIEW)
    assert claim is not None
    first = service.task_view(store, "task-01").submissions[-1].message_id
    service.judge(store, "task-01", State.REVIEW_FAILED, "not yet", submission_id=first)
    second = service.submit(
        store, claim, submission(MessageType.REVIEW_REQUEST, "again"), verified=evidence()
    )
    with untouched(), pytest.raises(StaleVerdict) as stale:
        service.judge(store, "task-01", State.REVIEW_APPROVED, "fine", submission_id=first)
    assert (stale.value.judged, stale.value.latest, stale.value.exit_code) == (first, second, 4)
    assert service.judge(store, "task-01", State.REVIEW_APPROVED, "fine", submission_id=second) > second


def test_a_verdict_on_a_submission_that_became_an_error_is_stale(
    store: Store, walk: Walk, untouched: Untouched
) -> None:
    claim = walk(store, "task-01", State.NEEDS_REVIEW)
    assert claim is not None
    submitted = service.task_view(store, "task-01").submissions[-1].message_id
    reported = service.report(store, claim, report_of(MessageType.ERROR, "no answer"), last_error="timeout")
    with untouched(), pytest.raises(StaleVerdict) as stale:
        service.judge(store, "task-01", State.REVIEW_APPROVED, "fine", submission_id=submitted)
    assert stale.value.latest == reported


def test_a_submission_without_its_message_cannot_be_judged_yet(
    store: Store, walk: Walk, untouched: Untouched
) -> None:
    """D5."""
    walk(store, "task-01", State.WORKING, session_id="raw")
    assert isinstance(store, SqliteStore)
    store.connection.execute("UPDATE orchestration_tasks SET state = 'needs_review'")
    with untouched(), pytest.raises(EvidenceMissing, match="no message yet"):
        service.judge(store, "task-01", State.REVIEW_APPROVED, "fine")
    store.connection.execute(
        "INSERT INTO orchestration_messages (task_id, from_session, message_type, message)"
        " VALUES ('task-01', 'raw', 'review_request', 'here it is')"
    )
    assert service.judge(store, "task-01", State.REVIEW_APPROVED, "fine") > 0


@pytest.mark.parametrize("state", sorted(set(State) - VERDICTS))
def test_only_verdicts_are_verdicts(store: Store, walk: Walk, untouched: Untouched, state: State) -> None:
    walk(store, "task-01", State.NEEDS_REVIEW)
    with untouched(), pytest.raises(BadField, match="verdict"):
        service.judge(store, "task-01", state, "x")


def test_each_deviation_is_ruled_once(store: Store, walk: Walk) -> None:
    """D17."""
    claim = walk(store, "task-01", State.WORKING)
    assert claim is not None
    service.record(store, claim, Entry(kind=EntryKind.DEVIATION, text="a", severity=Severity.HIGH))
    deviation = service.journal_of(store, "task-01")[0].id
    rulings = []
    for verdict in (State.REVIEW_FAILED, State.REVIEW_APPROVED):
        service.submit(store, claim, submission(MessageType.REVIEW_REQUEST, "x"), verified=evidence())
        rulings.append(service.judge(store, "task-01", verdict, "x", rules=(deviation,)))
    assert service.journal_of(store, "task-01")[0].ruled_by == rulings[0]
    assert Standing(service.task_view(store, "task-01")).progress.deviations[0].ruled


def test_only_the_tasks_own_deviations_are_ruled(store: Store, walk: Walk, untouched: Untouched) -> None:
    walk(store, "task-01", State.NEEDS_REVIEW)
    other = walk(store, "task-02", State.WORKING)
    assert other is not None
    service.record(
        store,
        other,
        Entry(kind=EntryKind.DEVIATION, text="a", severity=Severity.LOW),
        Entry(kind=EntryKind.NOTE, text="b"),
    )
    for journal_id in (1, 2, 99):
        with untouched(), pytest.raises(BadField, match="rules"):
            service.judge(store, "task-01", State.REVIEW_APPROVED, "x", rules=(journal_id,))


def test_a_verdict_settles_what_waited_for_a_person(store: Store, walk: Walk) -> None:
    walk(store, "task-01", State.NEEDS_REVIEW)
    service.ask_human(store, "task-01", kind="review", subject_id=1, text="please look")
    service.judge(store, "task-01", State.REVIEW_APPROVED, "seen")
    assert service.open_asks(store) == ()
    assert service.task_view(store, "task-01").asks[0].resolution == "review_approved: seen"


# Exit requests, retries.


@pytest.mark.parametrize("state", sorted(ACTIVE - {State.EXIT_REQUESTED}))
@pytest.mark.parametrize("urgent", [True, False])
def test_an_exit_is_requested_of_any_active_task(
    store: Store, walk: Walk, state: State, urgent: bool
) -> None:
    claim = walk(store, "task-01", state)
    assert claim is not None
    unread = len(service.unread(store, "task-01"))
    with Bell(Path(store.name), "task-01") as bell:
        message_id = service.request_exit(store, "task-01", "please leave", urgent=urgent)
        assert bell.drain()
    assert service.task_row(store, "task-01").state is State.EXIT_REQUESTED
    last = service.history_of(store, "task-01")[-1]
    assert (last.from_state, last.message_id, last.message_type) == (
        state,
        message_id,
        MessageType.EXIT_REQUEST,
    )
    said = [message.message_type for message in service.unread(store, "task-01")[unread:]]
    assert said == [MessageType.EMERGENCY] * urgent + [MessageType.EXIT_REQUEST]


def test_a_request_may_be_repeated_more_urgently(store: Store, walk: Walk) -> None:
    walk(store, "task-01", State.EXIT_REQUESTED)
    before = service.history_of(store, "task-01")
    service.request_exit(store, "task-01", "now", urgent=True)
    assert service.history_of(store, "task-01") == before
    assert [m.message_type for m in service.messages_of(store, "task-01")[-2:]] == [
        "emergency",
        "exit_request",
    ]


def test_a_task_stopped_by_a_person_waits_for_one(store: Store, walk: Walk) -> None:
    walk(store, "task-01", State.WORKING)
    message_id = service.request_exit(store, "task-01", "enough", urgent=True, hold=True)
    [ask] = service.open_asks(store)
    assert (ask.task_id, ask.kind, ask.subject_id, ask.text) == (
        "task-01",
        "stopped",
        message_id,
        "enough",
    )


def test_a_person_who_has_a_task_handed_off_has_answered_what_it_waited_with(
    store: Store, walk: Walk
) -> None:
    """Its session may be gone already: nothing but the answer lets a fresh one go on."""
    walk(store, "task-01", State.ERROR)
    service.ask_human(store, "task-01", kind="error", subject_id=1, text="the same error twice")
    service.request_exit(store, "task-01", "go", urgent=False)
    assert service.open_asks(store) == ()
    assert service.task_view(store, "task-01").asks[0].resolution == "handed off: go"


@pytest.mark.parametrize("state", sorted(set(State) - ACTIVE))
def test_nobody_is_asked_to_leave_where_nobody_is(
    store: Store, walk: Walk, untouched: Untouched, state: State
) -> None:
    walk(store, "task-01", state)
    with untouched(), pytest.raises(IllegalEvent):
        service.request_exit(store, "task-01", "x", urgent=True)


def test_retries_are_granted(store: Store, walk: Walk, untouched: Untouched) -> None:
    walk(store, "task-01", State.ERROR)
    service.send(store, "task-01", "go on", retries=2)
    assert service.task_row(store, "task-01").retry_limit == 7
    for none in (0, -1):
        with untouched(), pytest.raises(BadField):
            service.send(store, "task-01", "go on", retries=none)


# Taking over (D23): four steps, each restartable.


@pytest.mark.parametrize("state", sorted(ACTIVE))
def test_a_task_is_fenced_and_then_taken_over(
    store: Store, walk: Walk, untouched: Untouched, state: State
) -> None:
    claim = walk(store, "task-01", state, session_id="a")
    assert claim is not None
    with Bell(Path(store.name), "task-01") as bell:
        assert service.fence(store, "task-01", epoch=1) == 2
        assert bell.drain()
    row = service.task_row(store, "task-01")
    assert (row.state, row.session_id, row.claim_epoch) == (state, "a", 2)
    with untouched():
        assert service.fence(store, "task-01", epoch=1) == 2
        assert service.fence(store, "task-01", epoch=2) == 2
    service.take_over(store, "task-01", "go on at step 2", reason="killed")
    with untouched():
        service.take_over(store, "task-01", "go on at step 2", reason="killed")
    view = service.task_view(store, "task-01")
    assert (view.row.state, view.row.session_id, view.row.last_heartbeat) == (State.FIX_PROPOSED, None, None)
    last = view.history[-1]
    assert (last.from_state, last.to_state, last.who, last.message_type) == (
        state,
        State.FIX_PROPOSED,
        "task-00",
        MessageType.HANDOFF,
    )
    assert (last.session_id, last.submission_id) == (None, None)
    assert (view.sessions[0].exit_reason, view.sessions[0].ended_at is not None) == ("killed", True)
    successor = service.claim(store, "task-01", "b", settings=SETTINGS)
    assert successor.number == 2


def test_without_a_fence_nothing_is_taken_over(store: Store, walk: Walk, untouched: Untouched) -> None:
    walk(store, "task-01", State.WORKING)
    with untouched(), pytest.raises(EvidenceMissing, match="not fenced"):
        service.take_over(store, "task-01", "x", reason="dead")


@pytest.mark.parametrize("state", sorted(set(State) - ACTIVE))
def test_where_nobody_is_at_work_nothing_is_taken_over(
    store: Store, walk: Walk, untouched: Untouched, state: State
) -> None:
    walk(store, "task-01", state)
    epoch = service.task_row(store, "task-01").claim_epoch
    with untouched(), pytest.raises(IllegalEvent):
        service.fence(store, "task-01", epoch=epoch)
    with untouched(), pytest.raises(IllegalEvent):
        service.take_over(store, "task-01", "x", reason="dead")


def test_an_old_fence_never_hits_a_successor(store: Store, walk: Walk, untouched: Untouched) -> None:
    walk(store, "task-01", State.WORKING, session_id="a")
    service.fence(store, "task-01", epoch=1)
    service.take_over(store, "task-01", "go on", reason="dead")
    successor = service.claim(store, "task-01", "b", settings=SETTINGS).claim
    with untouched():
        assert service.fence(store, "task-01", epoch=1) == successor.epoch
        assert service.fence(store, "task-01", epoch=2) == successor.epoch
    with untouched(), pytest.raises(EvidenceMissing):
        service.take_over(store, "task-01", "go on", reason="dead")
    service.beat(store, successor)


def test_the_program_writes_the_handoff_that_the_dead_could_not(store: Store, walk: Walk) -> None:
    """D20."""
    walk(store, "task-01", State.WORKING)
    epoch = service.fence(store, "task-01", epoch=1)
    service.take_over(store, "task-01", "go on", reason="dead", handoff=("temp/HANDOFF", "found: step 1"))
    with store.read() as tx:
        kept = tx.one(Work.latest_document, task_id="task-01", kind="handoff")
    assert kept is not None
    assert (kept.body, kept.path, kept.written_by, kept.claim_epoch) == (
        "found: step 1",
        "temp/HANDOFF",
        "program",
        epoch,
    )


def test_a_session_that_is_being_taken_over_ends_with_the_takeover_and_its_reason(
    store: Store, walk: Walk
) -> None:
    """Whatever the conductor says to the task meanwhile."""
    walk(store, "task-01", State.WORKING)
    service.fence(store, "task-01", epoch=1)
    service.request_exit(store, "task-01", "leave", urgent=True)
    assert service.task_view(store, "task-01").sessions[0].ended_at is None
    service.take_over(store, "task-01", "go on", reason="killed")
    assert service.task_view(store, "task-01").sessions[0].exit_reason == "killed"


def test_the_reason_of_a_takeover_is_the_last_sessions_only(store: Store, walk: Walk) -> None:
    walk(store, "task-01", State.EXITED, session_id="a")
    service.reopen(store, "task-01", "go on")
    epoch = service.claim(store, "task-01", "b", settings=SETTINGS).claim.epoch
    service.fence(store, "task-01", epoch=epoch)
    service.take_over(store, "task-01", "go on", reason="killed")
    assert [each.exit_reason for each in service.task_view(store, "task-01").sessions] == [
        "context",
        "killed",
    ]


# Reopening, withdrawing.


def test_an_exited_task_is_reopened_for_its_next_session(store: Store, walk: Walk) -> None:
    """D1."""
    walk(store, "task-01", State.EXITED, session_id="a")
    with Bell(Path(store.name), "task-01") as bell:
        service.reopen(store, "task-01", "go on at step 2")
        assert bell.drain()
    row = service.task_row(store, "task-01")
    assert (row.state, row.session_id, row.last_heartbeat) == (State.FIX_PROPOSED, None, None)
    assert service.history_of(store, "task-01")[-1].message_type == MessageType.HANDOFF
    assert service.claim(store, "task-01", "b", settings=SETTINGS).number == 2


@pytest.mark.parametrize("state", sorted(set(State) - {State.EXITED}))
def test_only_an_exited_task_is_reopened(
    store: Store, walk: Walk, untouched: Untouched, state: State
) -> None:
    walk(store, "task-01", state)
    with untouched(), pytest.raises(IllegalEvent):
        service.reopen(store, "task-01", "x")


def test_what_is_said_to_a_withdrawn_task_is_refused(store: Store, walk: Walk, untouched: Untouched) -> None:
    walk(store, "task-01", State.WATCHING)
    service.withdraw(store, "task-01", "x")
    with untouched(), pytest.raises(TaskIsOver, match="plan amend"):
        service.send(store, "task-01", "go on")


def test_an_unclaimed_task_is_withdrawn(store: Store, walk: Walk) -> None:
    walk(store, "task-01", State.WATCHING)
    service.withdraw(store, "task-01", "not needed")
    last = service.history_of(store, "task-01")[-1]
    assert (last.to_state, last.who, last.message_type) == (State.EXITED, "task-00", MessageType.SYSTEM)


@pytest.mark.parametrize("state", sorted(set(State) - {State.WATCHING, State.EXITED}))
def test_a_claimed_task_is_not_withdrawn(
    store: Store, walk: Walk, untouched: Untouched, state: State
) -> None:
    walk(store, "task-01", state)
    with untouched(), pytest.raises((IllegalEvent, StillPlayed)):
        service.withdraw(store, "task-01", "x")


def test_a_task_that_nobody_owns_any_more_is_withdrawn(store: Store, walk: Walk) -> None:
    """AUDIT-G7: its end is written, and it can be put back."""
    walk(store, "task-01", State.EXITED)
    service.withdraw(store, "task-01", "not needed")
    assert service.task_row(store, "task-01").is_withdrawn
    with pytest.raises(ClaimBlocked, match="withdrawn"):
        service.claim(store, "task-01", "another", settings=Settings())
    service.reopen(store, "task-01")
    assert not service.task_row(store, "task-01").is_withdrawn
    service.claim(store, "task-01", "another", settings=Settings())


def test_nothing_is_said_to_a_complete_task_for_nobody_would_read_it(store: Store, walk: Walk) -> None:
    """A correction is a new task."""
    walk(store, "task-01", State.COMPLETE)
    before = service.messages_of(store, "task-01")
    with pytest.raises(IllegalEvent, match="a correction is a new task"):
        service.send(store, "task-01", "one more thing")
    assert service.messages_of(store, "task-01") == before


@pytest.mark.parametrize(
    "act",
    [
        lambda store: service.send(store, "task-01", "go on", retries=1),
        lambda store: service.send(store, "task-01", "go on", more=Amounts(cost_usd=5.0)),
    ],
    ids=["retries", "means"],
)
def test_a_complete_task_is_granted_nothing_as_the_message_with_it_is_refused(
    store: Store, walk: Walk, untouched: Untouched, act: Callable[[Store], None]
) -> None:
    """Its plan and the day would have been granted it by a command that has failed, and again by the next."""
    walk(store, "task-01", State.COMPLETE)
    with untouched(), pytest.raises(IllegalEvent, match="a correction is a new task"):
        act(store)


def test_a_task_that_waits_for_its_next_session_is_not_asked_to_hand_off(store: Store, walk: Walk) -> None:
    """Nobody is there who could exit; the next session is told, and what waited for a person is settled."""
    walk(store, "task-01", State.EXITED)
    service.reopen(store, "task-01")
    service.ask_human(store, "task-01", kind="stopped", subject_id=1, text="enough")
    message_id, state = service.hand_over(store, "task-01", "mind the gap")
    assert state == service.task_view(store, "task-01").row.state == State.FIX_PROPOSED
    assert service.messages_of(store, "task-01")[-1].id == message_id
    assert service.messages_of(store, "task-01")[-1].message == "mind the gap"
    assert service.open_asks(store) == ()
