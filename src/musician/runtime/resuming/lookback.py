"""Looks back at what the last session left: the first thing every claimed session does (D17, D20).

Order: what git and the database agree on is recorded first; then approved work is verified again, whatever
anybody says of it; then the session announces that it takes over, and what it found. A session that is killed
in between does what is missing when it claims again, or leaves it to its successor. Nothing is set aside
twice: what lies in the tree at a second look may be the session's own.
"""

from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread

from musician import service
from musician.processes.identity import ProcessIdentity
from musician.processes.output import one_line
from musician.protocol.claim import Claim
from musician.protocol.errors import EvidenceMissing
from musician.protocol.journal import Entry, EntryKind
from musician.protocol.messages.types import Resumption
from musician.protocol.musician.program import Program
from musician.protocol.resumption.mismatches import Mismatch
from musician.protocol.settings import Settings
from musician.protocol.values import dataclass, replace
from musician.reporting.owners import ownerless_tasks
from musician.runtime.approval import approved_as_it_is
from musician.runtime.baselines import Baselines
from musician.runtime.belongings import end_what_runs
from musician.runtime.heartbeat import beating
from musician.runtime.resuming.handoffs import Left, what_was_left
from musician.runtime.resuming.reconciling import Settled, compare, settle
from musician.runtime.resuming.resolutions import take_up_resolution
from musician.runtime.resuming.resumption import Resumed, reconcile, resumption_message
from musician.runtime.resuming.reverifying import Reverified, reverify
from musician.runtime.task_files import TaskFiles
from musician.runtime.tasks import raising_one
from musician.runtime.tasktree import TaskTree
from musician.runtime.world import World
from musician.service import TaskView
from musician.store.port import Store
from musician.store.rows import MessageRow
from musician.trees.root import Root

_MOST_TOLD_CHARS = 500
"""Of a verification or a mismatch, in the takeover message."""

