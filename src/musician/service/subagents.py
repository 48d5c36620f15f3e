"""The subagents of a client's session: whose they are, and which run (D34, D41).

One belongs to the claims that its session held when it began, for its life. What it does is its own: no row, journal
or counter of a claim is touched here.
"""

from musician.protocol.claim import Claim
from musician.service.rowwork import named
from musician.store.port import Store
from musician.store.queries.subagents import SubagentRow, Subagents


def begin_subagent(store: Store, claim: Claim, subagent: SubagentRow) -> None:
    """It runs from now on, under this claim."""
    with store.write() as tx:
        tx.run(
            Subagents.begin_subagent,
            **subagent._asdict(),
            **named(claim),
        )


def end_subagent(store: Store, agent_id: str) -> None:
    """It has ended; nothing if it was not known to run."""
    with store.write() as tx:
        tx.run(Subagents.end_subagent, agent_id=agent_id)


def end_subagents_but(store: Store, claim: Claim, running: frozenset[str]) -> None:
    """Its client says which of them run: of the others no end was seen."""
    for subagent in running_subagents(store, claim):
        if subagent.agent_id not in running:
            end_subagent(store, subagent.agent_id)


def running_subagents(store: Store, claim: Claim) -> tuple[SubagentRow, ...]:
    """Those of a claim that have not ended, the oldest first."""
    with store.read() as tx:
        return tuple(tx.all(Subagents.running_subagents, task_id=claim.task_id, claim_epoch=claim.epoch))
