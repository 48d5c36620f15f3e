"""The command ``status``: the present state of all tasks, or of one."""

import math
import sys
from functools import partial

import click

from musician.cli.context import App
from musician.cli.options import command, complete_task, parse_row, plan_option
from musician.cli.render import lines, pairs, show, show_text
from musician.cli.status_plans import PlansStatus
from musician.cli.status_task import TaskStatus


@command("status")
@click.argument("task_id", metavar="[TASK]", required=False, callback=parse_row, shell_complete=complete_task)
@click.option("--all", "everything", is_flag=True, help="Include all finished plans.")
@plan_option
@click.option("--disk", is_flag=True, help="Show how much disk is used instead, and by what.")
@click.option("--watch", is_flag=True, help="Print again whenever something happens, until interrupted.")
@click.pass_obj
def status(app: App, task_id: str | None, everything: bool, disk: bool, watch: bool) -> None:
    """Show the state of the tasks, and what waits for a person.

    Without TASK, shows every unfinished plan, and the plan in which something happened last.
    """

    def print_once() -> None:
        now = PlansStatus(app, everything=everything) if task_id is None else TaskStatus(app, task_id)
        if app.json:
            show(app, now.document())
        else:
            show_text(app, *now.text())

    if disk:
        _print_disk(app)
        return
    if watch and app.json:
        raise click.UsageError("--watch cannot be used with --json, which prints one document")
    if not watch:
        print_once()
        return
    from musician.processes.signals import raising_on_signals

    about = () if task_id is None else (task_id,)
    listen = partial(app.shown.listen, *about, journals=True)
    with raising_on_signals(lambda _: KeyboardInterrupt(), listen) as ear:
        print_once()
        sys.stdout.flush()  # whoever reads a pipe waits for it
        while ear.wait(math.inf):
            lines("")
            print_once()
            sys.stdout.flush()


def _print_disk(app: App) -> None:
    from rich.filesize import decimal

    from musician.runtime.cleaning import disk_used  # slow to import, and seldom asked for

    used = disk_used(app.root)
    show(app, {"bytes": used}, *pairs({name: decimal(size) for name, size in used.items()}).splitlines())
