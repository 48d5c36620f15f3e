"""The commands ``claim`` and ``heartbeat`` (D2, D10, D20)."""

from functools import partial
from typing import TYPE_CHECKING

import anyio
import click

from musician import service
from musician.cli.acting import Acting, acting
from musician.cli.context import App
from musician.cli.options import command, context_option, force_option, session_option, task_argument
from musician.cli.render import fields, indented, pairs, show
from musician.protocol.names import check_session_id
from musician.verification.findings import counted

if TYPE_CHECKING:
    from musician.runtime.manual.takeup import TakenUp


@command("claim")
@task_argument
@session_option("The session that claims.")
@click.option("--quiet", is_flag=True, help="If the claim is blocked, write nothing (for workers that poll).")
@force_option
@context_option
@click.pass_obj
def claim(
    app: App, task_id: str, session: str | None, quiet: bool, out_of_turn: bool, context_pct: float | None
) -> None:
    """Claim TASK for a session.

    If several sessions try, one succeeds and the others get exit code 5. If earlier sessions have worked on the task,
    it examines what they left, runs the tests of all approved work again, and reports to the conductor.
    """
    from musician.runtime.manual.takeup import take_up

    check_session_id(session)
    up = partial(
        take_up, settings=app.settings, context_pct=context_pct, quiet=quiet, out_of_turn=out_of_turn
    )
    taken = anyio.run(up, app.root, app.store, task_id, session)
    facts = {
        "task": task_id,
        "epoch": taken.claim.epoch,
        "as": taken.worked_by,
        "instructions": taken.instruction_path,
        "tree": taken.tree,
        "next": f"{taken.next_item} ({taken.next_title})" if taken.next_item else "the final report",
    }
    show(
        app, _document(taken), "claimed" if taken.is_new else "already yours", pairs(facts), *_remarks(taken)
    )


def _document(taken: "TakenUp") -> dict[str, object]:
    found = taken.resumption
    return {
        "task_id": taken.claim.task_id,
        "session_id": taken.claim.session_id,
        "epoch": taken.claim.epoch,
        **fields(
            taken, "worked_by", "number", "is_new", "instruction_path", "tree", "next_item", "next_title"
        ),
        "done": list(taken.done),
        "pending": list(taken.pending),
        "unread": taken.unread,
        "resumption": None
        if found is None
        else fields(
            found, "previous_session", "handoff", "assessment", "verification", message=found.render()
        ),
        "question": taken.question or None,
        "paused": taken.paused or None,
        "warning": taken.warning or None,
    }


def _remarks(taken: "TakenUp") -> list[str]:
    task_id = taken.claim.task_id
    remarks = [] if taken.resumption is None else [taken.resumption.render()]
    if taken.question:
        remarks += ["asked the conductor:", indented(taken.question)]
        remarks.append(f"nothing can be started before the answer; wait for it: musician wait {task_id}")
    if taken.rules:
        remarks.append(f"how to play it: {taken.rules}")
    if taken.unread:
        remarks.append(f"{counted(taken.unread, 'unread message')}; read: musician inbox {task_id} --ack")
    if taken.paused:
        remarks.append(f"nothing can be started yet: {taken.paused}; wait for it: musician wait {task_id}")
    if taken.warning:
        remarks.append(f"warning: {taken.warning}")
    return remarks


@command("heartbeat")
@task_argument
@acting
def heartbeat(acting: Acting) -> None:
    """Refresh the heartbeat of the session on TASK."""
    held = acting.claim
    service.beat(acting.app.store, held)
    acting.show({"session_id": held.session_id, "epoch": held.epoch}, "heartbeat refreshed")
