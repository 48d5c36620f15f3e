"""The first thing a claimed session does, whoever plays it: look back at what the last one left (D17, D20).

Order: what git and the database agree on is written down first; then what stands approved is verified anew, whatever
anybody says of it; then the session says that it takes over, and what it found. A session that is killed in between
does what is missing when it claims again, or leaves it to its successor. Nothing is set aside twice: what lies in the
tree at a second look may be the session's own.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread

from musician import service
from musician.processes.identity import ProcessIdentity
from musician.processes.output import one_line
from musician.protocol.claim import Claim
from musician.protocol.journal import Entry, Kind
from musician.protocol.messages import Resumption
from musician.protocol.program import Check, Program
from musician.protocol.review import Verification
from musician.protocol.settings import Settings
from musician.runtime.checkpoint import run_checkpoint
from musician.runtime.handoffs import what_was_left
from musician.runtime.heartbeat import beating
from musician.runtime.owners import ownerless_tasks
from musician.runtime.papers import Papers
from musician.runtime.preparing import prepare_tree
from musician.runtime.resumption import Resumed, reconcile, resumption_message
from musician.runtime.tasks import raising_one
from musician.runtime.tasktree import TaskTree
from musician.service import TaskView
from musician.store.port import Store
from musician.store.rows import MessageRow
from musician.trees.root import Root

__all__ = ["Ground", "Outlook", "look_back"]

_MOST_TOLD_CHARS = 500
"""Of a verification, in the takeover message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What a claimed session stands on. ``setup`` is the command that prepares its tree, None if there is none."""

    root: Root
    store: Store
    settings: Settings
    claim: Claim
    worked_by: str
    instruction_path: str
    program: Program
    setup: str | None
    tree: TaskTree
    papers: Papers
    environment: dict[str, str]
    log: Path

    def note(self, *entries: Entry) -> None:
        """Into the journal and the files in ``temp/``. Blocks."""
        service.record(self.store, self.claim, *entries)
        self.papers.note(entries)

    async def record_agent(self, identity: ProcessIdentity) -> None:
        record = partial(service.record_process, self.store, self.claim, "agent", identity)
        await anyio.to_thread.run_sync(record)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What was found. ``view`` is from before; ``notice`` is None where nobody worked on the task before.

    ``doubts`` are what a session does not go on with before the conductor has answered.
    """

    view: TaskView
    unread: tuple[MessageRow, ...]
    resumed: Resumed
    notice: Resumption | None = None
    doubts: tuple[str, ...] = ()
    ownerless_tasks: int = 0


async def look_back(
    ground: Ground,
    *,
    is_new: bool = True,
    context_pct: float | None = None,
    verifying: anyio.CancelScope | None = None,
) -> Outlook:
    """Bring journal, git and verdicts into agreement, re-verify, and say that the session takes over.

    ``is_new``: this process has just made the claim. Cancelling ``verifying`` ends a verification that somebody must
    not wait for (B32). The heartbeat is kept fresh meanwhile; :class:`ClaimLost` once the claim is another's.
    """
    with raising_one():
        async with beating(ground.store, ground.claim, ground.settings):
            return await _look_back(
                ground,
                is_new=is_new,
                context_pct=context_pct,
                verifying=verifying or anyio.CancelScope(),
            )


async def _look_back(
    ground: Ground, *, is_new: bool, context_pct: float | None, verifying: anyio.CancelScope
) -> Outlook:
    store, claim = ground.store, ground.claim
    view = await anyio.to_thread.run_sync(partial(service.task_view, store, claim.task_id))
    unread = await anyio.to_thread.run_sync(partial(service.unread, store, claim.task_id))
    find = partial(reconcile, view, unread, ground.program, ground.tree, set_aside=is_new)
    resumed = await anyio.to_thread.run_sync(find)
    entries = (*_beginning(ground, view), *resumed.entries)
    await anyio.to_thread.run_sync(partial(ground.note, *entries))
    left = what_was_left(view, ground.papers.found_handoff(), epoch=claim.epoch)
    if left is None:
        return Outlook(view=view, unread=unread, resumed=resumed)
    told, doubts = await _verify_anew(ground, resumed, verifying)
    count = partial(ownerless_tasks, ground.root, store, claim.task_id, ground.settings)
    ownerless = await anyio.to_thread.run_sync(count)
    notice = resumption_message(
        view,
        resumed,
        left,
        program=ground.program,
        settings=ground.settings,
        worked_by=ground.worked_by,
        context_pct=context_pct,
        verification=told,
        is_doubtful=bool(doubts),
    )
    await anyio.to_thread.run_sync(partial(_announce, ground, notice, context_pct))
    return Outlook(
        view=view, unread=unread, resumed=resumed, notice=notice, doubts=doubts, ownerless_tasks=ownerless
    )


def _beginning(ground: Ground, view: TaskView) -> tuple[Entry, ...]:
    """That the claim was made, unless it is written down already."""
    epoch = ground.claim.epoch
    if any(row.claim_epoch == epoch and row.kind == Kind.CLAIMED for row in view.journal):
        return ()
    return (
        Entry(kind=Kind.CLAIMED, text=ground.claim.session_id),
        Entry(kind=Kind.LOADED, text=ground.instruction_path),
    )


def _announce(ground: Ground, notice: Resumption, context_pct: float | None) -> None:
    entry = Entry(kind=Kind.RESUMED, text=notice.render(), context_pct=context_pct)
    service.announce(ground.store, ground.claim, notice.render(), entry)
    ground.papers.note((entry,))


async def _verify_anew(
    ground: Ground, resumed: Resumed, verifying: anyio.CancelScope
) -> tuple[str, tuple[str, ...]]:
    """What verifying the last approved checkpoint again came to, in one line, and what it makes doubtful."""
    check = _last_approved(ground.program, resumed)
    if check is None:
        return "nothing approved yet to re-verify", ()
    told, is_red = "interrupted", False
    with verifying:
        told, is_red = await _verify(ground, check)
    told = one_line(f"{check.item}: {told}", _MOST_TOLD_CHARS)
    return told, (f"approved before, and red now: {told}",) if is_red else ()


async def _verify(ground: Ground, check: Check) -> tuple[str, bool]:
    """What was found, and whether it is red. What cannot be set up cannot be run, which is not red."""
    problem = await prepare_tree(
        ground.setup,
        tree=ground.tree.path,
        env=ground.environment,
        time_limit_s=ground.settings.time.step_limit_s,
        on_process=ground.record_agent,
    )
    if problem:
        return problem, False
    found = await run_checkpoint(
        ground.store,
        ground.claim,
        check,
        tree=ground.tree.path,
        tree_id=ground.tree.tree_id,
        start=ground.tree.start,
        log=ground.log,
        env=ground.environment,
        settings=ground.settings,
        on_process=ground.record_agent,
    )
    return found.result.tests_line(), found.outcome is Verification.RED


def _last_approved(program: Program, resumed: Resumed) -> Check | None:
    approved = [
        item for item in program.items if isinstance(item, Check) and item.item in resumed.progress.approved
    ]
    return approved[-1] if approved else None
