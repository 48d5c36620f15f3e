"""The files a session leaves: status, deviations and HANDOFF in ``temp/``, reports in ``docs/implementation/``.

Each also lives in the database (D25). A HANDOFF or report appears whole or not at all: written beside its place,
then renamed (case B29).
"""

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from musician.protocol.claim import Claim
from musician.protocol.journal import Entry, Progress, is_deviation_line, status_line
from musician.protocol.ready import Leave
from musician.trees.root import Root

__all__ = ["Papers", "completion_report", "handoff_document", "write_whole"]


class Papers:
    """One task's files. All calls block."""

    def __init__(self, root: Root, task_id: str) -> None:
        self._root = root
        self.status = root.temp_dir / f"{task_id}-status"
        self.deviations = root.temp_dir / f"{task_id}-deviations"
        self.handoff = root.temp_dir / f"{task_id}-HANDOFF"
        self.completion = root.reports_dir / f"{task_id}-completion.md"

    def begin(self) -> None:
        """Make the status and deviations files, which the sources require to exist."""
        self.status.parent.mkdir(parents=True, exist_ok=True)
        self.status.touch()
        self.deviations.touch()

    def note(self, entries: Iterable[Entry]) -> None:
        """Append what the journal just got."""
        entries = tuple(entries)
        _append(self.status, [status_line(entry) for entry in entries])
        _append(
            self.deviations,
            [
                f"{entry.item}: {entry.text} [{entry.severity}]"
                for entry in entries
                if is_deviation_line(entry)
            ],
        )

    def relative(self, path: Path) -> str:
        """A path as messages give it: relative to the project."""
        return path.relative_to(self._root.path).as_posix()


def write_whole(path: Path, text: str) -> None:
    """Write a file so that a reader, or a crash, meets the old one or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def handoff_document(
    claim: Claim,
    leave: Leave,
    progress: Progress,
    *,
    worked_by: str,
    at: str,
    commit: str,
    set_aside: str | None,
) -> str:
    """The HANDOFF in the sources' structure; ``at`` is the database's time."""
    context = "unknown" if leave.context_pct is None else f"{leave.context_pct:.0f}%"
    completed = [f"{item} ✅" for item in (*progress.completed, *sorted(progress.approved))]
    deviations = [f"{each.text} ({each.severity})" for each in progress.deviations]
    resume = [
        f"Claim task with worked_by = musician-{claim.task_id}-S<next>",
        "Read this HANDOFF and the conductor's handoff message",
        "Re-run the verification of the last approved checkpoint",
        f"Continue from {leave.remaining[0] if leave.remaining else 'the final report'}",
    ]
    steps = [f"{number}. {text}" for number, text in enumerate(resume, start=1)]
    tree = [f"Commit: {commit}", f"Unfinished work: {set_aside or 'none'}"]
    return "\n".join(
        [
            f"# HANDOFF: {claim.task_id}",
            *_section(
                "Session Info",
                [
                    f"Session ID: {claim.session_id}",
                    f"worked_by: {worked_by}",
                    f"Claim epoch: {claim.epoch}",
                    f"Exit reason: {leave.reason}",
                    f"Context at exit: {context}",
                    f"Timestamp: {at}",
                ],
            ),
            *_section("Completed Steps", completed),
            *_section("Pending Steps", leave.remaining),
            *_section("Tree", tree),
            *_section("Deviations", deviations),
            *_section(
                "Self-Correction", [f"YES ({leave.self_correction})" if leave.self_correction else "NO"]
            ),
            "",
            "## Next Session Instructions",
            *steps,
            "",
        ]
    )


def completion_report(task_id: str, title: str, message: str, history: Iterable[str]) -> str:
    """The completion report: what was submitted and approved, and how the task went."""
    lines = "\n".join(f"- {line}" for line in history)
    return f"# {task_id}: {title}\n\n```text\n{message}\n```\n\n## History\n\n{lines}\n"


def _section(title: str, lines: Iterable[str]) -> list[str]:
    return ["", f"## {title}", *([f"- {line}" for line in lines] or ["- none"])]


def _append(path: Path, lines: list[str]) -> None:
    if lines:
        with path.open("a", encoding="utf-8") as file:
            file.write("".join(line + "\n" for line in lines))
