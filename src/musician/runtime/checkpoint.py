"""Runs a checkpoint's verification, the only source of evidence (D16)."""

from collections.abc import Iterable

from anyio.to_thread import run_sync

from musician import service
from musician.protocol.journal import EntryKind
from musician.protocol.musician.inputs import VerificationEnded
from musician.protocol.musician.program import CheckpointItem
from musician.protocol.rules.review import Verification, Verified
from musician.protocol.values import dataclass
from musician.runtime.claimed import ClaimedSession
from musician.runtime.tasktree import key_outputs
from musician.store.rows import JournalRow
from musician.verification.checkpoint import outcome_of
from musician.verification.earlier import earlier_of, read_result
from musician.verification.result import VerificationResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A verification, to be stored with what follows from it. ``changes`` is what the task has changed so far;
    ``is_old``: nothing has changed since it was stored, and nothing was run again (D29).
    """

    check: CheckpointItem
    result: VerificationResult
    outcome: Verification
    known_entry_id: int
    changes: tuple[tuple[str, str], ...]
    is_old: bool = False

    @property
    def tests(self) -> str:
        """The tests' result in one line."""
        return f"{'unchanged: ' if self.is_old else ''}{self.result.tests_line()}"

    @property
    def failing(self) -> str:
        """Everything that holds the checkpoint back, "" if nothing does."""
        return self.result.to_mend() + (_UNCHANGED if self.is_old else "")  # the failures come first

    @property
    def verified(self) -> Verified:
        return Verified(
            checkpoint=self.check.number,
            covers_all=self.check.final,
            outcome=self.outcome,
            tree_id=self.result.tree_id,
            result=self.result.to_json(),
            known_entry_id=self.known_entry_id,
        )

    @property
    def ended(self) -> VerificationEnded:
        """The engine's input for it."""
        return VerificationEnded(
            outcome=self.outcome,
            verified=None if self.is_old else self.verified,
            tests=self.tests,
            failing=self.failing,
            files_modified=len(self.changes),
            key_outputs=key_outputs(self.changes),
            findings=self.result.to_judge(),
        )


_UNCHANGED = (
    "\nNothing in the tree has changed since this was found, so nothing was run again. Where the cause lies outside the"
    " tree, report an error."
)
_MAY_HAVE_MENDED = frozenset({EntryKind.CLAIMED, EntryKind.ERROR, EntryKind.CORRECTION})
"""After these what failed may pass on the same tree: a red verification is made again."""


async def run_checkpoint(claimed: ClaimedSession, check: CheckpointItem) -> Found:
    """Verify ``check`` in the session's tree, and what was claimed since the last one with it (D19)."""
    tree, baselines = claimed.tree, claimed.baselines
    view = (await run_sync(service.task_view, claimed.store, claimed.claim.task_id)).this_time
    tree_id = await run_sync(tree.tree_id)
    old = _red_as_before(view, check, tree_id)
    result = old or await claimed.world.verify_checkpoint(
        check.commands,
        tree=tree.path,
        tree_id=tree_id,
        log=claimed.log,
        env=claimed.environment_for(check.item),
        settings=claimed.settings,
        checkpoint=check.number,
        final=check.final,
        on_process=claimed.record_agent,
        earlier=earlier_of(view.verifications, checkpoint=check.number, start=tree.start),
        claims=_claims_in(view.journal),
        may_change=check.may_change,
        may_pass_before=check.may_pass_before,
        before=None if baselines is None else baselines.at(tree.start),
    )
    newest_id = view.journal[-1].id if view.journal else 0
    return Found(
        check=check,
        result=result,
        outcome=Verification.RED if old else outcome_of(result),
        known_entry_id=view.verifications[-1].journal_id if old else newest_id,
        changes=await run_sync(tree.changes, result.tree_id),
        is_old=old is not None,
    )


def _red_as_before(view: service.TaskView, check: CheckpointItem, tree_id: str) -> VerificationResult | None:
    """Return the last result if it was red, of this checkpoint and this very tree, and unanswered since."""
    last = view.verifications[-1] if view.verifications else None
    if last is None or (last.checkpoint, last.tree_id) != (check.number, tree_id):
        return None
    if Verification(last.outcome) is not Verification.RED or any(
        row.id > last.journal_id and (row.kind in _MAY_HAVE_MENDED or row.judged_by_person)
        for row in view.journal
    ):
        return None
    return read_result(last)


def _claims_in(journal: Iterable[JournalRow]) -> dict[str, str]:
    """Return what subagents claimed of their pieces since the last checkpoint was approved."""
    claims: dict[str, str] = {}
    for row in journal:
        if row.kind == EntryKind.APPROVED:
            claims.clear()
        elif row.kind == EntryKind.RETURNED and row.text:
            claims[row.item] = row.text
    return claims
