"""A plan's end (D32): its rows and files are put away under its name, brought back, or dropped.

The rows are moved in one transaction, and the files before it is committed. Killed in between, the plan is where it
was, as far as anybody can see, and the same command goes on.
"""

import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from musician import service
from musician.project import Project
from musician.protocol.errors import ConductorRunning, PlanStands, UnknownPlan
from musician.protocol.settings import Settings
from musician.protocol.values import replace
from musician.reporting.run_at_work import is_conducted
from musician.runtime.conductor.conductor_lock import hold_conductor_lock
from musician.runtime.takeover import free
from musician.runtime.task_files import TaskFiles
from musician.runtime.world import WORLD, World
from musician.store.opening import open_store
from musician.store.port import Store
from musician.store.rows import ArchiveRow
from musician.trees.branches import branches_of
from musician.trees.git import Git
from musician.trees.integrity import begin_anew
from musician.trees.root import Root


def archive_plan(
    root: Root,
    store: Store,
    plan_id: str,
    settings: Settings,
    *,
    abandoned: str | None = None,
    world: World = WORLD,
) -> ArchiveRow:
    """Put a complete plan away, or one that is ``abandoned`` for that reason. Its trees and branches stay.

    :class:`ConductorRunning` while a run is at work, :class:`StillPlayed` while a session lives that owns a task.
    """
    if service.plan_row(store, plan_id) is None:
        if service.archived(store, plan_id) is None:
            raise UnknownPlan(plan_id=plan_id)
        raise PlanStands(
            plan_id=plan_id,
            reason="is archived already",
            remedy=f"look at it with `musician plan show {plan_id}`",
        )
    if is_conducted(root, store, settings):
        raise ConductorRunning(session_id="", detail="`musician status` shows it")
    with hold_conductor_lock(root, world.machine.new_id("archive"), world.machine):
        rows = service.tasks_of(store, plan_id)
        if abandoned is not None:
            for row in rows:
                if not row.is_over:
                    free(
                        root,
                        store,
                        row.task_id,
                        settings,
                        why=f"the plan is abandoned: {abandoned}",
                        world=world,
                    )
        away = root.archive_of(plan_id)
        names = [row.task_id for row in rows]

        def put_away() -> None:
            for here, there in _files(root, away, names):
                _move(here, there)

        return service.archive_plan(
            store, plan_id, _database(store, away), abandoned=abandoned, before_commit=put_away
        )


def archive_finished(
    root: Root, store: Store, settings: Settings, *, needed: Iterable[str], world: World = WORLD
) -> Iterator[ArchiveRow]:
    """Put away every complete plan, before another is locked that ``needed`` these ids; yield each that was.

    One that does not stand in the way may stay while a run is at work.
    """
    needed = {task_id.lower() for task_id in needed}
    for plan in service.all_plans(store):
        if plan.finished_at is not None:
            try:
                yield archive_plan(root, store, plan.plan_id, settings, world=world)
            except ConductorRunning:
                if needed.intersection(row.task_id.lower() for row in service.tasks_of(store, plan.plan_id)):
                    raise


def restore_plan(root: Root, store: Store, plan_id: str, *, world: World = WORLD) -> None:
    """Bring an archived plan back as it was, if its ids are free."""
    away = root.archive_of(plan_id)
    with hold_conductor_lock(root, world.machine.new_id("restore"), world.machine):

        def bring_back(names: Iterable[str]) -> None:
            for here, there in _files(root, away, names):
                _move(there, here)

        service.restore_plan(store, plan_id, _database(store, away), before_commit=bring_back)
        shutil.rmtree(away, ignore_errors=True)


def drop_plan(root: Root, store: Store, plan_id: str) -> tuple[str, ...]:
    """Delete what is kept of an archived plan; one that is open is refused.

    Returns its working trees and branches, which stay (``musician clean``).
    """
    if service.plan_row(store, plan_id) is not None:
        raise PlanStands(
            plan_id=plan_id,
            reason="is open",
            remedy=f"archive it first: musician plan archive {plan_id} (--abandon REASON if it is not complete)",
        )
    if plan_id not in service.dropped(store):  # where it is, an earlier attempt was killed
        service.drop_plan(store, plan_id)
    return finish_drop(root, store, plan_id)


def finish_drop(root: Root, store: Store, plan_id: str) -> tuple[str, ...]:
    """Delete the files of a dropped plan. Its name is free once none of its working trees and branches is left; returns
    those.
    """
    away = root.archive_of(plan_id)
    if os.path.lexists(away):
        shutil.rmtree(away)
    trees = sorted((root.trees_dir / plan_id).glob("*"))
    left = (*(str(tree.relative_to(root.path)) for tree in trees), *branches_of(Git(root.path), plan_id))
    if not left:
        begin_anew(root, plan_id)
        service.forget_dropped(store, plan_id)
    return left


def archived_database(root: Root, store: Store, plan_id: str) -> Path:
    """Return the database of an archived plan; :class:`UnknownPlan` if it is none."""
    if service.archived(store, plan_id) is None:
        raise UnknownPlan(plan_id=plan_id)
    return _database(store, root.archive_of(plan_id))


class ArchivedProject(Project):
    """An archived plan as a project of its own, to look at; :class:`UnknownPlan` if it is none. To be closed."""

    def __init__(self, project: Project, plan_id: str) -> None:
        super().__init__(project.folder)
        self._root = replace(project.root, archived=plan_id)
        self._store = open_store(archived_database(project.root, project.store, plan_id), named=True)


def _database(store: Store, away: Path) -> Path:
    return away / Path(store.name).name


def _files(root: Root, away: Path, task_ids: Iterable[str]) -> Iterator[tuple[Path, Path]]:
    """Yield each file or folder that carries a task's id and would be taken for its namesake's; and its place there."""
    for task_id in task_ids:
        for name in (task_id, f"{task_id}.musician.log", f"{task_id}.review.log"):
            yield root.logs_dir / name, away / "logs" / name
        files = TaskFiles(root, task_id)
        for path in (files.status, files.deviations, files.handoff):
            yield path, away / "temp" / path.name


def _move(source: Path, target: Path) -> None:
    """Move a file, or what is in a folder; one that a killed attempt left in the place is replaced."""
    if source.is_dir() and target.is_dir():
        for each in source.iterdir():
            _move(each, target / each.name)
        source.rmdir()
    elif os.path.lexists(source):
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(source, target)
