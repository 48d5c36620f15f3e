"""What ``git status`` says of one working tree, as values.

One call answers all of it: where HEAD is, what differs from it, and what is not tracked. Ignored
files are no part of it.
"""

import os
from pathlib import Path

from musician.protocol.values import dataclass
from musician.trees.git import Git, shown
from musician.trees.left_out import are_left_out, given_to
from musician.trees.submodule_paths import stray_in_submodules

_PATH_FIELD = {b"1": 8, b"2": 9, b"u": 10}
"""How many blanks stand before the path in the lines of porcelain v2."""

_OPERATIONS = {
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "BISECT_LOG": "bisect",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """``head`` is None on an unborn branch, ``branch`` None on a detached HEAD; paths are git's bytes.

    ``deleted`` are tracked paths that are only missing: nothing of theirs exists but in HEAD. ``nested`` are
    folders that are git repositories of their own, with a trailing slash; git cannot commit their files. ``submodules``
    hold edits or files that are in no commit of theirs. ``stray`` are the places of submodules that are not checked out
    and hold files all the same: git does not look there. ``left_out`` is not tracked and never will be by us.
    """

    head: str | None
    branch: str | None
    changed: tuple[bytes, ...]
    deleted: tuple[bytes, ...]
    unmerged: tuple[bytes, ...]
    untracked: tuple[bytes, ...]
    nested: tuple[bytes, ...]
    submodules: tuple[bytes, ...]
    stray: tuple[bytes, ...]
    left_out: tuple[bytes, ...]

    @property
    def is_dirty(self) -> bool:
        """Whether a commit of this tree would differ from HEAD."""
        return bool(self.changed or self.deleted or self.unmerged or self.untracked)

    @property
    def unsaved(self) -> tuple[bytes, ...]:
        """The paths that would be lost if the folder were deleted."""
        return self.changed + self.unmerged + self.untracked + self.nested + self.submodules + self.stray


def read_status(tree: Path) -> Status:
    """Return the status of the tree whose top is ``tree``.

    An untracked symlink ``temp`` at the top is ours (D25) and never counts, whatever the ignore rules say; what else
    does not is in ``left_out.py``.
    """
    raw = Git(tree).records(
        "status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--no-renames", "--ignored=no"
    )
    head: str | None = None
    branch: str | None = None
    paths: dict[str, list[bytes]] = {
        kind: [] for kind in ("changed", "deleted", "unmerged", "untracked", "nested", "submodules")
    }
    for record in raw:
        kind, _, rest = record.partition(b" ")
        if kind == b"#":
            name, _, value = shown(rest).partition(" ")
            if name == "branch.oid" and value != "(initial)":
                head = value
            elif name == "branch.head" and value != "(detached)":
                branch = value
        elif kind == b"?":
            paths["nested" if rest.endswith(b"/") else "untracked"].append(rest)
        elif kind in _PATH_FIELD:
            path = record.split(b" ", _PATH_FIELD[kind])[-1]
            flags, submodule = record[2:4], record[5:9]
            if submodule[:1] == b"S" and submodule[2:] != b"..":
                paths["submodules"].append(path)
                if flags == b".M" and submodule[1:2] == b".":
                    continue  # only the submodule's own files differ, which no commit of this tree could hold
            paths["unmerged" if kind == b"u" else "deleted" if flags in _DELETIONS else "changed"].append(
                path
            )
    left_out = _left_out(tree, paths["untracked"])
    paths["untracked"] = [path for path in paths["untracked"] if path not in left_out]
    found = {kind: tuple(each) for kind, each in paths.items()}
    stray = stray_in_submodules(tree)
    return Status(head=head, branch=branch, left_out=tuple(sorted(left_out)), stray=stray, **found)


def _left_out(tree: Path, untracked: list[bytes]) -> set[bytes]:
    given = set(given_to(tree)) if untracked else set()
    links = [path for path in untracked if os.path.islink(os.path.join(os.fsencode(tree), path))]
    asked = [path for path in links if path not in given and path != b"temp"]
    found = {path for path, is_out in zip(asked, are_left_out(tree, asked), strict=True) if is_out}
    return found | given.intersection(untracked) | {b"temp"}.intersection(links)


_DELETIONS = frozenset({b".D", b"D."})


def operation_under_way(git_dir: Path) -> str | None:
    """Return the merge, rebase or the like that was begun and not ended in the tree with this git folder."""
    return next((name for mark, name in _OPERATIONS.items() if (git_dir / mark).exists()), None)
