"""Writing down what a piece of a session has used (``protocol/spending``).

Of a claim that has ended it is still written down: what was used was used.
"""

from musician.protocol.claim import Claim
from musician.protocol.spending import Usage
from musician.store.port import Store
from musician.store.queries.sessions import Sessions
from musician.store.rows import UsageRow


def record_usage(store: Store, claim: Claim, item: str, usage: Usage) -> None:
    """Add a row. ``item`` is what was played, or the review of it."""
    with store.write() as tx:
        tx.run(
            Sessions.add_usage,
            task_id=claim.task_id,
            claim_epoch=claim.epoch,
            session_id=claim.session_id,
            item=item,
            model=usage.model,
            input_tokens=usage.input_tokens,
            cache_read_tokens=usage.cache_read_tokens,
            cache_write_tokens=usage.cache_write_tokens,
            output_tokens=usage.output_tokens,
            cost_usd=usage.cost_usd,
            is_estimated=usage.is_estimated,
        )


def usage_of_plan(store: Store, plan_id: str) -> tuple[UsageRow, ...]:
    """Return what all tasks of a plan have used, in the order of writing."""
    with store.read() as tx:
        return tuple(tx.all(Sessions.usage_of_plan, plan_id=plan_id))
