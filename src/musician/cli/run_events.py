"""What happened since the last look, as events that tell a story: each once, in order, nothing left out.

Theory. A look gives every task whole, so the news are the rows whose ids are greater than those seen before:
however many looks are skipped, the next one tells the same. Two kinds of rows speak of a task, its history (states)
and its journal (work), each in the order of its ids; both are stamped in whole seconds, so within a second what
belongs together is found by what one transaction writes: a claim opens its epoch, a submission follows the entry
``submitted``, and so on. What both say is told once, by the history, which knows every writer. Stamps are the
database's, UTC (D10).
"""

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from musician import service
from musician.cli.asks import JUDGED, next_command
from musician.cli.run_wording import say_anomaly, say_change, say_noted
from musician.processes.output import headline
from musician.protocol.conductor.anomalies import Signal
from musician.protocol.journal import Kind
from musician.protocol.names import CONDUCTOR
from musician.protocol.states import State
from musician.protocol.values import dataclass
from musician.service import TaskView
from musician.store.rows import HistoryRow, JournalRow

Texts = Callable[[str], Mapping[int, str]]
"""A task's messages by id."""

_WRITTEN_WITH = {
    State.NEEDS_REVIEW: frozenset({Kind.SUBMITTED}),
    State.ERROR: frozenset({Kind.ERROR, Kind.CONTEXT}),
    State.EXITED: frozenset({Kind.HANDOFF}),
}
"""The journal's last entry in the transaction of a change to this state."""

_ON_RESUMING = frozenset({Kind.APPROVED, Kind.SENT_BACK, Kind.NOTE})
"""Written with the change from a verdict back to working."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """``state`` is the task's at that moment; ``text`` one sentence without its subject, of any length."""

    at: str
    task_id: str
    state: State
    text: str
    needs_person: bool = False


@dataclass(slots=True)
class _Seen:
    history: int = 0
    journal: int = 0
    asks: int = 0
    settled: set[int] = field(default_factory=set)
    silences: set[int] = field(default_factory=set)


@dataclass(slots=True)
class Reporter:
    """Remembers what it has told. ``texts`` is asked only for what the views do not carry."""

    plan_id: str
    texts: Texts
    by_hand: bool = False
    """The musicians are sessions that people start: nobody takes over by himself."""
    heard: deque[str] = field(default_factory=deque)
    """What concerns no task, and is told with the next news; "" is nothing."""
    _seen: dict[str, _Seen] = field(default_factory=dict)

    def news(self, views: Iterable[TaskView]) -> tuple[Event, ...]:
        """What happened since the last call, oldest first. The first call tells where each task stands instead."""
        views = tuple(views)
        stories = [self._first(view) if self._is_new(view) else [*self._told(view)] for view in views]
        stories.append([*self._heard(views[0].at)] if views else [])
        return tuple(heapq.merge(*stories, key=lambda event: event.at))

    def _heard(self, at: str) -> Iterator[Event]:
        while self.heard:
            if text := self.heard.popleft():
                yield Event(at=at, task_id=CONDUCTOR, state=State.WORKING, text=text)

    def _is_new(self, view: TaskView) -> bool:
        return view.row.task_id not in self._seen

    def _first(self, view: TaskView) -> list[Event]:
        """A task that was never looked at: one line, however long its life was, and what waits for a person."""
        row = view.row
        self._seen[row.task_id] = _Seen(
            history=max((change.id for change in view.history), default=0),
            journal=max((entry.id for entry in view.journal), default=0),
            settled={ask.id for ask in view.asks if ask.resolved_at is not None},
        )
        at = view.history[-1].at if view.history else row.created_at
        last = row.worked_by or "nobody"
        text = f"open: {row.title}" if row.state is State.WATCHING else f"found so; last played by {last}"
        return [Event(at=at, task_id=row.task_id, state=row.state, text=text), *self._asked(view)]

    def _told(self, view: TaskView) -> Iterator[Event]:
        seen = self._seen[view.row.task_id]
        changes = [change for change in view.history if change.id > seen.history]
        entries = [entry for entry in view.journal if entry.id > seen.journal]
        before = [change for change in view.history if change.id <= seen.history]
        seen.history = max((change.id for change in changes), default=seen.history)
        seen.journal = max((entry.id for entry in entries), default=seen.journal)
        work = self._worded(view, _in_order(before[-1:], changes, entries))
        others = (self._asked(view), self._settled(view), self._silent(view))
        yield from heapq.merge(work, *others, key=lambda event: event.at)

    def _worded(
        self, view: TaskView, rows: Iterable[tuple[HistoryRow | JournalRow, State]]
    ) -> Iterator[Event]:
        texts = _Once(self.texts, view.row.task_id)
        anomalies = service.anomalies_in(view)
        for row, state in rows:
            if isinstance(row, HistoryRow):
                said = [say_change(row, view, texts.get, by_hand=self.by_hand)]
            else:
                said = say_noted(row, view, [each for each in anomalies if each.entry_id == row.id])
            for text in filter(None, said):
                yield Event(at=row.at, task_id=row.task_id, state=state, text=text)

    def _silent(self, view: TaskView) -> Iterator[Event]:
        """A silence, once: until something is heard again, it is the same one."""
        seen = self._seen[view.row.task_id]
        for each in service.anomalies_now(view):
            if each.signal is Signal.SILENCE and each.entry_id not in seen.silences:
                seen.silences.add(each.entry_id)
                text = say_anomaly(each)
                yield Event(at=view.at, task_id=view.row.task_id, state=view.row.state, text=text)

    def _asked(self, view: TaskView) -> list[Event]:
        seen = self._seen[view.row.task_id]
        new = [ask for ask in view.asks if ask.id > seen.asks]
        seen.asks = max((ask.id for ask in new), default=seen.asks)
        return [
            Event(
                at=ask.at,
                task_id=ask.task_id,
                state=view.row.state,
                text=f"needs a person ({ask.kind}): {headline(ask.text)};"
                f" next: {next_command(ask, plan_id=self.plan_id)}",
                needs_person=True,
            )
            for ask in new
            if ask.resolved_at is None
        ]

    def _settled(self, view: TaskView) -> Iterator[Event]:
        """A person's answer that is no verdict; a verdict is told as one."""
        seen = self._seen[view.row.task_id]
        for ask in view.asks:
            if ask.resolved_at is None or ask.id in seen.settled:
                continue
            seen.settled.add(ask.id)
            if ask.kind not in JUDGED:
                text = f"a person has settled it: {ask.resolution}"
                yield Event(at=ask.resolved_at, task_id=ask.task_id, state=view.row.state, text=text)


