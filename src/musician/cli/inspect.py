"""The sources' three scripts as commands, with the sources' labels and exit codes (D22)."""

from contextlib import suppress

import click

from musician.cli.context import App
from musician.cli.options import command, task_argument
from musician.cli.render import show
from musician.protocol.errors import NotInitialised
from musician.protocol.inspections import Inspection, no_database
from musician.protocol.inspections import headroom as judge_headroom
from musician.protocol.inspections import validate as judge_row
from musician.protocol.inspections import verify_temp as judge_temp
from musician.protocol.names import check_session_id
from musician.reporting.inspecting import measured_status, read_status, row_facts, temp_facts


@command("validate")
@task_argument
@click.argument("session", metavar="[SESSION]", required=False)
@click.pass_obj
@click.pass_context
def validate(context: click.Context, app: App, task_id: str, session: str | None) -> None:
    """Check the row of TASK: owner, heartbeat, state, messages, fallback row.

    SESSION is compared with the owner. Exit code 0 means healthy, 1 that something is wrong.
    """
    if session is not None:
        check_session_id(session)
    try:
        facts = row_facts(app.store, task_id, session)
        limits = app.settings.heartbeat
        found = judge_row(facts, task_id=task_id, session_id=session, limits=limits)
    except NotInitialised as error:
        found = no_database(task_id, error.path)
    _show(context, app, found)


@command("verify-temp")
@task_argument
@click.pass_obj
@click.pass_context
def verify_temp(context: click.Context, app: App, task_id: str) -> None:
    """Check the files of TASK in temp/: status, deviations, HANDOFF.

    Exit code 0 means in order, 1 that a required file is missing or empty.
    """
    _show(context, app, judge_temp(temp_facts(app.root, task_id)))


@command("headroom")
@task_argument
@click.pass_obj
@click.pass_context
def headroom(context: click.Context, app: App, task_id: str) -> None:
    """Show how much context the session on TASK has left.

    Reads its journal, or its status file if it has no journal. Exit code 0 means healthy, 1 caution (from 60 %, after a
    self-correction, or if nothing is known), 2 critical (from 75 %).
    """
    status, path = read_status(app.root, task_id)
    with suppress(NotInitialised):
        status = measured_status(app.store, task_id) or status
    _show(context, app, judge_headroom(status, task_id=task_id, path=path))


def _show(context: click.Context, app: App, found: Inspection) -> None:
    document = {"lines": found.lines, "exit_code": found.exit_code, "result": found.result}
    show(app, document, *found.lines)
    context.exit(found.exit_code)
