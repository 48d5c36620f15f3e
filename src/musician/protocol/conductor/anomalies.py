"""Four signals that something in a task is out of the ordinary, shown to whoever conducts.

They are derived from journal entries and from the time since a task was last heard of. They cause no act: a
self-correction that breaks the estimate and a High deviation go to a person by the rules of review (D17), and a lasting
silence ends in a takeover (D23). The signals are:

- a self-correction, after which the session's estimates are off (sources "Self-correction flag");
- a High deviation (REF-5) until it is ruled on;
- a rise by more than ``JUMP_OVER_PCT`` points between two context readings of one session. A limit's own reading begins
  none: a piece that was limited before its first answer has measured only what was sent;
- ``SILENT_FROM_S`` or more without an entry from a session that plays. A session that waits is not silent.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

from musician.protocol.journal import AWAITS_ANSWER, Entry, EntryKind
from musician.protocol.rules.deviations import Severity
from musician.protocol.values import dataclass

JUMP_OVER_PCT = 15.0
"""The rise of context between two readings, in points, above which it is a jump."""

SILENT_FROM_S = 300.0
"""The time without an entry from which a playing session is silent."""


class Signal(StrEnum):
    SELF_CORRECTION = "self-correction"
    HIGH_DEVIATION = "High deviation"
    CONTEXT_JUMP = "context jump"
    SILENCE = "silence"


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """A journal entry with its id and the claim it was written under."""

    id: int
    epoch: int
    entry: Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Anomaly:
    """``entry_id`` is the journal entry that shows it; for a silence the last entry before it, 0 if there is none."""

    signal: Signal
    text: str
    entry_id: int
    epoch: int
    is_settled: bool = False
    """The deviation has been ruled on."""


def in_journal(journal: Iterable[Noted]) -> Iterator[Anomaly]:
    """Yield all anomalies that a task's journal shows, oldest first, over all its sessions."""
    reading: tuple[int, float] | None = None
    for each in journal:
        entry = each.entry
        if entry.kind is EntryKind.SELF_CORRECTION:
            yield _shown(Signal.SELF_CORRECTION, each, _told(entry))
        elif entry.kind is EntryKind.DEVIATION and entry.severity is Severity.HIGH:
            yield _shown(Signal.HIGH_DEVIATION, each, _told(entry))
        if entry.context_pct is None:
            continue
        if reading is not None and reading[0] == each.epoch:
            before = reading[1]
            if entry.context_pct - before > JUMP_OVER_PCT:
                yield _shown(Signal.CONTEXT_JUMP, each, f"from {before:.0f} % to {entry.context_pct:.0f} %")
        elif entry.kind is EntryKind.LIMITED:
            continue
        reading = (each.epoch, entry.context_pct)


def anomalies(
    journal: Sequence[Noted], *, epoch: int, is_played: bool, quiet_s: float | None
) -> tuple[Anomaly, ...]:
    """Return the present anomalies: those of the claim ``epoch``, and every High deviation that is not ruled on.

    ``is_played`` is true if a session owns the task and is working. ``quiet_s`` is the time since it was last heard of,
    None if unknown.
    """
    found = [
        each
        for each in in_journal(journal)
        if not each.is_settled and (each.epoch == epoch or each.signal is Signal.HIGH_DEVIATION)
    ]
    last = journal[-1] if journal else Noted(id=0, epoch=epoch, entry=Entry(kind=EntryKind.CLAIMED))
    if is_played and quiet_s is not None and quiet_s >= SILENT_FROM_S and not _waits(last.entry):
        found.append(_shown(Signal.SILENCE, last, f"for {quiet_s // 60:.0f} minutes"))
    return tuple(found)


def _shown(signal: Signal, noted: Noted, text: str) -> Anomaly:
    is_settled = signal is Signal.HIGH_DEVIATION and noted.entry.ruled
    return Anomaly(signal=signal, text=text, entry_id=noted.id, epoch=noted.epoch, is_settled=is_settled)


def _waits(last: Entry) -> bool:
    """Whether a session is paused with its phase or with a person, or waits for an answer or for its provider."""
    return last.kind in (EntryKind.PAUSED, EntryKind.LIMITED, EntryKind.WITH_PERSON) or (
        last.kind is EntryKind.NOTE and last.text == AWAITS_ANSWER
    )


def _told(entry: Entry) -> str:
    return ": ".join(part for part in (entry.item, entry.text) if part)