@dataclass(slots=True)
class _Once:
    """A task's messages, read when the first of them is needed."""

    read: Texts
    task_id: str
    _found: Mapping[int, str] | None = None

    def get(self, message_id: int | None) -> str:
        if self._found is None:
            self._found = self.read(self.task_id)
        return self._found.get(message_id or 0, "")


def _in_order(
    before: Sequence[HistoryRow], changes: Sequence[HistoryRow], entries: Sequence[JournalRow]
) -> Iterator[tuple[HistoryRow | JournalRow, State]]:
    """Both sequences as one, each row with the state the task then had."""
    state = before[-1].to_state if before else State.WATCHING
    epoch = before[-1].claim_epoch if before else 0
    last: JournalRow | None = None
    work = iter(entries)
    entry = next(work, None)
    for change in changes:
        while entry is not None and _comes_first(entry, change, epoch, last):
            yield entry, state
            last, entry = entry, next(work, None)
        state, epoch, last = change.to_state, change.claim_epoch, None
        yield change, state
    while entry is not None:
        yield entry, state
        entry = next(work, None)


def _comes_first(entry: JournalRow, change: HistoryRow, epoch: int, last: JournalRow | None) -> bool:
    """Whether ``entry`` was written before ``change``; ``epoch`` is the last change's, ``last`` the entry before."""
    if entry.claim_epoch != change.claim_epoch:
        return entry.claim_epoch < change.claim_epoch
    if epoch != change.claim_epoch:
        return False  # the claim opens its epoch
    if entry.at != change.at:
        return entry.at < change.at
    if change.from_state is State.WORKING:
        anchor = _WRITTEN_WITH.get(change.to_state, frozenset())
        return change.to_state is not State.EXIT_REQUESTED and (last is None or last.kind not in anchor)
    if change.to_state is State.WORKING:
        return entry.kind in _ON_RESUMING
    if change.to_state in (State.EXITED, State.ERROR):
        return last is None or last.kind not in _WRITTEN_WITH[change.to_state]
    return change.to_state is State.COMPLETE or change.from_state is State.EXITED
