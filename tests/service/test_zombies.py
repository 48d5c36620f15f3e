"""A fenced session writes nothing any more; its successor's row and words are what they were (D2)."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from musician import service
from musician.processes.identity import ProcessIdentity
from musician.protocol.claim import Claim
from musician.protocol.errors import ClaimLost, UnknownTask
from musician.protocol.journal import Entry, EntryKind
from musician.protocol.messages.kinds import MessageType
from musician.protocol.settings import Settings
from musician.protocol.states import State
from musician.store.port import Store
from musician.store.sqlite.store import SqliteStore
from tests.conftest import Walk
from tests.said import evidence, farewell, resumption, submission
from tests.said import report as report_of

Untouched = Callable[[], AbstractContextManager[None]]
Verb = Callable[[Store, Claim], object]

VERBS: dict[str, Verb] = {
    "heartbeat": lambda store, claim: service.beat(store, claim),
    "record": lambda store, claim: service.record(
        store, claim, Entry(kind=EntryKind.NOTE, text="still here")
    ),
    "verification": lambda store, claim: service.record(store, claim, verified=evidence()),
    "process": lambda store, claim: service.record_process(
        store, claim, "agent", ProcessIdentity(pid=1, pgid=1, started_at_s=1, boot_id="b", host="h")
    ),
    "describe": lambda store, claim: service.describe_session(store, claim, agent="shell"),
    "submit": lambda store, claim: service.submit(
        store, claim, submission(MessageType.COMPLETION, "mine"), verified=evidence()
    ),
    "report": lambda store, claim: service.report(
        store, claim, report_of(MessageType.ERROR, "mine"), last_error="x"
    ),
    "ask": lambda store, claim: service.ask(store, claim, "may I?"),
    "announce": lambda store, claim: service.announce(store, claim, resumption()),
    "resume": lambda store, claim: service.resume(store, claim),
    "deliver": lambda store, claim: service.deliver(store, claim, (1,)),
    "acknowledge": lambda store, claim: service.acknowledge(store, claim, 1),
    "exit": lambda store, claim: service.exit_task(store, claim, farewell("r", path="p"), handoff="h"),
    "complete": lambda store, claim: service.complete(store, claim, report_path="p", report="r", notice="n"),
}


def fenced(store: Store, claim: Claim) -> None:
    service.fence(store, claim.task_id, epoch=claim.epoch)


def taken_over(store: Store, claim: Claim) -> None:
    fenced(store, claim)
    service.take_over(store, claim.task_id, "go on", reason="dead")


def succeeded(store: Store, claim: Claim) -> None:
    taken_over(store, claim)
    service.claim(store, claim.task_id, "successor", settings=Settings())


def succeeded_by_its_own_name(store: Store, claim: Claim) -> None:
    """The same session id comes back with another claim: the old epoch is dead all the same."""
    taken_over(store, claim)
    service.claim(store, claim.task_id, claim.session_id, settings=Settings())


FATES = [fenced, taken_over, succeeded, succeeded_by_its_own_name]


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("fate", FATES, ids=lambda fate: fate.__name__)
def test_a_zombie_writes_nothing(
    store: Store, walk: Walk, untouched: Untouched, verb: str, fate: Callable[[Store, Claim], None]
) -> None:
    claim = walk(store, "task-01", State.REVIEW_APPROVED, session_id="zombie")
    assert claim is not None
    fate(store, claim)
    with untouched(), pytest.raises(ClaimLost) as lost:
        VERBS[verb](store, claim)
    error = lost.value
    assert (error.session_id, error.epoch, error.exit_code) == ("zombie", claim.epoch, 4)
    assert error.current_epoch > claim.epoch


@pytest.mark.parametrize("verb", VERBS)
def test_a_fence_is_no_claim_even_for_who_guesses_its_epoch(
    store: Store, walk: Walk, untouched: Untouched, verb: str
) -> None:
    claim = walk(store, "task-01", State.WORKING, session_id="zombie")
    assert claim is not None
    epoch = service.fence(store, "task-01", epoch=claim.epoch)
    with untouched(), pytest.raises(ClaimLost):
        VERBS[verb](store, Claim(task_id="task-01", session_id="zombie", epoch=epoch))


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("state", [State.EXITED, State.COMPLETE])
def test_nothing_is_written_after_a_terminal_write(
    store: Store, walk: Walk, untouched: Untouched, verb: str, state: State
) -> None:
    """D1."""
    claim = walk(store, "task-01", state, session_id="done")
    assert claim is not None
    with untouched(), pytest.raises(ClaimLost):
        VERBS[verb](store, claim)


@pytest.mark.parametrize("verb", VERBS)
def test_an_owner_of_what_does_not_exist_hears_so(store: Store, untouched: Untouched, verb: str) -> None:
    with untouched(), pytest.raises(UnknownTask):
        VERBS[verb](store, Claim(task_id="task-99", session_id="s", epoch=1))


def test_a_session_that_only_wrote_its_name_into_the_row_owns_nothing(store: Store, walk: Walk) -> None:
    claim = walk(store, "task-01", State.WORKING, session_id="a")
    assert claim is not None
    assert isinstance(store, SqliteStore)
    store.connection.execute("UPDATE orchestration_tasks SET session_id = 'thief'")
    with pytest.raises(ClaimLost):
        service.beat(store, Claim(task_id="task-01", session_id="thief", epoch=claim.epoch))
    with pytest.raises(ClaimLost):
        service.current_claim(store, "task-01", "thief")
    service.beat(store, claim)
