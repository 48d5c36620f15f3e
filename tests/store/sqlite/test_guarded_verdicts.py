"""Submissions, verdicts and completion, for every writer (D5, D6, D7)."""

# ruff: noqa: S608 - raw SQL is the point
import pytest

from musician import service
from musician.protocol.errors import EvidenceMissing
from musician.protocol.journal import Entry, EntryKind
from musician.protocol.messages.kinds import MessageType
from musician.protocol.settings import Settings
from musician.protocol.states import State
from musician.store.port import Store
from tests.conftest import GrowOld, Walk
from tests.said import evidence, submission
from tests.store.sqlite.conftest import Raw
from tests.store.sqlite.statements import blocks, refuses, say_sql, to_sql


@pytest.mark.parametrize("message_first", [True, False])
@pytest.mark.parametrize(
    ("state", "message_type"),
    [
        ("needs_review", "review_request"),
        ("needs_review", "completion"),
        ("error", "error"),
        ("error", "context_warning"),
        ("exited", "handoff"),
    ],
)
def test_message_and_state_bind_in_either_order(
    raw: Raw, store: Store, walk: Walk, message_first: bool, state: str, message_type: str
) -> None:
    """D5."""
    walk(store, "task-01", State.WORKING, session_id="s1")
    statements = [to_sql("task-01", state), say_sql("task-01", "s1", message_type)]
    for statement in reversed(statements) if message_first else statements:
        assert raw(statement) == 1
    assert raw.last_change("task-01") == ("working", state, "s1", "s1", message_type, None)


@pytest.mark.parametrize("message_first", [True, False])
def test_only_a_message_that_goes_with_the_change_binds(
    raw: Raw, store: Store, walk: Walk, message_first: bool
) -> None:
    walk(store, "task-01", State.WORKING, session_id="s1")
    walk(store, "task-10", State.WORKING, session_id="s10")
    others = [
        say_sql("task-01", "s2", "review_request"),  # another session's
        say_sql("task-01", "task-00", "review_request"),
        say_sql("task-01", "s1", "question"),  # another kind
        say_sql("task-10", "s1", "review_request"),  # another task's
    ]
    for statement in [*others, to_sql("task-01", "needs_review")] if message_first else []:
        raw(statement)
    if not message_first:
        for statement in [to_sql("task-01", "needs_review"), *others]:
            raw(statement)
    assert raw.last_change("task-01")[4] is None
    refuses(raw, to_sql("task-01", "review_approved"), "its message is missing")
    raw(say_sql("task-01", "s1", "review_request", "at last"))
    raw(say_sql("task-01", "s1", "review_request", "another one"))
    assert raw.last_change("task-01")[4] == "review_request"
    assert service.task_view(store, "task-01").submissions[0].message == "at last"
    assert raw(to_sql("task-01", "review_approved")) == 1


@pytest.mark.parametrize("verdict", ["review_approved", "review_failed", "fix_proposed"])
@pytest.mark.parametrize("state", ["needs_review", "error"])
@pytest.mark.parametrize("clears_owner", ["", ", session_id = NULL"])
def test_nothing_is_judged_before_its_message_is_there(
    raw: Raw, store: Store, walk: Walk, verdict: str, state: str, clears_owner: str
) -> None:
    walk(store, "task-01", State.WORKING, session_id="s1")
    raw(to_sql("task-01", state))
    refuses(
        raw,
        f"UPDATE orchestration_tasks SET state = '{verdict}'{clears_owner} WHERE task_id = 'task-01'",
        "its message is missing|its owner is alive",
    )


def test_a_conductors_raw_verdict_binds_to_the_latest_submission(raw: Raw, store: Store, walk: Walk) -> None:
    """D6: its message first, then the state."""
    walk(store, "task-01", State.NEEDS_REVIEW, session_id="s1")
    first = service.task_view(store, "task-01").submissions[-1].message_id
    raw(say_sql("task-01", "task-00", "rejection", "not yet"))
    raw(to_sql("task-01", "review_failed"))
    assert raw.last_change("task-01") == (
        "needs_review",
        "review_failed",
        "task-00",
        "s1",
        "rejection",
        first,
    )
    raw(to_sql("task-01", "needs_review"))
    raw(say_sql("task-01", "s1", "completion", "again"))
    second = service.task_view(store, "task-01").submissions[-1].message_id
    raw(to_sql("task-01", "review_approved"))
    assert raw.last_change("task-01") == ("needs_review", "review_approved", "task-00", "s1", None, second)
    raw(say_sql("task-01", "task-00", "approval", "late, but bound"))
    assert raw.last_change("task-01")[4] == "approval"
    assert second != first


def test_a_resubmission_shows_both_steps(raw: Raw, store: Store, walk: Walk) -> None:
    walk(store, "task-01", State.REVIEW_FAILED, session_id="s1")
    raw(say_sql("task-01", "s1", "review_request"))
    raw(to_sql("task-01", "needs_review"))
    steps = [(change.from_state, change.to_state) for change in service.history_of(store, "task-01")]
    assert steps[-2:] == [(State.REVIEW_FAILED, State.WORKING), (State.WORKING, State.NEEDS_REVIEW)]


COMPLETE = to_sql("task-01", "complete")
UNAPPROVED = "only an approved completion"


