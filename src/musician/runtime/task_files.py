"""The files a session leaves: status, deviations and HANDOFF in ``temp/``, reports in ``docs/implementation/``.

Each also lives in the database (D25). A HANDOFF or report appears whole or not at all (``processes/whole_file.py``).
"""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from musician.processes.output import printable
from musician.protocol.journal import Entry, EntryKind, deviation_in, status_line
from musician.protocol.rules.deviations import Severity, parse_severity
from musician.reporting.transcripts import end_of_text
from musician.trees.root import Root

END_OF_OUTPUT_BYTES = 4096
"""Of an agent's output, kept in an error report."""

MOST_DEVIATION_CHARS = 500
"""Of a deviation that is found in the file."""

_SEVERITY = re.compile(r"\[(Low|Medium|High)\b", re.IGNORECASE)


class TaskFiles:
    """One task's files. All calls block."""

    def __init__(self, root: Root, task_id: str) -> None:
        self.root = root
        self._task_id = task_id
        self.status = root.status_file(task_id)
        self.deviations = root.temp_dir / f"{task_id}-deviations"
        self.handoff = root.temp_dir / f"{task_id}-HANDOFF"
        self.completion = root.reports_dir / f"{task_id}-completion.md"

    def begin(self) -> None:
        """Make the status and deviations files, which the sources require to exist."""
        self.status.parent.mkdir(parents=True, exist_ok=True)
        self.status.touch()
        self.deviations.touch()

    def start_over(self, entry: Entry) -> None:
        """Let the status begin anew below what is there, and have nothing else left of the earlier sessions."""
        self.note((entry,))
        self.deviations.write_text("")
        self.handoff.unlink(missing_ok=True)

    def note(self, entries: Iterable[Entry]) -> None:
        """Append what the journal just got."""
        entries = tuple(entries)
        _append(self.status, [status_line(entry) for entry in entries])
        _append(self.deviations, _deviation_lines(entries))

    def found_status(self) -> list[str]:
        """Return the status file's lines; none if it cannot be read."""
        return _lines(self.status)

    def found_deviations(self) -> list[str]:
        """Return the deviations file's lines that name a severity; a text of several lines names it once."""
        return [line for line in _lines(self.deviations) if _SEVERITY.search(line)]

    def restore(self, entries: Iterable[Entry]) -> None:
        """Append the journal's lines that the files have lost (sources "State Reconciliation": benign)."""
        entries = tuple(entries)
        _append(self.status, _missing(_status_lines(entries), self.found_status()))
        _append(self.deviations, _missing(_deviation_lines(entries), _lines(self.deviations)))

    def untold_deviations(self, entries: Iterable[Entry]) -> list[tuple[Severity, str]]:
        """Return the deviations that are in the file and not in the journal."""
        return [
            (parse_severity(found[1]), line[:MOST_DEVIATION_CHARS])
            for line in _missing(self.found_deviations(), _deviation_lines(entries))
            if (found := _SEVERITY.search(line))
        ]

    def found_handoff(self) -> str | None:
        """Return the HANDOFF file's text; None if there is no file."""
        try:
            return self.handoff.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None

    def error_report(self, retry: int) -> Path:
        """Return the path of the report of the task's error number ``retry``."""
        return self.root.reports_dir / f"{self._task_id}-error-retry-{retry}.md"

    def handoff_report(self, number: int) -> Path:
        """Return the path of the report of the task's session ``number``, written when it hands off."""
        return self.root.reports_dir / f"{self._task_id}-handoff-s{number}.md"

    def end_of_output(self) -> str:
        """Return the end of the agent's or the checks' output; "" if nothing can be read."""
        log = self.root.checks_log(self._task_id)
        try:
            newest = max(
                log.parent.glob("[0-9]*.jsonl"), key=lambda path: path.stat().st_mtime_ns, default=None
            )
            said = newest and end_of_text(newest, END_OF_OUTPUT_BYTES)
            if said:
                return printable(said)
            with log.open("rb") as file:
                file.seek(max(0, log.stat().st_size - END_OF_OUTPUT_BYTES))
                return printable(file.read().decode("utf-8", "replace"))
        except OSError:
            return ""

    def relative(self, path: Path) -> str:
        """Return a path relative to the project, as messages give it."""
        return path.relative_to(self.root.path).as_posix()


def completion_report(task_id: str, title: str, message: str, history: Iterable[str]) -> str:
    """Return the completion report: what was submitted and approved, and how the task went."""
    lines = "\n".join(f"- {line}" for line in history)
    return f"# {task_id}: {title}\n\n```text\n{message}\n```\n\n## History\n\n{lines}\n"


def error_report_text(task_id: str, title: str, message: str, *, commit: str, output: str) -> str:
    """Return the detailed report of a failure: what was reported, the tree's commit, and the agent's last
    output.
    """
    printed = "\n".join(f"    {line}" for line in output.splitlines()) or "    (nothing)"
    return (
        f"# {task_id}: {title}\n\n```text\n{message}\n```\n\n"
        f"Last finished state: commit {commit}\n\n## End of the agent's output\n\n{printed}\n"
    )


def missing_lines(entries: Iterable[Entry], status: Iterable[str]) -> int:
    """Return how many lines of the journal a status file lacks."""
    return len(_missing(_status_lines(entries), status))


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _status_lines(entries: Iterable[Entry]) -> list[str]:
    """Return the lines of the session's own acts, without a person's verdicts."""
    own = (entry for entry in entries if not entry.judged_by_person)
    return [line for entry in own for line in status_line(entry).splitlines()]


def _deviation_lines(entries: Iterable[Entry]) -> list[str]:
    return [line for entry in entries for line in _deviation(entry).splitlines()]


def _missing(wanted: Iterable[str], found: Iterable[str]) -> list[str]:
    """Return the wanted lines that were not found as often as wanted, in their order."""
    left = Counter(found)
    missing = []
    for line in wanted:
        left[line] -= 1
        if left[line] < 0:
            missing.append(line)
    return missing


def _deviation(entry: Entry) -> str:
    """``step 2: another way [Low]``; "" for an entry that tells of none."""
    found = deviation_in(entry)
    if found is None:
        return ""
    where = f"{entry.item}: " if entry.item and entry.kind is EntryKind.DEVIATION else ""
    return f"{where}{found.text} [{found.severity}]"


def _append(path: Path, lines: list[str]) -> None:
    if lines:
        with path.open("a", encoding="utf-8") as file:
            file.write("".join(line + "\n" for line in lines))
