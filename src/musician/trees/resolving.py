"""Conflicts that somebody resolves by hand, by a merge or without one (D24).

A conflict may be resolved by writing the right contents by hand. Git knows only that both sides changed the
same lines, and finds the same conflict for ever. So the file of a task is taken as it is where it holds every
line that the other side added, and none that the other side took away. What it then comes to is verified like
any merge.

A resolution that nobody has kept yet is told from a conflict that is still open by what git calls unmerged and by the
markers in the files.
"""

import os
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

from musician.trees.git import Git, shown, tree_git_dir
from musician.trees.status import Status, operation_under_way, read_status
from musician.trees.worktree import Worktree

_MOST_HUNK_CHARS = 2000
_MARKERS = (b"<<<<<<< ", b">>>>>>> ")


class Resolved(StrEnum):
    """The state of a resolution by hand in a tree."""

    COMMITTED = "committed"
    IN_FILES = "in files"


def stage_resolution(worktree: Worktree, kept: str) -> Resolved | None:
    """Find, and stage, what somebody has resolved by hand in the tree since commit ``kept``.

    None, with nothing touched, if nothing was done, a conflict is still open, or the branch has lost
    ``kept``.
    """
    git, status = Git(worktree.path), read_status(worktree.path)
    under_way = operation_under_way(tree_git_dir(worktree.path))
    in_files = status.changed + status.deleted + status.unmerged
    if status.branch != worktree.branch or status.head is None or under_way not in (None, "merge"):
        return None
    if not git.holds(status.head, kept) or _is_open(git, status):
        return None
    if not in_files and under_way is None:
        return None if status.head == kept else Resolved.COMMITTED
    if status.unmerged:
        git.run("--literal-pathspecs", "add", "--", *map(os.fsdecode, status.unmerged))
    return Resolved.IN_FILES


def _is_open(git: Git, status: Status) -> bool:
    """Whether a conflict is still open: the file has markers, or is one in which git could not write any."""
    if any(_is_marked(git, path) for path in status.changed + status.unmerged):
        return True
    for path in status.unmerged:
        sides = [_lines(git, f":{stage}:{os.fsdecode(path)}") for stage in (2, 3)]
        if None in sides or not Path(git.folder, os.fsdecode(path)).is_file():
            return True
    return False


def _is_marked(git: Git, path: bytes) -> bool:
    """Whether a file has conflict markers that neither side of the merge has: some files contain them
    legitimately.
    """
    place = Path(git.folder, os.fsdecode(path))
    if place.is_symlink() or not place.is_file():
        return False
    with place.open("rb") as file:
        marks = {line.strip() for line in file if line.startswith(_MARKERS)}
    sides = [_lines(git, f"{side}:{os.fsdecode(path)}") for side in ("HEAD", "MERGE_HEAD")] if marks else []
    return any(all(side is None or mark not in side for side in sides) for mark in marks)


def settle_written_by_hand(git: Git, paths: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """Take the merged branch's side of each unmerged path that already contains the other side's changes;
    return the rest.
    """
    left = []
    for path in paths:
        if not is_written_by_hand(git, [f":{stage}:{os.fsdecode(path)}" for stage in (1, 2, 3)]):
            left.append(path)
            continue
        git.run("checkout", "--theirs", "--", os.fsdecode(path))
        git.run("add", "--", os.fsdecode(path))
    return tuple(left)


def is_written_by_hand(git: Git, sides: Sequence[str | None]) -> bool:
    """Whether the last of three blobs holds both sides' changes: base, ours, theirs, None for one that is not there."""
    return _holds(*(None if side is None else _lines(git, side) for side in sides))


def hunk_of(git: Git, base: str, side: str, paths: tuple[bytes, ...]) -> str:
    """Return one side's diff of the paths, shortened if it is long."""
    asked = [os.fsdecode(path) for path in paths]
    command = ("--literal-pathspecs", "diff", "--no-color", "--no-ext-diff", "--no-textconv", "--unified=2")
    found = git.run(*command, base, side, "--", *asked).stdout
    text = shown(found).strip()
    return text if len(text) <= _MOST_HUNK_CHARS else f"{text[:_MOST_HUNK_CHARS]}\n… (cut)"


def _holds(
    base: "Counter[bytes] | None", ours: "Counter[bytes] | None", theirs: "Counter[bytes] | None"
) -> bool:
    """Whether ``theirs`` has all that ``ours`` added to ``base``, and nothing of what it took away."""
    if ours is None or theirs is None:
        return False  # one side has no file, so there are no lines to compare
    base = base or Counter()
    added, removed = ours - base, base - ours
    return bool(added or removed) and added <= theirs and all(theirs[line] <= ours[line] for line in removed)


def _lines(git: Git, blob: str) -> "Counter[bytes] | None":
    """Count a file's lines; None if that side has no such file, or it is not text."""
    done = git.run("cat-file", "blob", blob, accept=(0, 128))
    if done.returncode != 0 or b"\0" in done.stdout:
        return None
    return Counter(line.strip() for line in done.stdout.splitlines())
