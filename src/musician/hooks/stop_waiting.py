"""Waiting for the conductor inside the Stop hook, where nobody else would wake the session (D11).

Costs no tokens: asleep until there is news. The heartbeat is kept fresh for as long as the client lives; a hook whose
client is gone ends, and one that is told to end takes its bell down first (B32).
"""

import time

from musician import service
from musician.processes.parent import Parent
from musician.processes.signals import raising_on_signals
from musician.protocol.claim import Claim
from musician.protocol.errors import ClaimLost, DatabaseUnusable
from musician.protocol.rules.gate import Decision, Keep, Leave, Wait, decide
from musician.protocol.rules.liveness import HeartbeatStatus, heartbeat_status, is_fresh
from musician.protocol.settings import Settings
from musician.service import Look
from musician.store.port import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from musician.hooks.place import Place


def wait_for_conductor(place: "Place", claim: Claim) -> Decision:
    """What to do once there is something to do: never :class:`Wait`. :class:`ClaimLost` once it is a successor's."""
    store, settings = place.store, place.settings
    since_s = time.monotonic()
    with raising_on_signals(_ended_by), Parent() as client, store.listen(claim.task_id) as ear:
        while not client.is_gone:
            decision: Decision | None = None
            try:
                decision, seen = _look(store, claim, settings)
                if isinstance(decision, Wait) and time.monotonic() - since_s >= settings.waiting.timeout_s:
                    decision = None if seen.waits_for_human else _heard_nothing(place, claim, seen)
                    since_s = time.monotonic()
            except DatabaseUnusable as error:
                if error.kind != "locked":
                    raise
            if isinstance(decision, (Keep, Leave)):
                return decision
            ear.wait(settings.waiting.pause_poll_s, besides=client.end)
    return Leave()


def _ended_by(number: int) -> SystemExit:
    return SystemExit(128 + number)


def _look(store: Store, claim: Claim, settings: Settings) -> tuple[Decision, Look]:
    """One look: what is to be done now, and what was seen."""
    seen = service.look(store, claim, awaiting_id=None)
    if not seen.owns:
        raise ClaimLost(
            task_id=claim.task_id, session_id=claim.session_id, epoch=claim.epoch, current_epoch=0
        )
    if heartbeat_status(seen.heartbeat_age_s, settings) is not HeartbeatStatus.OK:
        service.beat(store, claim)
    return decide([service.duty_of(store, claim)], is_woken=False), seen


def _heard_nothing(place: "Place", claim: Claim, seen: Look) -> Decision | None:
    """A wait is over: a conductor that is silent is reported once, and the second time it is left (D11).

    The engine says which, as it does of a driven session; here the session's model is to write the HANDOFF.
    """
    from musician.runtime.byhand.hand import Hand

    hand = Hand(root=place.root, store=place.store, claim=claim, settings=place.settings)
    if not hand.hear_nothing(conductor_is_fresh=is_fresh(seen.conductor_age_s, place.settings)):
        return None
    reason = (
        f'{claim.task_id}: the conductor does not answer: call `handoff(reason="conductor unresponsive")`.'
    )
    return Keep(duty=service.duty_of(place.store, claim), reason=reason)
