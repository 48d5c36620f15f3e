"""Locks a plan's file: from then on exactly the locked text is played (DESIGN 7).

Every task's instructions are rendered whole, with the plan's defaults and overview, to
``.musician/instructions/<plan>/<task>.<digest>.md`` and kept in the database. The digest is of the text, so a
file never changes: writing it again has no effect, and a task whose instructions were amended gets a new path
and thereby a new instruction message, which supersedes the older (D4). The user's own tree is not touched.
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from musician import service
from musician.plans.instructions import render_instructions
from musician.plans.model import Plan
from musician.plans.plan import parse_plan, plan_difference
from musician.plans.splicing import with_tasks_of
from musician.processes.life_lock import HeldBy, change_path
from musician.processes.whole_file import write_whole
from musician.protocol.errors import (
    ConductorRunning,
    InvalidPlan,
    PlanChanged,
    PlanStands,
    StillPlayed,
    UnknownPlan,
)
from musician.protocol.names import NO_PLAN
from musician.protocol.settings import Settings
from musician.protocol.states import ACTIVE, State
from musician.protocol.values import dataclass, replace
from musician.reporting.owners import is_about_to_play
from musician.reporting.run_at_work import is_conducted
from musician.runtime.archiving import archive_finished, finish_drop
from musician.runtime.conductor.conductor_lock import hold_conductor_lock
from musician.runtime.in_force import settings_file_text, since_the_file_was_locked
from musician.runtime.players import doubts_of_players
from musician.runtime.program import read_plan, reader_in
from musician.runtime.takeover import free
from musician.runtime.world import WORLD, World
from musician.service.documents import keep_instructions, latest_document
from musician.store.port import Store
from musician.store.rows import ArchiveRow, PlanRow
from musician.trees.base import check_base
from musician.trees.branches import branch_of, integration_branch
from musician.trees.forward import settle
from musician.trees.integrity import begin_anew
from musician.trees.preconditions import check_repository
from musician.trees.removed import Removed, keep_removed
from musician.trees.root import Root, choose_temp, exclude_private, keep_from_cleaning
from musician.trees.shared_config import trust_what_is_there

_DIGEST_LENGTH = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Amendment:
    """What an amended plan changed, as task ids in the plan's order; all empty if nothing.

    ``back`` are withdrawn tasks that are opened again; ``too_late`` are tasks whose text has changed
    although they are complete: they are not played again.
    """

    plan: Plan
    added: tuple[str, ...]
    back: tuple[str, ...]
    changed: tuple[str, ...]
    too_late: tuple[str, ...]
    withdrawn: tuple[str, ...]
    left: tuple[Removed, ...] = ()
    """The work, not merged, of tasks that are no longer in the plan, complete ones too."""
    doubts: tuple[str, ...] = ()
    """What a run would refuse to play with the plan's own agents."""
    kept: tuple[str, ...] = ()
    """Changed tasks that a session plays beside the run: they stay as they were, in what is locked now."""
    takes_settings: bool = False
    """Whether the settings file has changed since the plan was locked, and is in force from now on."""


def lock_plan_file(
    root: Root,
    store: Store,
    path: Path,
    settings: Settings,
    world: World = WORLD,
    *,
    on_archived: Callable[[ArchiveRow], None] = lambda _: None,
) -> Plan:
    """Read a plan and lock it, unless it is locked like this already: safe to repeat after a kill at any
    moment.

    Plans that are complete are put away first: their ids are free (D32). ``on_archived`` is told of each.
    The first time the tree must be fit to start from (:class:`TreeNotReady`). A plan that was changed since it was
    locked is :class:`PlanChanged`, with the difference.
    """
    plan = read_plan(root, path)
    locked = service.plan_row(store, plan.plan_id)
    if locked is None:
        _check_name(root, store, plan.plan_id)
    check_ids(store, plan)
    task_files = _render(plan)
    branches = [branch_of(plan.plan_id, task.task_id) for task in plan.tasks]
    check_repository(root, [*branches, integration_branch(plan.plan_id)])
    if locked is None:
        settle(root.users_tree)
        choose_temp(root).mkdir(parents=True, exist_ok=True)
        exclude_private(root)
        keep_from_cleaning(root)
        base = check_base(root)
        branch, commit = base.branch, base.commit
    else:
        branch, commit = locked.base_branch, locked.base_commit
        if locked.sha256 != plan.sha256:
            raise PlanChanged(
                plan_id=plan.plan_id, path=str(path), difference=_difference(store, locked, plan, task_files)
            )
    _write(root, task_files)
    if locked is None:
        trust_what_is_there(root)
        needed = [task.task_id for task in plan.tasks]
        for row in archive_finished(root, store, settings, needed=needed, world=world):
            on_archived(row)
    service.lock_plan(
        store,
        plan,
        base_branch=branch,
        base_commit=commit,
        instructions=_paths(task_files),
        retry_limit=settings.limits.error_retries,
        settings=settings_file_text(root),
    )
    keep_instructions(store, task_files)
    return plan


