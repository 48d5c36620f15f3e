"""The command ``task``: add one, to a plan or without one, play one again, go on without one."""

from pathlib import Path

import click

from musician import service
from musician.cli.context import App
from musician.cli.options import PlanFile, command, complete_task, task_argument, text_argument
from musician.cli.plan import show_amendment
from musician.cli.render import fields, show
from musician.protocol.arguments import as_argument
from musician.protocol.names import NO_PLAN
from musician.protocol.states import State
from musician.reporting.asks import still_asked
from musician.reporting.run_at_work import is_conducted
from musician.runtime.adding import add_task_file, add_to_plan
from musician.runtime.again import retry_task, skip_task
from musician.runtime.as_person import as_person
from musician.service import Dependents, Retried
from musician.trees.branches import REPLACED, branch_of, partial_ref


@click.group("task")
def task() -> None:
    """Add a task, to a plan or without one, play one again, go on without one."""


@command("add", parent=task)
@task_argument
@click.option(
    "--instructions",
    "path",
    metavar="FILE",
    type=click.Path(path_type=Path),
    required=True,
    help="The task-instruction file, inside the project.",
)
@click.option(
    "--to",
    "plan_path",
    metavar="PLAN",
    type=PlanFile(),
    help="Add it to this locked plan: it is written into its file, and the plan amended. A run takes it up.",
)
@click.option("--phase", type=click.IntRange(1), metavar="N", help="The plan's phase, by default the last.")
@click.option(
    "--after",
    multiple=True,
    metavar="TASK",
    shell_complete=complete_task,
    help="A task of that phase that it waits for.",
)
@click.pass_obj
def add(
    app: App, task_id: str, path: Path, plan_path: Path | None, phase: int | None, after: tuple[str, ...]
) -> None:
    """Open TASK, so that a session may claim it."""
    if plan_path is not None:
        made = add_to_plan(
            app.root, app.store, task_id, path, app.settings, plan_path=plan_path, phase=phase, after=after
        )
        show_amendment(app, made)
        return
    name = add_task_file(app.root, app.store, task_id, path, app.settings)
    document = {"task_id": task_id, "instruction_path": name, "state": "watching"}
    show(app, document, f"{task_id} is open; play it with: musician work {task_id}")


@command("retry", parent=task)
@task_argument
@text_argument(required=False)
@click.option(
    "--from-start",
    is_flag=True,
    help="From its first step, in a tree without its work so far, which is kept under refs/musician/replaced/.",
)
@click.pass_obj
def retry(app: App, task_id: str, text: str | None, from_start: bool) -> None:
    """Have TASK played again, from its last finished step. TEXT is for who plays it.

    For a task whose session gave up, failed, was stopped or died, that was skipped, or whose merge failed. What waited
    for you is settled by it, and its error reports are counted anew.
    """
    done = retry_task(app.root, as_person(app), task_id, app.settings, text, from_start=from_start)
    place = partial_ref(branch_of(done.plan_id or NO_PLAN, task_id), str(done.epoch), folder=REPLACED)
    kept_at = place if done.from_start else None
    still = still_asked(app.store, task_id)
    said = (f"{task_id}: {_said(done, kept_at)}", still or _taken_up(app, task_id))
    show(app, fields(done, kept_at=kept_at, still_asked=still or None), *said)


@command("skip", parent=task)
@task_argument
@text_argument(name="REASON")
@click.option(
    "--dependents",
    type=click.Choice([str(each) for each in Dependents]),
    help="What becomes of the tasks that are to be played after it.",
)
@click.pass_obj
def skip(app: App, task_id: str, text: str, dependents: str | None) -> None:
    """Go on without the work of TASK, for REASON. What it has committed stays on its branch, and is not merged.

    Later phases go on. If tasks of its own phase are to be played after it, say what becomes of them.
    `musician task retry` takes it back.
    """
    named = None if dependents is None else Dependents(dependents)
    done, left = skip_task(app.root, as_person(app), task_id, text, app.settings, dependents=named)
    told = [f"skipped: {', '.join(done.skipped)}"] if done.skipped else [f"{task_id} is skipped already"]
    told += [f"played without it: {', '.join(done.go_on)}"] if done.go_on else []
    document = fields(done, left=[fields(each) for each in left])
    show(app, document, *told, *map(str, left), _taken_up(app, task_id))


def _said(done: Retried, kept_at: str | None) -> str:
    if done.state is State.COMPLETE:
        return "its merge is tried again"
    errors = f"it may report {done.errors_left} errors from here"
    if kept_at is not None:
        kept = f"its next session first keeps what was done so far at {kept_at}"
        return f"it is played from its start; {kept}; {errors}"
    return f"it is played again from its last finished step; {errors}"


def _taken_up(app: App, task_id: str) -> str:
    row = service.task_row(app.store, task_id)
    if row.plan_id is None:
        return "It belongs to no plan" + (
            "." if row.is_over else f": play it with `musician work {task_id}`."
        )
    if is_conducted(app.root, app.store, app.settings):
        return f"The run that is at work takes it up, if it plays the plan {row.plan_id}."
    plan = service.plan_row(app.store, row.plan_id)
    file = "PLAN" if plan is None else as_argument(plan.path)
    return f"No run is at work: `musician run {file}` takes it up."
