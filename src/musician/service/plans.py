"""A plan's life in the database: locked once, amended with care (DESIGN 7)."""

from musician.plans.model import Plan, TaskSpec
from musician.protocol.errors import PlanChanged, UnknownPlan
from musician.protocol.messages.kinds import MessageType
from musician.protocol.names import CONDUCTOR, check_task_id
from musician.protocol.states import State
from musician.protocol.transitions import Actor, Event, find
from musician.service.rowwork import say
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
                raise PlanChanged(plan_id=plan.plan_id, difference=locked.text)
            return False
        tx.run(
            Plans.lock_plan,
            plan_id=plan.plan_id,
            path=plan.path,
            title=plan.title,
            sha256=plan.sha256,
            text=plan.text,
            base_branch=base_branch,
            base_commit=base_commit,
        )
        tx.run(Plans.keep_settings, plan_id=plan.plan_id, text=settings)
        for phase in plan.phases:
            tx.run(Plans.add_phase, plan_id=plan.plan_id, number=phase.number, title=phase.title)
            for position, task in enumerate(phase.tasks, start=1):
                _open(tx, task, plan.plan_id, phase.number, position, instructions[task.task_id], retry_limit)
        _oppose(tx, plan)
        tx.ring(CONDUCTOR)
        return True


def amend_plan(
    store: Store,
    plan: Plan,
    *,
    instructions: dict[str, str],
    withdrawn: tuple[str, ...],
    retry_limit: int = 5,
    settings: str = "",
) -> None:
    """Take up a changed plan, keeping what is done.

    New tasks are opened; a task whose instructions changed gets a new instruction message, which supersedes the
    older (D4); one that had been withdrawn is opened again. ``withdrawn`` are tasks that are gone from the plan, and
    that nobody may own.
    """
    with store.write() as tx:
        locked = tx.one(Plans.plan, plan_id=plan.plan_id)
        if locked is None:
            raise UnknownPlan(plan_id=plan.plan_id)
        tx.run(
            Plans.amend_plan,
            plan_id=plan.plan_id,
            path=plan.path,
            title=plan.title,
            sha256=plan.sha256,
            text=plan.text,
        )
        tx.run(Plans.keep_settings, plan_id=plan.plan_id, text=settings)
        for task_id in withdrawn:
            if tx.one(Tasks.task, task_id=task_id) is not None:
                withdraw_in(tx, task_id, "withdrawn from the plan")
        for phase in plan.phases:
            tx.run(Plans.add_phase, plan_id=plan.plan_id, number=phase.number, title=phase.title)
            for position, task in enumerate(phase.tasks, start=1):
                path = instructions[task.task_id]
                _place(tx, task, plan.plan_id, phase.number, position, path, retry_limit)
        _oppose(tx, plan)
        tx.ring(CONDUCTOR)


def open_task(store: Store, task_id: str, *, title: str, instruction_path: str, retry_limit: int = 5) -> None:
    """A task without a plan: ``watching``, with its instruction message."""
    with store.write() as tx:
        _insert(
            tx,
            task_id,
            title=title,
            plan_id=None,
            phase=None,
            position=None,
            instruction_path=instruction_path,
            retry_limit=retry_limit,
        )
        tx.ring(CONDUCTOR)


def plan_row(store: Store, plan_id: str) -> PlanRow | None:
    with store.read() as tx:
        return tx.one(Plans.plan, plan_id=plan_id)


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
    """What :func:`keep_baseline` kept; None where that was never run."""
    with store.read() as tx:
        return tx.one(Plans.baseline, commit_id=commit_id, setup=setup, command=command)


def _open(
    tx: Tx, task: TaskSpec, plan_id: str, phase: int, position: int, path: str, retry_limit: int
) -> None:
    _insert(
        tx,
        task.task_id,
        title=task.title,
        plan_id=plan_id,
        phase=phase,
        position=position,
        instruction_path=path,
        retry_limit=retry_limit,
    )
    _depend(tx, task)


def _insert(tx: Tx, task_id: str, *, instruction_path: str, **columns: Value) -> None:
    check_task_id(task_id)
    existing = tx.one(Tasks.task, task_id=task_id)
    state = None if existing is None else existing.state
    find(state, Event.OPEN, task_id=task_id, actor=Actor.CONDUCTOR)
    say(tx, task_id, CONDUCTOR, MessageType.INSTRUCTION, instruction_path)
    tx.run(Tasks.open_task, task_id=task_id, instruction_path=instruction_path, **columns)


def _place(
    tx: Tx, task: TaskSpec, plan_id: str, phase: int, position: int, path: str, retry_limit: int
) -> None:
    row = tx.one(Tasks.task, task_id=task.task_id)
    if row is None:
        _open(tx, task, plan_id, phase, position, path, retry_limit)
        return
    if row.plan_id != plan_id:  # another plan's: ids are unique per database (D8)
        find(row.state, Event.OPEN, task_id=task.task_id, actor=Actor.CONDUCTOR)
    if row.instruction_path != path and row.state is not State.COMPLETE:
        say(tx, task.task_id, CONDUCTOR, MessageType.INSTRUCTION, path)
    if row.is_withdrawn:
        reopen_in(tx, row, "It is back in the plan.")
    tx.run(
        Tasks.place_task,
        task_id=task.task_id,
        plan_id=plan_id,
        title=task.title,
        phase=phase,
        position=position,
        instruction_path=path,
    )
    tx.run(Plans.forget_dependencies, task_id=task.task_id)
    _depend(tx, task)


def _depend(tx: Tx, task: TaskSpec) -> None:
    for after in task.after:
        tx.run(Plans.add_dependency, task_id=task.task_id, after=after)


def _oppose(tx: Tx, plan: Plan) -> None:
    for task in plan.tasks:
        tx.run(Plans.forget_conflicts, task_id=task.task_id)
    for task in plan.tasks:
        for other in plan.conflicts_of(task):
            tx.run(Plans.add_conflict, task_id=task.task_id, other=other)
