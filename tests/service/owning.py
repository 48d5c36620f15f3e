"""An owner's acts in their shortest form."""

from collections.abc import Callable
from contextlib import AbstractContextManager

from musician import service
from musician.protocol.claim import Claim
from musician.protocol.messages.kinds import MessageType
from musician.protocol.rules.review import Verified
from musician.protocol.states import State
from musician.store.port import Store
from musician.store.queries.history import History
from tests.conftest import Walk
from tests.said import evidence, farewell, submission
from tests.said import report as report_of

GREEN = evidence()
Untouched = Callable[[], AbstractContextManager[None]]


def at(walk: Walk, store: Store, state: State, *, session_id: str = "a") -> Claim:
    claim = walk(store, "task-01", state, session_id=session_id)
    assert claim is not None
    return claim


def submit(
    store: Store,
    claim: Claim,
    kind: MessageType = MessageType.REVIEW_REQUEST,
    *,
    verified: Verified = GREEN,
) -> int:
    return service.submit(store, claim, submission(kind, "REVIEW REQUEST"), verified=verified)


def report(store: Store, claim: Claim, kind: MessageType = MessageType.ERROR) -> int:
    return service.report(store, claim, report_of(kind, "ERROR"), last_error="it broke")


def leave(store: Store, claim: Claim, *, reason: str = "context", handoff: str = "next: step 2") -> None:
    service.exit_task(store, claim, farewell(reason, used_pct=66), handoff=handoff)


def finish(store: Store, claim: Claim, *, text: str = "done") -> None:
    service.complete(store, claim, report_path="docs/report.md", report=text, notice="COMPLETED")


def state_of(store: Store) -> State:
    return service.task_row(store, "task-01").state


def error_reports(store: Store) -> int:
    with store.read() as tx:
        return tx.only(History.count_error_reports, task_id="task-01")
