"""Remembers which files of a change were marked as viewed, by what is in them: a file that changes is new again.

The marks are a person's own, in a file beside the database; where it cannot be read or written they are forgotten
with the program, and that is all.
"""

import json
from contextlib import suppress
from pathlib import Path

from musician.processes.whole_file import write_whole
from musician.trees.diffs import FileDiff

MOST_MARKS = 5000
"""The oldest are forgotten."""
_NAME = "viewed.json"


class Viewed:
    def __init__(self, folder: Path) -> None:
        self._path = folder / _NAME
        self._marks = self._read()

    def has(self, file: FileDiff) -> bool:
        return _mark(file) in self._marks

    def turn(self, file: FileDiff) -> bool:
        """Mark a file, or take its mark away; whether it has one now. Another terminal's marks are kept."""
        mark, kept = _mark(file), self._read() or self._marks
        is_marked = mark not in self._marks
        self._marks = {each: None for each in kept if each != mark} | ({mark: None} if is_marked else {})
        with suppress(OSError):
            write_whole(self._path, json.dumps([*self._marks][-MOST_MARKS:]) + "\n")
        return is_marked

    def _read(self) -> dict[str, None]:
        with suppress(OSError, ValueError, RecursionError):
            found = json.loads(self._path.read_text(encoding="utf-8"))
            if isinstance(found, list):
                return dict.fromkeys(each for each in found if isinstance(each, str))
        return {}


def _mark(file: FileDiff) -> str:
    return f"{file.new_blob} {file.path}"
