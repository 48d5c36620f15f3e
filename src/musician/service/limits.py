"""What an agent's provider does not give, known to the whole fleet: whoever would ask it next waits for the end of it.

It is no failure of the work. A limit ends by the database's clock (D10); of a login that has expired, or an account
that is empty, one person is asked once, whoever meets it, and it ends when that is settled.
"""

from collections.abc import Mapping

from musician.protocol.claim import Claim
from musician.protocol.journal import Entry
from musician.protocol.names import CONDUCTOR
from musician.protocol.rules.breaker import Giving, Leave, Limit, leave, met
from musician.service.rowwork import beat_in, write_entries
from musician.store.port import Store, Tx
from musician.store.queries.limits import LimitRow, Limits
from musician.store.queries.plans import Plans

REFUSED = "provider"
"""The kind of what a person is asked then."""


def limit(store: Store, claim: Claim, *entries: Entry, said_s: float | None, own_s: float) -> None:
    """The provider of a claim's agent gives nothing for a while; write down why."""
    with store.write() as tx:
        beat_in(tx, claim)
        provider = _provider(tx, claim.task_id)
        row = _row(tx, provider)
        now_s = tx.only(Limits.now_s)
        found = met(None if row is None else _limit(row), now_s=now_s, said_s=said_s, own_s=own_s)
        tx.run(
            Limits.keep_limit,
            provider=provider,
            met_at_s=found.met_at_s,
            until_s=found.until_s,
            times=found.times,
        )
        write_entries(tx, claim, entries)


def refuse(store: Store, claim: Claim, detail: str, *entries: Entry) -> None:
    """The provider of a claim's agent gives nothing before a person has acted, who is asked if nobody was."""
    with store.write() as tx:
        beat_in(tx, claim)
        provider = _provider(tx, claim.task_id)
        row = _row(tx, provider)
        if row is None or not row.is_refused:
            ask: dict[str, str | int] = {"task_id": claim.task_id, "kind": REFUSED, "subject_id": claim.epoch}
            tx.run(Plans.ask_human, **ask, text=f"{provider}: {detail}")
            tx.run(Limits.refuse, provider=provider, **ask)
        write_entries(tx, claim, entries)


def lift(store: Store, claim: Claim, *entries: Entry) -> None:
    """Somebody knows that the provider gives again."""
    with store.write() as tx:
        beat_in(tx, claim)
        tx.run(Limits.lift, provider=_provider(tx, claim.task_id))
        write_entries(tx, claim, entries)
        tx.ring(CONDUCTOR)


def limited_for_s(store: Store, task_id: str) -> float:
    """How long the provider of a task's last agent gives nothing yet; 0 where it gives."""
    with store.read() as tx:
        row = _row(tx, _provider(tx, task_id))
        return 0.0 if row is None else _limit(row).left_s(row.now_s)


def closed_providers(store: Store) -> Mapping[str, Giving]:
    """The providers that give nothing now, or may not, by the agent's name."""
    with store.read() as tx:
        rows = tuple(tx.all(Limits.limits, provider=None))
    found = {row.provider: _giving(row) for row in rows}
    return {provider: giving for provider, giving in found.items() if giving is not None}


def leave_to_ask(store: Store, claim: Claim) -> Leave:
    """Whether a session may ask its provider for something; the first one after a limit is the probe from then on."""
    with store.read() as tx:
        row = _row(tx, _provider(tx, claim.task_id))
    if row is None or _leave(row, claim) is Leave.FREE:
        return Leave.FREE
    with store.write() as tx:
        row = _row(tx, row.provider)
        found = Leave.FREE if row is None else _leave(row, claim)
        if row is not None and found is Leave.PROBE:
            tx.run(Limits.probe, provider=row.provider, session_id=claim.session_id)
        return found


def prove(store: Store, claim: Claim) -> None:
    """The provider of a claim's agent has given something; unless a limit was met meanwhile, all may ask."""
    with store.write() as tx:
        if tx.run(Limits.prove, provider=_provider(tx, claim.task_id)):
            tx.ring(CONDUCTOR)


def _giving(row: LimitRow) -> Giving | None:
    if row.is_refused:
        return Giving.REFUSED
    if _limit(row).left_s(row.now_s) > 0:
        return Giving.LIMITED
    return None if row.is_proven else Giving.UNPROVEN


def _leave(row: LimitRow, claim: Claim) -> Leave:
    return leave(_limit(row), now_s=row.now_s, is_probe=row.probed_by == claim.session_id)


def _provider(tx: Tx, task_id: str) -> str:
    return tx.one(Limits.provider_of, task_id=task_id) or ""


def _row(tx: Tx, provider: str) -> LimitRow | None:
    return tx.one(Limits.limits, provider=provider)


def _limit(row: LimitRow) -> Limit:
    return Limit(
        met_at_s=row.met_at_s,
        until_s=row.until_s,
        times=row.times,
        is_proven=row.is_proven,
        probed_at_s=row.probed_at_s,
    )