_MOST_TOLD = 20
"""Of the mismatches, in the same place; the journal has them all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedSession:
    """What a claimed session works with. ``setup`` is the command that prepares its tree, None if there is
    none.

    ``baselines`` know what failed before the task began; None if the task cannot be read.
    """

    root: Root
    store: Store
    settings: Settings
    claim: Claim
    worked_by: str
    instruction_path: str
    program: Program
    setup: str | None
    baselines: Baselines | None
    tree: TaskTree
    task_files: TaskFiles
    environment: dict[str, str]
    log: Path
    world: World

    def note(self, *entries: Entry) -> None:
        """Write entries into the journal and the files in ``temp/``. Blocks."""
        service.record(self.store, self.claim, *entries)
        self.task_files.note(entries)

    async def record_agent(self, identity: ProcessIdentity) -> None:
        record = partial(service.record_process, self.store, self.claim, "agent", identity)
        await anyio.to_thread.run_sync(record)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookback:
    """The result of looking back. ``view`` is from before; ``notice`` is None if nobody worked on the task
    before.

    With ``doubts`` the session must not go on before the conductor has answered.
    """

    view: TaskView
    unread: tuple[MessageRow, ...]
    resumed: Resumed
    notice: Resumption | None = None
    doubts: tuple[str, ...] = ()
    ownerless_tasks: int = 0


async def look_back(
    claimed: ClaimedSession,
    *,
    is_new: bool = True,
    context_pct: float | None = None,
    verifying: anyio.CancelScope | None = None,
) -> Lookback:
    """Bring journal, git and verdicts into agreement, re-verify, and announce the takeover.

    ``is_new``: this process has just made the claim. Cancelling ``verifying`` ends a verification that somebody must
    not wait for (B32). The heartbeat is kept fresh meanwhile; :class:`ClaimLost` once the claim is another's.
    """
    with raising_one():
        async with beating(claimed.store, claimed.claim, claimed.settings):
            return await _look_back(
                claimed,
                is_new=is_new,
                context_pct=context_pct,
                verifying=verifying or anyio.CancelScope(),
            )


async def _look_back(
    claimed: ClaimedSession, *, is_new: bool, context_pct: float | None, verifying: anyio.CancelScope
) -> Lookback:
    store, claim = claimed.store, claimed.claim
    whole = await anyio.to_thread.run_sync(partial(service.task_view, store, claim.task_id))
    view = whole.this_time
    unread = await anyio.to_thread.run_sync(partial(service.unread, store, claim.task_id))
    said = await anyio.to_thread.run_sync(partial(service.messages_of, store, claim.task_id))
    cleared = ""
    if is_new:  # before anything is set aside
        clear = partial(
            end_what_runs,
            store,
            whole,
            claimed.tree.path,
            claimed.settings,
            but=claim.session_id,
            machine=claimed.world.machine,
        )
        cleared = await anyio.to_thread.run_sync(clear)
    replaced: tuple[Entry, ...] = ()
    resolution: tuple[Entry, ...] = ()
    if is_new and _is_to_start_over(view):
        replaced = await anyio.to_thread.run_sync(partial(_start_over, claimed, whole))
    elif is_new:
        take_up = partial(take_up_resolution, view, claimed.tree)
        resolution = await anyio.to_thread.run_sync(take_up)
    find = partial(reconcile, view, unread, claimed.program, claimed.tree, said=said)
    resumed = await anyio.to_thread.run_sync(partial(find, set_aside=is_new, resolution=resolution))
    status = claimed.task_files.found_status()  # before this session writes into it
    resumed = await anyio.to_thread.run_sync(partial(_with_approval, claimed, resumed))
    notes = (Entry(kind=EntryKind.NOTE, text=cleared),) if cleared else ()
    entries = (*_beginning(claimed, view), *notes, *replaced, *resumed.entries)
    await anyio.to_thread.run_sync(partial(claimed.note, *entries))
    left = what_was_left(view, claimed.task_files.found_handoff(), epoch=claim.epoch)
    if left is None:
        return Lookback(view=view, unread=unread, resumed=resumed)
    mismatches = await anyio.to_thread.run_sync(partial(_compare, claimed, view, resumed, left, status))
    reverified = await reverify(claimed, view, resumed, mismatches, verifying)
    settled = await anyio.to_thread.run_sync(partial(_settle, claimed, view, resumed, mismatches, reverified))
    doubts = (*settled.doubts, *reverified.doubts)
    corrected = replace(
        resumed.after(settled.entries),
        advice="\n\n".join(filter(None, (resumed.advice, *settled.advice))),
    )
    notice = resumption_message(
        view,
        corrected,
        left,
        tuple(one_line(each, _MOST_TOLD_CHARS) for each in settled.told[:_MOST_TOLD]),
        program=claimed.program,
        settings=claimed.settings,
        worked_by=claimed.worked_by,
        context_pct=context_pct,
        verification=reverified.told,
        is_doubtful=bool(doubts),
    )
    say = partial(_announce, claimed, view, notice, settled.entries, context_pct)
    await anyio.to_thread.run_sync(say)
    count = partial(
        ownerless_tasks, claimed.root, store, claim.task_id, claimed.settings, claimed.world.machine
    )
    return Lookback(
        view=view,
        unread=unread,
        resumed=corrected,
        notice=notice,
        doubts=doubts,
        ownerless_tasks=await anyio.to_thread.run_sync(count),
    )


def _is_to_start_over(view: TaskView) -> bool:
    """Whether no session has looked back since the task was started over: then its tree is as it was."""
    kinds = {row.kind for row in view.journal}
    return EntryKind.STARTED_OVER in kinds and EntryKind.CLAIMED not in kinds


def _start_over(claimed: ClaimedSession, whole: TaskView) -> tuple[Entry, ...]:
    """Keep what there is of the task's work under a ref, and begin the tree and the files anew.

    Killed in between, the next session does it again, and finds the same ref.
    """
    commits = [row.commit_id for row in whole.journal if row.commit_id]
    order = whole.this_time.journal[0]
    ref = claimed.tree.start_over(commits[-1] if commits else None, order.claim_epoch)
    claimed.task_files.start_over(service.as_entry(order))
    return () if ref is None else (Entry(kind=EntryKind.SET_ASIDE, text=ref),)


def _with_approval(claimed: ClaimedSession, resumed: Resumed) -> Resumed:
    """Drop the approval of a completion that no longer covers the tree: it is submitted again (D28)."""
    final = claimed.program.items[-1].item
    if final not in resumed.progress.approved:
        return resumed
    try:
        approved_as_it_is(claimed.store, claimed.claim, claimed.tree)
    except EvidenceMissing as overtaken:
        undone = Entry(kind=EntryKind.UNDONE, item=final, text=overtaken.missing)
        return resumed.after((undone,))
    return resumed


def _beginning(claimed: ClaimedSession, view: TaskView) -> tuple[Entry, ...]:
    """Return the entry that the claim was made, unless it is recorded already."""
    epoch = claimed.claim.epoch
    if any(row.claim_epoch == epoch and row.kind == EntryKind.CLAIMED for row in view.journal):
        return ()
    return (
        Entry(kind=EntryKind.CLAIMED, text=claimed.claim.session_id),
        Entry(kind=EntryKind.LOADED, text=claimed.instruction_path),
    )


def _compare(
    claimed: ClaimedSession, view: TaskView, resumed: Resumed, left: Left, status: list[str]
) -> tuple[Mismatch, ...]:
    tolerance_s = claimed.settings.heartbeat.skew_tolerance_s
    return compare(
        view,
        resumed,
        left,
        program=claimed.program,
        tree=claimed.tree,
        task_files=claimed.task_files,
        status=status,
        future_messages=service.future_messages(
            claimed.store, claimed.claim.task_id, tolerance_s=tolerance_s
        ),
    )


def _settle(
    claimed: ClaimedSession,
    view: TaskView,
    resumed: Resumed,
    mismatches: tuple[Mismatch, ...],
    reverified: Reverified,
) -> Settled:
    return settle(
        mismatches,
        resumed,
        view,
        program=claimed.program,
        tree=claimed.tree,
        task_files=claimed.task_files,
        verification=reverified.outcome,
    )


def _announce(
    claimed: ClaimedSession,
    view: TaskView,
    notice: Resumption,
    entries: tuple[Entry, ...],
    context_pct: float | None,
) -> None:
    """Record the decisions and the takeover in one transaction; then write the files."""
    entry = Entry(kind=EntryKind.RESUMED, text=notice.render(), context_pct=context_pct)
    service.announce(claimed.store, claimed.claim, notice, *entries, entry)
    claimed.task_files.restore(map(service.as_entry, view.journal))
    claimed.task_files.note((*entries, entry))