def amend_plan_file(
    root: Root, store: Store, path: Path, settings: Settings, world: World = WORLD
) -> Amendment:
    """Take up a changed plan, keeping what is done.

    New tasks are opened, changed ones get their new instructions, and tasks that are gone from the plan are
    withdrawn, which requires that nobody plays them (:class:`StillPlayed`). :class:`UnknownPlan` if it was never
    locked.

    While a run is at work it takes the plan up, and what a session plays is not touched: such a task is locked as it
    was, with all the rest, and :class:`StillPlayed` is raised where that cannot be, as with an overview that changed.
    """
    with changing_plans(root, world) as session_id:
        return amend_alone(root, store, path, settings, session_id, world)


def amend_alone(
    root: Root, store: Store, path: Path, settings: Settings, session_id: str, world: World
) -> Amendment:
    """:func:`amend_plan_file` within :func:`changing_plans`, which gave the session's id."""
    plan = read_plan(root, path)
    locked = service.plan_row(store, plan.plan_id)
    if locked is None:
        raise UnknownPlan(plan_id=plan.plan_id)
    check_ids(store, plan)
    with _beside_run(root, store, settings, session_id, world) as is_beside_run:
        kept: tuple[str, ...] = ()
        # Before it is looked who plays: whoever claims from here on is seen by the epoch.
        rows = {row.task_id: row for row in service.tasks_of(store, plan.plan_id)}
        if is_beside_run:
            plan, kept = _without_what_is_played(root, store, plan, locked)
        task_files = _render(plan)
        doubts = doubts_of_players(plan, settings, world)
        file_changed = bool(since_the_file_was_locked(root, store, plan.plan_id))
        amendment = _amendment(store, plan, task_files)
        amendment = replace(amendment, kept=kept, doubts=doubts, takes_settings=file_changed)
        for task_id in amendment.withdrawn:
            free(root, store, task_id, settings, why="withdrawn from the plan", world=world)
        _write(root, task_files)
        trust_what_is_there(root)
        service.amend_plan(
            store,
            plan,
            instructions=_paths(task_files),
            withdrawn=amendment.withdrawn,
            retry_limit=settings.limits.error_retries,
            settings=settings_file_text(root),
            as_seen={each: rows[each].claim_epoch for each in amendment.changed if is_beside_run},
        )
        keep_instructions(store, task_files)
        gone = rows.keys() - {task.task_id for task in plan.tasks}
        kept_work = keep_removed(root, plan.plan_id, sorted(gone))
    # An amendment before this one has told of what it withdrew.
    left = tuple(each for each in kept_work if not rows[each.task_id].is_withdrawn)
    return replace(amendment, left=left)


@contextmanager
def changing_plans(root: Root, world: World) -> Iterator[str]:
    """While nobody else amends a plan or adds to its file; :class:`ConductorRunning` if somebody does."""
    session_id = world.machine.new_id("amend")
    mine = world.machine.hold(change_path(root.locks_dir), session_id=session_id)
    if isinstance(mine, HeldBy):
        raise ConductorRunning(session_id=mine.session_id or "", detail="a plan is being amended already")
    with mine:
        yield session_id


@contextmanager
def _beside_run(
    root: Root, store: Store, settings: Settings, session_id: str, world: World
) -> Iterator[bool]:
    """With the conductor's lock, or beside the run that has it; which of them."""
    try:
        conducting = hold_conductor_lock(root, session_id, world.machine)
    except ConductorRunning:
        if not is_conducted(root, store, settings):
            raise
        yield True
    else:
        with conducting:
            yield False


def _without_what_is_played(
    root: Root, store: Store, plan: Plan, locked: PlanRow
) -> tuple[Plan, tuple[str, ...]]:
    """Return the plan with what a session plays as it is locked, and these tasks."""
    touched = _touched(root, store, plan)
    if not touched:
        return plan, ()
    text = with_tasks_of(plan.text, locked.text, touched)
    spliced = parse_plan(text, path=plan.path, read_file=reader_in(root, plan.path))
    for task_id, session_id in _touched(root, store, spliced).items():
        raise StillPlayed(task_id=task_id, session_id=session_id)
    return spliced, tuple(touched)


def _touched(root: Root, store: Store, plan: Plan) -> dict[str, str]:
    """Return the tasks that a plan changes or leaves out and that a session plays; and the session."""
    amendment = _amendment(store, plan, _render(plan))
    rows = {row.task_id: row for row in service.tasks_of(store, plan.plan_id)}
    ids = (*amendment.changed, *amendment.withdrawn)
    return {
        task_id: rows[task_id].session_id or "a new one"
        for task_id in ids
        if (rows[task_id].session_id is not None and rows[task_id].state in ACTIVE)
        or is_about_to_play(root, task_id)
    }


