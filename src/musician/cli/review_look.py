"""The commands ``review diff``, ``review checkout`` and ``review open``: looking at a task's work, and trying it."""

import os
import shutil
import subprocess
import sys

import click

from musician import service
from musician.cli.context import App
from musician.cli.options import command, plan_option, task_argument
from musician.cli.render import is_terminal, show, show_text
from musician.processes.output import visible
from musician.protocol.errors import MissingTool, NoWork
from musician.service import TaskView
from musician.trees.diffs import FileDiff, difference
from musician.trees.looking import (
    check_out,
    remove_scratch_tree,
    tool_environment,
    users_setting,
)
from musician.trees.task_work import Work, work_of

_NO_SUCH_PROGRAM = 127
"""The exit code of a shell."""
_STYLES = {"+": "green", "-": "red", "@": "cyan"}


@command("diff")
@task_argument
@plan_option
@click.option("--stat", is_flag=True, help="Show only which files changed, and how much.")
@click.option(
    "--since-review",
    is_flag=True,
    help="Show only what changed since the last submission that a person judged.",
)
@click.pass_obj
def diff(app: App, task_id: str, stat: bool, since_review: bool) -> None:
    """Show what TASK has changed and committed.

    On a terminal it is coloured and goes to your pager: GIT_PAGER, git's core.pager, PAGER or less. What would act on
    the terminal is made visible.
    """
    view, work = _work(app, task_id)
    since = view.commit_seen_by_person if since_review else None
    if since_review and since is None:
        click.echo(f"musician: no person has judged {task_id} yet: this is all of it", err=True)
    columns = shutil.get_terminal_size().columns if stat else 0
    text = difference(app.root.path, since or work.start, work.commit, stat_columns=columns)
    if app.json:
        document = {"task_id": task_id, "from": since or work.start, "to": work.commit, "diff": text}
        show(app, {**document, "files": list(map(file_document, work.files))})
    elif is_terminal():
        _page(app, "\n".join(map(_coloured, visible(text).split("\n"))))
    else:
        sys.stdout.write(visible(text))


def file_document(file: FileDiff) -> dict[str, object]:
    return {"path": file.path, "added": file.added, "removed": file.removed}


def _work(app: App, task_id: str) -> tuple[TaskView, Work]:
    view = service.task_view(app.shown, task_id)
    work = work_of(app.root, view.row.plan_id, task_id, submitted=view.submitted_commit)
    if work is None:
        raise NoWork(
            task_id=task_id, what="branch", remedy=f"`musician status {task_id}` says whether it has begun"
        )
    return view, work


def _coloured(line: str) -> str:
    if os.environ.get("NO_COLOR"):
        return line
    if line.startswith(("diff ", "index ", "--- ", "+++ ")):
        return click.style(line, bold=True)
    return click.style(line, fg=_STYLES.get(line[:1]))


def _page(app: App, text: str) -> None:
    """Show a text with the user's pager; one that is not there is done without."""
    environ = os.environ
    pager = (
        environ.get("GIT_PAGER") or users_setting(app.root, "core.pager") or environ.get("PAGER") or "less"
    )
    env = {"LESS": "FRX", "LV": "-c", **environ}
    with subprocess.Popen(
        ["sh", "-c", pager], stdin=subprocess.PIPE, env=env, stderr=subprocess.DEVNULL
    ) as paging:
        try:
            paging.communicate(text.encode("utf-8", "replace"))
        except (BrokenPipeError, KeyboardInterrupt):  # left before the end
            return
    if paging.returncode == _NO_SUCH_PROGRAM:
        sys.stdout.write(text)


@command("checkout")
@task_argument
@plan_option
@click.option("--remove", is_flag=True, help="Remove the scratch tree.")
@click.pass_obj
def checkout(app: App, task_id: str, remove: bool) -> None:
    """Make a scratch tree with TASK's work, to try it in.

    Whatever you do there changes nothing of the task. The same command brings it up to date later; --remove
    removes it, unless it holds changes of yours.
    """
    service.task_row(app.shown, task_id)
    if remove:
        remove_scratch_tree(app.root, task_id)
        show(app, {"task_id": task_id, "tree": None}, f"{task_id}: its scratch tree is removed")
        return
    _, work = _work(app, task_id)
    place = check_out(app.root, task_id, work)
    document = {"task_id": task_id, "tree": str(place), "commit": work.commit}
    show(
        app,
        document,
        f"{task_id} as committed ({work.commit[:12]}) is in {place}",
        f"when you are done: musician review checkout {task_id} --remove",
    )


@command("open")
@task_argument
@plan_option
@click.pass_obj
def open_command(app: App, task_id: str) -> None:
    """Open TASK's change in your difftool, or its files in your editor.

    The tool is git's diff.guitool or diff.tool of your own configuration, the editor VISUAL or EDITOR. They open the
    scratch tree of `musician review checkout`.
    """
    _, work = _work(app, task_id)
    tool = users_setting(app.root, "diff.guitool") or users_setting(app.root, "diff.tool")
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not tool and not editor:
        raise MissingTool
    place = check_out(app.root, task_id, work)
    what: tuple[str, ...]
    if tool:
        what = (
            "git",
            "difftool",
            "--dir-diff",
            "--no-prompt",
            f"--tool={tool}",
            work.start,
            work.commit,
            "--",
        )
    else:
        # As paths: a file may be named like an option of the editor's.
        names = [os.fsdecode(each.raw_path) for each in work.files]
        files = [f"./{name}" for name in names if (place / name).exists()]
        what = ("sh", "-c", f'{editor} "$@"', "editor", *files)
    code = subprocess.run(what, cwd=place, env=tool_environment(), check=False).returncode
    show(app, {"task_id": task_id, "tree": str(place), "exit_code": code})
    show_text(app, f"it was in {place}; when you are done: musician review checkout {task_id} --remove")
    if code:
        raise click.exceptions.Exit(1)
