"""Writing down what a piece of a session has used (``protocol/spending``), and what may be used yet.

Of a claim that has ended it is still written down: what was used was used. A piece tells what it has used as often as
it likes; of each model in it a day has one row.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from musician.protocol.claim import Claim
from musician.protocol.rules.ceilings import (
    Account,
    Accounts,
    Amounts,
    Scope,
    fits_beside,
    measures_of,
    within_budget,
)
from musician.protocol.settings import Ceilings
from musician.protocol.spending import Usage
from musician.protocol.states import ACTIVE
from musician.protocol.values import as_dict
from musician.service.rowwork import load_task
from musician.store.port import ONLOOKERS, Store, Tx
from musician.store.queries.plans import Plans
from musician.store.queries.sessions import Sessions
from musician.store.queries.tasks import Tasks
from musician.store.query import Value
from musician.store.rows import TaskRow, UsageRow
from musician.store.rows.sessions import MeansRow


def record_usage(store: Store, claim: Claim, item: str, usage: Usage) -> None:
    """Add to a row. ``item`` is what was played, or the review of it."""
    used: dict[str, Value] = {
        "task_id": claim.task_id,
        "claim_epoch": claim.epoch,
        "session_id": claim.session_id,
        "item": item,
        **as_dict(usage),
    }
    with store.write() as tx:
        tx.ring(ONLOOKERS)
        if not tx.run(Sessions.add_to_usage, **used):
            tx.run(Sessions.add_usage, **used)


def record_playtime(store: Store, claim: Claim, played_s: float) -> None:
    """An agent has played so long, since it was last written down."""
    with store.write() as tx:
        tx.run(Sessions.add_playtime, task_id=claim.task_id, claim_epoch=claim.epoch, played_s=played_s)


def grant_means(tx: Tx, task_id: str, more: Amounts) -> None:
    """A person lets a task use so much beyond the ceilings; what was asked about any of its plan's is settled."""
    plan_id = load_task(tx, task_id).plan_id
    tx.run(Sessions.grant_means, task_id=task_id, **as_dict(more))
    tx.run(Plans.settle_budgets, plan_id=plan_id, resolution="more was granted")


def accounts_of_task(store: Store, task_id: str) -> Accounts:
    """Return what a task, its plan and this day have used, and were granted."""
    with store.read() as tx:
        plan_id = load_task(tx, task_id).plan_id
        return _accounts(tx, plan_id=plan_id, task_id=task_id)[task_id]


def accounts_of_plan(store: Store, plan_id: str) -> Mapping[str, Accounts]:
    """As :func:`accounts_of_task` of each task that has used anything, and of "", a task that has not."""
    with store.read() as tx:
        return _accounts(tx, plan_id=plan_id)


def _accounts(tx: Tx, *, plan_id: str | None, task_id: str = "") -> Mapping[str, Accounts]:
    rows = defaultdict[str, list[MeansRow]](list)
    for row in tx.all(Sessions.means_of_tasks, plan_id=plan_id, task_id=task_id):
        rows[row.task_id].append(row)
    plan = _account(row for each in rows.values() for row in each)
    shared = {Scope.DAY: _account(tx.all(Sessions.means_of_today))}
    if plan_id is not None:
        shared[Scope.PLAN] = plan
    return {each: {Scope.TASK: _account(rows.get(each, ())), **shared} for each in {"", task_id, *rows}}


def _account(rows: Iterable[MeansRow]) -> Account:
    found = tuple(rows)
    used, granted = ([row for row in found if row.is_granted == given] for given in (False, True))
    return Account(used=_amounts(used), granted=_amounts(granted))


def _amounts(rows: Iterable[MeansRow]) -> Amounts:
    found = tuple(rows)
    return Amounts(
        cost_usd=sum(row.cost_usd for row in found),
        tokens=sum(row.tokens for row in found),
        turns=sum(row.turns for row in found),
        time_s=sum(row.time_s for row in found),
    )


def fits_in(tx: Tx, row: TaskRow, ceilings: Ceilings, budgets: Mapping[str, Amounts]) -> bool:
    """Whether a task may be claimed beside those at work on its plan, as :func:`fits_beside` says.

    ``budgets`` are what the plan gives its tasks. Of one that waits for a person nothing is reserved.
    """
    if row.plan_id is None or not measures_of(ceilings, *budgets.values()):
        return True
    found = _accounts(tx, plan_id=row.plan_id, task_id=row.task_id)
    asked = {ask.task_id for ask in tx.all(Plans.needs_human)}
    at_work = [
        within_budget(found.get(each.task_id, {}), budgets.get(each.task_id, Amounts()))[Scope.TASK]
        for each in tx.all(Tasks.tasks_of_plan, plan_id=row.plan_id)
        if each.session_id is not None and each.state in ACTIVE and each.task_id not in {*asked, row.task_id}
    ]
    own = within_budget(found[row.task_id], budgets.get(row.task_id, Amounts()))
    return fits_beside(own, at_work, ceilings)


def usage_of_plan(store: Store, plan_id: str) -> tuple[UsageRow, ...]:
    """Return what all tasks of a plan have used, in the order of writing."""
    with store.read() as tx:
        return tuple(tx.all(Sessions.usage_of_plan, plan_id=plan_id))
