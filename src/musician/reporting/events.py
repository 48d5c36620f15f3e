"""Turns the changes since the last snapshot into events that tell a story, each once and in order.

Theory. Every snapshot carries the ``seq`` it was taken at, so the news are the changes between two snapshots, in the
order of ``seq``. Skipping snapshots loses nothing: the next one reports the same changes. When a state change repeats
what a journal entry has said just before it, this is shown once, and so is a conflict ahead, of which both sides were
told. Two things have no row of their own and are reported as of the snapshot: a session that has gone silent, and notes
of the run itself. Times are the database's, UTC (D10).
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import assert_never

from musician import service
from musician.processes.output import headline
from musician.protocol.conductor.anomalies import Signal
from musician.protocol.messages.kinds import MessageType
from musician.protocol.names import CONDUCTOR
from musician.protocol.states import State
from musician.protocol.values import dataclass
from musician.reporting.ahead import Met, met_ahead, say_ahead, say_settled
from musician.reporting.asks import JUDGED, next_command
from musician.reporting.standing import Standing
from musician.reporting.timeline import Deciders
from musician.reporting.wording import say_anomaly, say_change, say_noted
from musician.service import PlanChange, Source
from musician.store.port import Store
from musician.store.rows import DecidedRow, HistoryRow, HumanRow, JournalRow, MessageRow, UsageRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """``state`` is the task's state at that moment. ``text`` is one sentence of any length, without its subject."""

    at: str
    task_id: str
    state: State
    text: str
    needs_person: bool = False


@dataclass(slots=True)
class _Reported:
    """What was reported of a task so far.

    ``noted`` holds the newest entry of each kind since the task's last submission or error report.
    """

    state: State = State.WATCHING
    noted: dict[str, JournalRow] = field(default_factory=dict)
    silences: set[int] = field(default_factory=set)
    urgent: str | None = None
    """The last urgent message; an urgent request to exit has the same text."""


