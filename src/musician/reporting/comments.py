"""What is said to a task's work: drafts, and what it was sent back with, round by round, each point with its answer.

A verdict's points are in its text; which of them are comments on lines, the database says. An answer is an entry of
the journal. So the same is told whoever wrote the points, and wherever it is looked at.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from musician import service
from musician.protocol.journal import EntryKind
from musician.protocol.messages.corrections import corrections_in
from musician.protocol.messages.feedback import numbered_answer, points_of
from musician.protocol.states import State
from musician.protocol.values import dataclass
from musician.reporting.timeline import signers_of
from musician.reporting.under_review import Change
from musician.service import Source, TaskView
from musician.store.port import Store
from musician.store.rows import CommentRow, JournalRow
from musician.trees.moved_lines import MovedLines, Place
from musician.trees.root import Root

Places = Mapping[int, Place | None]
"""Where the lines of comments are now, by the comments' ids; None where the file is gone."""

Said = Mapping[int, list[tuple[CommentRow, str]]]
"""Comments with their answers, by the number of the line that they stand beside."""

_SENT_BACK = (State.REVIEW_FAILED, State.FIX_PROPOSED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """``answer`` is "" until the musician gives one; ``comment`` is None for a point that is about no line."""

    number: int
    text: str
    answer: str
    comment: CommentRow | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One verdict that has sent the task back. ``corrections`` are its steps, in their order, with what was noted."""

    message_id: int
    verdict: State
    at: str
    points: tuple[Point, ...]
    corrections: tuple[Point, ...]
    by: str = ""
    """The person, or the session that spoke for him; "" where the program decided."""


def rounds_of(store: Store, view: TaskView) -> tuple[Round, ...]:
    """Return what the task's submissions were sent back with, oldest first."""
    comments = {(each.message_id, each.number): each for each in service.comments_of(store, view.row.task_id)}
    signers = signers_of(store, view.row.task_id, Source.STATE, most=len(view.history))
    noted = {entry.item: entry.text for entry in view.journal if entry.kind == EntryKind.COMPLETED}
    sent_back = _answered(view.journal)
    rounds: list[Round] = []
    for change in view.history:
        if change.from_state is not State.NEEDS_REVIEW or change.to_state not in _SENT_BACK:
            continue
        message = None if change.message_id is None else service.message_row(store, change.message_id)
        if message is None:
            continue
        text = message.message
        heard = next((index for index, each in enumerate(sent_back) if each[0] == text), None)
        answers = {} if heard is None else sent_back.pop(heard)[1]
        points = tuple(
            Point(
                number=number,
                text=point,
                answer=answers.get(number, ""),
                comment=comments.get((message.id, number)),
            )
            for number, point in enumerate(points_of(text), start=1)
        )
        corrections = tuple(
            Point(number=number, text=step.text, answer=noted.get(step.item, ""))
            for number, step in enumerate(corrections_in(text, message.id), start=1)
        )
        rounds.append(
            Round(
                message_id=message.id,
                verdict=change.to_state,
                at=message.timestamp,
                points=points,
                corrections=corrections,
                by=signers.get(change.id, ""),
            )
        )
    return tuple(rounds)


def places_of(folder: Path, comments: Iterable[CommentRow], *, old: str, new: str) -> Places:
    """Return where each comment's line is in the change between two commits, on its own side."""
    moved: dict[tuple[str, str], MovedLines] = {}
    places: dict[int, Place | None] = {}
    for each in comments:
        way = (each.commit_id, old if each.side == "old" else new)
        if way not in moved:
            moved[way] = MovedLines(folder, *way)
        places[each.id] = moved[way].place(each.path, each.line)
    return places


def places_in(root: Root | None, comments: Iterable[CommentRow], change: Change | None) -> Places:
    """As :func:`places_of`; nothing is known where there is no change to look at, or it is gone."""
    if root is None or change is None or change.gone:
        return {}
    return places_of(root.path, comments, old=change.old, new=change.new)


def said_beside(
    comments: Iterable[CommentRow], rounds: Iterable[Round], places: Places, *, path: str, side: str
) -> Said:
    """Return the drafts, and the comments of the last round with their answers, by their lines in a file now."""
    last = next((each for each in reversed(tuple(rounds)) if each.points), None)
    answers = {} if last is None else {each.comment.id: each.answer for each in last.points if each.comment}
    found: defaultdict[int, list[tuple[CommentRow, str]]] = defaultdict(list)
    for each in comments:
        now = places.get(each.id)
        is_shown = each.message_id is None or each.id in answers
        if is_shown and now is not None and (now.path, each.side) == (path, side):
            found[now.line].append((each, answers.get(each.id, "")))
    return found


def say_draft(draft: CommentRow, places: Places) -> str:
    return f"draft {draft.id}: {draft.remark.point}{since(draft, places)}"


def say_round(each: Round, places: Places) -> Iterator[str]:
    """Yield the points, each with where its line is now and with its answer."""
    by = f", {each.by}" if each.by else ""
    yield f"sent back by message {each.message_id} ({each.verdict}, {each.at}{by}):"
    for point in (*each.points, *each.corrections):
        where = "" if point.comment is None else since(point.comment, places)
        yield f"{point.number}. {point.text}{where}"
        yield f"   answered: {point.answer}" if point.answer else "   not answered"


def since(comment: CommentRow, places: Places) -> str:
    """Say what became of a comment's line; "" if it is where it was."""
    now = places.get(comment.id, Place(path=comment.path, line=comment.line))
    if now is None:
        return " (the file is gone)"
    if now.is_changed:
        return f" (changed since: {now.path}:{now.line})"
    return "" if (now.path, now.line) == (comment.path, comment.line) else f" (now {now.path}:{now.line})"


def _answered(journal: Iterable[JournalRow]) -> list[tuple[str, dict[int, str]]]:
    """Return each rejection that a session has heard, with its answers by number, in the order in which they came."""
    found: list[tuple[str, dict[int, str]]] = []
    for entry in journal:
        if entry.kind == EntryKind.SENT_BACK:
            found.append((entry.text, {}))
        elif entry.kind == EntryKind.ANSWER and found:
            found[-1][1].update(numbered_answer(entry.text))
    return found
