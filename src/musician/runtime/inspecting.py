"""What ``temp/`` holds for a task, as the sources' scripts look at it (D22).

Whatever lies there is looked at as it is: bytes that are no UTF-8, a folder or a pipe in a file's place, files of
other tasks. Nothing is changed, and nothing that is no file is opened.
"""

import os
import re
from pathlib import Path

from musician.protocol.inspections import TempFacts
from musician.trees.git import shown
from musician.trees.root import Root

MOST_OTHERS = 200
"""Files of other tasks that are named; a folder of more than that is nobody's to read."""

_PAPER = re.compile(r"(?P<task>.+)-(?:status|deviations|HANDOFF)", re.DOTALL)


def temp_facts(root: Root, task_id: str) -> TempFacts:
    """A task's files and the names of other tasks' files."""
    handoff = root.temp_dir / f"{task_id}-HANDOFF"
    others = [name for name in _names(root.temp_dir) if _is_of_another(name, task_id)]
    return TempFacts(
        task_id=task_id,
        status=_read(root.temp_dir / f"{task_id}-status"),
        deviations=_read(root.temp_dir / f"{task_id}-deviations"),
        handoff=_read(handoff),
        handoff_path=shown(bytes(handoff)),
        others=tuple(shown(os.fsencode(name)) for name in others[:MOST_OTHERS]),
    )


def read_status(root: Root, task_id: str) -> tuple[str | None, str]:
    """A task's status file, None if there is none, and its path."""
    path = root.temp_dir / f"{task_id}-status"
    return _read(path), shown(bytes(path))


def _read(path: Path) -> str | None:
    return path.read_bytes().decode("utf-8", "replace") if path.is_file() else None


def _names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder)) if folder.is_dir() else []


def _is_of_another(name: str, task_id: str) -> bool:
    """By the whole id: ``task-10-status`` is not ``task-1``'s, and ``task-1-fix-status`` is not either (D8).

    A name without one of the known endings is a task's if it looks like one.
    """
    paper = _PAPER.fullmatch(name)
    if paper is not None:
        return paper["task"] != task_id and not name.startswith(".")
    return name.startswith("task-") and re.match(rf"{re.escape(task_id)}(?![A-Za-z0-9])", name) is None
