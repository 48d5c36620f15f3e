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
from musician.protocol.journal import Entry, Kind
from musician.protocol.messages.kinds import MessageType
from musician.protocol.messages.particulars import SelfCorrection
from musician.protocol.messages.types import ErrorReport
from musician.protocol.rules.gate import Decision, Keep, Leave, Patience, Wait, decide, patience
from musician.protocol.rules.liveness import HeartbeatStatus, heartbeat_status
from musician.protocol.settings import Settings
from musician.protocol.states import State
from musician.store.port import Store

_TIMEOUT = "conductor timeout"


def wait_for_conductor(store: Store, claim: Claim, settings: Settings) -> Decision:
    """What to do once there is something to do: never :class:`Wait`. :class:`ClaimLost` once it is a successor's."""
    since_s = time.monotonic()
    with raising_on_signals(_ended_by), Parent() as client, store.listen(claim.task_id) as ear:
        while not client.is_gone:
            try:
                decision = _look(store, claim, settings, time.monotonic() - since_s)
            except DatabaseUnusable as error:
                if error.kind != "locked":
                    raise
                decision = None
            if isinstance(decision, (Keep, Leave)):
                return decision
            if time.monotonic() - since_s >= settings.waiting.timeout_s and decision is not None:
                since_s = time.monotonic()
            ear.wait(settings.waiting.pause_poll_s, besides=client.end)
    return Leave()


def _ended_by(number: int) -> SystemExit:
    return SystemExit(128 + number)


def _look(store: Store, claim: Claim, settings: Settings, waited_s: float) -> Decision:
    """One look: what is to be done now; a conductor that has been silent for too long is reported on the way."""
    seen = service.look(store, claim, awaiting_id=None)
    if not seen.owns:
        raise ClaimLost(
            task_id=claim.task_id, session_id=claim.session_id, epoch=claim.epoch, current_epoch=0
        )
    if heartbeat_status(seen.heartbeat_age_s, settings) is not HeartbeatStatus.OK:
        service.beat(store, claim)
    duty = service.duty_of(store, claim)
    decision = decide([duty], is_woken=False)
    if not isinstance(decision, Wait):
        return decision
    next_ = patience(
        waited_s=waited_s,
        conductor_age_s=seen.conductor_age_s,
        waits_for_human=seen.waits_for_human,
        has_reported=_has_reported(store, claim),
        settings=settings,
    )
    if next_ is Patience.HAND_OFF:
        reason = f'{claim.task_id}: the conductor does not answer: call `handoff(reason="conductor unresponsive")`.'
        return Keep(duty=duty, reason=reason)
    if next_ is Patience.REPORT:
        _report(store, claim, duty.state)
    return decision


def _has_reported(store: Store, claim: Claim) -> bool:
    """Whether the last thing this claim wrote down is that nobody answered."""
    entry = service.journal_of(store, claim.task_id)[-1]
    return (entry.claim_epoch, entry.kind, entry.text) == (claim.epoch, Kind.NOTE, _TIMEOUT)


def _report(store: Store, claim: Claim, state: State) -> None:
    used = service.progress_of(store, claim.task_id).last_context_pct
    report = ErrorReport(
        retry=None,
        context_usage_pct=used,
        self_correction=SelfCorrection(happened=False),
        error=f"{claim.task_id}: {_TIMEOUT} while {state}",
        report=None,
    )
    entry = Entry(kind=Kind.NOTE, text=_TIMEOUT)
    service.report(store, claim, MessageType.ERROR, report.render(), last_error=_TIMEOUT, entries=(entry,))
