"""The command ``timeline``: everything that happened, as lines or as a self-contained page (B40)."""

import os
from importlib.resources import files
from pathlib import Path

import click

from musician import service
from musician.cli.context import App
from musician.cli.options import command, plan_option
from musician.cli.render import fields, lines, show
from musician.processes.redaction import Redactor
from musician.processes.whole_file import write_whole
from musician.reporting.timeline import MOST_HAPPENINGS, Happening, Timeline, happenings
from musician.reporting.timeline_page import clean_for, page

_STYLE = files("musician") / "web" / "static" / "desk.css"
"""The dashboard's own: it is there without what serves the dashboard."""
_MOST_LAST = 10_000_000
"""The limit of ``--last``: the entries are held in memory."""


@command("timeline")
@plan_option
@click.option(
    "--html",
    "target",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write a page to share instead, without secrets and paths outside the project.",
)
@click.option(
    "--last",
    "most",
    type=click.IntRange(1, _MOST_LAST),
    default=MOST_HAPPENINGS,
    show_default=True,
    metavar="N",
    help="Show the newest N.",
)
@click.pass_obj
def timeline(app: App, target: Path | None, most: int) -> None:
    """Show everything that happened, in the order in which it was written.

    Shows messages, state changes, the journals of all tasks, and the questions for persons with their answers.
    """
    newest = happenings(app.shown, most=most)
    entries, left_out = newest.happenings, newest.left_out
    cut = [f"{left_out} older entries are left out (--last N shows more)"] if left_out else []
    if target is not None:
        _write_page(app, target, newest)
        document = {"html": str(target), "entries": len(entries), "left_out": left_out}
        show(app, document, f"{target}: {len(entries)} entries", *cut)
        return
    show(app, {"timeline": [fields(entry) for entry in entries], "left_out": left_out}, *cut)
    if not app.json:
        for entry in entries:
            lines(_line(entry))


def _write_page(app: App, target: Path, newest: Timeline) -> None:
    plans = [plan for plan in service.current_plans(app.shown) if app.plan_id in (None, plan.plan_id)]
    ids = [*(plan.plan_id for plan in plans), *([] if app.plan_id else [None])]
    text = page(
        app.root.path.name,
        [view for plan_id in ids for view in service.everything(app.shown, plan_id)],
        newest,
        settings=app.settings,
        clean=clean_for(app.root.path, Path.home(), Redactor(os.environ)),
        style=_STYLE.read_text(encoding="utf-8"),
    )
    write_whole(target, text)


def _line(each: Happening) -> str:
    text = each.text.replace("\n", "\n    ")
    return f"{each.at}  {each.task_id}  {each.shown_who}  {each.what}  {text}".rstrip()
