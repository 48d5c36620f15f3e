"""What an agent's provider does not give, known to the whole fleet: whoever would ask it next waits for the end of it.

A limit is the account's: all agents that have their models by one login share it, whatever their names and plans. It is
no failure of the work. It ends by the database's clock (D10); of a login that has expired, or an account that is empty,
one person is asked once, whoever meets it, and it ends when that is settled.

A musician meets it under a claim. Agents that are asked for an opinion have none: those name their account.
"""

from collections.abc import Mapping

from musician.protocol.claim import Claim
from musician.protocol.journal import Entry
from musician.protocol.names import CONDUCTOR
from musician.protocol.rules.breaker import Giving, Leave, Limit, is_in_vain, leave, met
from musician.protocol.values import dataclass
from musician.service.rowwork import beat_in, load_task, write_entries
from musician.store.port import Store, Tx
from musician.store.queries.limits import LimitRow, Limits
from musician.store.queries.plans import Plans

REFUSED = "provider"
"""The kind of what a person is asked then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedAccount:
    """``until`` is when its limit ends, UTC, in the form of the database's times; "" of one that has none now."""

    account: str
    giving: Giving
    until: str


def limit(store: Store, claim: Claim, *entries: Entry, said_s: float | None, own_s: float) -> None:
    """The account of a claim's agent is given nothing for a while; write down why."""
    with store.write() as tx:
        beat_in(tx, claim)
        _limit(tx, _account(tx, claim.task_id), said_s=said_s, own_s=own_s)
        write_entries(tx, claim, entries)


def limit_account(store: Store, account: str, *, said_s: float | None, own_s: float) -> None:
    """As :func:`limit`, met by an agent without a claim."""
    with store.write() as tx:
        _limit(tx, account, said_s=said_s, own_s=own_s)
        tx.ring(CONDUCTOR)


def refuse(store: Store, claim: Claim, detail: str, *entries: Entry) -> None:
    """The account of a claim's agent is given nothing before a person has acted, who is asked if nobody was."""
    with store.write() as tx:
        beat_in(tx, claim)
        _refuse(tx, _account(tx, claim.task_id), claim.task_id, claim.epoch, detail)
        write_entries(tx, claim, entries)


def refuse_account(store: Store, account: str, task_id: str, detail: str) -> None:
    """As :func:`refuse`, met by an agent without a claim that was asked about a task."""
    with store.write() as tx:
        epoch = load_task(tx, task_id).claim_epoch
        _refuse(tx, account, task_id, epoch, detail)
        tx.ring(CONDUCTOR)


def lift(store: Store, claim: Claim, *entries: Entry) -> None:
    """Somebody knows that the provider gives again."""
    with store.write() as tx:
        beat_in(tx, claim)
        tx.run(Limits.lift, account=_account(tx, claim.task_id))
        write_entries(tx, claim, entries)
        tx.ring(CONDUCTOR)


def account_of(store: Store, task_id: str) -> str:
    """Return the account of a task's last agent, "" if it never had one."""
    with store.read() as tx:
        return _account(tx, task_id)


def limited_for_s(store: Store, account: str) -> float:
    """How long an account is given nothing yet; 0 where it is."""
    with store.read() as tx:
        row = _row(tx, account)
        return 0.0 if row is None else _limit_of(row).left_s(row.now_s)


def why_not_wait(store: Store, account: str) -> str:
    """Why a limit that an account meets now is not waited for, but a person's to know of; "" if it is waited for."""
    with store.read() as tx:
        row = _row(tx, account)
    if row is None:
        return ""
    if row.is_refused:
        return "a person was asked about its account"
    in_vain = is_in_vain(_limit_of(row), now_s=row.now_s)
    return f"it was waited for {row.times} times in a row, and has given nothing" if in_vain else ""


def closed_accounts(store: Store) -> tuple[ClosedAccount, ...]:
    """The accounts that are given nothing now, or may not be, by their names."""
    with store.read() as tx:
        return closed_in(tx)


def closed_in(tx: Tx) -> tuple[ClosedAccount, ...]:
    found = ((row, _giving(row)) for row in tx.all(Limits.limits, account=None))
    return tuple(
        ClosedAccount(account=row.account, giving=giving, until=row.until if giving is Giving.LIMITED else "")
        for row, giving in sorted(found, key=lambda each: each[0].account)
        if giving is not None
    )


def givings(closed: tuple[ClosedAccount, ...]) -> Mapping[str, Giving]:
    return {each.account: each.giving for each in closed}


def leave_to_ask(store: Store, account: str, session_id: str) -> Leave:
    """Whether a session may ask its provider for something; the first one after a limit is the probe from then on."""
    with store.read() as tx:
        row = _row(tx, account)
    if row is None or _leave(row, session_id) is Leave.FREE:
        return Leave.FREE
    with store.write() as tx:
        row = _row(tx, account)
        found = Leave.FREE if row is None else _leave(row, session_id)
        if row is not None and found is Leave.PROBE:
            tx.run(Limits.probe, account=account, session_id=session_id)
        return found


def prove(store: Store, account: str) -> None:
    """An account was given something; unless a limit was met meanwhile, all on it may ask."""
    with store.write() as tx:
        if tx.run(Limits.prove, account=account):
            tx.ring(CONDUCTOR)


def _limit(tx: Tx, account: str, *, said_s: float | None, own_s: float) -> None:
    row = _row(tx, account)
    before = None if row is None else _limit_of(row)
    found = met(before, now_s=tx.only(Limits.now_s), said_s=said_s, own_s=own_s)
    tx.run(
        Limits.keep_limit, account=account, met_at_s=found.met_at_s, until_s=found.until_s, times=found.times
    )


def _refuse(tx: Tx, account: str, task_id: str, epoch: int, detail: str) -> None:
    row = _row(tx, account)
    if row is not None and row.is_refused:
        return
    ask: dict[str, str | int] = {"task_id": task_id, "kind": REFUSED, "subject_id": epoch}
    tx.run(Plans.ask_human, **ask, text=f"{account}: {detail}")
    tx.run(Limits.refuse, account=account, **ask)


def _giving(row: LimitRow) -> Giving | None:
    if row.is_refused:
        return Giving.REFUSED
    if _limit_of(row).left_s(row.now_s) > 0:
        return Giving.LIMITED
    return None if row.is_proven else Giving.UNPROVEN


def _leave(row: LimitRow, session_id: str) -> Leave:
    return leave(_limit_of(row), now_s=row.now_s, is_probe=row.probed_by == session_id)


def _account(tx: Tx, task_id: str) -> str:
    return tx.one(Limits.account_of, task_id=task_id) or ""


def _row(tx: Tx, account: str) -> LimitRow | None:
    return tx.one(Limits.limits, account=account)


def _limit_of(row: LimitRow) -> Limit:
    return Limit(
        met_at_s=row.met_at_s,
        until_s=row.until_s,
        times=row.times,
        is_proven=row.is_proven,
        probed_at_s=row.probed_at_s,
    )
