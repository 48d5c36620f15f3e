"""What an owner does: record, verify, submit, report, ask, resume, exit, complete."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

import pytest

from musician import service
from musician.processes.identity import ProcessIdentity
from musician.protocol.claim import Claim
from musician.protocol.errors import BadField, DatabaseUnusable, EvidenceMissing, IllegalEvent
from musician.protocol.journal import Entry, Kind
from musician.protocol.messages.types import REPORTS, SUBMISSIONS, MessageType
from musician.protocol.rules.deviations import Severity
from musician.protocol.settings import Settings
from musician.protocol.states import ACTIVE, VERDICTS, State
from musician.store.bell import Bell
from musician.store.port import Store
from musician.store.sqlite.store import SqliteStore

SETTINGS = Settings()
IDENTITY = ProcessIdentity(pid=1, pgid=1, started_at_s=1.5, boot_id="boot", host="here")
Untouched = Callable[[], AbstractContextManager[None]]


class Walk(Protocol):
    def __call__(
        self, store: Store, task_id: str, state: State, *, session_id: str = ...
    ) -> Claim | None: ...


class Verified(Protocol):
    def __call__(self, store: Store, claim: Claim, *, outcome: str = ...) -> int: ...


class GrowOld(Protocol):
    def __call__(self, store: Store, task_id: str, seconds: int) -> None: ...


def at(walk: Walk, store: Store, state: State, *, session_id: str = "a") -> Claim:
    claim = walk(store, "task-01", state, session_id=session_id)
    assert claim is not None
    return claim


def submit(store: Store, claim: Claim, kind: MessageType = MessageType.REVIEW_REQUEST) -> int:
    return service.submit(store, claim, kind, "REVIEW REQUEST")


def report(store: Store, claim: Claim, kind: MessageType = MessageType.ERROR) -> int:
    return service.report(store, claim, kind, "ERROR", last_error="it broke")


def leave(store: Store, claim: Claim, *, reason: str = "context", handoff: str = "next: step 2") -> None:
    service.exit_task(
        store,
        claim,
        reason=reason,
        notice="EXITED",
        handoff_path="temp/HANDOFF",
        handoff=handoff,
        context_pct=66,
    )


def finish(store: Store, claim: Claim, *, text: str = "done") -> None:
    service.complete(store, claim, report_path="docs/report.md", report=text, notice="COMPLETED")


def state_of(store: Store) -> State:
    return service.task_row(store, "task-01").state


def error_reports(store: Store) -> int:
    with store.read() as tx:
        counted = tx.one("count_error_reports", task_id="task-01")
    assert counted is not None
    return int(counted["n"] or 0)


# Writing down.


def test_what_is_recorded_adds_up_to_progress_and_refreshes_the_heartbeat(
    store: Store, walk: Walk, grow_old: GrowOld
) -> None:
    claim = at(walk, store, State.WORKING)
    grow_old(store, "task-01", 500)
    service.record(
        store,
        claim,
        Entry(kind=Kind.COMPLETED, item="step 1", commit_id="c1", context_pct=12.5),
        Entry(kind=Kind.DEVIATION, item="step 1", text="another way", severity=Severity.MEDIUM),
    )
    progress = service.progress_of(store, "task-01")
    assert progress.completed == ("step 1",)
    assert progress.last_context_pct == 12.5
    assert [(each.severity, each.ruled) for each in progress.deviations] == [(Severity.MEDIUM, False)]
    row = service.task_row(store, "task-01")
    assert row.heartbeat_age_s is not None
    assert row.heartbeat_age_s < 60
    view = service.task_view(store, "task-01")
    assert view.sessions[0].context_pct == 12.5
    assert [(each.kind, each.session_id, each.claim_epoch) for each in view.journal] == [
        ("completed", "a", 1),
        ("deviation", "a", 1),
    ]


def test_processes_and_agents_are_recorded_for_the_claim(store: Store, walk: Walk) -> None:
    claim = at(walk, store, State.WORKING)
    service.record_process(store, claim, "musician", IDENTITY)
    service.record_process(store, claim, "agent", IDENTITY)
    service.record_process(
        store, claim, "agent", ProcessIdentity(pid=2, pgid=2, started_at_s=2, boot_id="b", host="h")
    )
    service.describe_session(store, claim, agent="shell")
    view = service.task_view(store, "task-01")
    assert [(each.role, each.pid) for each in view.processes] == [("agent", 2), ("musician", 1)]
    assert view.sessions[0].agent == "shell"


# Submitting (D7, D14, D16).


@pytest.mark.parametrize("kind", sorted(SUBMISSIONS))
def test_a_submission_is_message_and_state_in_one(
    store: Store, walk: Walk, verified: Verified, kind: MessageType
) -> None:
    claim = at(walk, store, State.WORKING)
    evidence = verified(store, claim)
    with Bell(store.path, "task-00") as bell:
        message_id = service.submit(
            store,
            claim,
            kind,
            "the work",
            verification_id=evidence,
            entries=(Entry(kind=Kind.SUBMITTED, item="checkpoint 1"),),
        )
        assert bell.wait(5)
    view = service.task_view(store, "task-01")
    assert view.row.state is State.NEEDS_REVIEW
    [submission] = view.submissions
    assert (submission.message_id, submission.message_type, submission.message) == (
        message_id,
        kind,
        "the work",
    )
    assert (submission.verdict, submission.verdict_message_id) == (None, None)
    assert view.verifications[-1].submission_id == message_id
    assert service.progress_of(store, "task-01").rounds == {"checkpoint 1": 1}


def test_a_submission_without_evidence_is_refused(store: Store, walk: Walk, untouched: Untouched) -> None:
    claim = at(walk, store, State.WORKING)
    with untouched(), pytest.raises(EvidenceMissing, match="nothing was verified"):
        submit(store, claim)


@pytest.mark.parametrize("kind", [Kind.COMPLETED, Kind.RETURNED, Kind.REWORKED])
def test_work_after_the_verification_makes_it_stale(
    store: Store, walk: Walk, verified: Verified, untouched: Untouched, kind: Kind
) -> None:
    claim = at(walk, store, State.WORKING)
    verified(store, claim)
    service.record(store, claim, Entry(kind=Kind.NOTE, text="looking at it"))
    service.record(store, claim, Entry(kind=kind, item="step 2"))
    with untouched(), pytest.raises(EvidenceMissing, match="work was done after"):
        submit(store, claim)
    verified(store, claim)
    assert submit(store, claim) > 0


def test_a_red_verification_is_no_evidence(
    store: Store, walk: Walk, verified: Verified, untouched: Untouched
) -> None:
    claim = at(walk, store, State.WORKING)
    verified(store, claim)
    verified(store, claim, outcome="red")
    with untouched(), pytest.raises(EvidenceMissing, match="red"):
        submit(store, claim)


def test_evidence_serves_one_submission(
    store: Store, walk: Walk, verified: Verified, untouched: Untouched
) -> None:
    claim = at(walk, store, State.REVIEW_FAILED)
    with untouched(), pytest.raises(EvidenceMissing, match="belongs to an earlier submission"):
        submit(store, claim)
    verified(store, claim)
    assert submit(store, claim) > 0


def test_only_the_latest_verification_counts(
    store: Store, walk: Walk, verified: Verified, untouched: Untouched
) -> None:
    claim = at(walk, store, State.WORKING)
    first = verified(store, claim)
    second = verified(store, claim)
    with untouched(), pytest.raises(EvidenceMissing, match="a later verification exists"):
        service.submit(store, claim, MessageType.REVIEW_REQUEST, "x", verification_id=first)
    assert service.submit(store, claim, MessageType.REVIEW_REQUEST, "x", verification_id=second) > 0


def test_a_successor_verifies_for_itself(
    store: Store, walk: Walk, verified: Verified, untouched: Untouched
) -> None:
    """D20."""
    claim = at(walk, store, State.WORKING)
    verified(store, claim)
    leave(store, claim)
    service.reopen(store, "task-01", "go on")
    successor = service.claim(store, "task-01", "b", settings=SETTINGS).claim
    with untouched(), pytest.raises(EvidenceMissing, match="earlier session"):
        submit(store, successor)


@pytest.mark.parametrize("outcome", ["flaky", "cannot_run"])
def test_what_could_not_be_decided_goes_to_the_reviewer(
    store: Store, walk: Walk, verified: Verified, outcome: str
) -> None:
    claim = at(walk, store, State.WORKING)
    verified(store, claim, outcome=outcome)
    assert submit(store, claim) > 0


@pytest.mark.parametrize("state", sorted(VERDICTS))
def test_after_a_verdict_the_history_shows_both_steps(
    store: Store, walk: Walk, verified: Verified, state: State
) -> None:
    claim = at(walk, store, state)
    verified(store, claim)
    message_id = submit(store, claim)
    changes = service.history_of(store, "task-01")[-2:]
    assert [(each.from_state, each.to_state, each.message_id) for each in changes] == [
        (state, State.WORKING, None),
        (State.WORKING, State.NEEDS_REVIEW, message_id),
    ]


@pytest.mark.parametrize("state", sorted(ACTIVE - VERDICTS - {State.WORKING}))
def test_where_nothing_can_be_submitted_the_state_is_the_reason(
    store: Store, walk: Walk, verified: Verified, untouched: Untouched, state: State
) -> None:
    claim = at(walk, store, state)
    with untouched(), pytest.raises(IllegalEvent) as refused:
        submit(store, claim)
    assert (refused.value.state, refused.value.event) == (state, "submit")
    assert refused.value.exit_code == 4


@pytest.mark.parametrize("kind", sorted(set(MessageType) - SUBMISSIONS))
def test_only_a_submission_is_submitted(
    store: Store, walk: Walk, verified: Verified, untouched: Untouched, kind: MessageType
) -> None:
    claim = at(walk, store, State.WORKING)
    verified(store, claim)
    with untouched(), pytest.raises(BadField, match="message_type"):
        submit(store, claim, kind)


# Reporting (D3, D11).


@pytest.mark.parametrize("kind", sorted(REPORTS))
@pytest.mark.parametrize("state", sorted(VERDICTS | {State.WORKING, State.NEEDS_REVIEW}))
def test_a_report_waits_in_error_for_its_answer(
    store: Store, walk: Walk, state: State, kind: MessageType
) -> None:
    claim = at(walk, store, state)
    message_id = report(store, claim, kind)
    row = service.task_row(store, "task-01")
    assert (row.state, row.last_error) == (State.ERROR, "it broke")
    last = service.history_of(store, "task-01")[-1]
    assert (last.to_state, last.message_id, last.message_type) == (State.ERROR, message_id, kind)
    assert service.task_view(store, "task-01").report_texts == {message_id: "ERROR"}


def test_only_failures_at_work_count_as_retries(store: Store, walk: Walk) -> None:
    """D3: over all sessions, from history, whatever a raw claim did to the column."""
    claim = at(walk, store, State.NEEDS_REVIEW)
    report(store, claim)  # the conductor did not answer in time
    service.judge(store, "task-01", State.FIX_PROPOSED, "here I am")
    report(store, claim, MessageType.CONTEXT_WARNING)
    service.judge(store, "task-01", State.REVIEW_APPROVED, "go on")
    assert (error_reports(store), service.task_row(store, "task-01").retry_count) == (0, 0)
    for number in (1, 2):
        report(store, claim)
        assert (error_reports(store), service.task_row(store, "task-01").retry_count) == (number, number)
        service.judge(store, "task-01", State.FIX_PROPOSED, "try this")
    leave(store, claim)
    service.reopen(store, "task-01", "go on")
    assert isinstance(store, SqliteStore)
    store.connection.execute(
        "UPDATE orchestration_tasks SET state = 'working', session_id = 'raw', last_heartbeat = datetime('now'),"
        " retry_count = 0 WHERE task_id = 'task-01'"
    )
    successor = service.current_claim(store, "task-01", "raw")
    report(store, successor)
    assert service.task_row(store, "task-01").retry_count == 1
    assert error_reports(store) == 3


def test_a_report_in_error_is_a_message_only(store: Store, walk: Walk, grow_old: GrowOld) -> None:
    claim = at(walk, store, State.ERROR)
    before = service.history_of(store, "task-01")
    grow_old(store, "task-01", 500)
    message_id = report(store, claim)
    assert service.history_of(store, "task-01") == before
    assert service.messages_of(store, "task-01")[-1].id == message_id
    age = service.task_row(store, "task-01").heartbeat_age_s
    assert age is not None
    assert age < 60
    assert error_reports(store) == 1


def test_nothing_is_reported_after_the_exit_was_requested(
    store: Store, walk: Walk, untouched: Untouched
) -> None:
    claim = at(walk, store, State.EXIT_REQUESTED)
    with untouched(), pytest.raises(IllegalEvent):
        report(store, claim)


def test_only_reports_are_reported(store: Store, walk: Walk, untouched: Untouched) -> None:
    claim = at(walk, store, State.WORKING)
    with untouched(), pytest.raises(BadField, match="use context_warning or error"):
        report(store, claim, MessageType.COMPLETION)


# Going on, asking.


@pytest.mark.parametrize("state", sorted(VERDICTS))
def test_an_owner_goes_on_after_a_verdict(store: Store, walk: Walk, state: State) -> None:
    claim = at(walk, store, state)
    service.resume(store, claim, Entry(kind=Kind.APPROVED, item="checkpoint 1"))
    row = service.task_row(store, "task-01")
    assert (row.state, row.session_id, row.claim_epoch) == (State.WORKING, "a", claim.epoch)
    assert service.progress_of(store, "task-01").approved == {"checkpoint 1"}


@pytest.mark.parametrize("state", sorted(ACTIVE - VERDICTS))
def test_without_a_verdict_there_is_nothing_to_go_on_from(
    store: Store, walk: Walk, untouched: Untouched, state: State
) -> None:
    claim = at(walk, store, state)
    with untouched(), pytest.raises(IllegalEvent):
        service.resume(store, claim)


def test_a_question_keeps_the_state_and_reaches_the_conductor(store: Store, walk: Walk) -> None:
    claim = at(walk, store, State.WORKING)
    with Bell(store.path, "task-00") as bell:
        message_id = service.ask(store, claim, "which one?", Entry(kind=Kind.QUESTION, text="which one?"))
        assert bell.wait(5)
    assert state_of(store) is State.WORKING
    asked = service.messages_of(store, "task-01")[-1]
    assert (asked.id, asked.message_type, asked.from_session) == (message_id, MessageType.QUESTION, "a")
    assert service.progress_of(store, "task-01").questions == 1


def test_a_resumed_session_announces_itself(store: Store, walk: Walk) -> None:
    claim = at(walk, store, State.WORKING)
    message_id = service.announce(store, claim, "RESUMPTION")
    said = service.messages_of(store, "task-01")[-1]
    assert (said.id, said.message_type) == (message_id, MessageType.RESUMPTION_STATUS)


# Endings (D1, sources "Terminal Write Atomicity").


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
        handoff = tx.one("latest_document", task_id="task-01", kind="handoff")
    assert handoff is not None
    assert (handoff["body"], handoff["path"], handoff["written_by"]) == (
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
    with untouched(), pytest.raises(EvidenceMissing, match=r"no (reason|HANDOFF)"):
        leave(store, claim, reason=reason, handoff=handoff)


@pytest.mark.parametrize("resumes", [True, False])
def test_an_approved_completion_completes_the_task(store: Store, walk: Walk, resumes: bool) -> None:
    claim = at(walk, store, State.REVIEW_APPROVED)
    if resumes:
        service.resume(store, claim)
    assert service.approved_text(store, "task-01") == "TASK COMPLETE"
    with Bell(store.path, "task-00") as bell:
        finish(store, claim)
        assert bell.wait(5)
    view = service.task_view(store, "task-01")
    assert (view.row.state, view.row.report_path) == (State.COMPLETE, "docs/report.md")
    assert view.row.completed_at is not None
    assert view.history[-1].message_type == MessageType.COMPLETED
    assert view.sessions[0].exit_reason == "complete"


def test_nothing_completes_without_an_approved_completion(
    store: Store, walk: Walk, verified: Verified, untouched: Untouched
) -> None:
    claim = at(walk, store, State.WORKING)
    with untouched(), pytest.raises(EvidenceMissing, match="no approved completion"):
        finish(store, claim)
    for kind, verdict in (
        (MessageType.COMPLETION, State.REVIEW_FAILED),
        (MessageType.COMPLETION, State.FIX_PROPOSED),
        (MessageType.REVIEW_REQUEST, State.REVIEW_APPROVED),
    ):
        verified(store, claim)
        submit(store, claim, kind)
        service.judge(store, "task-01", verdict, "so be it")
        service.resume(store, claim)
        with untouched(), pytest.raises(EvidenceMissing):
            finish(store, claim)
        assert service.approved_text(store, "task-01") == ""


def test_a_later_submission_takes_an_approval_away(
    store: Store, walk: Walk, verified: Verified, untouched: Untouched
) -> None:
    claim = at(walk, store, State.REVIEW_APPROVED)
    verified(store, claim)
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
    second = service.claim(store, "task-01", "b", settings=SETTINGS).claim
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
