"""Questions that only a person can decide: records beside an unchanged state (D18). What a person then does."""

from musician.protocol.names import CONDUCTOR
from musician.protocol.states import State
from musician.service.verdicts import judge_in
from musician.service.work import open_rows
from musician.store.port import Store, Tx
from musician.store.queries.limits import Limits
from musician.store.queries.plans import Plans
from musician.store.queries.work import Work
from musician.store.rows import HumanRow


def ask_human(store: Store, task_id: str, *, kind: str, subject_id: int, text: str) -> None:
    """Record a decision that waits for a person; noticed twice, it is recorded once; settled, it can wait again."""
    with store.write() as tx:
        tx.run(Plans.ask_human, task_id=task_id, kind=kind, subject_id=subject_id, text=text)
        tx.ring(CONDUCTOR)


def open_asks(store: Store) -> tuple[HumanRow, ...]:
    """Everything that waits for a person, oldest first."""
    with store.read() as tx:
        return tuple(tx.all(Plans.needs_human))


def resolve_asks(store: Store, task_id: str, resolution: str) -> int:
    """A person has acted on a task; how many records that settles."""
    with store.write() as tx:
        tx.ring(CONDUCTOR)
        return tx.run(Plans.resolve_human, task_id=task_id, resolution=resolution)


def judge_as_person(
    store: Store, task_id: str, verdict: State, text: str = "", *, submission_id: int | None = None
) -> int:
    """A person's verdict, or that of whoever speaks for one; the verdict's message id.

    It rules on every open deviation (D17), and an approval on every finding too (D26). Unless it approves, it carries
    the drafts of comments as its points; :class:`BadField` if it approves while there are any, or says nothing.
    """
    with store.write() as tx:
        return judge_in_person(tx, task_id, verdict, text, submission_id=submission_id)


def judge_in_person(
    tx: Tx, task_id: str, verdict: State, text: str, *, submission_id: int | None = None
) -> int:
    """:func:`judge_as_person` within a transaction of the caller's."""
    deviations, findings = open_rows(tx.all(Work.journal_of_task, task_id=task_id))
    ruled = tuple(row.id for row in (*deviations, *(findings if verdict is State.REVIEW_APPROVED else ())))
    return judge_in(tx, task_id, verdict, text, submission_id=submission_id, rules=ruled, by_person=True)


def retry_troubles(store: Store, plan_id: str) -> int:
    """A run begins: what failed for its surroundings' sake is tried once more; how many records that settles.

    The disk may have room again, a login may be valid, and nobody but a new attempt can tell; if not, it is asked anew.
    """
    with store.write() as tx:
        again = "tried again by the next run"
        troubles = tx.run(Plans.retry_troubles, plan_id=plan_id, resolution=again)
        return troubles + tx.run(Limits.retry_refused, resolution=again)
