"""Verifies again what a session that takes a task up relies on (D20, D27).

Approved work is verified as it was approved: work begun since may be red, or unfinished, and says
nothing about it. Only the tests are run; the other stages of a checkpoint were done then. Before the first
approval the tests of what is finished are run, and reported.
"""

from functools import partial
from pathlib import Path

import anyio
from anyio.to_thread import run_sync

from musician import service
from musician.processes.output import one_line
from musician.protocol.errors import GitFailed, NoRepository
from musician.protocol.journal import EntryKind
from musician.protocol.musician.program import CheckpointItem
from musician.protocol.resumption.mismatches import Mismatch
from musician.protocol.rules.review import Verification, Verified
from musician.protocol.states import State
from musician.protocol.values import dataclass, replace
from musician.runtime.claimed import ClaimedSession
from musician.runtime.resuming.reconciling import check_to_decide
from musician.runtime.resuming.resumption import Resumed, checkpoint_number
from musician.service import TaskView
from musician.verification.checkpoint import outcome_of
from musician.verification.result import VerificationResult

_MOST_TOLD_CHARS = 500
_FINISHED = frozenset({EntryKind.COMPLETED, EntryKind.RETURNED, EntryKind.REWORKED, EntryKind.RECONCILED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Reverified:
    """The result of verifying again in one line, the doubts it raises, and the verification that decides
    mismatches.
    """

    told: str = "nothing approved yet to re-verify"
    doubts: tuple[str, ...] = ()
    outcome: Verification | None = None


async def reverify(
    claimed: ClaimedSession,
    view: TaskView,
    resumed: Resumed,
    mismatches: tuple[Mismatch, ...],
    verifying: anyio.CancelScope,
) -> Reverified:
    """Verify the approved work again, and in the present tree the checkpoint that decides suspicious
    mismatches.

    A signal must not wait for the tests (B32): cancelling ``verifying`` ends them.
    """
    approved = _last_approved(claimed, resumed)
    finished = resumed.progress.completed
    deciding = check_to_decide(mismatches, claimed.program)
    reverified = Reverified()
    if approved is not None:
        reverified = Reverified(told=f"{approved.item}: interrupted")
        with verifying:
            reverified = await _as_approved(claimed, view, approved)
    elif finished:
        check = claimed.program.check_after(finished[-1])
        reverified = Reverified(told=f"nothing approved yet; the tests of {check.item}: interrupted")
        with verifying:
            told, _ = await _run_here(claimed, check)
            reverified = Reverified(
                told=one_line(f"nothing approved yet; the tests of {check.item}: {told}", _MOST_TOLD_CHARS)
            )
    if deciding is not None:
        reverified = replace(reverified, outcome=None)
        with verifying:
            reverified = replace(reverified, outcome=(await _run_here(claimed, deciding, is_proof=True))[1])
    return reverified


async def _as_approved(claimed: ClaimedSession, view: TaskView, check: CheckpointItem) -> Reverified:
    """Verify the approved tree. Red raises doubt only if the approved work itself is red, or no later work
    explains it.
    """
    was = _approved_tree(view, check)
    is_now = was is None or was == await run_sync(claimed.tree.tree_id)
    if is_now or not _went_on(view, check):
        told, outcome = await _run_here(claimed, check)
    else:
        told, outcome = await _run_as_it_was(claimed, check, was or "")
        if outcome is not Verification.GREEN:  # it may lack what no commit holds
            here, there = await _run_here(claimed, check)
            told, outcome = (here, there) if there is Verification.GREEN else (told, outcome)
    told = one_line(f"{check.item}: {told}", _MOST_TOLD_CHARS)
    doubts = (f"approved before, and red now: {told}",) if outcome is Verification.RED else ()
    return Reverified(told=told, doubts=doubts, outcome=outcome)


def _approved_tree(view: TaskView, check: CheckpointItem) -> str | None:
    """Return the tree that was verified and approved at a checkpoint; None if no verification says."""
    approved = [
        each.message_id
        for each in view.submissions
        if each.verdict is State.REVIEW_APPROVED and checkpoint_number(each) == check.number
    ]
    trees = [row.tree_id for row in view.verifications if approved and row.submission_id == approved[-1]]
    return trees[-1] if trees else None


def _went_on(view: TaskView, check: CheckpointItem) -> bool:
    """Whether anything was finished since a checkpoint was approved; work only begun is set aside by now."""
    approved = [row.id for row in view.journal if row.kind == EntryKind.APPROVED and row.item == check.item]
    return any(row.kind in _FINISHED and row.id > approved[-1] for row in view.journal if approved)


async def _run_as_it_was(
    claimed: ClaimedSession, check: CheckpointItem, tree_id: str
) -> tuple[str, Verification]:
    try:
        async with claimed.world.old_tree(claimed.tree.path, tree_id, env=claimed.environment) as old:
            environment = {**claimed.environment, **old.env}
            result = await _run(claimed, check, old.path, tree_id, environment)
    except (GitFailed, NoRepository, OSError) as error:
        return f"cannot be laid out as it was: {error}", Verification.CANNOT_RUN
    return await _kept(claimed, check, result)


async def _run_here(
    claimed: ClaimedSession, check: CheckpointItem, *, is_proof: bool = False
) -> tuple[str, Verification]:
    """Verify in the present tree and return the result. A failing set-up means "could not be run", which is
    not red.

    ``is_proof``: the run must prove that work exists, so failures from before it began are no excuse.
    """
    problem = await claimed.set_up()
    if problem:
        return problem, Verification.CANNOT_RUN
    tree_id = await run_sync(claimed.tree.tree_id)
    result = await _run(claimed, check, claimed.tree.path, tree_id, claimed.environment, is_proof=is_proof)
    return await _kept(claimed, check, result)


async def _run(
    claimed: ClaimedSession,
    check: CheckpointItem,
    tree: Path,
    tree_id: str,
    environment: dict[str, str],
    *,
    is_proof: bool = False,
) -> VerificationResult:
    return await claimed.world.verify(
        check.commands,
        tree=tree,
        tree_id=tree_id,
        log=claimed.log,
        env=environment,
        time_limit_s=claimed.settings.time.verification_limit_s,
        checkpoint=check.number,
        full=False,
        on_process=claimed.record_agent,
        before=None if is_proof or claimed.baselines is None else claimed.baselines.at(claimed.tree.start),
    )


async def _kept(
    claimed: ClaimedSession, check: CheckpointItem, result: VerificationResult
) -> tuple[str, Verification]:
    """Store a result as evidence of this claim, and return it in one line."""
    outcome = outcome_of(result)
    verified = Verified(
        checkpoint=check.number,
        covers_all=False,
        outcome=outcome,
        tree_id=result.tree_id,
        result=result.to_json(),
    )
    await run_sync(partial(service.record, claimed.store, claimed.claim, verified=verified))
    return result.tests_line(), outcome


def _last_approved(claimed: ClaimedSession, resumed: Resumed) -> CheckpointItem | None:
    approved = [
        item
        for item in claimed.program.items
        if isinstance(item, CheckpointItem) and item.item in resumed.progress.approved
    ]
    return approved[-1] if approved else None
