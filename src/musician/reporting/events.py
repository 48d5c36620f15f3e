"""What happened since the last look, as events that tell a story: each once, in the one order, nothing left out.

Theory. A look says how far the order of everything had come (its views' ``seq``), so the news are the changes
between two looks, told in that order: however many looks are skipped, the next one tells the same. What a change of
state and the journal's entries before it both say is shown once. Only what no row stands for is shown as of the look: a
silence, and what the run itself has heard. Stamps are the database's, UTC (D10).
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import assert_never

from musician import service
from musician.processes.output import headline
from musician.protocol.conductor.anomalies import Signal
from musician.protocol.names import CONDUCTOR
from musician.protocol.states import State
from musician.protocol.values import dataclass
from musician.reporting.asks import JUDGED, next_command
from musician.reporting.standing import Standing
from musician.reporting.wording import say_anomaly, say_change, say_noted
from musician.service import PlanChange, Source
from musician.store.port import Store
from musician.store.rows import HistoryRow, HumanRow, JournalRow, MessageRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """``state`` is the task's at that moment; ``text`` one sentence without its subject, of any length."""

    at: str
    task_id: str
    state: State
    text: str
    needs_person: bool = False


@dataclass(slots=True)
class _Told:
    """What was told of a task; ``noted`` is the newest entry of each kind that no submission or report has followed."""

    state: State = State.WATCHING
    noted: dict[str, JournalRow] = field(default_factory=dict)
    silences: set[int] = field(default_factory=set)


@dataclass(slots=True)
class Reporter:
    """Remembers how far it has told."""

    plan_id: str
    store: Store
    by_hand: bool = False
    """The musicians are sessions that people start: nobody takes over by himself."""
    heard: deque[str] = field(default_factory=deque)
    """What concerns no task, and is shown with the next news; "" is nothing."""
    _seq: int | None = None
    _told: dict[str, _Told] = field(default_factory=dict)

    def news(self, standings: Sequence[Standing]) -> tuple[Event, ...]:
        """What happened since the last call, oldest first; the standings are of one look.

        The first call tells where each task stands instead.
        """
        if not standings:
            return ()
        now = standings[0].view
        seq, self._seq = self._seq, now.seq
        news = self._found(standings) if seq is None else self._changed(seq, now.seq, standings)
        silences = (event for each in standings for event in self._silent(each))
        return (*news, *silences, *self._heard(now.at))

    def _found(self, standings: Sequence[Standing]) -> Iterator[Event]:
        """One line a task, however long its life was, and what waits for a person."""
        views = [each.view for each in standings]
        for view in sorted(views, key=lambda view: view.history[-1].id if view.history else 0):
            row = view.row
            self._told[row.task_id] = _Told(state=row.state)
            at = view.history[-1].at if view.history else row.created_at
            last = row.worked_by or "nobody"
            text = f"open: {row.title}" if row.state is State.WATCHING else f"found so; last played by {last}"
            yield Event(at=at, task_id=row.task_id, state=row.state, text=text)
        asks = (ask for each in standings for ask in each.asks)
        yield from map(self._asked, sorted(asks, key=lambda ask: ask.id))

    def _changed(self, seq: int, until: int, standings: Sequence[Standing]) -> Iterator[Event]:
        by_id = {each.task_id: each for each in standings}
        for change in service.every_change(self.store, seq, until=until):
            if standing := by_id.get(change.task_id):
                yield from self._events(change, standing)

    def _events(self, change: PlanChange, standing: Standing) -> Iterator[Event]:
        told = self._told.setdefault(change.task_id, _Told())
        match change.row:
            case HistoryRow() as row:
                told.state = row.to_state
                said = [say_change(row, standing.view, change.said, told.noted, by_hand=self.by_hand)]
                if row.to_state in (State.NEEDS_REVIEW, State.ERROR):
                    told.noted.clear()
            case JournalRow() as row:
                told.noted[row.kind] = row
                shown = [each for each in standing.anomalies_shown if each.entry_id == row.id]
                said = say_noted(row, shown)
            case HumanRow() as ask:
                yield from [self._asked(ask)] if change.source is Source.ASKED else self._settled(ask)
                return
            case MessageRow():  # told with the change it was made with
                return
            case _:
                assert_never(change.row)
        for text in filter(None, said):
            yield Event(at=row.at, task_id=row.task_id, state=told.state, text=text)

    def _asked(self, ask: HumanRow) -> Event:
        return Event(
            at=ask.at,
            task_id=ask.task_id,
            state=self._told[ask.task_id].state,
            text=f"needs a person ({ask.kind}): {headline(ask.text)};"
            f" next: {next_command(ask, plan_id=self.plan_id)}",
            needs_person=True,
        )

    def _settled(self, ask: HumanRow) -> Iterator[Event]:
        """A person's answer that is no verdict, for a verdict is shown as one; gone if it was asked again since."""
        if ask.resolved_at is not None and ask.kind not in JUDGED:
            state, text = self._told[ask.task_id].state, f"a person has settled it: {ask.resolution}"
            yield Event(at=ask.resolved_at, task_id=ask.task_id, state=state, text=text)

    def _silent(self, standing: Standing) -> Iterator[Event]:
        """A silence, once: until something is heard again, it is the same one."""
        task_id, at = standing.task_id, standing.view.at
        told = self._told.setdefault(task_id, _Told(state=standing.state))
        for each in standing.anomalies:
            if each.signal is Signal.SILENCE and each.entry_id not in told.silences:
                told.silences.add(each.entry_id)
                yield Event(at=at, task_id=task_id, state=told.state, text=say_anomaly(each))

    def _heard(self, at: str) -> Iterator[Event]:
        while self.heard:
            if text := self.heard.popleft():
                yield Event(at=at, task_id=CONDUCTOR, state=State.WORKING, text=text)
