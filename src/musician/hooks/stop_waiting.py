"""Waiting for the conductor inside the Stop hook, where nobody else would wake the session (D11).

Costs no tokens: asleep until there is news. The heartbeat is kept fresh for as long as the client lives; a hook whose
client is gone ends, and one that is told to end takes its bell down first (B32).
"""

import time
from functools import partial

from musician import service
from musician.processes.parent import Parent
from musician.processes.signals import raising_on_signals
from musician.protocol.claim import Claim
from musician.protocol.errors import ClaimLost, DatabaseUnusable
from musician.protocol.rules.gate import AllowStop, Decision, Keep, Wait, decide
from musician.protocol.rules.liveness import HeartbeatStatus, heartbeat_status, is_fresh
from musician.protocol.settings import Settings
from musician.protocol.values import as_dict
from musician.service import Observation
from musician.store.port import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from musician.hooks.hook_context import HookContext


def wait_for_conductor(context: "HookContext", claim: Claim) -> Decision:
    """Wait until there is something to do, and return that. Raises :class:`ClaimLost` if a successor owns the task."""
    store, settings = context.store, context.settings
    since_s = time.monotonic()
    listen = partial(store.listen, claim.task_id)
    with Parent() as client, raising_on_signals(_ended_by, listen) as ear:
        while not client.is_gone:
            decision: Decision | None = None
            try:
                decision, seen = _look(store, claim, settings)
                if isinstance(decision, Wait) and time.monotonic() - since_s >= settings.waiting.timeout_s:
                    decision = None if seen.waits_for_human else _heard_nothing(context, claim, seen)
                    since_s = time.monotonic()
            except DatabaseUnusable as error:
                if error.kind != "locked":
                    raise
            if isinstance(decision, (Keep, AllowStop)):
                return decision
            ear.wait(settings.waiting.pause_poll_s, besides=client.end)
    return AllowStop()


def _ended_by(number: int) -> SystemExit:
    return SystemExit(128 + number)


def _look(store: Store, claim: Claim, settings: Settings) -> tuple[Decision, Observation]:
    """One look: what is to be done now, and what was seen."""
    seen = service.observe(store, claim, awaiting_id=None)
    if not seen.owns:
        raise ClaimLost(**as_dict(claim), current_epoch=0)
    if heartbeat_status(seen.heartbeat_age_s, settings) is not HeartbeatStatus.OK:
        service.beat(store, claim)
    return decide([service.duty_of(store, claim)], is_woken=False), seen


def _heard_nothing(context: "HookContext", claim: Claim, seen: Observation) -> Decision | None:
    """A wait is over: a conductor that is silent is reported once, and the second time it is left (D11).

    The engine says which, as it does of a driven session; here the session's model is to write the HANDOFF.
    """
    from musician.runtime.manual.manual_session import ManualSession

    manual = ManualSession.of(context, claim)
    if not manual.hear_nothing(conductor_is_fresh=is_fresh(seen.conductor_age_s, context.settings)):
        return None
    reason = (
        f'{claim.task_id}: the conductor does not answer: call `handoff(reason="conductor unresponsive")`.'
    )
    return Keep(duty=service.duty_of(context.store, claim), reason=reason)
