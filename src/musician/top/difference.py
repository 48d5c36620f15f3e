"""The lines of one file of a change, as rows."""

from collections.abc import Iterator
from pathlib import Path

from musician.protocol.values import dataclass
from musician.reporting.diff_view import TOO_LARGE, FileView, Line, file_view
from musician.reporting.under_review import Change
from musician.top.rows import Part, Row, row
from musician.trees.diffs import FileDiff

_SIGNS = {"+": "$text-success", "-": "$text-error", " ": ""}
_HANG = 8
"""The width of a line's number and sign."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfFile:
    """A file of the change, to open or to close."""

    file: FileDiff


@dataclass(frozen=True, slots=True, kw_only=True)
class OfLine:
    """A line of a file, to say something to."""

    file: FileDiff
    side: str
    line: int

    @property
    def path(self) -> str:
        return self.file.old_path if self.side == "old" else self.file.path


def file_rows(folder: Path, change: Change, file: FileDiff, *, is_space_ignored: bool) -> tuple[Row, ...]:
    """Return the lines of a file, or one that says why there are none. Blocks."""
    key = f"file-{file.number}"
    shown = file_view(folder, change.old, change.new, file, is_space_ignored=is_space_ignored)
    if shown is TOO_LARGE:
        return (row(f"{key}-large", "   too large to show: musician review diff", "dim"),)
    if shown is None:
        why = "no lines differ: it is binary, or only its name, its mode or its white space has changed"
        return (row(f"{key}-none", f"   {why}", "dim", hang=3),)
    return tuple(_rows(key, file, shown))


def _rows(key: str, file: FileDiff, shown: FileView) -> Iterator[Row]:
    number = 0
    for hunk in shown.hunks:
        yield row(f"{key}-{number}", f"   {hunk.heading}", "dim", hang=3)
        number += 1
        for line in hunk.lines:
            yield _line_row(f"{key}-{number}", file, line)
            number += 1
    if shown.left_out:
        yield row(f"{key}-more", f"   {shown.left_out} more lines are left out", "dim")


def _line_row(key: str, file: FileDiff, line: Line) -> Row:
    style = _SIGNS[line.sign]
    head: Part = (f"{line.number:>5} {line.sign} ", style or "dim")
    words = (
        (span.text, f"{style} reverse".strip() if "word" in span.names.split() else style)
        for span in line.spans
    )
    return Row(
        key=key,
        parts=(head, *words),
        opens=OfLine(file=file, side=line.side, line=line.number),
        hang=_HANG,
    )
