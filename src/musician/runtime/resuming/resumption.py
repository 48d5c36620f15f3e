"""Finds where the last session stopped, by git and the database; files count for less (D20).

What a successor must not repeat: an item that git has and the journal lacks was finished just before
a crash, and is recorded now. What it must not lose: an approval that outlives its session (D7), a rejection
nobody has acted on yet, unfinished work in the tree.
"""

from collections import Counter

from musician import service
from musician.protocol.journal import Entry, EntryKind, Progress
from musician.protocol.messages.corrections import order_id
from musician.protocol.messages.kinds import MessageType
from musician.protocol.messages.particulars import Counted, Deviations, SelfCorrection
from musician.protocol.messages.types import Resumption
from musician.protocol.musician.answers import verdict_entry
from musician.protocol.musician.program import CheckpointItem, Play, Program, ordered
from musician.protocol.musician.since import Since
from musician.protocol.names import CONDUCTOR
from musician.protocol.resumption.handoff import Ending
from musician.protocol.rules.budget import average_agent_cost
from musician.protocol.rules.deviations import Severity, worst
from musician.protocol.settings import Settings
from musician.protocol.states import VERDICTS
from musician.protocol.values import dataclass, replace
from musician.runtime.resuming.handoffs import Left
from musician.runtime.tasktree import TaskTree
from musician.service import TaskView
from musician.store.rows import JournalRow, MessageRow, SubmissionRow
from musician.verification.findings import counted

REWORK = "rework "
"""How the items begin that mend a checkpoint."""

