"""A review's screen: what was submitted, its evidence and the change, file by file; a verdict is for what is seen."""

from collections.abc import Iterator
from functools import partial
from typing import ClassVar

from anyio.to_thread import run_sync
from textual.binding import Binding, BindingType

from musician import service
from musician.project import Project
from musician.protocol.errors import MusicianError
from musician.protocol.states import State
from musician.protocol.values import dataclass
from musician.reporting.comments import places_in, rounds_of, say_draft, say_round
from musician.reporting.evidence import Evidence, evidence_of
from musician.reporting.overview import Overview
from musician.reporting.standing import Standing
from musician.reporting.under_review import Change, change_of, submission_of
from musician.runtime.as_person import as_person
from musician.runtime.commenting import comment
from musician.service import TaskView
from musician.store.rows import MessageRow
from musician.top.difference import OfFile, OfLine, file_rows
from musician.top.messages import Messages
from musician.top.page import Folded, Page
from musician.top.rows import Part, Row, block, heading, nearest, row
from musician.trees.diffs import FileDiff

_VERDICTS = {
    State.REVIEW_APPROVED: "Approve",
    State.REVIEW_FAILED: "Send back",
    State.FIX_PROPOSED: "Propose a fix to",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the screen was made of."""

    standing: Standing
    submission: MessageRow | None
    change: Change | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OfDraft:
    number: int


class Review(Page):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "judge('review_approved')", "Approve"),
        Binding("r", "judge('review_failed')", "Send back"),
        Binding("f", "judge('fix_proposed')", "Fix"),
        Binding("v", "view", "Viewed"),
        Binding("c", "since", "Changes since"),
        Binding("w", "space", "White space"),
        Binding("u", "update", "Load newer", show=False),
        Binding("m", "messages", show=False),
    ]
    ORDERS: ClassVar[frozenset[str]] = frozenset({"judge"})

    def __init__(self, task_id: str, plan: str | None = None) -> None:
        super().__init__(plan)
        self._task_id = task_id
        self._seen: Seen | None = None
        self._is_since = self._is_space_ignored = False
        """Whether only what is new since your last review is shown, and without changes in white space."""
        self._files: dict[int, tuple[Row, ...]] = {}
        """The lines of the files that are open."""
        self._about: list[Row] = []
        """The evidence and what was said: what may change while the screen is open."""
        self._folded: tuple[Seen | None, Seen] | None = None
        """What was seen when the rows to come were made, and what will be seen by them."""

    def fold(self, _: Overview, project: Project) -> Folded:
        standing = Standing(service.task_view(project.store, self._task_id))
        submission = submission_of(project.store, standing)
        before = seen = self._seen
        if seen is None:
            change = change_of(project.root, standing.view, since_review=self._is_since)
            seen = Seen(standing=standing, submission=submission, change=change)
        title: tuple[Part, ...] = ((f"Review of {self._task_id}  ", "bold"), (standing.title, ""))
        if submission != seen.submission:
            title = ((f" {_newer(submission, standing)}: u loads it. ", "bold reverse"), ("  ", ""), *title)
        evidence = next(iter(evidence_of(project.root, seen.standing.view)), None)
        said = _said(project, standing.view, seen.change)
        self._folded = before, seen
        return title, [*_evidence(seen.standing, evidence), *said]

    def show(self, look: Overview, title: tuple[Part, ...], rows: list[Row]) -> None:
        """Only what is on the screen is judged; a look that has begun before ``u`` was pressed is no newer one."""
        if self._folded is None or self._folded[0] is not self._seen:
            return
        self._seen, self._about = self._folded[1], rows
        super().show(look, title, self._rows(self._seen))

    def _show_again(self) -> None:
        if self._seen is not None:
            self.rows.show(self._rows(self._seen))

    def _rows(self, seen: Seen) -> list[Row]:
        return [*_submitted(seen), *self._about, *self._changed(seen)]

    def _changed(self, seen: Seen) -> Iterator[Row]:
        change = seen.change
        if change is None:
            yield row("change", "It has no branch: nothing was begun, or it was played elsewhere.")
            return
        if change.gone:
            yield row("gone", change.gone)
        viewed = sum(map(self.top.viewed.has, change.files))
        told = ", ".join(
            filter(
                None,
                (
                    f"Files that differ: {len(change.files)}",
                    "since your last review" if self._is_since else "",
                    f"viewed: {viewed}" if viewed else "",
                    "without changes in white space" if self._is_space_ignored else "",
                ),
            )
        )
        yield heading("change", told)
        for file in change.files:
            is_open = file.number in self._files
            yield _file_row(file, is_open=is_open, is_viewed=self.top.viewed.has(file))
            yield from self._files.get(file.number, ())

    def open_row(self, opens: object) -> None:
        """A file is opened or closed, a line is said something to, a draft of that is dropped."""
        change = None if self._seen is None else self._seen.change
        match opens:
            case OfFile(file=file) if change is not None:
                self.run_worker(self._turn(change, file))
            case OfLine(file=file) as at if change is not None and self.takes_orders:
                self.top.order(f"To {at.path}:{at.line}", partial(self._comment, change, at))
            case OfDraft(number=number) if self.takes_orders:
                drop = partial(service.drop_comment, self.top.project.store, self._task_id, number)
                self.top.order(f"Drop draft {number}", lambda _: drop(), text=None)

    def _comment(self, change: Change, at: OfLine, text: str) -> None:
        comment(
            self.top.project.root,
            self.top.project.store,
            self._task_id,
            path=at.path,
            line=at.line,
            text=text,
            side="old" if at.side == "old" else "new",
            commit=change.old if at.side == "old" else change.new,
        )

    async def _turn(self, change: Change, file: FileDiff) -> None:
        if self._files.pop(file.number, None) is None:
            await self._open(change, file)
        self._show_again()

    async def _open(self, change: Change, file: FileDiff) -> None:
        is_space_ignored = self._is_space_ignored
        folder = self.top.project.root.path
        try:
            make = partial(file_rows, folder, change, file, is_space_ignored=is_space_ignored)
            lines = await run_sync(make, abandon_on_cancel=True)
        except MusicianError as error:
            self.top.tell(str(error))
            return
        is_same = self._seen is not None and self._seen.change is change
        if is_same and is_space_ignored is self._is_space_ignored:
            self._files[file.number] = lines

    def action_view(self) -> None:
        """Turn the mark of the file that the cursor is on, or in. One that is viewed is closed."""
        at = nearest(self.rows.here, OfFile)
        if at is not None:
            self.run_worker(self._mark(at.file))

    async def _mark(self, file: FileDiff) -> None:
        if await run_sync(self.top.viewed.turn, file):
            self._files.pop(file.number, None)
        self._show_again()

    def action_since(self) -> None:
        if self._seen is None or self._seen.standing.view.commit_seen_by_person is None:
            self.top.tell("No person has judged it before, so nothing is new since.")
            return
        self._is_since = not self._is_since
        self.action_update()

    def action_space(self) -> None:
        self._is_space_ignored = not self._is_space_ignored
        self.run_worker(self._open_again())

    async def _open_again(self) -> None:
        if self._seen is None or self._seen.change is None:
            return
        change, numbers = self._seen.change, set(self._files)
        self._files.clear()
        for file in change.files:
            if file.number in numbers:
                await self._open(change, file)
        self._show_again()

    def action_messages(self) -> None:
        self.app.push_screen(Messages(self._task_id, self.plan))

    def action_update(self) -> None:
        self._seen = None
        self._files.clear()
        self.top.look_now()

    def action_judge(self, name: str) -> None:
        seen, verdict = self._seen, State(name)
        if seen is None or seen.submission is None or verdict not in seen.standing.view.open_verdicts:
            self.top.tell("Nothing waits for this verdict.")
            return
        submission_id = seen.submission.id
        judge = partial(service.judge_as_person, as_person(self.top.project), self._task_id, verdict)
        self.top.order(
            f"{_VERDICTS[verdict]} {self._task_id}, message {submission_id}",
            lambda text: judge(text, submission_id=submission_id),
            text="Approved." if verdict is State.REVIEW_APPROVED else "",
            and_then=self._leave,
        )

    def _leave(self) -> None:
        """It is judged; whoever has gone elsewhere meanwhile stays there."""
        if self.app.screen is self:
            self.dismiss()


def _newer(submission: MessageRow | None, standing: Standing) -> str:
    if submission is None:
        return f"It waits no more, it is {standing.shown_state.replace('_', ' ')}"
    return f"There is a newer submission, message {submission.id}"


def _submitted(seen: Seen) -> Iterator[Row]:
    message = seen.submission
    if message is None:
        state = seen.standing.shown_state.replace("_", " ")
        yield row("submission", f"Nothing waits for a verdict: the task is {state}.")
        return
    yield heading("submission", f"{message.message_type} {message.id}, {message.timestamp} UTC")
    yield from block("submission", message.message, indent="  ")


def _evidence(standing: Standing, last: Evidence | None) -> Iterator[Row]:
    view = standing.view
    deviations, findings = service.open_rows(view.journal)
    if last is None:
        yield row("evidence", "Nothing has been verified yet.")
    else:
        what = "everything" if last.row.covers_all else f"checkpoint {last.row.checkpoint}"
        outcome = last.row.outcome.replace("_", " ")
        yield heading("evidence", f"Evidence: {outcome}, {what}, {last.row.at} UTC")
        if last.stale:
            yield row("stale", f"stale: {last.stale}", "$text-warning")
        for number, line in enumerate((*last.commands, *last.found)):
            yield row(f"evidence-{number}", f"  {line}", hang=4)
    for each in deviations:
        yield row(f"deviation-{each.id}", f"open deviation ({each.severity}): {each.text}", "$text-warning")
    for each in findings:
        yield row(f"finding-{each.id}", each.text, "$text-warning")


def _said(project: Project, view: TaskView, change: Change | None) -> Iterator[Row]:
    """Yield what was said to the work: the drafts that a verdict will send, and the last round with its answers."""
    comments = service.comments_of(project.store, view.row.task_id)
    rounds = rounds_of(project.store, view)[-1:]
    places = places_in(project.root, comments, change)
    for each in comments:
        if each.message_id is None:
            text = f"{say_draft(each, places)} (sent with r or f; Enter drops it)"
            yield row(f"draft-{each.id}", text, "bold", opens=OfDraft(number=each.id))
    for last in rounds:
        for number, line in enumerate(say_round(last, places)):
            yield from block(f"round-{last.message_id}-{number}", line)


def _file_row(file: FileDiff, *, is_open: bool, is_viewed: bool) -> Row:
    name = f"{file.old_path} → {file.path}" if file.status == "R" else file.path
    mark = "▾" if is_open else "▸"
    size = (
        [("  binary", "dim")]
        if file.added is None
        else [(f"  +{file.added}", "$text-success"), (f" -{file.removed}", "$text-error")]
    )
    return Row(
        key=f"file-{file.number}",
        parts=(
            (f"{mark} {file.status} {name}", "dim" if is_viewed else "bold"),
            *size,
            ("  viewed" if is_viewed else "", "dim"),
        ),
        opens=OfFile(file=file),
        begins=True,
    )
