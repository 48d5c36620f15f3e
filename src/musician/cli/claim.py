"""Owning a task: claim and heartbeat (D2, D10)."""

import click

from musician import service
from musician.cli.context import App
from musician.cli.options import claim_of, command, session_options, task_argument
from musician.cli.render import pairs, show
from musician.protocol.errors import MusicianError
from musician.protocol.names import check_session_id
from musician.service import Taken

__all__ = ["claim", "heartbeat"]


@command("claim")
@task_argument
@click.option(
    "--session", envvar="MUSICIAN_SESSION", metavar="ID", help="The session.  [env: MUSICIAN_SESSION]"
)
@click.option("--quiet", is_flag=True, help="When blocked, leave no trace (for workers that poll).")
@click.pass_obj
def claim(app: App, task_id: str, session: str | None, quiet: bool) -> None:
    """Claim TASK for a session.

    Of any number of sessions that try, one succeeds; the others get exit code 5.
    """
    taken = service.claim(app.store, task_id, check_session_id(session), quiet=quiet, settings=app.settings)
    tree, trouble = _tree(app, taken)
    document = {
        "task_id": taken.claim.task_id,
        "session_id": taken.claim.session_id,
        "epoch": taken.claim.epoch,
        "worked_by": taken.worked_by,
        "number": taken.number,
        "is_new": taken.is_new,
        "instruction_path": taken.instruction_path,
        "tree": tree,
        "warning": trouble,
    }
    facts = {"task": task_id, "epoch": taken.claim.epoch, "as": taken.worked_by}
    shown = pairs({**facts, "instructions": taken.instruction_path, "tree": tree})
    said = "claimed" if taken.is_new else "already yours"
    show(app, document, said, shown, *([f"warning: {trouble}"] if trouble else []))


def _tree(app: App, taken: Taken) -> tuple[str | None, str | None]:
    """Where the task is played, or why that is not known; the claim stands either way, and is written down."""
    from musician.runtime.byhand import Hand

    hand = Hand(root=app.root, store=app.store, claim=taken.claim, settings=app.settings)
    try:
        if taken.is_new:
            hand.begin(taken.instruction_path)
        return str(hand.tree.path), None
    except (MusicianError, OSError) as error:
        return None, str(error)


@command("heartbeat")
@task_argument
@session_options
@click.pass_obj
def heartbeat(app: App, task_id: str, session: str | None, epoch: int | None) -> None:
    """Show that the session on TASK lives."""
    held = claim_of(app, task_id, session, epoch)
    service.beat(app.store, held)
    show(app, {"task_id": task_id, "session_id": held.session_id, "epoch": held.epoch}, f"{task_id}: beating")
