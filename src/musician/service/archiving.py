"""A plan's end in the database: archived, restored, forgotten (D32)."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from musician.protocol.arguments import as_argument
from musician.protocol.errors import PlanStands, StillPlayed, UnknownPlan
from musician.protocol.names import CONDUCTOR
from musician.protocol.states import ACTIVE
from musician.store.port import Store
from musician.store.queries.plans import Plans
from musician.store.queries.sessions import Sessions
from musician.store.queries.tasks import Tasks
from musician.store.rows import ArchiveRow


def archive_plan(
    store: Store,
    plan_id: str,
    into: Path,
    *,
    abandoned: str | None = None,
    before_commit: Callable[[], None] = lambda: None,
) -> ArchiveRow:
    """Move a plan's rows into the file ``into``; its ids are free afterwards. All or nothing.

    Only a complete plan is archived, unless ``abandoned`` says why it will not be. :class:`StillPlayed` while a session
    owns one of its tasks. ``before_commit`` does what goes with it, once nothing can be refused any more.
    """
    with store.write() as tx:
        row = tx.one(Plans.plan, plan_id=plan_id)
        if row is None:
            raise UnknownPlan(plan_id=plan_id)
        tasks = tx.all(Tasks.tasks_of_plan, plan_id=plan_id)
        left = [task.task_id for task in tasks if not task.is_over]
        is_complete = row.finished_at is not None and not left
        if not is_complete and abandoned is None:
            raise PlanStands(
                plan_id=plan_id,
                reason=f"is not complete: {', '.join(left) or 'its run has not come to its end'}",
                remedy=f"play it to its end with `musician run {as_argument(row.path)}`, or"
                f" `musician plan archive {plan_id} --abandon REASON`",
            )
        for task in tasks:
            if task.session_id is not None and task.state in ACTIVE:
                raise StillPlayed(task_id=task.task_id, session_id=task.session_id)
        tx.run(Plans.keep_archive, plan_id=plan_id, abandoned=None if is_complete else abandoned)
        settled = Counter(task.shown_state for task in tasks)
        tx.run(
            Plans.keep_archived_settled,
            plan_id=plan_id,
            skipped=settled["skipped"],
            withdrawn=settled["withdrawn"],
        )
        tx.run(Sessions.keep_means_of_today, plan_id=plan_id)
        tx.move_out(plan_id, into)
        before_commit()
        tx.ring(CONDUCTOR)
        return tx.only(Plans.archive, plan_id=plan_id)


def restore_plan(
    store: Store, plan_id: str, out_of: Path, *, before_commit: Callable[[list[str]], None] = lambda _: None
) -> None:
    """Take an archived plan's rows back as they were. :class:`PlanStands` if its ids are another's by now."""
    with store.write() as tx:
        if tx.one(Plans.archive, plan_id=plan_id) is None:
            if tx.one(Plans.plan, plan_id=plan_id) is None:
                raise UnknownPlan(plan_id=plan_id)
            raise PlanStands(
                plan_id=plan_id,
                reason="is not archived",
                remedy=f"there is nothing to restore: musician plan show {plan_id}",
            )
        if not out_of.is_file():
            raise PlanStands(
                plan_id=plan_id,
                reason=f"has lost its archive, {out_of}",
                remedy=f"put it back, or drop the plan: musician plan drop {plan_id}",
            )
        taken = tx.move_in(plan_id, out_of)
        if taken:
            raise PlanStands(
                plan_id=plan_id,
                reason=f"cannot be restored, other tasks have its ids: {', '.join(taken)}",
                remedy="archive the plan they belong to first; `musician plan list` shows it",
            )
        tx.run(Plans.forget_archive, plan_id=plan_id)
        tx.run(Plans.forget_archived_settled, plan_id=plan_id)
        tx.run(Sessions.forget_archived_means, plan_id=plan_id)
        before_commit([row.task_id for row in tx.all(Tasks.tasks_of_plan, plan_id=plan_id)])
        tx.ring(CONDUCTOR)


def archives(store: Store) -> tuple[ArchiveRow, ...]:
    """The archived plans, in the order in which they were."""
    with store.read() as tx:
        return tuple(tx.all(Plans.archives))


def archived(store: Store, plan_id: str) -> ArchiveRow | None:
    with store.read() as tx:
        return tx.one(Plans.archive, plan_id=plan_id)


def drop_plan(store: Store, plan_id: str) -> None:
    """Nothing but its name is known of an archived plan afterwards. Its file is the caller's to delete."""
    with store.write() as tx:
        if tx.one(Plans.archive, plan_id=plan_id) is None:
            raise UnknownPlan(plan_id=plan_id)
        tx.run(Plans.forget_archive, plan_id=plan_id)
        tx.run(Plans.forget_archived_settled, plan_id=plan_id)
        tx.run(Plans.note_dropped, plan_id=plan_id)


def dropped(store: Store) -> tuple[str, ...]:
    """The dropped plans of which something may still be there."""
    with store.read() as tx:
        return tuple(tx.all(Plans.dropped))


def forget_dropped(store: Store, plan_id: str) -> None:
    with store.write() as tx:
        tx.run(Plans.forget_dropped, plan_id=plan_id)
