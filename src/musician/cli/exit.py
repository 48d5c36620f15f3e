"""The commands that end a session's claim: ``exit``, ``release``, ``complete``. It writes nothing after them (D1)."""

from pathlib import Path

import click

from musician.cli.acting import Acting, acting
from musician.cli.options import command, context_option, task_argument

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
@acting
def exit(acting: Acting, reason: str, path: Path | None) -> None:  # noqa: A001 - the command's name
    """End this session on TASK with a HANDOFF.

    Unfinished work is set aside under a ref. The session can write nothing after this.
    """
    _exit(acting, reason, handoff=None if path is None else _read(path))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise click.UsageError(f"{path} is not UTF-8") from None


@command("release")
@task_argument
@acting
def release(acting: Acting) -> None:
    """Exit with the reason "released"."""
    _exit(acting, RELEASED, handoff=None)


def _exit(acting: Acting, reason: str, *, handoff: str | None) -> None:
    path = acting.manual.exit(reason, handoff=handoff)
    document = {"state": "exited", "reason": reason, "handoff_path": path}
    acting.show(document, f"exited ({reason}); HANDOFF in {path}")


@command("complete")
@task_argument
@acting
def complete(acting: Acting) -> None:
    """Finish TASK, whose completion has been approved."""
    path = acting.manual.complete()
    acting.show({"state": "complete", "report_path": path}, f"complete; report in {path}")
