"""The owner's verbs at work: write down, report, go on, ask."""

from pathlib import Path

import pytest

from musician import service
from musician.processes.identity import ProcessIdentity
from musician.protocol.errors import IllegalEvent
from musician.protocol.journal import Entry, EntryKind
from musician.protocol.messages.kinds import MessageType
from musician.protocol.rules.deviations import Severity
from musician.protocol.states import ACTIVE, VERDICTS, State
from musician.reporting.standing import Standing
from musician.store.bell import Bell
from musician.store.port import Store
from musician.store.sqlite.store import SqliteStore
from tests.conftest import GrowOld, Walk
from tests.said import REPORTS, resumption
from tests.said import report as report_of
from tests.service.owning import Untouched, at, error_reports, leave, report, state_of

IDENTITY = ProcessIdentity(pid=1, pgid=1, started_at_s=1.5, boot_id="boot", host="here")

# Writing down.


def test_what_is_recorded_adds_up_to_progress_and_refreshes_the_heartbeat(
    store: Store, walk: Walk, grow_old: GrowOld
) -> None:
    claim = at(walk, store, State.WORKING)
    grow_old(store, "task-01", 500)
    service.record(
        store,
        claim,
        Entry(kind=EntryKind.COMPLETED, item="step 1", commit_id="c1", context_pct=12.5),
        Entry(kind=EntryKind.DEVIATION, item="step 1", text="another way", severity=Severity.MEDIUM),
    )
    progress = Standing(service.task_view(store, "task-01")).progress
    assert progress.completed == ("step 1",)
    assert service.task_view(store, "task-01").journal[0].context_pct == 12.5
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
    assert service.task_view(store, "task-01").reports[message_id].said == report_of(kind, "ERROR")


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


# Going on, asking.


@pytest.mark.parametrize("state", sorted(VERDICTS))
def test_an_owner_goes_on_after_a_verdict(store: Store, walk: Walk, state: State) -> None:
    claim = at(walk, store, state)
    service.resume(store, claim, Entry(kind=EntryKind.APPROVED, item="checkpoint 1"))
    row = service.task_row(store, "task-01")
    assert (row.state, row.session_id, row.claim_epoch) == (State.WORKING, "a", claim.epoch)
    assert Standing(service.task_view(store, "task-01")).progress.approved == {"checkpoint 1"}


@pytest.mark.parametrize("state", sorted(ACTIVE - VERDICTS))
def test_without_a_verdict_there_is_nothing_to_go_on_from(
    store: Store, walk: Walk, untouched: Untouched, state: State
) -> None:
    claim = at(walk, store, state)
    with untouched(), pytest.raises(IllegalEvent):
        service.resume(store, claim)


def test_a_question_keeps_the_state_and_reaches_the_conductor(store: Store, walk: Walk) -> None:
    claim = at(walk, store, State.WORKING)
    with Bell(Path(store.name), "task-00") as bell:
        message_id = service.ask(
            store, claim, "which one?", Entry(kind=EntryKind.QUESTION, text="which one?")
        )
        assert bell.drain()
    assert state_of(store) is State.WORKING
    asked = service.messages_of(store, "task-01")[-1]
    assert (asked.id, asked.message_type, asked.from_session) == (message_id, MessageType.QUESTION, "a")


def test_a_resumed_session_announces_itself(store: Store, walk: Walk) -> None:
    claim = at(walk, store, State.WORKING)
    message_id = service.announce(store, claim, resumption())
    said = service.messages_of(store, "task-01")[-1]
    assert (said.id, said.message_type) == (message_id, MessageType.RESUMPTION_STATUS)
