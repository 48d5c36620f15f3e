"""The commands ``review comment`` and ``review comments``: what a person says to lines of a task's work."""

import click

from musician import service
from musician.cli.context import App
from musician.cli.options import command, plan_option, task_argument, text_argument
from musician.cli.render import fields, show
from musician.reporting.comments import Places, Point, places_in, rounds_of, say_draft, say_round
from musician.reporting.under_review import change_of
from musician.runtime.commenting import comment as write_comment
from musician.runtime.commenting import parse_place
from musician.store.rows import CommentRow


@command("comment")
@task_argument
@click.argument("place", metavar="FILE:LINE")
@text_argument()
@click.option("--removed", is_flag=True, help="The line is one that the work has removed.")
@click.pass_obj
def comment(app: App, task_id: str, place: str, text: str, removed: bool) -> None:
    """Say something to a line of TASK's work.

    It is a draft: `musician review reject` (or fix) sends all drafts as numbered points, which the musician answers.
    """
    path, line = parse_place(place)
    comment_id, remark = write_comment(
        app.root, app.store, task_id, path=path, line=line, text=text, side="old" if removed else "new"
    )
    show(
        app,
        {"task_id": task_id, "id": comment_id, **fields(remark)},
        f"draft {comment_id} on {remark.place}",
        f"send it: musician review reject {task_id}",
    )


@command("comments")
@task_argument
@plan_option
@click.option("--drop", "drops", type=int, multiple=True, metavar="ID", help="Forget a draft.")
@click.option("--all", "is_all", is_flag=True, help="Show every round, not only the last.")
@click.pass_obj
def comments(app: App, task_id: str, drops: tuple[int, ...], is_all: bool) -> None:
    """List the drafts on TASK's work, and what it was sent back with last: each point with the musician's answer."""
    if drops and app.is_archived:
        raise click.UsageError("an archived plan is only looked at; leave --drop out")
    for each in drops:
        service.drop_comment(app.store, task_id, each)
    view = service.task_view(app.shown, task_id)
    written = service.comments_of(app.shown, task_id)
    drafts = [each for each in written if each.message_id is None]
    rounds = rounds_of(app.shown, view)
    root = app.root_if_any
    places = places_in(root, written, None if root is None else change_of(root, view))
    document = {
        "task_id": task_id,
        "drafts": [_comment(each, places) for each in drafts],
        "rounds": [
            {
                **fields(each, "message_id", "verdict", "at", "by"),
                "points": [_point(point, places) for point in each.points],
                "corrections": [_point(step, places) for step in each.corrections],
            }
            for each in rounds
        ],
    }
    show(
        app,
        document,
        *(say_draft(each, places) for each in drafts),
        f"send them: musician review reject {task_id}; forget one: --drop ID" if drafts else "no drafts",
        *(line for each in (rounds if is_all else rounds[-1:]) for line in say_round(each, places)),
    )


def _comment(comment: CommentRow, places: Places) -> dict[str, object]:
    now = places.get(comment.id)
    return fields(comment, now=None if now is None else fields(now))


def _point(point: Point, places: Places) -> dict[str, object]:
    about = point.comment and _comment(point.comment, places)
    return {**fields(point, "number", "text", "answer"), "comment": about}
