"""The commands that make, check, draw, lock and amend plans (DESIGN 7)."""

from contextlib import suppress
from pathlib import Path

import anyio
import click

from musician import service
from musician.cli.context import App
from musician.cli.faults import FAILED
from musician.cli.options import PlanFile, command
from musician.cli.plan_end import archive, drop, list_plans, restore, show_plan
from musician.cli.plan_pause import pause, resume
from musician.cli.render import Rows, fields, pairs, show, show_text
from musician.plans.draft import draft_plan, plan_id_for
from musician.plans.graph import draw_mermaid, draw_text, kept_apart
from musician.plans.model import Plan
from musician.plans.needs import Needs, needs_of
from musician.plans.warnings import warnings_of
from musician.processes.output import headline
from musician.protocol.arguments import as_argument
from musician.protocol.errors import DatabaseUnusable, InvalidPlan, NotInitialised, StillPlayed, TreeNotReady
from musician.reporting.plan_list import say_left_open
from musician.runtime.drafting import agent_at_hand, look_at_project, write_draft
from musician.runtime.locking import Amendment, amend_plan_file, check_ids, lock_plan_file
from musician.runtime.players import doubts_of_players
from musician.runtime.program import read_plan
from musician.runtime.trying import Trial, try_tests
from musician.runtime.world import WORLD
from musician.store.rows import ArchiveRow
from musician.verification.findings import counted

_path_argument = click.argument("path", metavar="PLAN", type=PlanFile())


_MOST_NAMES = 10

_AMENDED = {
    "added": "added",
    "back": "opened again",
    "changed": "changed",
    "withdrawn": "withdrawn",
    "kept": "not taken up, a session plays them (`musician stop TASK`, then amend again)",
    "too_late": "changed too late, for they are complete (a correction is a new task)",
}


@click.group("plan")
def plan() -> None:
    """Make, check, draw, lock and amend plans; pause them; put away those that have ended."""


for _each in (list_plans, show_plan, pause, resume, archive, restore, drop):
    plan.add_command(_each)


@command("new", parent=plan)
@click.argument("path", metavar="[PLAN]", type=click.Path(path_type=Path), default="PLAN.md")
@click.option(
    "--id", "plan_id", metavar="ID", help="The plan's id, if not one made of the file's or folder's name."
)
@click.option("--no-try", "is_untried", is_flag=True, help="Do not run the tests.")
@click.pass_obj
def new(app: App, path: Path, plan_id: str | None, is_untried: bool) -> None:
    """Write a first draft of a plan into PLAN, which must be new.

    Looks for the project's test command and for what a task's working tree lacks, and runs the tests in a fresh tree.
    The tasks are yours to write.
    """
    project = app.root.users_tree.name
    needs = needs_of(look_at_project(app.root))
    name = project if path.stem.lower() == "plan" else path.stem
    made_id = plan_id or _free_id(app, plan_id_for(name))
    text = draft_plan(needs, plan_id=made_id, title=name, agent=agent_at_hand())
    write_draft(path, text)
    read = read_plan(app.root, path)
    trials: tuple[Trial, ...] = ()
    why_untried = ""
    if needs.test and not is_untried:
        try:
            trials = _tried(app, read)
        except (NotInitialised, TreeNotReady) as error:  # the draft is written all the same
            why_untried = str(error)
    document = {"path": str(path), "plan": read.plan_id, **fields(needs), "trials": list(map(_trial, trials))}
    show(app, {**document, "untried": why_untried}, *_found(path, needs))
    if why_untried:
        show_text(
            app,
            f"The tests were not tried: {why_untried}",
            f"then: musician plan check --try {as_argument(str(path))}",
        )
    _print_trials(app, trials)
    show_text(app, f"next: write its tasks, then musician plan check {as_argument(str(path))}")


