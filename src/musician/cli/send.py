"""The conductor's commands to a session: ``send``, ``stop`` and ``handoff`` (D12)."""

import click

from musician import service
from musician.cli.context import App
from musician.cli.options import command, correct_option, task_argument, text_argument
from musician.cli.render import show
from musician.protocol.messages.corrections import with_corrections
from musician.protocol.policy.forbidden import GRANTABLE, Act
from musician.protocol.rules.ceilings import read_amounts
from musician.protocol.states import State
from musician.reporting.asks import still_asked, who_reads
from musician.runtime.as_person import as_person
from musician.runtime.takeover import hand_over

_ACT = click.Choice([str(act) for act in GRANTABLE])


@command("send")
@task_argument
@text_argument()
@click.option(
    "--urgent",
    is_flag=True,
    help="Stop the running piece at once. Otherwise it is read at the next boundary.",
)
@click.option(
    "--retries",
    type=click.IntRange(1, 100),
    metavar="N",
    help="Grant N more error reports.",
)
@click.option(
    "--more",
    multiple=True,
    metavar="AMOUNT",
    help="Let the task, its plan and this day use so much more than the ceilings: 5usd, 2000000tokens, 50turns, 3600s.",
)
@click.option("--grant", "grants", type=_ACT, multiple=True, help="Allow the task's sessions to do this.")
@click.option("--revoke", "revokes", type=_ACT, multiple=True, help="Take such a permission back.")
@correct_option
@click.pass_obj
def send(
    app: App,
    task_id: str,
    text: str,
    urgent: bool,
    retries: int | None,
    more: tuple[str, ...],
    grants: tuple[str, ...],
    revokes: tuple[str, ...],
    corrections: tuple[str, ...],
) -> None:
    """Send TEXT to the session on TASK, as its conductor.

    With - as TEXT it is read from standard input.
    """
    text = with_corrections(text, corrections)
    granted, revoked = ([Act(name) for name in names] for names in (grants, revokes))
    message_id = service.send(
        as_person(app),
        task_id,
        text,
        urgent=urgent,
        grants=granted,
        revokes=revoked,
        retries=retries,
        more=read_amounts(more) if more else None,
    )
    document = {"task_id": task_id, "message_id": message_id, "urgent": urgent}
    document |= {"granted": list(grants), "revoked": list(revokes)}
    still, later = still_asked(app.store, task_id), who_reads(app.store, task_id)
    said = (
        f"{task_id}: message {message_id} sent"
        + (" (urgent)" if urgent else "")
        + (f"; {later}" if later else "")
    )
    show(
        app, {**document, "is_played": not later, "still_asked": still or None}, *filter(None, (said, still))
    )


@command("stop")
@task_argument
@text_argument(required=False)
@click.pass_obj
def stop(app: App, task_id: str, text: str | None) -> None:
    """Stop the session on TASK at once.

    It writes its HANDOFF and exits. No other session continues until you say so: musician send TASK "go on".
    """
    text = text or service.STOP_NOW
    message_id = service.request_exit(as_person(app), task_id, text, urgent=True, hold=True)
    document = {"task_id": task_id, "message_id": message_id, "urgent": True, "state": "exit_requested"}
    show(app, document, f"{task_id}: exit requested by message {message_id}")


@command("handoff")
@task_argument
@text_argument(required=False)
@click.pass_obj
def handoff(app: App, task_id: str, text: str | None) -> None:
    """Hand TASK off to a fresh session.

    Asks the present session to finish its piece, write its HANDOFF and exit. If it has exited already, the task is
    opened for the next session.
    """
    message_id, state = hand_over(app.root, as_person(app), task_id, text, app.settings)
    document = {"task_id": task_id, "message_id": message_id, "urgent": False, "state": state}
    outcome = "exit requested" if state is State.EXIT_REQUESTED else "open for its next session"
    show(app, document, f"{task_id}: {outcome} by message {message_id}")
