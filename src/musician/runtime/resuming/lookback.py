"""Looks back at what the last session left: the first thing every claimed session does (D17, D20).

Order: what git and the database agree on is recorded first; then approved work is verified again, whatever
anybody says of it; then the session announces that it takes over, and what it found. A session that is killed
in between does what is missing when it claims again, or leaves it to its successor. Nothing is set aside
twice: what lies in the tree at a second look may be the session's own.
"""

from functools import partial

import anyio
from anyio.to_thread import run_sync

from musician import service
from musician.processes.output import one_line
from musician.protocol.errors import EvidenceMissing
from musician.protocol.journal import Entry, EntryKind
from musician.protocol.messages.types import Resumption
from musician.protocol.values import dataclass, replace
from musician.reporting.owners import ownerless_tasks
from musician.runtime.approval import approved_as_it_is
from musician.runtime.belongings import end_what_runs
from musician.runtime.claimed import ClaimedSession
from musician.runtime.heartbeat import beating
from musician.runtime.resuming.handoffs import what_was_left
from musician.runtime.resuming.reconciling import compare, settle
from musician.runtime.resuming.resolutions import take_up_resolution
from musician.runtime.resuming.resumption import Resumed, reconcile, resumption_message
from musician.runtime.resuming.reverifying import reverify
from musician.runtime.tasks import raising_one
from musician.service import TaskView
from musician.store.rows import MessageRow

_MOST_TOLD_CHARS = 500
"""Of a verification or a mismatch, in the takeover message."""

_MOST_TOLD = 20
"""Of the mismatches, in the same place; the journal has them all."""


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
    store, claim, task_files = claimed.store, claimed.claim, claimed.task_files
    whole = await run_sync(service.task_view, store, claim.task_id)
    view = whole.this_time
    unread = await run_sync(service.unread, store, claim.task_id)
    said = await run_sync(service.messages_of, store, claim.task_id)
    begun: list[Entry] = []
    resolution: tuple[Entry, ...] = ()
    if is_new:
        cleared = await run_sync(_clear, claimed, whole)  # before anything is set aside
        begun += [Entry(kind=EntryKind.NOTE, text=cleared)] if cleared else []
        if _is_to_start_over(view):
            begun += await run_sync(_start_over, claimed, whole)
        else:
            resolution = await run_sync(take_up_resolution, view, claimed.tree)
    find = partial(reconcile, view, unread, claimed.program, claimed.tree, said=said)
    resumed = await run_sync(partial(find, set_aside=is_new, resolution=resolution))
    status = task_files.found_status()  # before this session writes into it
    resumed = await run_sync(_with_approval, claimed, resumed)
    entries = (*_beginning(claimed, view), *begun, *resumed.entries)
    await run_sync(claimed.note, *entries)
    left = what_was_left(view, task_files.found_handoff(), epoch=claim.epoch)
    if left is None:
        return Lookback(view=view, unread=unread, resumed=resumed)
    mismatches = await run_sync(compare, claimed, view, resumed, left, status)
    reverified = await reverify(claimed, view, resumed, mismatches, verifying)
    settled = await run_sync(settle, claimed, view, resumed, mismatches, reverified.outcome)
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
    await run_sync(_announce, claimed, view, notice, settled.entries, context_pct)
    machine = claimed.world.machine
    return Lookback(
        view=view,
        unread=unread,
        resumed=corrected,
        notice=notice,
        doubts=doubts,
        ownerless_tasks=await run_sync(
            ownerless_tasks, claimed.root, store, claim.task_id, claimed.settings, machine
        ),
    )


def _clear(claimed: ClaimedSession, whole: TaskView) -> str:
    """End what earlier sessions have left running; return what is to be told of it."""
    return end_what_runs(
        claimed.store,
        whole,
        claimed.tree.path,
        claimed.settings,
        but=claimed.claim.session_id,
        machine=claimed.world.machine,
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
