"""A plan's life in the database: locked once, amended with care (DESIGN 7)."""

from collections.abc import Mapping
from types import MappingProxyType

from musician.plans.model import Plan
from musician.protocol.errors import PlanChanged, StillPlayed, UnknownPlan
from musician.protocol.messages.kinds import MessageType
from musician.protocol.names import CONDUCTOR, check_task_id
from musician.protocol.states import State
from musician.protocol.transitions import Actor, Event, find
from musician.service.rowwork import load_task, say
from musician.service.takeover import reopen_in, withdraw_in
from musician.store.port import Store, Tx
from musician.store.queries.plans import Plans
from musician.store.queries.tasks import Tasks
from musician.store.query import Value
from musician.store.rows import PlanRow


def lock_plan(
    store: Store,
    plan: Plan,
    *,
    base_branch: str | None,
    base_commit: str,
    instructions: dict[str, str],
    retry_limit: int = 5,
    settings: str = "",
) -> bool:
    """Lock a plan: store its hash and open its tasks, each with its instruction message.

    ``instructions`` gives the project-relative path of every task's instruction file, ``settings`` the text of the
    settings file: those are the plan's, whatever becomes of the file. True if the plan is new,
    False if it was locked before with the same hash; :class:`PlanChanged` if it differs.
    """
    with store.write() as tx:
        locked = tx.one(Plans.plan, plan_id=plan.plan_id)
        if locked is not None:
            if locked.sha256 != plan.sha256:
                raise PlanChanged(plan_id=plan.plan_id, path=plan.path, difference=locked.text)
            return False
        tx.run(Plans.lock_plan, base_branch=base_branch, base_commit=base_commit, **_as_locked(plan))
        _take_up(tx, plan, instructions, retry_limit, settings)
        return True


def amend_plan(
    store: Store,
    plan: Plan,
    *,
    instructions: dict[str, str],
    withdrawn: tuple[str, ...],
    retry_limit: int = 5,
    settings: str = "",
    as_seen: Mapping[str, int] = MappingProxyType({}),
) -> None:
    """Take up a changed plan, keeping what is done.

    New tasks are opened; a task whose instructions changed gets a new instruction message, which supersedes the
    older (D4); one that had been withdrawn is opened again. ``withdrawn`` are tasks that are gone from the plan, and
    that nobody may own. :class:`StillPlayed` of a task that was claimed since it was ``as_seen``, by its epoch.
    """
    with store.write() as tx:
        for task_id, epoch in as_seen.items():
            row = load_task(tx, task_id)
            if row.claim_epoch != epoch:
                raise StillPlayed(task_id=task_id, session_id=row.session_id or "")
        locked = tx.one(Plans.plan, plan_id=plan.plan_id)
        if locked is None:
            raise UnknownPlan(plan_id=plan.plan_id)
        tx.run(Plans.amend_plan, **_as_locked(plan))
        for task_id in withdrawn:
            if tx.one(Tasks.task, task_id=task_id) is not None:
                withdraw_in(tx, task_id, "withdrawn from the plan")
        _take_up(tx, plan, instructions, retry_limit, settings)
        tx.run(Plans.reopen_plan, plan_id=plan.plan_id)


def open_task(store: Store, task_id: str, *, title: str, instruction_path: str, retry_limit: int = 5) -> None:
    """A task without a plan: ``watching``, with its instruction message."""
    with store.write() as tx:
        _place(
            tx,
            task_id,
            retry_limit,
            instruction_path,
            title=title,
            plan_id=None,
            phase=None,
            position=None,
        )
        tx.ring(CONDUCTOR)


def plan_row(store: Store, plan_id: str | None) -> PlanRow | None:
    with store.read() as tx:
        return tx.one(Plans.plan, plan_id=plan_id)


def base_of_plan(store: Store, plan_id: str | None) -> str | None:
    """The commit that a plan's tasks begin from; None without a plan."""
    row = plan_row(store, plan_id)
    return None if row is None else row.base_commit


def locked_hash(store: Store, plan_id: str) -> str | None:
    """The hash of what is locked; None if nothing is."""
    with store.read() as tx:
        return tx.one(Plans.locked_hash, plan_id=plan_id)


def settings_text(store: Store, *, plan_id: str | None = None, task_id: str | None = None) -> str | None:
    """The settings file's text that a plan, or a task's plan, was locked with; None where nobody kept it."""
    with store.read() as tx:
        if plan_id is not None:
            return tx.one(Plans.settings_of_plan, plan_id=plan_id)
        return tx.one(Plans.settings_of_task, task_id=task_id)


def keep_baseline(store: Store, commit_id: str, *, setup: str, command: str, result: str) -> None:
    """How a command that verifies ended on a commit; the newest word stands."""
    with store.write() as tx:
        tx.run(Plans.keep_baseline, commit_id=commit_id, setup=setup, command=command, result=result)


def baseline_text(store: Store, commit_id: str, *, setup: str, command: str) -> str | None:
    """Return what :func:`keep_baseline` stored; None if it was never run."""
    with store.read() as tx:
        return tx.one(Plans.baseline, commit_id=commit_id, setup=setup, command=command)


def _as_locked(plan: Plan) -> dict[str, str]:
    return {name: getattr(plan, name) for name in ("plan_id", "path", "title", "sha256", "text")}


def _take_up(tx: Tx, plan: Plan, instructions: Mapping[str, str], retry_limit: int, settings: str) -> None:
    """Store what a plan says of its tasks, including those that exist already."""
    tx.run(Plans.keep_settings, plan_id=plan.plan_id, text=settings)
    for phase in plan.phases:
        tx.run(Plans.add_phase, plan_id=plan.plan_id, number=phase.number, title=phase.title)
        for position, task in enumerate(phase.tasks, start=1):
            _place(
                tx,
                task.task_id,
                retry_limit,
                instructions[task.task_id],
                title=task.title,
                plan_id=plan.plan_id,
                phase=phase.number,
                position=position,
            )
            for after in task.after:
                tx.run(Plans.add_dependency, task_id=task.task_id, after=after)
    for task in plan.tasks:
        tx.run(Plans.forget_conflicts, task_id=task.task_id)
    for task in plan.tasks:
        for other in plan.conflicts_of(task):
            tx.run(Plans.add_conflict, task_id=task.task_id, other=other)
    tx.ring(CONDUCTOR)


def _place(
    tx: Tx, task_id: str, retry_limit: int, path: str, *, plan_id: str | None, **columns: Value
) -> None:
    """Where its plan wants a task, opened if it is new."""
    check_task_id(task_id)
    row = tx.one(Tasks.task, task_id=task_id)
    own = row if row is not None and row.plan_id == plan_id and plan_id is not None else None
    if own is None:  # ids are unique per database, so another plan's task cannot be opened (D8)
        find(None if row is None else row.state, Event.OPEN, task_id=task_id, actor=Actor.CONDUCTOR)
    if own is None or (own.instruction_path != path and own.state is not State.COMPLETE):
        say(tx, task_id, CONDUCTOR, MessageType.INSTRUCTION, path)
    columns |= {"task_id": task_id, "plan_id": plan_id, "instruction_path": path}
    if own is None:
        tx.run(Tasks.open_task, retry_limit=retry_limit, **columns)
        return
    if own.is_withdrawn:
        reopen_in(tx, own, "It is back in the plan.")
    tx.run(Tasks.place_task, **columns)
    tx.run(Plans.forget_dependencies, task_id=task_id)
