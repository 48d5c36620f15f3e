"""Derives the present state of a task from one view of its rows.

Theory. The conductor's engine, the live table, ``status`` and the lines of a run ask the same questions of a task's
rows: what is done, what is being played, is it paused, is anything out of the ordinary. This is the one place that
answers them. The expensive answers are computed on first use and kept for all readers of the same view.
"""

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from musician import service
from musician.processes.output import one_line
from musician.protocol.conductor.anomalies import Anomaly, Noted, anomalies, in_journal
from musician.protocol.journal import AWAITS_ANSWER, Entry, EntryKind, Progress, open_items
from musician.protocol.names import CONDUCTOR
from musician.protocol.states import TERMINAL, State
from musician.service import TaskView
from musician.store.rows import HumanRow, SessionRow

if TYPE_CHECKING:
    from musician.protocol.musician.program import Program  # slow to import, and `status` needs no program

_MOST_QUESTION_CHARS = 500
_ANSWERED = frozenset({EntryKind.APPROVED, EntryKind.SENT_BACK, EntryKind.CONTEXT})


class Standing:
    """One task at one moment.

    ``program`` is None if no plan is loaded, or if the plan has no such task (any more). No progress is shown then.
    """

    def __init__(self, view: TaskView, program: "Program | None" = None) -> None:
        self.view, self.program = view, program
        self.task_id, self.state = view.row.task_id, view.row.state
        self.title, self.phase = view.row.title or "", view.row.phase

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(map(service.as_entry, self.view.journal))

    @cached_property
    def progress(self) -> Progress:
        return Progress().after(self.entries)

    @cached_property
    def anomalies(self) -> tuple[Anomaly, ...]:
        """The anomalies that hold at this moment."""
        row = self.view.row
        is_played = row.state is State.WORKING and row.session_id is not None
        return anomalies(self._noted, epoch=row.claim_epoch, is_played=is_played, quiet_s=self.view.quiet_s)

    @cached_property
    def anomalies_shown(self) -> tuple[Anomaly, ...]:
        """All anomalies that the journal has shown so far."""
        return tuple(in_journal(self._noted))

    @property
    def is_withdrawn(self) -> bool:
        return self.view.row.is_withdrawn

    @property
    def shown_state(self) -> str:
        """Its state as people are told it."""
        return self.view.row.shown_state

    @property
    def is_over(self) -> bool:
        """Whether the plan waits for the task no more."""
        return self.view.row.is_over

    @property
    def asks(self) -> tuple[HumanRow, ...]:
        """The questions for a person that are not settled."""
        return self.view.open_asks

    @property
    def waiting(self) -> tuple[HumanRow, ...]:
        """The open questions, with the musician's own if no conductor has passed it on to a person (D21)."""
        question = None if self.state in TERMINAL else self.view.question
        if question is None or any(ask.kind == "question" for ask in self.asks):
            return self.asks
        from musician.protocol.musician.writing import question_asked  # slow to import, and seldom needed

        text = one_line(question_asked(question.message), _MOST_QUESTION_CHARS)
        return (*self.asks, self.asked("question", question.id, text, at=question.timestamp))

    def asked(self, kind: str, subject_id: int, text: str, *, at: str) -> HumanRow:
        """Return a question for a person that follows from how the task stands, and is in no row."""
        return HumanRow(
            id=0,
            task_id=self.task_id,
            kind=kind,
            subject_id=subject_id,
            text=text,
            at=at,
            resolved_at=None,
            resolution=None,
        )

    @property
    def owner(self) -> SessionRow | None:
        """The session that owns the task; None if there is none."""
        return self.view.sessions[-1] if self.view.sessions and self.view.row.session_id is not None else None

    @property
    def who(self) -> str | None:
        return None if self.owner is None else self.view.row.worked_by

    @property
    def context_pct(self) -> float | None:
        """How full the owner's context is; None if that is not known."""
        return None if self.owner is None else self.owner.context_pct

    @property
    def total(self) -> int:
        return 0 if self.program is None else len(self.program.items)

    @property
    def done(self) -> int:
        """How many of the ``total`` items are finished."""
        if self.program is None or self.state is State.COMPLETE:
            return self.total
        return sum(1 for item in self.program.items if self.progress.is_done(item.item))

    @property
    def item(self) -> str:
        """The present or next item, as ``step 2 of 3``; "" before the first session and after the end."""
        if self.program is None or not self.view.sessions or self.state is State.COMPLETE:
            return ""
        return self.program.next_named(self.progress)

    @property
    def plays_on(self) -> bool:
        """Whether the session has asked a question and is still working, not yet waiting for the answer."""
        for row in reversed(self.view.journal):
            if row.kind == EntryKind.QUESTION:
                return True
            if row.kind == EntryKind.CLAIMED or (row.kind == EntryKind.NOTE and row.text == AWAITS_ANSWER):
                return False
        return False

    @property
    def with_person_since(self) -> str:
        """Since when a person speaks with the agent, "" if none does."""
        for row in reversed(self.view.journal):
            if row.claim_epoch != self.view.row.claim_epoch or row.kind == EntryKind.GIVEN_BACK:
                return ""
            if row.kind == EntryKind.WITH_PERSON:
                return row.at if self.state not in TERMINAL else ""
        return ""

    @property
    def is_paused(self) -> bool:
        """Whether the task is paused with its phase.

        A driven session says so in the journal. A session by hand counts as paused when it was told to and rests.
        """
        last = self.view.journal[-1] if self.view.journal else None
        said_so = last is not None and last.kind == EntryKind.PAUSED
        is_its_own = last is not None and last.claim_epoch == self.view.row.claim_epoch
        return (said_so and is_its_own) or (bool(self.view.pause) and self._rests_by_hand)

    @property
    def _rests_by_hand(self) -> bool:
        """Whether a session by hand has nothing under way.

        While it is told to pause, it cannot begin anything. After a rejection or a red verification it may be mending
        without an entry in the journal, so it does not count as resting.
        """
        epoch = self.view.row.claim_epoch
        if any(row.role == "musician" and row.claim_epoch == epoch for row in self.view.processes):
            return False
        from musician.protocol.musician.since import Since  # the engine's, and seldom needed to look on

        own = [each.entry for each in self._noted if each.epoch == epoch]
        is_mending = self.state in (State.REVIEW_FAILED, State.FIX_PROPOSED) or Since().after(own).is_red
        return not is_mending and not open_items(own)

    @property
    def has_corrected_itself(self) -> bool:
        """Whether the latest session has corrected itself, and no verdict or context answer has come since."""
        corrected = False
        for row in self.view.journal:
            if row.kind == EntryKind.SELF_CORRECTION:
                corrected = row.claim_epoch == self.view.row.claim_epoch
            elif row.kind in _ANSWERED:
                corrected = False
        return corrected

    @property
    def _noted(self) -> list[Noted]:
        rows = zip(self.view.journal, self.entries, strict=True)
        return [Noted(id=row.id, epoch=row.claim_epoch, entry=entry) for row, entry in rows]


def names_of(view: TaskView) -> dict[str, str]:
    """Return the names of those who write to a task, by what stands in the rows."""
    return {CONDUCTOR: "conductor", **{each.session_id: each.name for each in view.sessions}}


def standings_of(views: Iterable[TaskView], programs: "Mapping[str, Program]") -> tuple[Standing, ...]:
    """Return the standings of one snapshot, each with the program that the plan has for it."""
    return tuple(Standing(view, programs.get(view.row.task_id)) for view in views)
