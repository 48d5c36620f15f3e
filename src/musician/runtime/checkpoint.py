"""Runs a checkpoint's verification, the only source of evidence (D16)."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

import anyio.to_thread

from musician import service
from musician.processes.identity import ProcessIdentity
from musician.protocol.claim import Claim
from musician.protocol.journal import JUDGED_BY_PERSON, EntryKind
from musician.protocol.musician.inputs import VerificationEnded
from musician.protocol.musician.program import CheckpointItem
from musician.protocol.rules.review import Verification, Verified
from musician.protocol.settings import Settings
from musician.protocol.values import dataclass
from musician.runtime.baselines import Baselines
from musician.runtime.tasktree import key_outputs
from musician.runtime.world import Verify
from musician.store.port import Store
from musician.store.rows import JournalRow
from musician.verification.checkpoint import outcome_of
from musician.verification.earlier import earlier_of, read_result
from musician.verification.result import VerificationResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A verification, to be stored with what follows from it. ``is_old``: nothing has changed since it was
    stored, and nothing was run again (D29).
    """

    check: CheckpointItem
    result: VerificationResult
    outcome: Verification
    known_entry_id: int
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

    def ended(self, changes: Sequence[tuple[str, str]]) -> VerificationEnded:
        """Return the engine's input for it; ``changes`` is what the task has changed so far."""
        return VerificationEnded(
            outcome=self.outcome,
            verified=None if self.is_old else self.verified,
            tests=self.tests,
            failing=self.failing,
            files_modified=len(changes),
            key_outputs=key_outputs(changes),
            findings=self.result.to_judge(),
        )


_UNCHANGED = (
    "\nNothing in the tree has changed since this was found, so nothing was run again. Where the cause lies outside the"
    " tree, report an error."
)
_MAY_HAVE_MENDED = frozenset({EntryKind.CLAIMED, EntryKind.ERROR, EntryKind.CORRECTION})
"""After these what failed may pass on the same tree: a red verification is made again."""


async def run_checkpoint(
    store: Store,
    claim: Claim,
    check: CheckpointItem,
    *,
    tree: Path,
    tree_id: Callable[[], str],
    log: Path,
    env: Mapping[str, str],
    settings: Settings,
    on_process: Callable[[ProcessIdentity], Awaitable[None]],
    start: str | None = None,
    baselines: Baselines | None = None,
    verify: Verify,
) -> Found:
    """Verify ``check`` in ``tree``.

    ``start`` is the commit the task began at; ``baselines`` know what failed there. Subagents' claims since
    the last checkpoint are compared with the result (D19).
    """
    found = await anyio.to_thread.run_sync(partial(service.task_view, store, claim.task_id))
    view = found.this_time
    now = await anyio.to_thread.run_sync(tree_id)
    before = _red_as_before(view, check, now)
    if before is not None:
        return before
    result = await verify(
        check.commands,
        tree=tree,
        tree_id=now,
        log=log,
        env=env,
        settings=settings,
        checkpoint=check.number,
        final=check.final,
        on_process=on_process,
        earlier=earlier_of(view.verifications, checkpoint=check.number, start=start),
        claims=_claims_in(view.journal),
        may_change=check.may_change,
        may_pass_before=check.may_pass_before,
        before=None if baselines is None or start is None else baselines.at(start),
    )
    known = view.journal[-1].id if view.journal else 0
    return Found(check=check, result=result, outcome=outcome_of(result), known_entry_id=known)


def _red_as_before(view: service.TaskView, check: CheckpointItem, tree_id: str) -> Found | None:
    """Return the last result if it was red, of this checkpoint and this very tree, and unanswered since."""
    last = view.verifications[-1] if view.verifications else None
    if last is None or (last.checkpoint, last.tree_id) != (check.number, tree_id):
        return None
    if Verification(last.outcome) is not Verification.RED or any(
        row.id > last.journal_id and (row.kind in _MAY_HAVE_MENDED or row.text == JUDGED_BY_PERSON)
        for row in view.journal
    ):
        return None
    result = read_result(last)
    if result is None:
        return None
    return Found(
        check=check,
        result=result,
        outcome=Verification.RED,
        known_entry_id=last.journal_id,
        is_old=True,
    )


def _claims_in(journal: Iterable[JournalRow]) -> dict[str, str]:
    """Return what subagents claimed of their pieces since the last checkpoint was approved."""
    claims: dict[str, str] = {}
    for row in journal:
        if row.kind == EntryKind.APPROVED:
            claims.clear()
        elif row.kind == EntryKind.RETURNED and row.text:
            claims[row.item] = row.text
    return claims
