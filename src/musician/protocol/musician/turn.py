"""One step of the engine under construction: the new state, the records and the acts.

The rules change the state only through a turn, and they make every journal entry with :meth:`Turn.entry`. Therefore
progress and smoothness always agree with what is stored.
"""

from musician.protocol.journal import Entry, EntryKind
from musician.protocol.musician import ready as r
from musician.protocol.musician.program import ordered
from musician.protocol.musician.state import Mode, MusicianState, PendingInstruction
from musician.protocol.values import replace


class Turn:
    def __init__(self, state: MusicianState) -> None:
        self.state = state
        self.records: list[r.Record] = []
        self.acts: list[r.Act] = []

    def set(self, **changes: object) -> None:
        self.state = replace(self.state, **changes)  # type: ignore[arg-type]

    def entry(self, kind: EntryKind, item: str = "", text: str = "", **more: object) -> Entry:
        """Make a journal entry and count it in the state. It still has to be put into a record."""
        return self.note(Entry(kind=kind, item=item, text=text, **more))  # type: ignore[arg-type]

    def note(self, entry: Entry) -> Entry:
        """Count an entry that a rule has made."""
        entry = replace(entry, context_pct=self.state.used_pct)
        self.set(
            progress=self.state.progress.after([entry]),
            since=self.state.since.after([entry]),
            agreement=self.state.agreement.after([entry]),
        )
        return entry

    def write(self, *entries: Entry) -> None:
        self.records.append(r.Write(entries=entries))

    def counted(self, entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
        """Count entries that a rule has made. They still have to be put into a record."""
        return tuple(map(self.note, entries))

    def orders(self, text: str, message_id: int) -> tuple[Entry, ...]:
        """Return entries for the correction steps in a message of the conductor's, and count them (D17)."""
        return self.counted(ordered(self.state.progress, text, message_id))

    def hear(self, word: PendingInstruction) -> None:
        self.set(heard=(*self.state.heard, word))

    def carry(self, message_id: int) -> None:
        """Note that the running piece has received a message. It counts once those before it have been received."""
        heard, carried = self.state.heard, self.state.carried
        while carried < len(heard) and not heard[carried].text:
            carried += 1
        if carried < len(heard) and heard[carried].message_id == message_id:
            self.set(carried=carried + 1)

    def settle(self, count: int) -> None:
        """Acknowledge the first ``count`` of the conductor's messages, each once (D12)."""
        heard = self.state.heard
        latest_id = max((word.message_id for word in heard[:count]), default=0)
        self.set(heard=heard[count:], carried=0)
        if latest_id > self.state.acknowledged_id:
            self.set(acknowledged_id=latest_id)
            self.records.append(r.Acknowledge(message_id=latest_id))

    def stop_what_runs(self) -> None:
        self.set(mode=Mode.STOPPING)
        self.acts.append(r.StopPiece())

    def end(self, kind: r.EndKind, reason: str) -> None:
        self.set(mode=Mode.ENDED)
        self.acts.append(r.End(kind=kind, reason=reason))
