"""Running a checkpoint's verification and storing what it found: the only way evidence comes about (D16)."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio.to_thread

from musician import service
from musician.processes.identity import ProcessIdentity
from musician.protocol.claim import Claim
from musician.protocol.journal import Kind
from musician.protocol.musician.program import Check
from musician.protocol.rules.review import Verification
from musician.protocol.settings import Settings
from musician.store.port import Store
from musician.store.rows import JournalRow
from musician.verification.checkpoint import outcome_of, verify_checkpoint
from musician.verification.earlier import earlier_of
from musician.verification.result import VerificationResult

__all__ = ["Found", "outcome_of", "run_checkpoint"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A stored verification."""

    verification_id: int
    result: VerificationResult
    outcome: Verification


async def run_checkpoint(
    store: Store,
    claim: Claim,
    check: Check,
    *,
    tree: Path,
    tree_id: Callable[[], str],
    log: Path,
    env: Mapping[str, str],
    settings: Settings,
    on_process: Callable[[ProcessIdentity], Awaitable[None]],
    start: str | None = None,
) -> Found:
    """Verify ``check`` in ``tree`` and store the result as this claim's evidence.

    ``start`` is the commit the task began at. What subagents told since the last checkpoint is held against it (D19).
    """
    view = await anyio.to_thread.run_sync(partial(service.task_view, store, claim.task_id))
    result = await verify_checkpoint(
        check.commands,
        tree=tree,
        tree_id=await anyio.to_thread.run_sync(tree_id),
        log=log,
        env=env,
        settings=settings,
        checkpoint=check.number,
        final=check.final,
        on_process=on_process,
        earlier=earlier_of(view.verifications, checkpoint=check.number, start=start),
        claims=_claims_in(view.journal),
    )
    outcome = outcome_of(result)
    keep = partial(
        service.store_verification,
        store,
        claim,
        checkpoint=check.number,
        covers_all=check.final,
        outcome=outcome,
        tree_id=result.tree_id,
        result=result.to_json(),
    )
    return Found(verification_id=await anyio.to_thread.run_sync(keep), result=result, outcome=outcome)


def _claims_in(journal: Iterable[JournalRow]) -> dict[str, str]:
    """What subagents told of their pieces since the last checkpoint was approved."""
    claims: dict[str, str] = {}
    for row in journal:
        if row.kind == Kind.APPROVED:
            claims.clear()
        elif row.kind == Kind.RETURNED and row.text:
            claims[row.item] = row.text
    return claims
