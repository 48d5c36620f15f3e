"""Compares what a session left with what git and the database know, and carries out what follows (D20).

The rules are in :mod:`musician.protocol.resumption.mismatches`; this gathers the facts and records the
corrections. Order: lost lines are restored to the files only after the session has announced its takeover, so
that a session that is killed before that leaves its successor the same picture.
"""

from collections.abc import Callable

from musician import service
from musician.protocol.journal import RESOLVED_BY_HAND, Entry, EntryKind, deviation_in
from musician.protocol.messages.kinds import VERDICT_OF
from musician.protocol.musician.program import CheckpointItem, Play, Program
from musician.protocol.resumption.file_claims import claims_of_handoff, claims_of_status
from musician.protocol.resumption.handoff import HandoffKind
from musician.protocol.resumption.mismatches import (
    Class,
    Decision,
    Known,
    Mismatch,
    MismatchKind,
    decide,
    find_mismatches,
)
from musician.protocol.rules.deviations import Severity
from musician.protocol.rules.review import Verification
from musician.protocol.states import CLAIMABLE, State
from musician.protocol.values import dataclass
from musician.runtime.claimed import ClaimedSession
from musician.runtime.resuming.handoffs import Left
from musician.runtime.resuming.resumption import Resumed
from musician.runtime.task_files import missing_lines
from musician.runtime.tasktree import TaskTree
from musician.service import TaskView
from musician.store.rows import HistoryRow

