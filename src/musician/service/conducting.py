"""The conductor's own row, ``task-00`` (D13)."""

from musician.protocol.names import CONDUCTOR, check_session_id
from musician.protocol.settings import Settings
from musician.protocol.states import State
from musician.protocol.values import dataclass
from musician.service.settling import keep_in
from musician.store.port import Store
from musician.store.queries.plans import Plans
from musician.store.queries.tasks import Tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class Conducting:
    """The claim of the conductor's row."""

    session_id: str
    epoch: int


def start_conducting(store: Store, session_id: str, *, settings: Settings) -> Conducting:
    """Claim ``task-00`` by epoch, from whoever had it: the caller holds the conductor's lock, so nobody has it now."""
    check_session_id(session_id)
    with store.write() as tx:
        keep_in(tx, settings)
        row = tx.one(Tasks.task, task_id=CONDUCTOR)
        if row is None:
            tx.run(Tasks.conductor_insert, session_id=session_id)
            return Conducting(session_id=session_id, epoch=1)
        tx.run(Tasks.conductor_claim, session_id=session_id, claim_epoch=row.claim_epoch)
        return Conducting(session_id=session_id, epoch=row.claim_epoch + 1)


def beat_conductor(store: Store, conducting: Conducting) -> bool:
    """Show that the conductor lives; False if its row was taken by another."""
    with store.write() as tx:
        return tx.run(Tasks.conductor_beat, **_named(conducting)) == 1


def interrupt_conducting(store: Store, conducting: Conducting) -> None:
    """Leave with work undone: the next run goes on."""
    _leave(store, conducting, State.EXIT_REQUESTED)


def finish_conducting(store: Store, conducting: Conducting, plan_id: str) -> bool:
    """Everything of the plan is complete. False if a task is open after all: then it leaves with work undone."""
    return _leave(store, conducting, State.COMPLETE, finished_plan=plan_id)


def _leave(store: Store, conducting: Conducting, state: State, *, finished_plan: str | None = None) -> bool:
    with store.write() as tx:
        is_finished = True
        if finished_plan is not None:
            tx.run(Plans.finish_plan, plan_id=finished_plan)
            row = tx.one(Plans.plan, plan_id=finished_plan)
            is_finished = row is None or row.finished_at is not None
            state = state if is_finished else State.EXIT_REQUESTED
        tx.run(Tasks.conductor_move, state=state, **_named(conducting))
        tx.ring(CONDUCTOR)
        return is_finished


def _named(conducting: Conducting) -> dict[str, str | int]:
    return {"session_id": conducting.session_id, "claim_epoch": conducting.epoch}
