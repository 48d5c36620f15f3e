"""The commands that end a session's claim: ``exit``, ``release``, ``complete``. It writes nothing after them (D1)."""

from pathlib import Path

import click

from musician.cli.context import App
from musician.cli.manual import manual_session
from musician.cli.options import command, context_option, session_options, task_argument
from musician.cli.render import show

RELEASED = "released"


@command("exit")
@task_argument
@click.option("--reason", metavar="TEXT", default="session ended", show_default=True, help="Why it ends.")
@click.option(
    "--handoff",
    "path",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="FILE",
    help="Your own HANDOFF. Without it the program writes one from the journal.",
)
@context_option
@session_options
@click.pass_obj
def exit(  # noqa: A001 - the command's name
    app: App,
    task_id: str,
    reason: str,
    path: Path | None,
    context_pct: float | None,
    session: str | None,
    epoch: int | None,
) -> None:
    """End this session on TASK with a HANDOFF.

    Unfinished work is set aside under a ref. The session can write nothing after this.
    """
    text = None if path is None else _read(path)
    _leave(app, task_id, session, epoch, reason=reason, handoff=text, context_pct=context_pct)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise click.UsageError(f"{path} is not UTF-8") from None


@command("release")
@task_argument
@session_options
@click.pass_obj
def release(app: App, task_id: str, session: str | None, epoch: int | None) -> None:
    """Exit with the reason "released"."""
    _leave(app, task_id, session, epoch, reason=RELEASED, handoff=None, context_pct=None)


def _leave(
    app: App,
    task_id: str,
    session: str | None,
    epoch: int | None,
    *,
    reason: str,
    handoff: str | None,
    context_pct: float | None,
) -> None:
    manual = manual_session(app, task_id, session, epoch)
    path = manual.exit(reason, handoff=handoff, context_pct=context_pct)
    document = {"task_id": task_id, "state": "exited", "reason": reason, "handoff_path": path}
    show(app, document, f"{task_id}: exited ({reason}); HANDOFF in {path}")


@command("complete")
@task_argument
@session_options
@click.pass_obj
def complete(app: App, task_id: str, session: str | None, epoch: int | None) -> None:
    """Finish TASK, whose completion has been approved."""
    manual = manual_session(app, task_id, session, epoch)
    path = manual.complete()
    document = {"task_id": task_id, "state": "complete", "report_path": path}
    show(app, document, f"{task_id}: complete; report in {path}")
