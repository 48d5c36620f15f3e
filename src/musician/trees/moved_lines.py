"""Follows a line of a file from one commit to another, so that what was said of it stays beside it."""

import os
import re
from pathlib import Path

from musician.protocol.values import dataclass
from musician.trees.diffs import FileDiff, files_between, patch_of, text_of_blob
from musician.trees.git import Git, shown

_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a line is. ``is_changed``: it is another line now, and this one stands where it was."""

    path: str
    line: int
    is_changed: bool = False


class MovedLines:
    """What became of the lines of one commit in another. A file is compared once, when it is asked for."""

    def __init__(self, folder: Path, old: str, new: str) -> None:
        self._folder, self._old, self._new = folder, old, new
        git = Git(folder)
        self._is_known = all(git.commit_id(commit) for commit in (old, new))
        files = files_between(folder, old, new) if self._is_known and old != new else ()
        self._files = {each.old_path: each for each in files if each.status != "A"}
        self._hunks: dict[str, tuple[tuple[int, int, int, int], ...] | None] = {}

    def place(self, path: str, line: int) -> Place | None:
        """Return where the line is now; None if its file is gone, or one of the commits."""
        if not self._is_known:
            return None
        file = self._files.get(path)
        if file is None:
            return Place(path=path, line=line)
        if file.status == "D":
            return None
        if path not in self._hunks:
            self._hunks[path] = self._read(file)
        hunks = self._hunks[path]
        if hunks is None:  # too large to compare, or no text any more
            return Place(path=file.path, line=line, is_changed=True)
        moved = line
        for old_first, old_lines, new_first, new_lines in hunks:
            # of an insertion git names the line before it
            if line < old_first + (old_lines == 0):
                break
            if line < old_first + old_lines:
                within = min(line - old_first, max(new_lines - 1, 0))
                return Place(path=file.path, line=max(new_first + within, 1), is_changed=True)
            moved += new_lines - old_lines
        return Place(path=file.path, line=moved)

    def _read(self, file: FileDiff) -> tuple[tuple[int, int, int, int], ...] | None:
        patch = patch_of(self._folder, self._old, self._new, file, "--unified=0")
        if patch is None or file.added is None:
            return None
        return tuple(
            (int(old), int(count or 1), int(new), int(new_count or 1))
            for old, count, new, new_count in (match.groups() for match in _HUNK.finditer(patch))
        )


def line_at(folder: Path, commit: str, path: str, line: int) -> str | None:
    """Return a line of a file as a commit has it; None if it has none such, or the file is too large to be read.

    ``path`` is as :func:`shown` shows it: a name that is no UTF-8 is found by it, too.
    """
    text = text_of_blob(folder, f"{commit}:{path}")
    if text is None and "\\x" in path:
        names = Git(folder).run("ls-tree", "-r", "-z", "--full-tree", "--name-only", commit, accept=(0, 128))
        raw = next((each for each in names.stdout.split(b"\0") if shown(each) == path), None)
        text = None if raw is None else text_of_blob(folder, f"{commit}:{os.fsdecode(raw)}")
    lines = (text or "").split("\n")
    if lines[-1] == "":
        lines.pop()  # what follows the last line end is no line
    return lines[line - 1] if 0 < line <= len(lines) else None
