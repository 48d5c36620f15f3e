"""What a person orders of a task that did not go as planned: again, from the start, or without it."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial

import pytest

from musician import service
from musician.protocol.claim import Claim
from musician.protocol.errors import (
    ConductorError,
    DependentsWait,
    IllegalEvent,
    NothingAgain,
    StillPlayed,
    TaskIsOver,
)
from musician.protocol.journal import Entry, EntryKind, Progress
from musician.protocol.messages.kinds import MessageType
from musician.protocol.rules.deviations import Severity
from musician.protocol.settings import Settings
from musician.protocol.states import ACTIVE, State
from musician.service import Dependents
from musician.store.port import Store
from tests.conftest import Walk
from tests.service.test_plan_verbs import lock, plan, task

Untouched = Callable[[], AbstractContextManager[None]]
SETTINGS = Settings()
DONE = Entry(kind=EntryKind.COMPLETED, item="step 1", commit_id="c1")
DEVIATION = Entry(kind=EntryKind.DEVIATION, text="otherwise", severity=Severity.HIGH)


@pytest.mark.parametrize(
    ("state", "from_start", "outcome"),
    [
        (State.WATCHING, False, IllegalEvent),
        (State.WORKING, False, StillPlayed),
        (State.NEEDS_REVIEW, False, IllegalEvent),
        (State.REVIEW_APPROVED, False, StillPlayed),
        (State.REVIEW_FAILED, False, StillPlayed),
        (State.FIX_PROPOSED, False, StillPlayed),
        (State.ERROR, False, State.FIX_PROPOSED),
        (State.EXIT_REQUESTED, False, StillPlayed),
        (State.EXITED, False, State.FIX_PROPOSED),
        (State.COMPLETE, False, NothingAgain),
        (State.WATCHING, True, IllegalEvent),
        (State.WORKING, True, StillPlayed),
        (State.NEEDS_REVIEW, True, IllegalEvent),
        (State.ERROR, True, StillPlayed),
        (State.EXITED, True, State.FIX_PROPOSED),
        (State.COMPLETE, True, NothingAgain),
    ],
)
def test_what_a_retry_means_in_each_state(
    store: Store, walk: Walk, untouched: Untouched, state: State, from_start: bool, outcome: object
) -> None:
    """AGAIN-RETRY: all with a session that lives; each refusal names a command, and changes nothing."""
    walk(store, "task-01", state)
    retry = partial(service.retry, store, "task-01", from_start=from_start)
    if isinstance(outcome, State):
        assert retry().state is outcome
        return
    with untouched(), pytest.raises(ConductorError if outcome is not IllegalEvent else IllegalEvent) as said:
        retry()
    assert type(said.value) is outcome
    assert "`musician " in str(said.value)


def test_a_retry_settles_what_waits_and_counts_errors_anew(store: Store, walk: Walk) -> None:
    """AGAIN-RETRY: the task is nobody's; said twice, it is done once. What is done stays done."""
    walk(store, "task-01", State.EXITED, session_id="a")
    service.ask_human(store, "task-01", kind="retries", subject_id=1, text="gave up")
    done = service.retry(store, "task-01", "use the other library", patience=9)
    again = service.retry(store, "task-01", patience=9)
    assert (done.state, done.errors_left, again) == (State.FIX_PROPOSED, 9, done)
    view = service.task_view(store, "task-01")
    assert (view.open_asks, view.row.session_id) == ((), None)
    assert view.history[-1].message_type == MessageType.HANDOFF
    assert [each.message for each in service.unread(store, "task-01")].count("use the other library") == 1
    assert service.claim(store, "task-01", "b", settings=SETTINGS).number == 2


@pytest.mark.parametrize("state", [State.WATCHING, State.EXITED, State.ERROR])
def test_a_ceiling_is_asked_about_still(store: Store, walk: Walk, state: State) -> None:
    """AGAIN-RETRY: nothing is granted by a retry, and the question would come again."""
    walk(store, "task-01", state)
    service.ask_human(store, "task-01", kind="error", subject_id=1, text="the same error twice")
    service.ask_human(store, "task-01", kind="budget", subject_id=1, text="a ceiling is reached")
    service.retry(store, "task-01")
    assert [ask.kind for ask in service.task_view(store, "task-01").open_asks] == ["budget"]


def test_what_was_never_claimed_is_tried_again_where_a_person_was_asked(store: Store, walk: Walk) -> None:
    """AGAIN-RETRY: as after musicians that do not start."""
    walk(store, "task-01", State.WATCHING)
    service.ask_human(store, "task-01", kind="launch", subject_id=3, text="three musicians")
    told = service.retry(store, "task-01", from_start=True)
    assert (told.state, told.from_start) == (State.WATCHING, False)
    assert service.open_asks(store) == ()


def test_only_the_merge_of_a_complete_task_is_tried_again(store: Store, walk: Walk) -> None:
    """AGAIN-RETRY: complete never moves again."""
    walk(store, "task-01", State.COMPLETE)
    service.ask_human(store, "task-01", kind="merge", subject_id=0, text="its merge is red")
    with pytest.raises(NothingAgain, match="task-01-fix"):
        service.retry(store, "task-01", from_start=True)
    assert service.retry(store, "task-01").state is State.COMPLETE
    assert service.open_asks(store) == ()


