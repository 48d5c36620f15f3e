"""Which files a task will touch, as far as its plan says so, and where two tasks meet."""

from collections.abc import Collection
from pathlib import PurePosixPath

from musician.plans.model import TaskSpec


def planned_files(task: TaskSpec) -> frozenset[str]:
    """Return the paths that a task and its pieces name; none if they say nothing of it."""
    pieces = (path for step in task.steps for piece in step.agents for path in piece.files)
    return frozenset((*task.files, *task.danger, *pieces))


def shared_paths(one: Collection[str], other: Collection[str]) -> frozenset[str]:
    """Return the paths in both; of a folder and what is in it, what is in it."""
    return frozenset(
        max(mine, theirs, key=len)
        for mine in one
        for theirs in other
        if PurePosixPath(mine).is_relative_to(theirs) or PurePosixPath(theirs).is_relative_to(mine)
    )