@command("check", parent=plan)
@_path_argument
@click.option(
    "--try", "is_tried", is_flag=True, help="Run the plan's tests in a fresh tree, as a task would find them."
)
@click.pass_obj
def check(app: App, path: Path, is_tried: bool) -> None:
    """Report every problem of PLAN with its line, and warn of what is doubtful.

    The files it names are checked too and, in a repository that is set up, whether its ids are free. Nothing is stored,
    but with --try how the tests ended, so that a run that begins at the same commit need not run them again.
    """
    try:
        read = read_plan(app.root, path)
        if app.is_set_up:
            with suppress(DatabaseUnusable):  # the plan itself can be checked without the database
                check_ids(app.store, read)
    except InvalidPlan as error:
        if app.json:
            show(app, {"plan": str(path), "valid": False, "problems": list(error.problems)})
        raise
    warnings = (*doubts_of_players(read, app.settings, WORLD), *warnings_of(read))
    trials = _tried(app, read) if is_tried else ()
    document = {"plan": read.plan_id, "valid": True, "problems": [], "warnings": list(warnings)}
    document |= {"trials": list(map(_trial, trials))} if is_tried else {}
    told = (f"warning: {each}" for each in warnings)
    show(app, {**document, **_contents(read)}, *told, _tasks(read))
    _print_trials(app, trials)
    if not all(trial.runs for trial in trials):
        click.get_current_context().exit(FAILED)
    said = f"no error, {counted(len(warnings), 'warning')}" if warnings else "no problem"
    show_text(app, f"{read.plan_id}: {said}")


@command("graph", parent=plan)
@_path_argument
@click.option("--mermaid", "is_mermaid", is_flag=True, help="As a Mermaid flowchart, for a Markdown page.")
@click.pass_obj
def graph(app: App, path: Path, is_mermaid: bool) -> None:
    """Draw PLAN: its phases, its tasks, and what waits for what."""
    read = read_plan(app.root, path)
    apart = [{"tasks": [one, other], "files": list(files)} for one, other, files in kept_apart(read)]
    show(
        app,
        {"plan": read.plan_id, **_contents(read), "never_at_once": apart},
        draw_mermaid(read) if is_mermaid else draw_text(read),
    )


@command("lock", parent=plan)
@_path_argument
@click.pass_obj
def lock(app: App, path: Path) -> None:
    """Lock PLAN, so that its tasks can be claimed.

    Locking an unchanged plan again does nothing. A changed one is refused, and the difference is shown.
    """
    away: list[ArchiveRow] = []
    locked = lock_plan_file(app.root, app.store, path, app.settings, on_archived=away.append)
    document = {"plan": locked.plan_id, "sha256": locked.sha256, **_contents(locked)}
    document["archived"] = [row.plan_id for row in away]
    said = f"{locked.plan_id} is locked; play it with: musician run {as_argument(str(path))}"
    show(app, document, said, *filter(None, map(say_left_open, away)))


@command("amend", parent=plan)
@_path_argument
@click.pass_obj
def amend(app: App, path: Path) -> None:
    """Take up a changed PLAN. Finished work stays finished.

    Tasks that are no longer in the plan are withdrawn, if no session plays them. A run that is at work takes the plan
    up; what its sessions play is not touched, and named.
    """
    show_amendment(app, amend_plan_file(app.root, app.store, path, app.settings))


def show_amendment(app: App, made: Amendment) -> None:
    """Say what was taken up. It ends with 4 if something was not."""
    changes: dict[str, tuple[str, ...]] = {what: getattr(made, what) for what in _AMENDED}
    left = [fields(each) for each in made.left]
    asked = {ask.task_id for ask in service.open_asks(app.store)}
    waiting = [each for each in made.changed if each in asked]
    document = {
        "plan": made.plan.plan_id,
        "sha256": made.plan.sha256,
        "left": left,
        "warnings": list(made.doubts),
        "takes_settings": made.takes_settings,
        "waiting": waiting,
    }
    said = [f"{_AMENDED[what]}: {', '.join(ids)}" for what, ids in changes.items() if ids]
    said = [
        *(said or ["no task changed"]),
        *(["the settings file has changed, and is in force now"] if made.takes_settings else ()),
        *map(str, made.left),
        *(f"warning: {each}" for each in made.doubts),
        *(f"{each} still waits for you; its answers: musician review show {each}" for each in waiting),
    ]
    show(app, {**document, **{what: list(ids) for what, ids in changes.items()}}, *said)
    if made.kept:
        click.get_current_context().exit(StillPlayed.exit_code)