_ADVICE = frozenset(
    {
        MessageType.HANDOFF,
        MessageType.NOTE,
        MessageType.FORECAST,
        MessageType.EMERGENCY,
        MessageType.FIX_PROPOSAL,
        MessageType.REJECTION,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """The point a session starts from. ``entries`` are to be written first.

    ``moved_to`` is where somebody had moved the task's branch, off the last finished item; it is back.
    """

    progress: Progress
    since: Since
    entries: tuple[Entry, ...]
    moved_to: str | None = None
    advice: str
    last_message_id: int

    def after(self, entries: tuple[Entry, ...]) -> "Resumed":
        """Return the same with more entries to write."""
        return replace(
            self,
            progress=self.progress.after(entries),
            since=self.since.after(entries),
            entries=(*self.entries, *entries),
        )


def reconcile(
    view: TaskView,
    unread: tuple[MessageRow, ...],
    program: Program,
    tree: TaskTree,
    *,
    said: tuple[MessageRow, ...] = (),
    set_aside: bool = True,
    resolution: tuple[Entry, ...] = (),
) -> Resumed:
    """Compare the journal with git and the verdicts, and correct it.

    ``said`` is what everybody said about the task, read or not. ``resolution`` was just taken up in the tree.
    ``set_aside``: what no finished step covers is kept under a ref and taken out of the tree.
    """
    progress = Progress().after(service.as_entry(row) for row in view.journal)
    found: list[Entry] = []
    commits = [row.commit_id for row in view.journal if row.commit_id]
    if commits:
        tree.expect(commits[-1])
    moved_to = tree.moved_off() if set_aside else None
    ref = tree.set_aside() if set_aside else None
    if ref is not None:
        found.append(Entry(kind=EntryKind.SET_ASIDE, text=ref))
    found += _kept_unheard(view, tree, program, progress, but=resolution)
    progress = progress.after(found)
    orders = unheard_orders(progress, said)
    found += orders
    progress = progress.after(orders)
    verdicts = unheard_verdicts(view, program)
    found += (*verdicts, *resolution)  # the resolution answers what was sent back
    progress = progress.after((*verdicts, *resolution))
    since = Since().after([*map(service.as_entry, view.journal), *found])
    advice = [
        message.message
        for message in unread
        if message.message_type in _ADVICE and message.message != since.feedback
    ]
    return Resumed(
        progress=progress,
        since=since,
        entries=tuple(found),
        moved_to=moved_to,
        advice="\n\n".join(advice),
        last_message_id=unread[-1].id if unread else 0,
    )


def _kept_unheard(
    view: TaskView, tree: TaskTree, program: Program, progress: Progress, *, but: tuple[Entry, ...]
) -> list[Entry]:
    """Return items that git has as finished and the journal lacks: the session died between the two writes."""
    plays = {item.item: item for item in program.ahead(progress) if isinstance(item, Play)}
    heard = {row.commit_id for row in view.journal} | {entry.commit_id for entry in but}
    entries = []
    for kept in tree.found_items():
        if kept.commit in heard:
            continue
        if kept.item in plays:
            kind = EntryKind.RECONCILED
        elif kept.item.startswith(REWORK):
            kind = EntryKind.REWORKED
        else:
            continue
        entries.append(Entry(kind=kind, item=kept.item, text="by its commit", commit_id=kept.commit))
        progress = progress.after(entries[-1:])
        if kept.item in plays:
            also = program.done_with(plays.pop(kept.item), progress)
            entries += also
            progress = progress.after(also)
    return entries


def checkpoint_number(submission: SubmissionRow) -> int | None:
    """Return the number of the checkpoint a submission is about; None if it does not say."""
    said = submission.said
    return None if said is None or said.checkpoint is None else said.checkpoint.number


def unheard_orders(progress: Progress, said: tuple[MessageRow, ...]) -> tuple[Entry, ...]:
    """Return correction steps that the conductor has ordered and the journal lacks (D17)."""
    newest = max((order_id(item) for item in progress.heard_corrections), default=0)
    entries: list[Entry] = []
    for message in said:
        if message.from_session == CONDUCTOR and message.id > newest:
            entries += ordered(progress.after(entries), message.message, message.id)
    return tuple(entries)


def unheard_verdicts(view: TaskView, program: Program) -> tuple[Entry, ...]:
    """Return verdicts that the journal lacks: an approval outlives its session (D7), as a rejection does.

    Only the approval of a checkpoint's latest submission counts, and only once: one that was heard and taken
    away again by a correction does not come back.
    """
    heard = Counter((row.kind, row.item) for row in view.journal)
    given = [(submitted_checkpoint(each, program).item, each) for each in view.submissions]
    latest = dict(given)
    news = []
    for item, each in given:
        if each.verdict not in VERDICTS:
            continue
        entry = verdict_entry(item, each.verdict, each.verdict_text or "")
        heard[entry.kind, item] -= 1
        if heard[entry.kind, item] < 0 and (entry.kind is EntryKind.SENT_BACK or each is latest[item]):
            news.append(entry)
    return tuple(news)


def submitted_checkpoint(submission: SubmissionRow, program: Program) -> CheckpointItem:
    """Return the checkpoint a submission is about; if the submission does not say, the one that was due."""
    number, last = checkpoint_number(submission), program.checkpoints[-1]
    if number is None:
        return last
    named = (check for check in program.checkpoints if check.number == number)
    is_final = submission.message_type == MessageType.COMPLETION
    return next(named, replace(last, item=f"checkpoint {number}", number=number, final=is_final))


def resumption_message(
    view: TaskView,
    resumed: Resumed,
    left: Left,
    mismatches: tuple[str, ...],
    *,
    program: Program,
    settings: Settings,
    worked_by: str,
    context_pct: float | None,
    verification: str,
    is_doubtful: bool,
) -> Resumption:
    """Return the sources' verbose takeover message. ``is_doubtful``: the conductor is asked before all else."""
    progress = resumed.progress
    is_clean = left.ending is Ending.CLEAN and not mismatches and not resumed.entries
    remaining = program.remaining(progress)
    assessment = "clean handoff" if is_clean else f"needs verification ({left.ending})"
    return Resumption(
        worked_by=worked_by,
        previous_session=left.session_id,
        handoff=left.described,
        context_usage_pct=context_pct,
        deviations_found=_breakdown(progress),
        mismatches=Counted(count=len(mismatches), remark="; ".join(mismatches)),
        pending_messages=Counted(count=view.unread),
        previous_self_correction=SelfCorrection(
            happened=bool(progress.self_corrections), details="; ".join(progress.self_corrections)
        ),
        assessment="needs guidance" if is_doubtful else assessment,
        verification=verification,
        resuming_from=remaining[0] if remaining else "the final report",
        estimate=_estimate(program, progress, settings),
    )


def _breakdown(progress: Progress) -> Deviations:
    found = progress.deviations
    counted = Counter(each.severity for each in found)
    parts = [f"{counted[severity]} {severity}" for severity in reversed(Severity) if counted[severity]]
    return Deviations(
        count=len(found), worst=worst(found), description=", ".join(parts) if len(parts) > 1 else ""
    )


def _estimate(program: Program, progress: Progress, settings: Settings) -> str:
    """Return what is left, and its cost for a session without self-corrections so far."""
    pieces = program.pieces_left(progress)
    checks = len(program.remaining(progress)) - pieces
    cost_pct = average_agent_cost(progress.agent_costs_pct, self_corrected=False, settings=settings)
    left = f"{counted(pieces, 'piece')} and {counted(checks, 'checkpoint')}"
    return f"{left} (~{pieces * cost_pct:.0f}% context)"


def reworked_since(journal: tuple[JournalRow, ...]) -> bool:
    """Whether anything was reworked since the last submission."""
    for row in reversed(journal):
        if row.kind == EntryKind.REWORKED:
            return True
        if row.kind == EntryKind.SUBMITTED:
            return False
    return False
