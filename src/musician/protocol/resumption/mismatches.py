"""Mismatches in what the last session left, and what to do about each (D20, sources "State Reconciliation").

Theory. A successor has four sources: git and the database, which only this program writes, and the status file and the
HANDOFF, which anybody may write. If they differ, git and the database count; the question is only whether the
difference is harmless. Each kind of mismatch belongs to one class, by the table :data:`CLASSES`:

- *benign*: it has a clear explanation (a kill between two writes, scratch space that was cleared) and is corrected.
- *suspicious*: something was done or undone without a record. A verification decides whether the item is done, partly
  done or not done (:func:`decide`). The log is corrected, and the finding is a Low deviation.
- *contradictory*: no verification can decide what is right. The conductor is asked before anything is played.

A row that is ``complete`` cannot be claimed. So the sources' first contradiction is found here the other way round: the
files call a task complete that is not.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType

from musician.protocol.resumption.file_claims import FileClaims
from musician.protocol.rules.review import Verification
from musician.protocol.values import dataclass


class Class(StrEnum):
    BENIGN = "benign"
    SUSPICIOUS = "suspicious"
    CONTRADICTORY = "contradictory"


class MismatchKind(StrEnum):
    STEP_UNHEARD = "git holds what the journal has not heard of"
    VERDICT_UNHEARD = "a verdict the journal has not heard of"
    BRANCH_MOVED = "the branch was moved off a finished step, and is back"
    STATUS_BEHIND = "the status file lacks lines of the journal"
    DEVIATIONS_GONE = "the deviations file is gone"
    HANDOFF_BEHIND = "the HANDOFF lacks one step or one checkpoint"
    CHECKPOINT_AHEAD = "one more checkpoint is said to be approved than is"
    WORK_LOST = "a finished step's commit is gone"
    STEPS_AHEAD = "steps are said to be done that nobody wrote down"
    STEPS_DIFFER = "several steps or checkpoints differ"
    STEP_DIFFERS = "another step is said to be the current one"
    FILES_DIFFER = "the tree is not as the HANDOFF left it"
    DEVIATIONS_DIFFER = "another number of deviations is given"
    TOLD_COMPLETE = "the task is said to be complete, and is not"
    PASSED_IN_ERROR = "a checkpoint is said to have passed, and the session ended in an error"
    FROM_THE_FUTURE = "a message of the conductor is dated after now"


CLASSES: Mapping[MismatchKind, Class] = MappingProxyType(
    {
        MismatchKind.STEP_UNHEARD: Class.BENIGN,
        MismatchKind.VERDICT_UNHEARD: Class.BENIGN,
        MismatchKind.BRANCH_MOVED: Class.BENIGN,
        MismatchKind.STATUS_BEHIND: Class.BENIGN,
        MismatchKind.DEVIATIONS_GONE: Class.BENIGN,
        MismatchKind.HANDOFF_BEHIND: Class.BENIGN,
        MismatchKind.CHECKPOINT_AHEAD: Class.BENIGN,
        MismatchKind.WORK_LOST: Class.SUSPICIOUS,
        MismatchKind.STEPS_AHEAD: Class.SUSPICIOUS,
        MismatchKind.STEPS_DIFFER: Class.SUSPICIOUS,
        MismatchKind.STEP_DIFFERS: Class.SUSPICIOUS,
        MismatchKind.FILES_DIFFER: Class.SUSPICIOUS,
        MismatchKind.DEVIATIONS_DIFFER: Class.SUSPICIOUS,
        MismatchKind.TOLD_COMPLETE: Class.CONTRADICTORY,
        MismatchKind.PASSED_IN_ERROR: Class.CONTRADICTORY,
        MismatchKind.FROM_THE_FUTURE: Class.CONTRADICTORY,
    }
)
"""Every kind once."""


class Decision(StrEnum):
    """The decision on a suspicious mismatch after a verification."""

    DONE = "done"
    PARTLY = "partly"
    NOT_AT_ALL = "not at all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """``items`` are those it is about, in document order; ``detail`` says what differs."""

    kind: MismatchKind
    detail: str = ""
    items: tuple[str, ...] = ()

    @property
    def cls(self) -> Class:
        return CLASSES[self.kind]

    def __str__(self) -> str:
        what = f" ({self.detail})" if self.detail else ""
        return f"{self.kind}{what}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What git and the database say. ``items`` are the task's, in document order; ``done`` and ``approved`` of them,
    with what git alone knew included; ``unheard_*`` is what the journal had not heard of, ``changed`` what a
    correction has undone or skipped that it had not heard of. ``lost`` are items whose
    commit git has no more. ``missing_lines`` of the journal are not in the status file. ``deviation_lines`` is what
    the deviations file has, None where it is gone or empty. ``future_messages`` are ids.
    """

    items: tuple[str, ...]
    done: frozenset[str]
    approved: frozenset[str] = frozenset()
    begun: frozenset[str] = frozenset()
    next_item: str = ""
    commit: str | None = None
    unheard_items: tuple[str, ...] = ()
    unheard_verdicts: tuple[str, ...] = ()
    changed: frozenset[str] = frozenset()
    moved_to: str | None = None
    lost: tuple[str, ...] = ()
    missing_lines: int = 0
    deviations: int = 0
    deviation_lines: int | None = None
    ended_in_error: bool = False
    future_messages: tuple[int, ...] = ()