def test_started_over_nothing_from_before_counts(store: Store, walk: Walk) -> None:
    """AGAIN-START-OVER: the folds over the journal begin there; errors and the history are kept."""
    walk(store, "task-01", State.WORKING, session_id="a")
    claim = Claim(task_id="task-01", session_id="a", epoch=1)
    service.record(store, claim, DONE, DEVIATION)
    service.keep_conversation(store, claim, "token")
    walk_on = service.task_view(store, "task-01")
    service.fence(store, "task-01", epoch=1)
    service.take_over(store, "task-01", "it died", reason="died")
    assert walk_on.this_time is walk_on
    for _ in range(2):
        told = service.retry(store, "task-01", from_start=True)
    assert (told.epoch, told.state) == (2, State.FIX_PROPOSED)
    view = service.task_view(store, "task-01")
    assert [row.kind for row in view.journal].count(EntryKind.STARTED_OVER) == 1
    assert Progress().after(map(service.as_entry, view.journal)) == Progress()
    assert service.open_rows(view.journal) == ((), ())
    now = view.this_time
    assert ([row.kind for row in now.journal], now.sessions) == ([EntryKind.STARTED_OVER], ())
    assert (len(view.sessions), now.history) == (1, view.history)
    taken = service.claim(store, "task-01", "b", settings=SETTINGS)
    assert service.conversation_before(store, taken.claim) is None
    assert [row.session_id for row in service.task_view(store, "task-01").this_time.sessions] == ["b"]


def test_what_is_approved_is_not_started_over(store: Store, walk: Walk, untouched: Untouched) -> None:
    """AGAIN-START-OVER: it may be merged already. Its next session completes it."""
    walk(store, "task-01", State.REVIEW_APPROVED)
    service.fence(store, "task-01", epoch=1)
    service.take_over(store, "task-01", "it died", reason="died")
    with untouched(), pytest.raises(NothingAgain, match="approved"):
        service.retry(store, "task-01", from_start=True)
    assert service.retry(store, "task-01").state is State.FIX_PROPOSED


PLAN = plan(
    (
        task("task-01"),
        task("task-02", after=("task-01",)),
        task("task-03", after=("task-02",)),
        task("task-04"),
    ),
    (task("task-05"),),
)


@pytest.mark.parametrize("state", sorted(ACTIVE - {State.COMPLETE}))
def test_what_a_session_has_is_not_skipped(
    store: Store, walk: Walk, untouched: Untouched, state: State
) -> None:
    """AGAIN-SKIP"""
    walk(store, "task-01", state)
    with untouched(), pytest.raises(StillPlayed, match="musician stop task-01"):
        service.skip(store, "task-01", "no need")


def test_what_is_to_be_played_after_a_skipped_task_is_decided_with_it(
    store: Store, untouched: Untouched
) -> None:
    """AGAIN-SKIP: by what the plan says of tasks; later phases go on."""
    lock(store, PLAN)
    with untouched(), pytest.raises(DependentsWait) as waits:
        service.skip(store, "task-01", "no need")
    assert waits.value.waiting == ("task-02", "task-03")
    service.claim(store, "task-03", "s", out_of_turn=True, settings=SETTINGS)
    with untouched(), pytest.raises(StillPlayed):
        service.skip(store, "task-01", "no need", dependents=Dependents.SKIP)
    told = service.skip(store, "task-01", "no need", dependents=Dependents.PLAY)
    assert (told.skipped, told.go_on) == (("task-01",), ("task-02", "task-03"))
    assert service.skip(store, "task-01", "again").skipped == ()
    service.claim(store, "task-02", "t", settings=SETTINGS)


def test_a_skipped_task_says_why_and_is_settled(store: Store, walk: Walk) -> None:
    """AGAIN-SKIP: its dependents too; by raw SQL as well; taken back by a retry, its plan is open again."""
    lock(store, PLAN)
    conducting = service.start_conducting(store, "c", settings=SETTINGS)
    service.ask_human(store, "task-02", kind="launch", subject_id=3, text="three musicians")
    service.skip(store, "task-01", "no need", dependents=Dependents.SKIP)
    rows = {row.task_id: row for row in service.tasks_of(store, "greeter")}
    assert rows["task-01"].skipped == "no need"
    assert rows["task-03"].skipped == "skipped with task-01: no need"
    assert (rows["task-01"].is_withdrawn, rows["task-01"].is_over) == (False, True)
    assert (rows["task-01"].shown_state, rows["task-04"].shown_state) == ("skipped", "watching")
    assert service.open_asks(store) == ()
    assert [row.task_id for row in service.open_tasks(store)] == ["task-04", "task-05"]
    assert service.history_of(store, "task-01")[-1].message_type == MessageType.SKIPPED
    with pytest.raises(TaskIsOver, match="musician task retry task-01 TEXT"):
        service.send(store, "task-01", "go on")
    service.finish_conducting(store, conducting, "greeter")
    service.retry(store, "task-01")
    assert service.send(store, "task-01", "go on") > 0
    row = service.plan_row(store, "greeter")
    assert row is not None
    assert row.finished_at is None
    assert service.task_row(store, "task-01").skipped is None


def test_what_was_withdrawn_comes_back_by_its_plan_alone(store: Store) -> None:
    """AGAIN-RETRY"""
    lock(store, PLAN)
    service.withdraw(store, "task-04", "not in the plan any more")
    with pytest.raises(NothingAgain, match="musician plan amend"):
        service.retry(store, "task-04")
