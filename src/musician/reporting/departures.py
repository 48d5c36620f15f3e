"""Where a task's sessions have left the plan, and which mistakes of their own they mended, with what became of it."""

from collections.abc import Iterator

from musician.protocol.journal import EntryKind, deviation_in
from musician.protocol.values import dataclass
from musician.service import TaskView
from musician.service.work import as_entry
from musician.store.rows import JournalRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Departure:
    """``what`` is such as ``Medium deviation``. ``ruling`` is "" of what nobody rules, as a self-correction."""

    row: JournalRow
    what: str
    text: str
    ruling: str = ""
    is_open: bool = False


def departures_of(view: TaskView) -> tuple[Departure, ...]:
    """Return those since the task was begun, or started over, the newest first."""
    return tuple(_departures(view.this_time))[::-1]


def _departures(view: TaskView) -> Iterator[Departure]:
    for row in view.journal:
        if row.kind == EntryKind.SELF_CORRECTION:
            yield Departure(row=row, what="self-correction", text=row.text)
        elif row.kind != EntryKind.SENT_BACK and (found := deviation_in(as_entry(row))) is not None:
            by = "by the conductor" if row.ruled_by is None else f"by message {row.ruled_by}"
            yield Departure(
                row=row,
                what=f"{found.severity} deviation",
                text=found.text,
                ruling=f"ruled {by}" if found.ruled else "nobody has ruled on it yet",
                is_open=not found.ruled,
            )