def find_mismatches(
    known: Known, *, status: FileClaims | None, handoff: FileClaims | None
) -> tuple[Mismatch, ...]:
    """Every mismatch there is, those of git and the database first. A file that is not to be believed is None."""
    found = [*_of_what_is_known(known), *_of_deviations(known)]
    if status is not None:
        found += _ahead(known, status, "status file")
        begun = known.begun | known.done | {"", known.next_item}
        if status.current not in begun | status.completed:
            found.append(_mismatch(MismatchKind.STEP_DIFFERS, f"status file: {status.current}"))
        if known.ended_in_error and status.passed and not known.missing_lines:
            found.append(_mismatch(MismatchKind.PASSED_IN_ERROR))
    if handoff is not None:
        found += _ahead(known, handoff, "HANDOFF")
        found += _of_handoff(known, handoff)
    if known.next_item and any(told is not None and told.is_complete for told in (status, handoff)):
        found.append(_mismatch(MismatchKind.TOLD_COMPLETE))
    return tuple(found)


def decide(
    mismatch: Mismatch, *, verification: Verification | None, has_commits: bool, has_unfinished: bool
) -> Decision:
    """Decide on a suspicious mismatch.

    ``verification`` is that of the checkpoint the items lie before, None if nothing could be run. ``has_commits``:
    the branch holds work beyond the last step that is written down (for lost steps: some of what is lost is there);
    ``has_unfinished``: work was found in the tree that no step covers. Passing tests alone prove nothing about work
    that left no trace.
    """
    is_green = verification is Verification.GREEN
    if not mismatch.items:
        return Decision.DONE if is_green else Decision.PARTLY
    if is_green and (has_commits or mismatch.kind is MismatchKind.WORK_LOST):
        return Decision.DONE
    return Decision.PARTLY if has_commits or has_unfinished else Decision.NOT_AT_ALL


def _of_what_is_known(known: Known) -> Iterable[Mismatch]:
    if known.unheard_items:
        yield _mismatch(MismatchKind.STEP_UNHEARD, items=known.unheard_items)
    if known.unheard_verdicts:
        yield _mismatch(MismatchKind.VERDICT_UNHEARD, items=known.unheard_verdicts)
    if known.moved_to is not None:
        yield _mismatch(MismatchKind.BRANCH_MOVED, known.moved_to)
    if known.lost:
        yield _mismatch(MismatchKind.WORK_LOST, items=known.lost)
    if known.missing_lines:
        yield _mismatch(MismatchKind.STATUS_BEHIND, f"{known.missing_lines} lines")
    for message_id in known.future_messages:
        yield _mismatch(MismatchKind.FROM_THE_FUTURE, f"message {message_id}")


def _of_deviations(known: Known) -> Iterable[Mismatch]:
    if known.deviation_lines is None:
        if known.deviations:
            yield _mismatch(MismatchKind.DEVIATIONS_GONE)
    elif known.deviation_lines != known.deviations:
        yield _mismatch(
            MismatchKind.DEVIATIONS_DIFFER,
            f"deviations file: {known.deviation_lines}, database: {known.deviations}",
        )


def _ahead(known: Known, told: FileClaims, where: str) -> Iterable[Mismatch]:
    """Yield items that only a file calls done or approved."""
    steps = tuple(item for item in known.items if item in told.completed - known.done - known.changed)
    if steps:
        yield _mismatch(MismatchKind.STEPS_AHEAD, f"{where}: {', '.join(steps)}", items=steps)
    checks = [item for item in known.items if item in told.approved - known.approved]
    if len(checks) == 1:
        yield _mismatch(MismatchKind.CHECKPOINT_AHEAD, f"{where}: {checks[0]}")
    elif checks:
        yield _mismatch(MismatchKind.STEPS_DIFFER, f"{where}: {', '.join(checks)}")


def _of_handoff(known: Known, told: FileClaims) -> Iterable[Mismatch]:
    unheard = {*known.unheard_items, *known.unheard_verdicts, *known.changed}
    written_down = (known.done | known.approved) - unheard
    lacking = [item for item in known.items if item in written_down - told.completed - told.approved]
    if len(lacking) == 1:
        yield _mismatch(MismatchKind.HANDOFF_BEHIND, lacking[0])
    elif lacking:
        yield _mismatch(MismatchKind.STEPS_DIFFER, f"HANDOFF lacks {', '.join(lacking)}")
    elif not unheard and told.current not in ("", known.next_item) and not told.completed - known.done:
        yield _mismatch(MismatchKind.STEP_DIFFERS, f"HANDOFF: {told.current}, not {known.next_item}")
    if told.commit and known.commit and not known.commit.startswith(told.commit):
        yield _mismatch(MismatchKind.FILES_DIFFER, f"HANDOFF: commit {told.commit}, git: {known.commit}")
    if told.deviations is not None and told.deviations != known.deviations:
        yield _mismatch(
            MismatchKind.DEVIATIONS_DIFFER,
            f"HANDOFF: {told.deviations}, database: {known.deviations}",
        )


def _mismatch(kind: MismatchKind, detail: str = "", items: tuple[str, ...] = ()) -> Mismatch:
    return Mismatch(kind=kind, detail=detail or ", ".join(items), items=items)
