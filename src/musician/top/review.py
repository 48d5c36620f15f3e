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
from musician.reporting.comments import Places, places_of, rounds_of, say_draft, say_round
from musician.reporting.diff_view import file_view
from musician.reporting.evidence import Evidence, evidence_of
from musician.reporting.overview import Overview
from musician.reporting.standing import Standing
from musician.reporting.under_review import Change, change_of, submission_of
from musician.runtime.commenting import comment
from musician.service import TaskView
from musician.store.rows import MessageRow
from musician.top.page import Folded, Page
from musician.top.rows import Part, Row, block, row
from musician.trees.diffs import FileDiff, patch_of, text_of_blob

_SIGNS = {"+": "$text-success", "-": "$text-error", " ": ""}
_DEFAULTS = {State.REVIEW_APPROVED: "Approved.", State.REVIEW_FAILED: "", State.FIX_PROPOSED: ""}


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the screen was made of."""

    standing: Standing
    submission: MessageRow | None
    change: Change | None


class Review(Page):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "judge('review_approved')", "Approve"),
        Binding("r", "judge('review_failed')", "Send back"),
        Binding("f", "judge('fix_proposed')", "Fix"),
        Binding("u", "update", "Load newer", show=False),
    ]

    def __init__(self, task_id: str) -> None:
        super().__init__()
        self._task_id = task_id
        self._seen: Seen | None = None
        self._files: dict[str, tuple[Row, ...]] = {}
        """The lines of the files that are open."""
        self._about: list[Row] = []
        """The evidence and what was said: what may change while the screen is open."""
        self._folded: tuple[Seen | None, Seen] | None = None
        """What was seen when the rows to come were made, and what will be seen by them."""

    def fold(self, _: Overview) -> Folded:
        project = self.top.project
        standing = Standing(service.task_view(project.store, self._task_id))
        submission = submission_of(project.store, standing)
        before = seen = self._seen
        if seen is None:
            change = change_of(project.root, standing.view)
            seen = Seen(standing=standing, submission=submission, change=change)
        title: tuple[Part, ...] = ((f"Review of {self._task_id}  ", "bold"), (standing.title, ""))
        if submission != seen.submission:
            title = (("It stands differently by now: u loads what is there. ", "bold reverse"), *title)
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

    def _rows(self, seen: Seen) -> list[Row]:
        return [*_submitted(seen), *self._about, *self._changed(seen.change)]

    def _changed(self, change: Change | None) -> Iterator[Row]:
        if change is None:
            yield row("change", "It has no branch: nothing was begun, or it was played elsewhere.")
            return
        if change.gone:
            yield row("gone", change.gone)
        yield row("change", f"Files that differ: {len(change.files)}", "underline")
        for file in change.files:
            key = f"file-{file.number}"
            yield _file_row(key, file, is_open=key in self._files)
            yield from self._files.get(key, ())

    def open_row(self, opens: str) -> None:
        """A file is opened or closed, a line is said something to, a draft of that is dropped."""
        change = None if self._seen is None else self._seen.change
        match opens.split(" ", 3):
            case ["line", side, line, path] if change is not None:
                self.top.order(f"To {path}:{line}", partial(self._comment, change, side, path, int(line)))
            case ["draft", number]:
                drop = partial(service.drop_comment, self.top.project.store, self._task_id, int(number))
                self.top.order(f"Enter drops draft {number}", lambda _: drop())
            case _ if change is not None:
                self.run_worker(self._toggle(change, opens))
            case _:
                pass

    def _comment(self, change: Change, side: str, path: str, line: int, text: str) -> None:
        comment(
            self.top.project.root,
            self.top.project.store,
            self._task_id,
            path=path,
            line=line,
            text=text,
            side="old" if side == "old" else "new",
            commit=change.old if side == "old" else change.new,
        )

    async def _toggle(self, change: Change, key: str) -> None:
        if self._files.pop(key, None) is None:
            file = next(each for each in change.files if key == f"file-{each.number}")
            try:
                lines = await run_sync(partial(self._lines, change, file, key))
            except MusicianError as error:
                self.top.tell(str(error))
                return
            if self._seen is not None and self._seen.change is change:
                self._files[key] = lines
        if self._seen is not None:
            self.rows.show(self._rows(self._seen))

    def _lines(self, change: Change, file: FileDiff, key: str) -> tuple[Row, ...]:
        folder = self.top.project.root.path
        patch = patch_of(folder, change.old, change.new, file)
        if patch is None:
            return (row(f"{key}-large", "   too large to show: musician review diff", "dim"),)
        old, new = (text_of_blob(folder, blob) for blob in (file.old_blob, file.new_blob))
        shown = None if file.added is None else file_view(patch, file.path, old, new)
        if shown is None:
            return (
                row(
                    f"{key}-none",
                    "   no lines differ: it is binary, or only its name or mode has changed",
                    "dim",
                ),
            )
        made: list[Row] = []
        for hunk in shown.hunks:
            made.append(row(f"{key}-{len(made)}", hunk.heading, "dim"))
            for line in hunk.lines:
                style = _SIGNS[line.sign]
                words = tuple(
                    (span.text, f"{style} reverse".strip() if "word" in span.names.split() else style)
                    for span in line.spans
                )
                head = (f"{line.number:>5} {line.sign} ", style or "dim")
                path = file.old_path if line.side == "old" else file.path
                opens = f"line {line.side} {line.number} {path}"
                made.append(Row(key=f"{key}-{len(made)}", parts=(head, *words), opens=opens))
        if shown.left_out:
            made.append(row(f"{key}-more", f"   {shown.left_out} more lines are left out", "dim"))
        return tuple(made)

    def action_update(self) -> None:
        self._seen = None
        self._files.clear()
        self.top.look_now()

    def action_judge(self, name: str) -> None:
        seen, verdict = self._seen, State(name)
        if seen is None or seen.submission is None or verdict not in seen.standing.view.open_verdicts:
            self.top.tell("Nothing waits for this verdict.")
            return
        what = {
            "review_approved": "Approve",
            "review_failed": "Send back",
            "fix_proposed": "Propose a fix to",
        }
        submission_id = seen.submission.id
        judge = partial(service.judge_as_person, self.top.project.store, self._task_id, verdict)
        self.top.order(
            f"{what[name]} {self._task_id}, message {submission_id}",
            lambda text: judge(text, submission_id=submission_id),
            text=_DEFAULTS[verdict],
            and_then=self.dismiss,
        )


def _submitted(seen: Seen) -> Iterator[Row]:
    message = seen.submission
    if message is None:
        state = str(seen.standing.state).replace("_", " ")
        yield row("submission", f"Nothing waits for a verdict: the task is {state}.")
        return
    yield row("submission", f"{message.message_type} {message.id}, {message.timestamp} UTC", "underline")
    yield from block("submission", message.message)


def _evidence(standing: Standing, last: Evidence | None) -> Iterator[Row]:
    view = standing.view
    deviations, findings = service.open_rows(view.journal)
    if last is None:
        yield row("evidence", "Nothing has been verified yet.")
    else:
        what = "everything" if last.row.covers_all else f"checkpoint {last.row.checkpoint}"
        outcome = last.row.outcome.replace("_", " ")
        yield row("evidence", f"Evidence: {outcome}, {what}, {last.row.at} UTC", "underline")
        if last.stale:
            yield row("stale", f"stale: {last.stale}", "$text-warning")
        for number, line in enumerate((*last.commands, *last.found)):
            yield row(f"evidence-{number}", line)
    for each in deviations:
        yield row(f"deviation-{each.id}", f"open deviation ({each.severity}): {each.text}", "$text-warning")
    for each in findings:
        yield row(f"finding-{each.id}", each.text, "$text-warning")


def _said(project: Project, view: TaskView, change: Change | None) -> Iterator[Row]:
    """Yield what was said to the work: the drafts that a verdict will send, and the last round with its answers."""
    comments = service.comments_of(project.store, view.row.task_id)
    rounds = rounds_of(project.store, view)[-1:]
    if change is None or change.gone:
        places: Places = {}
    else:
        places = places_of(project.root.path, comments, old=change.old, new=change.new)
    for each in comments:
        if each.message_id is None:
            text = f"{say_draft(each, places)} (sent with r or f; Enter drops it)"
            yield row(f"draft-{each.id}", text, "bold", opens=f"draft {each.id}")
    for last in rounds:
        for number, line in enumerate(say_round(last, places)):
            yield from block(f"round-{last.message_id}-{number}", line)


def _file_row(key: str, file: FileDiff, *, is_open: bool) -> Row:
    name = f"{file.old_path} → {file.path}" if file.status == "R" else file.path
    size = "binary" if file.added is None else f"+{file.added} -{file.removed}"
    mark = "▾" if is_open else "▸"
    return Row(key=key, parts=((f"{mark} {file.status} {name}", "bold"), (f"  {size}", "")), opens=key)
