"""The commands ``push`` and ``pr``, with which a person publishes a task's work."""

import os

import click

from musician import service
from musician.cli.context import App
from musician.cli.options import command, task_argument
from musician.cli.render import fields, note, show
from musician.protocol.states import State
from musician.reporting.account import account_of
from musician.reporting.pull_request import pull_request_of
from musician.reporting.standing import Standing
from musician.runtime.publishing import check_is_person, open_pull_request, publishable
from musician.runtime.publishing import push as push_work

_branch_option = click.option(
    "--branch", "name", metavar="NAME", help="What the branch is called there, if not as here."
)


@command("push")
@task_argument
@click.option(
    "--remote", metavar="R", default="origin", show_default=True, help="A remote's name or address."
)
@_branch_option
@click.pass_obj
def push(app: App, task_id: str, remote: str, name: str | None) -> None:
    """Push what TASK has committed to a branch of a remote.

    For persons: a musician publishes nothing. Git runs as your own, with your hooks and logins, and forces nothing.
    """
    check_is_person(app.root, app.store, os.environ)
    view = service.task_view(app.store, task_id)
    work = publishable(app.root, view)
    if view.row.state is not State.COMPLETE:
        note(f"{task_id} is {view.row.state}: not all of this is approved")
    name = name or work.branch
    push_work(app.root, work, remote=remote, name=name)
    document = {"task_id": task_id, "remote": remote, "branch": name, "commit": work.commit}
    show(app, document, f"{task_id}: {work.commit[:12]} is pushed to {name} of {remote}")


@command("pr")
@task_argument
@click.option(
    "--base", metavar="B", help="The branch it is to be merged into, if not the one the plan began on."
)
@_branch_option
@click.option(
    "--create", "is_created", is_flag=True, help="Open it with gh; the branch must be pushed before."
)
@click.pass_obj
def pr(app: App, task_id: str, base: str | None, name: str | None, is_created: bool) -> None:
    """Write the text of a pull request for TASK: a title, an empty line, and a body in Markdown."""
    check_is_person(app.root, app.store, os.environ)
    view = service.task_view(app.store, task_id)
    work = publishable(app.root, view)
    plan_id = view.row.plan_id
    plan = service.plan_row(app.store, plan_id)
    account = account_of(app.root, app.store, (Standing(view),), plan_id=plan_id, title="")
    request = pull_request_of(view, account.tasks[0], account.sent_back, plan)
    head = name or work.branch
    base = base or (None if plan is None else plan.base_branch)
    url = ""
    if is_created:
        url = open_pull_request(app.root, title=request.title, body=request.body, head=head, base=base)
    document = {"task_id": task_id, **fields(request), "head": head, "base": base, "url": url or None}
    show(app, document, *([url] if is_created else [request.title, "", request.body.rstrip()]))
