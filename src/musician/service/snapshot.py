"""Reads what is current of the whole database from one snapshot, for who looks at all of it again and again.

A task that nobody is at work on, and that nothing is asked about, is its row: only the others have a view. So a look
costs what goes on, not what there is.
"""

from collections.abc import Mapping

from musician.protocol.messages.forecasts import Foreseen
from musician.protocol.names import CONDUCTOR
from musician.protocol.values import dataclass
from musician.service.foretelling import foreseen_in
from musician.service.limits import ClosedAccount, closed_in
from musician.service.views import TaskView, view_in
from musician.store.port import Store, Tx
from musician.store.queries.changes import Changes
from musician.store.queries.history import History
from musician.store.queries.pausing import Pauses
from musician.store.queries.plans import Plans, WaitRow
from musician.store.queries.sessions import Sessions
from musician.store.queries.tasks import Tasks
from musician.store.rows import PauseRow, PlanRow, TaskRow
from musician.store.rows.sessions import CostRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """The open tasks of a plan, a row for each task that one waits for."""

    rows: tuple[WaitRow, ...] = ()

    def on(self, row: TaskRow) -> tuple[str, ...]:
        """Return the tasks that wait for this one, or for one that does, in the plan's order."""
        later = (each.task_id for each in self.rows if _is_before(row.phase, each.phase))
        return self.after(row.task_id, *later)

    @property
    def named(self) -> Mapping[str, tuple[str, ...]]:
        """The open tasks that the plan says another is to be played after, of each of which that is so."""
        open_ids = {each.task_id for each in self.rows}
        found: dict[str, tuple[str, ...]] = {}
        for each in self.rows:
            if each.after in open_ids:
                found[each.task_id] = (*found.get(each.task_id, ()), each.after)
        return found

    def after(self, task_id: str, *more_ids: str) -> tuple[str, ...]:
        """Return those that the plan says are to be played after it, or after others, and those after them."""
        waiting = {task_id, *more_ids}
        while more := {each.task_id for each in self.rows if each.after in waiting} - waiting:
            waiting |= more
        waiting.discard(task_id)
        return tuple(dict.fromkeys(each.task_id for each in self.rows if each.task_id in waiting))


def _is_before(phase: int | None, other: int | None) -> bool:
    return phase is not None and other is not None and phase < other


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """``seq`` is how far the one order had come: everything up to here is in it, and nothing after it."""

    seq: int
    at: str
    conductor: TaskRow | None
    plans: tuple[PlanRow, ...]
    """Those that are not finished, and the one in which something happened last; the oldest first."""
    rows: Mapping[str | None, tuple[TaskRow, ...]]
    """The tasks of each of these plans, and under None those without one."""
    views: Mapping[str, TaskView]
    """Of the tasks at work, and of those that something is asked about."""
    foreseen: Mapping[str, Foreseen]
    """What is foretold of the unfinished tasks of these plans."""
    waits: Mapping[str | None, Waits]
    """Of these plans, and of those of these tasks."""
    titles: Mapping[str, Mapping[int, str]]
    """Of the phases of these plans, by their numbers."""
    costs: Mapping[str, CostRow]
    """What tasks of these plans have used; of one that has used nothing there is none."""
    paused: Mapping[str, PauseRow]
    """The plans that a person has paused."""
    closed: tuple[ClosedAccount, ...]
    """The accounts of agents that are given nothing, or may not be."""


def snapshot_of(store: Store) -> Snapshot:
    with store.read() as tx:
        plans = tuple(tx.all(Plans.current_plans))
        views = {row.task_id: view_in(tx, row) for row in tx.all(Tasks.tasks_at_hand)}
        return Snapshot(
            seq=tx.only(Changes.newest_seq),
            at=tx.only(History.now),
            conductor=tx.one(Tasks.task, task_id=CONDUCTOR),
            plans=plans,
            rows={
                plan_id: tuple(tx.all(Tasks.tasks_of_plan, plan_id=plan_id))
                for plan_id in (*(plan.plan_id for plan in plans), None)
            },
            views=views,
            waits={
                plan_id: waits_in(tx, plan_id)
                for plan_id in {
                    *(plan.plan_id for plan in plans),
                    *(view.row.plan_id for view in views.values()),
                }
            },
            titles={
                plan.plan_id: {row.number: row.title for row in tx.all(Plans.phases, plan_id=plan.plan_id)}
                for plan in plans
            },
            costs={
                row.task_id: row
                for plan in plans
                for row in tx.all(Sessions.costs_of_plan, plan_id=plan.plan_id)
            },
            closed=closed_in(tx),
            paused={row.plan_id: row for row in tx.all(Pauses.pauses)},
            foreseen={
                task_id: now for plan in plans for task_id, now in foreseen_in(tx, plan.plan_id).items()
            },
        )


def version_of(store: Store) -> object:
    """Return what is equal for as long as nobody has committed anything."""
    with store.read() as tx:
        return tx.version()


def waits_of(store: Store, plan_id: str | None) -> Waits:
    with store.read() as tx:
        return waits_in(tx, plan_id)


def waits_in(tx: Tx, plan_id: str | None) -> Waits:
    return Waits(rows=tuple(tx.all(Plans.open_waits, plan_id=plan_id)))
