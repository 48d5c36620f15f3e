"""Tells what happened in a run to somebody who has never seen one.

Everything is read from the tasks' views: their history's order, their sessions and journals. Nothing is told that the
database does not say, so a run in which nothing went wrong has little to tell.
"""

from collections.abc import Iterable, Iterator, Mapping

from musician import service
from musician.protocol.journal import PLAYED, EntryKind, open_items
from musician.protocol.resumption.handoff import DIED
from musician.protocol.states import State
from musician.protocol.values import dataclass
from musician.reporting.tally import tally_of
from musician.service import TaskView
from musician.store.rows import JournalRow, SessionRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """One thing worth telling; ``title`` is a word or two."""

    title: str
    text: str


def retell(
    views: Iterable[TaskView], urgent: Mapping[str, tuple[str, ...]] | None = None
) -> tuple[Episode, ...]:
    """Return the episodes of a run: those of all together, then each task's in the plan's order, then the
    end.

    ``urgent`` holds the urgent messages to each task.
    """
    views = tuple(views)
    said = urgent or {}
    return (
        *_side_by_side(views),
        *(episode for view in views for episode in _of_task(view, said.get(view.row.task_id, ()))),
        *_end(views),
    )


def _side_by_side(views: tuple[TaskView, ...]) -> Iterator[Episode]:
    """Tell of the largest set of tasks that had a living session at one moment."""
    spans = [
        (view.row.task_id, *_span(view, session.claim_epoch)) for view in views for session in view.sessions
    ]
    moments = [[task for task, first, last in spans if first <= moment < last] for _, moment, _ in spans]
    together = max(moments, key=len, default=[])
    if len(together) > 1:
        yield Episode(
            title="side by side",
            text=f"{_listed(together)} were played at the same time, each by a musician of its own"
            " (a process) in a working tree of its own.",
        )


def _span(view: TaskView, epoch: int) -> tuple[int, int]:
    """Return a session's first and last moment as history ids, which are in commit order."""
    own = [row.id for row in view.history if row.claim_epoch == epoch]
    later = [row.id for row in view.history if row.claim_epoch > epoch]
    return min(own, default=0), min(later, default=max(own, default=0))


def _of_task(view: TaskView, urgent: tuple[str, ...]) -> Iterator[Episode]:
    for text in urgent:
        yield _interrupted(view, text)
    for session, following in zip(view.sessions, (*view.sessions[1:], None), strict=False):
        journal = [row for row in view.journal if row.claim_epoch == session.claim_epoch]
        yield from _limited(session, journal)
        yield from _sent_back(view, session)
        if following is not None:
            tell = _killed if session.exit_reason == DIED else _handed_off
            yield tell(session, journal, following.name)


def _interrupted(view: TaskView, text: str) -> Episode:
    """Tell where the urgent message arrived. An item begun twice in one session, with no failure or wait in
    between, was stopped.
    """
    begun: set[tuple[int, str]] = set()
    where = "and was read before the next step"
    for row in view.journal:
        item = (row.claim_epoch, row.item)
        if row.kind != EntryKind.STARTED:
            begun.discard(item)
        elif item in begun:
            where = f"in the middle of {row.item} ({row.text}); what ran was ended, and the step begun anew with it"
        else:
            begun.add(item)
    return Episode(title="called", text=f"An urgent message, “{text}”, came to {view.row.task_id} {where}.")


def _limited(session: SessionRow, journal: list[JournalRow]) -> Iterator[Episode]:
    limits = [row for row in journal if row.kind == EntryKind.LIMITED]
    if not limits:
        return
    went_on = any(row.id > limits[-1].id and row.kind in PLAYED for row in journal)
    yield Episode(
        title="parked",
        text=f"{session.name}'s provider gave nothing in {limits[-1].item}: “{limits[-1].text}”."
        " The session was parked, which is no failure of its work"
        + (", and went on by itself when the limit was over." if went_on else "."),
    )


def _killed(session: SessionRow, journal: list[JournalRow], successor: str) -> Episode:
    begun = open_items(map(service.as_entry, journal))
    where = f" in the middle of {begun[-1].item} ({begun[-1].text})" if begun else ""
    return Episode(
        title="killed",
        text=f"{session.name} died{where}. What it left half done was kept aside, its tree brought back to"
        f" the last finished step, and {successor} went on from there, at once: no step was lost, none played"
        " twice into the same tree.",
    )


def _handed_off(session: SessionRow, journal: list[JournalRow], successor: str) -> Episode:
    last = next((row.item for row in reversed(journal) if row.kind in PLAYED), "")
    used = "" if session.context_pct is None else f" with {session.context_pct:.0f} % of its context used"
    return Episode(
        title="handed off",
        text=f"{session.name} stopped{f' after {last}' if last else ''}{used} and left a HANDOFF;"
        f" {successor} read it and went on.",
    )


def _sent_back(view: TaskView, session: SessionRow) -> Iterator[Episode]:
    for round_number, submission in enumerate(view.submissions, start=1):
        if submission.claim_epoch != session.claim_epoch or submission.verdict is not State.REVIEW_FAILED:
            continue
        why = " ".join((submission.verdict_text or "no reason given").split())
        later = view.submissions[round_number:]
        approved = any(each.verdict is State.REVIEW_APPROVED for each in later)
        yield Episode(
            title="sent back",
            text=f"{view.row.task_id}'s tests were green, yet the review sent the work back: “{why}”."
            + (" It was reworked, verified again and approved." if approved else ""),
        )


def _end(views: tuple[TaskView, ...]) -> Iterator[Episode]:
    verified = sum(len(view.verifications) for view in views)
    yield Episode(
        title="finished",
        text=f"{tally_of(view.row for view in views).said}. The program itself ran their tests {verified} times at"
        " checkpoints, and again on every merge, before it approved anything; no musician's word was taken for it.",
    )


def _listed(names: list[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}"