@dataclass(slots=True)
class Reporter:
    """Reports the news of one plan and remembers how far it has come."""

    plan_id: str
    store: Store
    by_hand: bool = False
    """People start the sessions themselves, so no successor starts by itself."""
    heard: deque[str] = field(default_factory=deque)
    """Notes of the run that belong to no task. They are reported with the next news; empty ones are dropped."""
    _seq: int | None = None
    _foreseen: tuple[Met, ...] = ()
    """The conflicts ahead that were reported, and who waits because of one."""
    _is_foretold: bool = True
    """Something was foretold since they were."""
    _reported: dict[str, _Reported] = field(default_factory=dict)

    def news(self, standings: Sequence[Standing]) -> tuple[Event, ...]:
        """Return what happened since the last call, oldest first. The standings must be of one snapshot.

        The first call reports the present state of each task instead.
        """
        if not standings:
            return ()
        now = standings[0].view
        seq, self._seq = self._seq, now.seq
        news = tuple(self._present(standings) if seq is None else self._changed(seq, now.seq, standings))
        ahead = self._ahead(standings)
        silences = (event for standing in standings for event in self._silent(standing))
        return (*news, *ahead, *silences, *self._heard(now.at))

    def _present(self, standings: Sequence[Standing]) -> Iterator[Event]:
        """Yield one event for each task, however long its history is, and one for each open question."""
        views = [each.view for each in standings]
        for view in sorted(views, key=lambda view: view.history[-1].id if view.history else 0):
            row = view.row
            self._reported[row.task_id] = _Reported(state=row.state)
            at = view.history[-1].at if view.history else row.created_at
            last = row.worked_by or "nobody"
            text = f"open: {row.title}" if row.state is State.WATCHING else f"found so; last played by {last}"
            if row.is_over and row.state is State.EXITED:
                text = f"{row.shown_state}; last played by {last}"
            yield Event(at=at, task_id=row.task_id, state=row.state, text=text)
        asks = (ask for each in standings for ask in each.asks)
        yield from map(self._asked, sorted(asks, key=lambda ask: ask.id))

    def _changed(self, seq: int, until: int, standings: Sequence[Standing]) -> Iterator[Event]:
        if until <= seq:
            return
        by_id = {each.task_id: each for each in standings}
        deciders = Deciders.between(self.store, seq, until)
        for change in service.every_change(self.store, seq, until=until):
            if standing := by_id.get(change.task_id):
                yield from self._events(change, standing, by=deciders.of(change))

    def _events(self, change: PlanChange, standing: Standing, *, by: str) -> Iterator[Event]:
        reported = self._reported.setdefault(change.task_id, _Reported())
        match change.row:
            case HistoryRow() as row:
                reported.state = row.to_state
                said = "at once" if change.said == reported.urgent else change.said
                texts = [say_change(row, standing.view, said, reported.noted, by=by, by_hand=self.by_hand)]
                if row.to_state in (State.NEEDS_REVIEW, State.ERROR):
                    reported.noted.clear()
            case JournalRow() as row:
                before, reported.noted[row.kind] = reported.noted.get(row.kind), row
                texts = say_noted(
                    row,
                    [each for each in standing.anomalies_shown if each.entry_id == row.id],
                    is_again=before is not None and before.item == row.item,
                )
            case HumanRow() as ask:
                yield from [self._asked(ask)] if change.source is Source.ASKED else self._settled(ask, by=by)
                return
            case MessageRow(message_type=MessageType.EMERGENCY) as row:
                reported.urgent = row.message
                yield Event(
                    at=row.timestamp,
                    task_id=change.task_id,
                    state=reported.state,
                    text=f"told urgently: {row.message}",
                )
                return
            case MessageRow(message_type=MessageType.FORECAST):
                self._is_foretold = True
                return
            case (
                MessageRow() | UsageRow() | DecidedRow()
            ):  # others are reported with the state change they were written with
                return
            case _:
                assert_never(change.row)
        for text in filter(None, texts):
            yield Event(at=row.at, task_id=row.task_id, state=reported.state, text=text)

    def _asked(self, ask: HumanRow) -> Event:
        return Event(
            at=ask.at,
            task_id=ask.task_id,
            state=self._reported[ask.task_id].state,
            text=f"needs a person ({ask.kind}): {headline(ask.text)};"
            f" next: {next_command(ask, plan_id=self.plan_id)}",
            needs_person=True,
        )

    def _settled(self, ask: HumanRow, *, by: str) -> Iterator[Event]:
        """Yield an answer and whose it is; a verdict its state change says. A question asked again is open again."""
        if ask.resolved_at is not None and ask.kind not in JUDGED:
            state = self._reported[ask.task_id].state
            text = f"{f'{by} has settled it' if by else 'it is settled'}: {ask.resolution}"
            yield Event(at=ask.resolved_at, task_id=ask.task_id, state=state, text=text)

    def _silent(self, standing: Standing) -> Iterator[Event]:
        """Yield a session's silence once: until its next entry it is the same silence."""
        task_id, at = standing.task_id, standing.view.at
        reported = self._reported.setdefault(task_id, _Reported(state=standing.state))
        for anomaly in standing.anomalies:
            if anomaly.signal is Signal.SILENCE and anomaly.entry_id not in reported.silences:
                reported.silences.add(anomaly.entry_id)
                yield Event(at=at, task_id=task_id, state=reported.state, text=say_anomaly(anomaly))

    def _ahead(self, standings: Sequence[Standing]) -> Iterator[Event]:
        """Yield what is foretold and was not before, and what was and is not any more."""
        if not self._is_foretold:
            return
        self._is_foretold = False
        now, before = met_ahead(service.foreseen(self.store, self.plan_id)), self._foreseen
        self._foreseen = now
        by_id = {each.task_id: each for each in standings}
        told = [(each, say_ahead(each)) for each in now if each not in before]
        still = {each.names for each in now}
        over = {each.task_id for each in standings if each.is_over}  # that one is merged is news of its own
        gone = (each for each in before if each.names not in still and not {each.task_id, each.other} & over)
        told += [(each, say_settled(each)) for each in gone]
        for each, text in told:
            if standing := by_id.get(each.task_id):
                at, state = standing.view.at, standing.state
                yield Event(at=at, task_id=each.task_id, state=state, text=text)

    def _heard(self, at: str) -> Iterator[Event]:
        while self.heard:
            if text := self.heard.popleft():
                yield Event(at=at, task_id=CONDUCTOR, state=State.WORKING, text=text)
