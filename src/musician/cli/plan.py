"""The commands ``plan check``, ``plan lock`` and ``plan amend`` (DESIGN 7)."""

from contextlib import suppress
from pathlib import Path

import click

from musician.cli.context import App
from musician.cli.options import command
from musician.cli.render import show, table
from musician.plans.model import Plan
from musician.plans.plan import load_plan
from musician.plans.tasks import without_script
from musician.protocol.errors import DatabaseUnusable, InvalidPlan
from musician.runtime.locking import amend_plan_file, check_ids, lock_plan_file

_path_argument = click.argument("path", metavar="PLAN", type=click.Path(path_type=Path))


_AMENDED = {
    "added": "added",
    "back": "opened again",
    "changed": "changed",
    "withdrawn": "withdrawn",
    "too_late": "changed too late, for they are complete (a correction is a new task)",
}


@click.group("plan")
def plan() -> None:
    """Check, lock and amend plans."""


@command("check", parent=plan)
@_path_argument
@click.pass_obj
def check(app: App, path: Path) -> None:
    """Report every problem of PLAN with its line.

    The files it names are checked too and, in a repository that is set up, whether its ids are free. Nothing is stored.
    """
    try:
        read = load_plan(path, root=app.root.path)
        if app.is_set_up:
            with suppress(DatabaseUnusable):  # the plan itself can be checked without the database
                check_ids(app.store, read)
    except InvalidPlan as error:
        if app.json:
            show(app, {"plan": str(path), "valid": False, "problems": list(error.problems)})
        raise
    warnings = without_script(read)
    document = {"plan": read.plan_id, "valid": True, "problems": [], "warnings": list(warnings)}
    show(app, {**document, **_contents(read)})
    if not app.json:
        show(app, None, *warnings)
        _print_tasks(read)
        show(app, None, f"{read.plan_id}: no problem")


@command("lock", parent=plan)
@_path_argument
@click.pass_obj
def lock(app: App, path: Path) -> None:
    """Lock PLAN, so that its tasks can be claimed.

    Locking an unchanged plan again does nothing. A changed one is refused, and the difference is shown.
    """
    locked = lock_plan_file(app.root, app.store, path, app.settings)
    document = {"plan": locked.plan_id, "sha256": locked.sha256, **_contents(locked)}
    show(app, document, f"{locked.plan_id} is locked; play it with: musician run {path}")


@command("amend", parent=plan)
@_path_argument
@click.pass_obj
def amend(app: App, path: Path) -> None:
    """Take up a changed PLAN. Finished work stays finished.

    Tasks that are no longer in the plan are withdrawn, if no session plays them. This is refused while a run is
    conducting the plan: interrupt the run, amend, and run again; nothing is lost by that.
    """
    made = amend_plan_file(app.root, app.store, path, app.settings)
    changes = {
        "added": made.added,
        "changed": made.changed,
        "back": made.back,
        "withdrawn": made.withdrawn,
        "too_late": made.too_late,
    }
    document = {"plan": made.plan.plan_id, "sha256": made.plan.sha256}
    said = [f"{_AMENDED[what]}: {', '.join(ids)}" for what, ids in changes.items() if ids]
    said = said or ["no task changed"]
    show(app, {**document, **{what: list(ids) for what, ids in changes.items()}}, *said)


def _contents(read: Plan) -> dict[str, object]:
    return {
        "title": read.title,
        "path": read.path,
        "phases": [
            {
                "number": phase.number,
                "title": phase.title,
                "tasks": [
                    {
                        "task_id": task.task_id,
                        "title": task.title,
                        "after": list(task.after),
                        "steps": len(task.steps),
                        "checkpoints": len(task.checkpoints),
                        "agent": task.agent,
                        "review": task.review,
                        "isolation": task.isolation,
                    }
                    for task in phase.tasks
                ],
            }
            for phase in read.phases
        ],
    }


def _print_tasks(read: Plan) -> None:
    rows = [
        (
            task.task_id,
            phase.number,
            len(task.steps),
            len(task.checkpoints),
            ", ".join(task.after),
            task.title,
        )
        for phase in read.phases
        for task in phase.tasks
    ]
    table(("TASK", "PHASE", "STEPS", "CHECKPOINTS", "AFTER", "TITLE"), rows)