_BETWEEN_SESSIONS = CLAIMABLE | {State.EXITED}
_CHANGED = frozenset({EntryKind.UNDONE, EntryKind.SKIPPED})
_UNHEARD = frozenset({EntryKind.RECONCILED, EntryKind.REWORKED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """How the mismatches were settled: entries to record, lines for the next session, questions to ask first.

    ``told`` has one line for each.
    """

    told: tuple[str, ...] = ()
    entries: tuple[Entry, ...] = ()
    advice: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


def compare(
    claimed: ClaimedSession, view: TaskView, resumed: Resumed, left: Left, status: list[str]
) -> tuple[Mismatch, ...]:
    """Every mismatch between the four witnesses. ``status`` are the status file's lines as they were. Blocks."""
    program, tree, task_files = claimed.program, claimed.tree, claimed.task_files
    steps = [item.item for item in program.items if isinstance(item, Play)]
    entries = [service.as_entry(row) for row in view.journal]
    upcoming = next((item for item in program.items if not resumed.progress.is_done(item.item)), None)
    fresh = sum(deviation_in(entry) is not None for entry in resumed.entries)  # the file has them already
    resolved = {entry.item for entry in resumed.entries if entry.text == RESOLVED_BY_HAND}
    lines = max(0, len(task_files.found_deviations()) - fresh)
    known = Known(
        items=tuple(item.item for item in program.items),
        done=resumed.progress.skipped.union(resumed.progress.completed),
        approved=resumed.progress.approved,
        begun=frozenset(
            entry.item for entry in entries if entry.kind in (EntryKind.STARTED, EntryKind.LAUNCHED)
        ),
        next_item="" if upcoming is None else upcoming.item,
        commit=None if resolved else tree.tip(),
        unheard_items=tuple(
            entry.item for entry in resumed.entries if entry.kind in _UNHEARD and entry.item not in resolved
        ),
        unheard_verdicts=tuple(entry.item for entry in resumed.entries if entry.kind is EntryKind.APPROVED),
        changed=frozenset(entry.item for entry in resumed.entries if entry.kind in _CHANGED),
        moved_to=resumed.moved_to,
        lost=_lost(view, resumed, tree, steps),
        missing_lines=missing_lines(entries, status),
        deviations=sum(deviation_in(entry) is not None for entry in entries),
        deviation_lines=lines or None,
        ended_in_error=_ended_in_error(view.history),
        future_messages=service.future_messages(
            claimed.store, view.row.task_id, tolerance_s=claimed.settings.heartbeat.skew_tolerance_s
        ),
    )
    text = task_files.found_handoff()
    is_whole = left.kind is HandoffKind.WHOLE and text is not None
    return find_mismatches(
        known,
        status=claims_of_status(status),
        handoff=claims_of_handoff(text, steps) if is_whole and text is not None else None,
    )


def check_to_decide(mismatches: tuple[Mismatch, ...], program: Program) -> CheckpointItem | None:
    """Return the checkpoint whose verification decides suspicious mismatches; None if the usual one will do."""
    about = [item for each in mismatches if each.cls is Class.SUSPICIOUS for item in each.items]
    if not about:
        return None
    names = [item.item for item in program.items]
    return program.check_after(max(about, key=lambda item: names.index(item) if item in names else -1))


def settle(
    claimed: ClaimedSession,
    view: TaskView,
    resumed: Resumed,
    mismatches: tuple[Mismatch, ...],
    verification: Verification | None,
) -> Settled:
    """Correct benign mismatches, decide suspicious ones, and ask about contradictions. Blocks."""
    traces = _Traces(view, resumed, claimed.tree)
    entries: list[Entry] = []
    advice: list[str] = []
    lines: list[str] = []
    for each in mismatches:
        if each.cls is not Class.SUSPICIOUS:
            lines.append(f"{each.cls}: {each}")
            entries.append(Entry(kind=EntryKind.NOTE, text=f"mismatch, {lines[-1]}"))
            continue
        decision = decide(
            each,
            verification=verification,
            has_commits=traces.has_commits(each),
            has_unfinished=bool(traces.unfinished),
        )
        lines.append(f"{each.cls}, found {decision}: {each}")
        entries.append(Entry(kind=EntryKind.DEVIATION, text=f"mismatch, {lines[-1]}", severity=Severity.LOW))
        entries += _corrections(each, decision, resumed, claimed.program)
        if decision is not Decision.DONE and each.items:
            advice.append(_advice(each, decision, traces.unfinished))
    if any(each.kind is MismatchKind.DEVIATIONS_DIFFER for each in mismatches):
        known = [*map(service.as_entry, view.journal), *resumed.entries]
        entries += [
            Entry(kind=EntryKind.DEVIATION, severity=severity, text=f"found in the deviations file: {line}")
            for severity, line in claimed.task_files.untold_deviations(known)
        ]
    doubts = tuple(str(each) for each in mismatches if each.cls is Class.CONTRADICTORY)
    return Settled(told=tuple(lines), entries=tuple(entries), advice=tuple(advice), doubts=doubts)


class _Traces:
    """The traces of work that is not recorded."""

    def __init__(self, view: TaskView, resumed: Resumed, tree: TaskTree) -> None:
        self._tip, self._start = tree.tip(), tree.start
        commits = [row.commit_id for row in view.journal if row.commit_id]
        commits += [entry.commit_id for entry in resumed.entries if entry.commit_id]
        self._last = commits[-1] if commits else tree.start
        set_aside = [entry.text for entry in resumed.entries if entry.kind is EntryKind.SET_ASIDE]
        earlier = [session.claim_epoch for session in view.sessions if session.ended_at is not None]
        kept = tree.unfinished(earlier[-1]) if earlier else ()
        self.unfinished = tuple(dict.fromkeys([*set_aside, *kept]))

    def has_commits(self, mismatch: Mismatch) -> bool:
        """Whether the branch holds work that the mismatch may be about."""
        before = self._start if mismatch.kind is MismatchKind.WORK_LOST else self._last
        return self._tip is not None and self._tip != before


def _corrections(mismatch: Mismatch, decision: Decision, resumed: Resumed, program: Program) -> list[Entry]:
    """Return the corrections of the journal: items done after all, or no longer done."""
    if mismatch.kind is MismatchKind.STEPS_AHEAD and decision is Decision.DONE:
        return [
            Entry(kind=EntryKind.RECONCILED, item=item, text="by its verification") for item in mismatch.items
        ]
    if mismatch.kind is MismatchKind.STEPS_AHEAD:  # or every successor would be told the same again
        return [
            Entry(kind=EntryKind.UNDONE, item=item, text=f"found {decision} done") for item in mismatch.items
        ]
    if mismatch.kind is MismatchKind.WORK_LOST and decision is not Decision.DONE:
        undone = [name for item in mismatch.items for name in program.undone_with(item, resumed.progress)]
        return [
            Entry(kind=EntryKind.UNDONE, item=name, text="its commit is gone")
            for name in dict.fromkeys(undone)
        ]
    return []


def _advice(mismatch: Mismatch, decision: Decision, unfinished: tuple[str, ...]) -> str:
    kept = f"; what was begun is kept at {', '.join(unfinished)}" if unfinished else ""
    return f"{', '.join(mismatch.items)}: found {decision} done{kept}."


def _lost(view: TaskView, resumed: Resumed, tree: TaskTree, steps: list[str]) -> tuple[str, ...]:
    """Return items recorded as done whose commit git no longer has, in document order."""
    commits: dict[str, str] = {}
    for row in view.journal:
        if row.commit_id and row.item in resumed.progress.completed:
            commits[row.item] = row.commit_id
    holds: Callable[[str], bool] = tree.holds
    if not commits or holds(list(commits.values())[-1]):
        return ()  # each finished item was committed on top of the one before
    return tuple(item for item in steps if item in commits and not holds(commits[item]))


def _ended_in_error(history: tuple[HistoryRow, ...]) -> bool:
    """Whether the last session was in an error that no verdict had answered when it ended."""
    for change in reversed(history):
        if change.from_state is State.ERROR:
            return change.message_type not in VERDICT_OF.values()
        if change.from_state not in _BETWEEN_SESSIONS:
            return False
    return False
