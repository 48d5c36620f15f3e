"""The command ``timeline``: everything that happened, as lines or as a self-contained page (B40)."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

import click

from musician.cli.context import App
from musician.cli.options import command, plan_option
from musician.cli.render import fields, lines, show
from musician.processes.output import printable
from musician.processes.whole_file import write_whole
from musician.reporting.timeline import MOST_HAPPENINGS, Happening, happenings

_MOST_LAST = 10_000_000
"""The limit of ``--last``: the entries are held in memory."""

_PAGE = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Musician: timeline</title>
<style>
body {{ font: 14px/1.4 system-ui, sans-serif; margin: 2em; color: #222; background: #fff; }}
table {{ border-collapse: collapse; }}
td, th {{ border-top: 1px solid #ddd; padding: .3em .8em; text-align: left; vertical-align: top; }}
pre {{ margin: 0; white-space: pre-wrap; }}
.state td {{ background: #f2f6ff; }}
</style>
<h1>Timeline</h1>
<p>{count} entries{cut}; times are UTC.</p>
<table>
<tr><th>At</th><th>Task</th><th>Who</th><th>What</th><th>Said</th></tr>
{rows}
</table>
</html>
"""


@command("timeline")
@plan_option
@click.option(
    "--html",
    "target",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write a self-contained page instead.",
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
        write_whole(target, page(entries, left_out=left_out))
        document = {"html": str(target), "entries": len(entries), "left_out": left_out}
        show(app, document, f"{target}: {len(entries)} entries", *cut)
        return
    show(app, {"timeline": [fields(entry) for entry in entries], "left_out": left_out}, *cut)
    if not app.json:
        for entry in entries:
            lines(_line(entry))


def page(entries: Sequence[Happening], *, left_out: int) -> str:
    """Return the page. Everything that sessions wrote is escaped."""
    rows = "\n".join(
        f'<tr class="{each.source}">'
        + "".join(f"<td>{_cell(text)}</td>" for text in (each.at, each.task_id, each.who, each.what))
        + f"<td><pre>{_cell(each.text)}</pre></td></tr>"
        for each in entries
    )
    cut = f"; {left_out} older ones are left out" if left_out else ""
    return _PAGE.format(count=len(entries), cut=cut, rows=rows)


def _cell(text: str) -> str:
    return escape(printable(text), quote=True)


def _line(each: Happening) -> str:
    text = each.text.replace("\n", "\n    ")
    return f"{each.at}  {each.task_id}  {each.who}  {each.what}  {text}".rstrip()
