"""The commands ``show …``: one message, step or verification, whole, by the number other commands print."""

import json

import click

from musician import service
from musician.cli.context import App
from musician.cli.options import command, plan_option, task_argument
from musician.cli.render import fields, indented
from musician.cli.render import show as show_result
from musician.protocol.errors import UnknownNumber
from musician.runtime.program import program_in
from musician.store.rows import JournalRow, VerificationRow
from musician.verification.earlier import read_result


@click.group("show")
def show() -> None:
    """Show one message, step or verification, whole."""


_number = click.argument("number", metavar="NUMBER", type=click.IntRange(min=1))


@command("message", parent=show)
@_number
@plan_option
@click.pass_obj
def message(app: App, number: int) -> None:
    """Show message NUMBER, as `musician messages` and `musician review show` count them."""
    row = service.message_row(app.shown, number)
    if row is None:
        raise UnknownNumber(kind="message", number=number, listed_by="musician messages TASK")
    head = f"message {row.id}, {row.message_type} of {row.task_id} from {row.from_session}, {row.timestamp}:"
    show_result(app, fields(row), head, indented(row.message))


@command("verification", parent=show)
@_number
@plan_option
@click.pass_obj
def verification(app: App, number: int) -> None:
    """Show verification NUMBER, as `musician review show` counts them: each command, and what was found besides."""
    row = service.verification_row(app.shown, number)
    if row is None:
        raise UnknownNumber(kind="verification", number=number, listed_by="musician review show TASK")
    scope = "everything" if row.covers_all else f"checkpoint {row.checkpoint}"
    submitted = f", of message {row.submission_id}" if row.submission_id else ""
    head = f"verification {row.id} of {row.task_id}, {scope}{submitted}: {row.outcome} ({row.at}), tree {row.tree_id}"
    show_result(app, fields(row, result=json.loads(row.result)), head, *map(indented, _found(row)))


def _found(row: VerificationRow) -> list[str]:
    result = read_result(row)
    if result is None:
        return [row.result]
    ran = [
        f"`{each.command}`: {'passed' if each.passed else each.why} in {each.duration_s:.1f} s"
        for each in result.commands
    ]
    return [*ran, result.tests_line() if result.ready else result.to_mend(), *result.to_judge()]


@command("step", parent=show)
@task_argument
@_number
@plan_option
@click.pass_obj
def step(app: App, task_id: str, number: int) -> None:
    """Show step NUMBER of TASK: what was asked, what became of it, and the commits it is in."""
    view = service.task_view(app.shown, task_id)
    name = f"step {number}"
    asked = [each for each in program_in(app.root, view.row).items if _is_of(each.item, name)]
    rows = [row for row in view.journal if _is_of(row.item, name)]
    if not asked and not rows:
        raise UnknownNumber(kind="step", number=number, listed_by=f"musician status {task_id}")
    document = {
        "task_id": task_id,
        "items": [{"item": each.item, "title": each.title, "text": each.prose} for each in asked],
        "journal": [fields(row) for row in rows],
    }
    commits = dict.fromkeys(row.commit_id for row in rows if row.commit_id)
    show_result(
        app,
        document,
        *(f"{each.item}: {each.title}\n{indented(each.prose)}".rstrip() for each in asked),
        *map(_happened, rows),
        *(f"look at it: git show {commit[:12]}" for commit in commits),
    )


def _is_of(item: str, name: str) -> bool:
    return item == name or item.startswith((f"{name} ", f"{name}."))


def _happened(row: JournalRow) -> str:
    return f"{row.at}  {row.session_id}  {row.item} {row.kind}  {row.text}".rstrip()
