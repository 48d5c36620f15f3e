"""Counts how much of a plan is complete: in one way, and in the same words on every surface.

What a plan does not wait for, because it was skipped or withdrawn, is counted apart.
"""

from collections import Counter
from collections.abc import Iterable

from musician.protocol.states import State
from musician.protocol.values import dataclass
from musician.store.rows import ArchiveRow, TaskRow
from musician.verification.findings import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """``tasks`` are those that the plan waits for, or waited for; ``complete`` how many of them are."""

    complete: int
    tasks: int
    skipped: int = 0
    withdrawn: int = 0
    settled: int = 0
    """Of an old archive: skipped or withdrawn, which of them is not known any more."""

    @property
    def said(self) -> str:
        """``2 of 4 tasks complete (1 skipped)``."""
        return f"{self.complete} of {counted(self.tasks, 'task')} complete{self._apart}"

    @property
    def brief(self) -> str:
        """The same below a heading that says what it counts."""
        return f"{self.complete} of {self.tasks}{self._apart}"

    @property
    def _apart(self) -> str:
        apart = (
            (self.skipped, "skipped"),
            (self.withdrawn, "withdrawn"),
            (self.settled, "skipped or withdrawn"),
        )
        told = ", ".join(f"{count} {word}" for count, word in apart if count)
        return f" ({told})" if told else ""


def tally_of(rows: Iterable[TaskRow]) -> Tally:
    counts = Counter(each.shown_state for each in rows)
    skipped, withdrawn = counts["skipped"], counts["withdrawn"]
    return Tally(
        complete=counts[State.COMPLETE],
        tasks=counts.total() - skipped - withdrawn,
        skipped=skipped,
        withdrawn=withdrawn,
    )


def tally_of_archive(row: ArchiveRow) -> Tally:
    """Return what :func:`tally_of` said of the plan's tasks before they were put away.

    An old archive has counted what was skipped and withdrawn among its tasks. If its plan was complete, these are what
    was not complete; of one that was abandoned they cannot be told from what was left.
    """
    if row.skipped is None or row.withdrawn is None:
        settled = row.tasks - row.completed if row.abandoned is None else 0
        return Tally(complete=row.completed, tasks=row.tasks - settled, settled=settled)
    return Tally(complete=row.completed, tasks=row.tasks, skipped=row.skipped, withdrawn=row.withdrawn)
