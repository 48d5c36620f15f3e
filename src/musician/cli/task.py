"""The command ``task add``: a task without a plan."""

from pathlib import Path

import click

from musician.cli.context import App
from musician.cli.options import command, task_argument
from musician.cli.render import show
from musician.runtime.locking import add_task_file


@click.group("task")
def task() -> None:
    """Add tasks without a plan."""


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
@click.pass_obj
def add(app: App, task_id: str, path: Path) -> None:
    """Open TASK, so that a session may claim it."""
    name = add_task_file(app.root, app.store, task_id, path, app.settings)
    document = {"task_id": task_id, "instruction_path": name, "state": "watching"}
    show(app, document, f"{task_id} is open; play it with: musician work {task_id}")
