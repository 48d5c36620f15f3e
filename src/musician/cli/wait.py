"""The command ``wait``: sleeps until the conductor has news (D11)."""

import time
from functools import partial

import click

from musician import service
from musician.cli.acting import Acting, acting
from musician.cli.context import App
from musician.cli.faults import FAILED
from musician.cli.options import command, task_argument
from musician.processes.parent import Parent
from musician.processes.signals import raising_on_signals
from musician.protocol.claim import Claim
from musician.protocol.errors import ClaimLost
from musician.protocol.rules.liveness import HeartbeatStatus, heartbeat_status
from musician.protocol.states import State
from musician.protocol.values import as_dict, dataclass

LONGEST_S = 7 * 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Snapshot:
    state: State
    unread: int
    plan_pause: str


@command("wait")
@task_argument
@click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(0, LONGEST_S),
    default=LONGEST_S,
    metavar="SECONDS",
    help="Give up after this time, with exit code 1.",
)
@acting
def wait(acting: Acting, timeout_s: float) -> None:
    """Wait until TASK's state changes, a message comes, or its plan is paused or goes on.

    Keeps the heartbeat fresh meanwhile, as long as the calling process lives. Returns at once if there are unread
    messages; read them with `musician inbox --ack`.
    """
    acting.manual.stand_still()
    before, after = _wait(acting.app, acting.claim, time.monotonic() + timeout_s)
    changed = after != before or after.unread > 0
    document = {
        "changed": changed,
        "state": after.state,
        "unread": after.unread,
        "plan_pause": after.plan_pause or None,
    }
    held = f"; {after.plan_pause}" if after.plan_pause else ""
    acting.show(
        document, f"{after.state}, {after.unread} unread{held}" + ("" if changed else "; nothing changed")
    )
    if not changed:
        click.get_current_context().exit(FAILED)


def _wait(app: App, claim: Claim, until_s: float) -> tuple[_Snapshot, _Snapshot]:
    listen = partial(app.store.listen, claim.task_id)
    # A signal is an exception, so that the bell's socket is removed (B32).
    with Parent() as caller, raising_on_signals(lambda _: KeyboardInterrupt(), listen) as ear:
        before = now = _look(app, claim)
        while now == before and now.unread == 0:
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                break
            ear.wait(min(left_s, app.settings.waiting.pause_poll_s), besides=caller.end)
            if caller.is_gone:  # its heartbeat must not outlive it (D11)
                break
            now = _look(app, claim)
    return before, now


def _look(app: App, claim: Claim) -> _Snapshot:
    """Return the task's state and unread messages, and refresh the heartbeat if it is due.

    Raises :class:`ClaimLost` once the session does not own the task any more.
    """
    seen = service.observe(app.store, claim, awaiting_id=None)
    if not seen.owns:
        row = service.task_row(app.store, claim.task_id)
        raise ClaimLost(**as_dict(claim), current_epoch=row.claim_epoch)
    if heartbeat_status(seen.heartbeat_age_s, app.settings) is not HeartbeatStatus.OK:
        service.beat(app.store, claim)
    return _Snapshot(state=seen.state, unread=len(seen.unread), plan_pause=seen.plan_pause)