def test_completion_needs_its_own_approval(raw: Raw, store: Store, walk: Walk) -> None:
    """Approval before complete, for every writer; the latest submission counts (D6, D7)."""
    walk(store, "task-01", State.WORKING, session_id="s1")
    refuses(raw, COMPLETE, UNAPPROVED)
    raw(say_sql("task-01", "task-00", "approval", "a message alone approves nothing"))
    refuses(raw, COMPLETE, UNAPPROVED)
    for message_type, verdict in (("review_request", "review_approved"), ("completion", "review_failed")):
        raw(say_sql("task-01", "s1", message_type))
        raw(to_sql("task-01", "needs_review"))
        raw(say_sql("task-01", "task-00", "approval" if verdict == "review_approved" else "rejection"))
        raw(to_sql("task-01", verdict))
        raw(to_sql("task-01", "working"))
        refuses(raw, COMPLETE, UNAPPROVED)
    for message_type in ("completion", "review_request", "completion"):
        raw(say_sql("task-01", "s1", message_type))
        raw(to_sql("task-01", "needs_review"))
        raw(say_sql("task-01", "task-00", "approval"))
        raw(to_sql("task-01", "review_approved"))
        if message_type == "review_request":
            refuses(raw, COMPLETE, UNAPPROVED)
    assert raw(COMPLETE) == 1


def test_an_approval_of_one_submission_completes_no_other(raw: Raw, store: Store, walk: Walk) -> None:
    """AUDIT-V6, D28.2: said of the first completion, and the state is moved once a second one waits."""
    walk(store, "task-01", State.NEEDS_REVIEW, session_id="s1")
    raw(say_sql("task-01", "task-00", "approval", "this one is fine"))
    service.request_exit(store, "task-01", "another takes it", urgent=False)
    raw(to_sql("task-01", "exited"))
    service.reopen(store, "task-01")
    claim = service.claim(store, "task-01", "s2", settings=Settings()).claim
    assert claim.epoch == 2
    raw(say_sql("task-01", "s2", "completion", "and something quite different"))
    raw(to_sql("task-01", "needs_review"))
    raw(to_sql("task-01", "review_approved"))
    refuses(raw, COMPLETE, UNAPPROVED)
    assert service.task_view(store, "task-01").submissions[-1].verdict is None
    raw(say_sql("task-01", "task-00", "approval", "this one too"))
    assert raw(COMPLETE) == 1


def test_an_approved_completion_covers_no_later_work(raw: Raw, store: Store, walk: Walk) -> None:
    """AUDIT-V6, D28.1: by whatever writer."""
    claim = walk(store, "task-01", State.WORKING, session_id="s1")
    assert claim is not None
    service.submit(
        store,
        claim,
        submission(MessageType.COMPLETION, "TASK COMPLETE"),
        verified=evidence(),
        commit_id="c1",
        tree_id="t1",
        changed_files=1,
    )
    service.judge(store, "task-01", State.REVIEW_APPROVED, "fine")
    service.resume(store, claim, Entry(kind=EntryKind.STARTED, item="step 1"))
    refuses(raw, COMPLETE, "something was played since what stands approved was submitted")
    with pytest.raises(EvidenceMissing, match="something was played"):
        service.complete(store, claim, report_path="docs/r.md", report="done", notice="COMPLETED")


def test_an_answer_to_an_error_report_approves_no_completion(raw: Raw, store: Store, walk: Walk) -> None:
    walk(store, "task-01", State.NEEDS_REVIEW, session_id="s1")
    raw(say_sql("task-01", "s1", "error", "conductor timeout"))
    raw(to_sql("task-01", "error"))
    raw(to_sql("task-01", "review_approved"))
    refuses(raw, COMPLETE, UNAPPROVED)


def test_a_late_heartbeat_on_a_complete_task_changes_nothing(raw: Raw, store: Store, walk: Walk) -> None:
    walk(store, "task-01", State.COMPLETE)
    for late in ("last_heartbeat = datetime('now', '+1 day')", "session_id = 'thief'", "report_path = 'x'"):
        blocks(raw, f"UPDATE orchestration_tasks SET {late} WHERE task_id = 'task-01'")


def test_a_heartbeat_without_an_owner_means_nothing(raw: Raw, store: Store, walk: Walk) -> None:
    """D10."""
    walk(store, "task-01", State.WATCHING)
    assert raw("UPDATE orchestration_tasks SET last_heartbeat = datetime('now')") == 1
    assert service.task_row(store, "task-01").last_heartbeat is None


def test_a_raw_heartbeat_of_an_owner_counts(raw: Raw, store: Store, walk: Walk, grow_old: GrowOld) -> None:
    walk(store, "task-01", State.WORKING)
    grow_old(store, "task-01", 1000)
    assert (
        raw("UPDATE orchestration_tasks SET last_heartbeat = datetime('now') WHERE task_id = 'task-01'") == 1
    )
    age = service.task_row(store, "task-01").heartbeat_age_s
    assert age is not None
    assert age < 60


def test_a_submission_is_judged_by_type(raw: Raw, store: Store, walk: Walk) -> None:
    walk(store, "task-01", State.WORKING, session_id="s1")
    raw(to_sql("task-01", "needs_review"))
    note = raw.value("SELECT count(*) FROM orchestration_messages")
    raw(say_sql("task-01", "s1", MessageType.NOTE))
    refuses(
        raw,
        f"UPDATE history SET message_id = {note} + 1, message_type = 'note' WHERE id = 3",
        "never changed",
    )
