"""Detects changes in the user's main tree while a piece is played elsewhere (D43).

A musician writes in its own tree. A program that writes elsewhere, which no hook or guard can read, shows
here: HEAD and the state of each file that differs from it are compared before and after the piece. Who did it
cannot be seen, so it is reported at once and stands until a person has ruled on it. What this program itself
puts there (a plan's merged work and reports) does not count.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from musician.protocol.errors import GitFailed
from musician.protocol.values import dataclass
from musician.trees.branches import full_ref, integration_branch
from musician.trees.git import Git, shown
from musician.trees.root import Root
from musician.trees.status import read_status

CHANGED_OUTSIDE = "the main working tree changed while this was played in its own"
"""Of a driven session, beside whom the user may work: told, and held against nothing."""

_MOST_FILES = 2000
_MOST_NAMED = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """The main tree at one moment. ``files`` are those that differ from HEAD, each with a mark of its state."""

    head: str
    files: Mapping[str, str]

    def as_text(self) -> str:
        return json.dumps({"head": self.head, "files": dict(self.files)})

    @classmethod
    def from_text(cls, text: str) -> "Outside":
        found = json.loads(text)
        return cls(head=found["head"], files=found["files"])


def look_outside(root: Root) -> Outside | None:
    """Return the main tree as it is now; None if git does not say."""
    try:
        status = read_status(root.path)
    except GitFailed:
        return None
    paths = (*status.changed, *status.unmerged, *status.untracked, *status.deleted)
    own = tuple(
        f"{each.relative_to(root.path).as_posix()}/" for each in (root.reports_dir, root.proposals_dir)
    )
    kept = [path for path in map(shown, paths) if not path.startswith(own)]
    return Outside(
        head=status.head or "", files={path: _state(root.path / path) for path in kept[:_MOST_FILES]}
    )


def changed_outside(root: Root, plan_id: str | None, before: Outside) -> str:
    """Say in a few words what has changed in the main tree; "" if nothing, or if that cannot be determined."""
    after = look_outside(root)
    if after is None or after == before:
        return ""
    paths = sorted(
        path
        for path in before.files.keys() | after.files.keys()
        if before.files.get(path) != after.files.get(path)
    )
    moved = before.head != after.head and not _is_ours(root, plan_id, before.head, after.head)
    told = [f"HEAD has moved from {before.head[:12]} to {after.head[:12]}"] if moved else []
    if paths:
        more = len(paths) - _MOST_NAMED
        told.append(", ".join(paths[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else ""))
    return "; ".join(told)


def _is_ours(root: Root, plan_id: str | None, before: str, after: str) -> bool:
    """Whether HEAD was moved forward to the plan's merged work."""
    if plan_id is None:
        return False
    git, merged = Git(root.path), full_ref(integration_branch(plan_id))
    return all(git.holds(newer, older) for older, newer in ((after, merged), (before, after)))


def _state(path: Path) -> str:
    try:
        found = os.lstat(path)
    except OSError:
        return "missing"
    return f"{found.st_size} {found.st_mtime_ns} {found.st_ino}"
