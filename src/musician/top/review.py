"""A review's screen: what was submitted, its evidence and the change, file by file; a verdict is for what is seen."""

from collections.abc import Iterator
from functools import partial
from typing import ClassVar

from anyio.to_thread import run_sync
from textual.binding import Binding, BindingType

from musician import service
from musician.protocol.states import State
from musician.protocol.values import dataclass
from musician.reporting.diff_view import file_view
from musician.reporting.evidence import Evidence, evidence_of
from musician.reporting.overview import Overview
from musician.reporting.standing import Standing
from musician.reporting.under_review import Change, change_of, submission_of
from musician.store.rows import MessageRow
from musician.top.page import Folded, Page
from musician.top.rows import Part, Row, block, row
from musician.trees.diffs import FileDiff, patch_of, text_of_blob

_SIGNS = {"+": "$text-success", "-": "$text-error", " ": ""}
_SAID = {State.REVIEW_APPROVED: "Approved.", State.REVIEW_FAILED: "", State.FIX_PROPOSED: ""}


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

    def fold(self, _: Overview) -> Folded:
        project = self.top.project
        standing = Standing(service.task_view(project.store, self._task_id))
        submission = submission_of(project.store, standing)
        if self._seen is None:
            change = change_of(project.root, standing.view)
            self._seen = Seen(standing=standing, submission=submission, change=change)
        title: tuple[Part, ...] = ((f"Review of {self._task_id}  ", "bold"), (standing.title, ""))
        if submission != self._seen.submission:
            title = (("It stands differently by now: u loads what is there. ", "bold reverse"), *title)
        return title, self._rows(self._seen)

    def _rows(self, seen: Seen) -> list[Row]:
        evidence = next(iter(evidence_of(self.top.project.root, seen.standing.view)), None)
        return [*_submitted(seen), *_evidence(seen.standing, evidence), *self._changed(seen.change)]

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
        self.run_worker(self._toggle(opens))

    async def _toggle(self, key: str) -> None:
        seen = self._seen
        if seen is None or seen.change is None:
            return
        if self._files.pop(key, None) is None:
            file = seen.change.files[int(key.removeprefix("file-"))]
            self._files[key] = await run_sync(partial(self._lines, seen.change, file, key))
        self.rows.show(self._rows(seen))

    def _lines(self, change: Change, file: FileDiff, key: str) -> tuple[Row, ...]:
        folder = self.top.project.root.path
        patch = patch_of(folder, change.old, change.new, file)
        if patch is None:
            return (row(f"{key}-large", "   too large to show: musician review diff", "dim"),)
        old, new = (text_of_blob(folder, blob) for blob in (file.old_blob, file.new_blob))
        shown = None if file.added is None else file_view(patch, file.path, old, new)
        if shown is None:
            return (row(f"{key}-none", "   no lines differ: no text, or only its name or mode", "dim"),)
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
                made.append(Row(key=f"{key}-{len(made)}", parts=(head, *words)))
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
            text=_SAID[verdict],
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
        yield row("evidence", "Nothing was verified so far.")
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


def _file_row(key: str, file: FileDiff, *, is_open: bool) -> Row:
    name = f"{file.old_path} → {file.path}" if file.status == "R" else file.path
    size = "no text" if file.added is None else f"+{file.added} -{file.removed}"
    mark = "▾" if is_open else "▸"
    return Row(key=key, parts=((f"{mark} {file.status} {name}", "bold"), (f"  {size}", "")), opens=key)
