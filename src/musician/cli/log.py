"""The command ``log``: what the sessions of a task said and did; the same on a terminal and in a pipe."""

import sys

import click

from musician import service
from musician.cli.context import App
from musician.cli.options import command, plan_option, task_argument
from musician.cli.render import fields, lines
from musician.processes.output import json_text
from musician.reporting.transcript_lines import TranscriptLines
from musician.reporting.transcripts import Event, Speaker, follow


@command("log")
@task_argument
@plan_option
@click.option("-f", "--follow", "live", is_flag=True, help="Keep showing new events until the task ends.")
@click.option(
    "--session",
    "session_id",
    metavar="ID",
    help="Show one session only. Without it all are shown, and the agents that were asked about the task.",
)
@click.pass_obj
def log(app: App, task_id: str, *, live: bool, session_id: str | None) -> None:
    """Show what the sessions of TASK said and did, and the agents that reviewed or answered them.

    With --json, prints each event as it was written, one to a line.
    """
    page = TranscriptLines(app.shown)
    live = live and not app.is_archived  # there nothing happens any more
    if not service.task_view(app.shown, task_id).sessions:
        wait = "; this goes on when one does" if live else ""
        click.echo(f"no session has played {task_id} yet{wait}", err=True)
    for speaker, event in follow(app.shown, app.shown_root, task_id, session_id=session_id, live=live):
        if not app.json:
            for line in page.tell(speaker, event):
                lines(line)
        elif event is not None:
            _show_json(speaker, event)
        if live:
            sys.stdout.flush()


def _show_json(speaker: Speaker, event: Event) -> None:
    session_id = None if speaker.session is None else speaker.session.session_id
    who = {"task_id": speaker.task_id, "session_id": session_id, "asked": speaker.asked}
    document = {**who, **fields(event, "seq", "at", "kind", "piece"), **event.said}
    sys.stdout.write(json_text(document) + "\n")