def _free_id(app: App, plan_id: str) -> str:
    """Return the id, with a number behind it if a plan of this repository has it already."""
    taken = {each.plan_id for each in service.all_plans(app.store)} if app.is_set_up else set()
    numbered = (f"{plan_id}-{number}" for number in range(2, len(taken) + 3))
    return next(each for each in (plan_id, *numbered) if each not in taken)


def _tried(app: App, read: Plan) -> tuple[Trial, ...]:
    """Run the plan's tests. :class:`TreeNotReady` or :class:`NotInitialised` if they cannot be tried."""
    if not app.json:
        click.echo("Running the tests in a fresh tree …", err=True)

    async def collect() -> tuple[Trial, ...]:
        found = try_tests(app.root, app.store, app.settings, read, world=WORLD)
        return tuple([trial async for trial in found])

    return anyio.run(collect)


def _found(path: Path, needs: Needs) -> list[str]:
    keys = {
        "test": needs.test or "nothing found: write the command that tests the project",
        "setup": needs.setup,
    }
    keys |= {"copy": ", ".join(needs.copy), "share": ", ".join(needs.share)}
    notes = [f"note: {note}" for note in needs.notes]
    return [f"{path} is written.", pairs({key: value for key, value in keys.items() if value}), *notes]


def _trial(trial: Trial) -> dict[str, object]:
    ended = trial.ended
    return {
        "command": ended.command,
        "runs": trial.runs,
        "why": ended.why,
        "failed": list(ended.failed),
        "flaky": ended.flaky,
        "reasons": list(trial.reasons),
        "leaves": list(trial.leaves),
        "log": str(trial.log),
    }


def _print_trials(app: App, trials: tuple[Trial, ...]) -> None:
    for trial in trials:
        show_text(app, _say_trial(trial), *(f"  {reason}" for reason in trial.reasons))
        if trial.leaves:
            names = ", ".join(trial.leaves[:_MOST_NAMES])
            show_text(
                app, f"  it leaves {names}: add that to .gitignore, or it is committed with the first step"
            )
        if trial.ended.why:
            show_text(app, f"  what it printed: {trial.log}")


def _say_trial(trial: Trial) -> str:
    ended = trial.ended
    start = f"In a fresh tree `{headline(ended.command)}`"
    uncounted = (
        "" if ended.failing is not None else "; it names no tests, so whether it runs any cannot be told"
    )
    if not ended.why:
        return f"{start} passes{uncounted}."
    if not trial.runs:
        return f"{start} tests nothing: {headline(ended.why)}."
    return f"{start} fails: {headline(ended.told)}{uncounted}. What fails there counts against no task."


def _contents(read: Plan) -> dict[str, object]:
    return {
        "title": read.title,
        "path": read.path,
        "phases": [
            {
                "number": phase.number,
                "title": phase.title,
                "tasks": [
                    fields(
                        task,
                        *("task_id", "title", "agent", "review", "isolation"),
                        after=list(task.after),
                        steps=len(task.steps),
                        checkpoints=len(task.checkpoints),
                    )
                    for task in phase.tasks
                ],
            }
            for phase in read.phases
        ],
    }


def _tasks(read: Plan) -> Rows:
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
    return Rows(headings=("TASK", "PHASE", "STEPS", "CHECKPOINTS", "AFTER", "TITLE"), rows=rows)
