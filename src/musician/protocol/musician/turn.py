"""One step of the musician being decided: the state as it becomes, and what will be given back.

The rules change the state only through a turn, and every journal entry they write goes through :meth:`Turn.entry`:
progress and roughness therefore always agree with what is stored.
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
        """A journal entry, already counted; it still has to be put into a record."""
        return self.note(Entry(kind=kind, item=item, text=text, **more))  # type: ignore[arg-type]

    def note(self, entry: Entry) -> Entry:
        """The same, of an entry that a rule has made."""
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
        """Entries that a rule has made; they still have to be put into a record."""
        return tuple(map(self.note, entries))

    def orders(self, text: str, message_id: int) -> tuple[Entry, ...]:
        """The correction steps in a word of the conductor's, counted (D17)."""
        return self.counted(ordered(self.state.progress, text, message_id))

    def hear(self, word: PendingInstruction) -> None:
        self.set(heard=(*self.state.heard, word))

    def carry(self, message_id: int) -> None:
        """The running piece has heard this word too; it counts once those before it are heard: they go in order."""
        heard, carried = self.state.heard, self.state.carried
        while carried < len(heard) and not heard[carried].text:
            carried += 1
        if carried < len(heard) and heard[carried].message_id == message_id:
            self.set(carried=carried + 1)

    def settle(self, count: int) -> None:
        """So many of the conductor's words, from the first, are dealt with; each is acknowledged once (D12)."""
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