def check_ids(store: Store, plan: Plan) -> None:
    """Raise :class:`InvalidPlan` with every task whose id is taken already: ids are unique per database (D8).

    Ids that differ only in case are the same: ids become file names, and some file systems ignore case.
    """
    own = {task.task_id for task in plan.tasks}
    complete = {each.plan_id for each in service.all_plans(store) if each.finished_at is not None}
    others = {
        row.task_id.lower(): f"{row.task_id!r} is a task "
        + ("without a plan" if row.plan_id is None else f"of plan {row.plan_id!r}, which is open")
        for row in service.names_like(store, own)
        if (row.plan_id != plan.plan_id or row.task_id not in own)
        and row.plan_id not in complete - {plan.plan_id}
    }
    problems = tuple(
        f"{task.source_path}:{task.line}: {others[task.task_id.lower()]};"
        " expected an id that is new in this repository"
        for task in plan.tasks
        if task.task_id.lower() in others
    )
    if problems:
        raise InvalidPlan(problems=problems)


def _check_name(root: Root, store: Store, plan_id: str) -> None:
    """:class:`PlanStands` if a plan of this name would go on from what another has left."""
    known = {row.plan_id for row in service.all_plans(store)} | {
        row.plan_id for row in service.archives(store)
    }
    for other in known.union(service.dropped(store)):
        if other != plan_id and other.lower() == plan_id.lower():
            raise PlanStands(
                plan_id=plan_id,
                reason=f"has the name of plan {other} but for case, and some disks ignore case",
                remedy="give it another name",
            )
    if service.archived(store, plan_id) is not None:
        raise PlanStands(
            plan_id=plan_id,
            reason="was played before and is archived",
            remedy=f"give this one another name, or bring that back (musician plan restore {plan_id})",
        )
    if plan_id in service.dropped(store) and (left := finish_drop(root, store, plan_id)):
        raise PlanStands(
            plan_id=plan_id,
            reason=f"is the name of a plan that was dropped, and this one would go on from {', '.join(left)}",
            remedy="`musician clean` removes what holds nothing and says what the rest holds; or name it otherwise",
        )
    begin_anew(root, plan_id)


def _amendment(store: Store, plan: Plan, task_files: dict[str, tuple[str, str]]) -> Amendment:
    before = {row.task_id: row for row in service.tasks_of(store, plan.plan_id)}
    phases = {task.task_id: phase.number for phase in plan.phases for task in phase.tasks}
    changed = [
        task_id
        for task_id, phase in phases.items()
        if task_id in before
        and (before[task_id].instruction_path, before[task_id].phase) != (task_files[task_id][0], phase)
    ]
    gone = [row for task_id, row in before.items() if task_id not in phases]
    return Amendment(
        plan=plan,
        added=tuple(task_id for task_id in phases if task_id not in before),
        changed=tuple(task_id for task_id in changed if before[task_id].state is not State.COMPLETE),
        too_late=tuple(task_id for task_id in changed if before[task_id].state is State.COMPLETE),
        back=tuple(task_id for task_id in phases if task_id in before and before[task_id].is_withdrawn),
        withdrawn=tuple(row.task_id for row in gone if not row.is_over or row.skipped is not None),
    )


def _render(plan: Plan) -> dict[str, tuple[str, str]]:
    """Return every task's instructions: task id to (path in the project, text)."""
    task_files = {}
    for task in plan.tasks:
        text = render_instructions(task, plan_id=plan.plan_id, plan_overview=plan.overview)
        task_files[task.task_id] = (_kept_at(plan.plan_id, task.task_id, text), text)
    return task_files


def _kept_at(plan_id: str, task_id: str, text: str) -> str:
    digest = hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_LENGTH]
    return f".musician/instructions/{plan_id}/{task_id}.{digest}.md"


def keep_file(root: Root, task_id: str, text: str) -> str:
    """Keep the instructions of a task without a plan as those of a plan's are; return the path in the project."""
    path = _kept_at(NO_PLAN, task_id, text)
    _write(root, {task_id: (path, text)})
    return path


def _paths(task_files: dict[str, tuple[str, str]]) -> dict[str, str]:
    return {task_id: path for task_id, (path, _) in task_files.items()}


def _write(root: Root, task_files: dict[str, tuple[str, str]]) -> None:
    for path, text in task_files.values():
        if not (root.path / path).is_file():  # write_whole never leaves a part of one
            write_whole(root.path / path, text)


def _difference(store: Store, locked: PlanRow, plan: Plan, task_files: dict[str, tuple[str, str]]) -> str:
    """Return the diff of the plan itself, then that of each task written in a file of its own."""
    parts = [plan_difference(locked.text, plan.text, path=plan.path)]
    for task in plan.tasks:
        kept = None if task.source_path == plan.path else latest_document(store, task.task_id, "instruction")
        if kept is not None:
            parts.append(plan_difference(kept.body, task_files[task.task_id][1], path=task.source_path))
    return "".join(parts)
