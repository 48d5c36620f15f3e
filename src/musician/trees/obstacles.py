"""Untracked files that moving a working tree from one commit to another would overwrite (D31).

To git an ignored file is nobody's: a merge replaces it, and an ignored folder too, by a link or a file of its name.
Here it is somebody's only copy. Looked at are the paths that the newer commit has and the older has not, so a tree
without changes is taken for granted: whatever stands at such a path is in no commit.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from musician.protocol.values import dataclass
from musician.trees.git import Git

GITLINK = b"160000"
LINK = b"120000"
_NO_MODE = b"000000"

Content = tuple[bool, str]
"""Whether it is a link, and its blob."""

NOTHING: Content = (False, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A path that two commits have differently; a mode is ``000000`` where a commit has no such path."""

    path: bytes
    old_mode: bytes
    new_mode: bytes
    old_id: str
    new_id: str

    @property
    def is_new(self) -> bool:
        return self.old_mode == _NO_MODE

    @property
    def is_gone(self) -> bool:
        return self.new_mode == _NO_MODE


def changed_between(git: Git, old: str, new: str, *options: str) -> tuple[Changed, ...]:
    """Return every path that differs between two trees; a rename is one path gone and one new."""
    return parsed_changes(git.records("diff-tree", "-r", "-z", "--raw", "--no-renames", *options, old, new))


def parsed_changes(records: list[bytes]) -> tuple[Changed, ...]:
    """Parse git's raw diff format."""
    found = []
    for head, path in zip(records[::2], records[1::2], strict=True):
        old_mode, new_mode, old_id, new_id, _ = head.removeprefix(b":").split(b" ")
        found.append(
            Changed(
                path=path,
                old_mode=old_mode,
                new_mode=new_mode,
                old_id=old_id.decode("ascii"),
                new_id=new_id.decode("ascii"),
            )
        )
    return tuple(found)


def obstacles(tree: Path, changes: tuple[Changed, ...]) -> tuple[bytes, ...]:
    """Return the untracked paths in ``tree`` that are in the way of ``changes``, sorted.

    A folder is named as a whole if all of it would go, or if it is a repository of its own.
    """
    gone = {change.path for change in changes if change.is_gone}
    arriving = [
        change for change in changes if change.is_new or change.old_mode == GITLINK != change.new_mode
    ]
    return tuple(sorted({found for each in arriving if not each.is_gone for found in _at(tree, each, gone)}))


def _at(tree: Path, change: Changed, gone: set[bytes]) -> Iterator[bytes]:
    parts = change.path.split(b"/")
    for depth in range(1, len(parts)):
        above = b"/".join(parts[:depth])
        place = place_in(tree, above)
        if not os.path.lexists(place):
            return
        if place.is_symlink() or not place.is_dir():
            if above not in gone:
                yield above
            return
        if os.path.lexists(place / ".git"):
            yield above + b"/"
            return
    place = place_in(tree, change.path)
    if place.is_dir() and not place.is_symlink():
        if _keeps_something(tree, place, gone):
            yield change.path + b"/"
    elif os.path.lexists(place):
        yield change.path


def _keeps_something(tree: Path, folder: Path, gone: set[bytes]) -> bool:
    """Whether the folder holds anything besides files that the older commit has and the newer has not."""
    top = os.fsencode(tree) + b"/"
    for inside, folders, files in os.walk(os.fsencode(folder)):
        links = [name for name in folders if os.path.islink(os.path.join(inside, name))]
        if any(os.path.join(inside, name).removeprefix(top) not in gone for name in (*files, *links)):
            return True
    return False


def contents(git: Git, paths: list[bytes]) -> dict[bytes, Content | None]:
    """Return the content at each path as git would store it; None for what git does not store, such as a
    folder.
    """
    found: dict[bytes, Content | None] = {}
    files = []
    for path in paths:
        place = place_in(git.folder, path)
        if place.is_symlink():
            target = os.fsencode(os.readlink(place))
            found[path] = True, git.text("hash-object", "--stdin", "--no-filters", stdin=target)
        elif place.is_file():
            files.append(path)
        else:
            found[path] = None if os.path.lexists(place) else NOTHING
    # git would read these names as something else
    odd = [path for path in files if b"\n" in path or path.startswith(b'"')]
    plain = [path for path in files if path not in odd]
    blobs = git.text("hash-object", "--stdin-paths", stdin=b"".join(each + b"\n" for each in plain)).split()
    blobs += [git.text("hash-object", "--", os.fsdecode(path)) for path in odd]
    return found | {path: (False, blob) for path, blob in zip([*plain, *odd], blobs, strict=True)}


def hidden_from(git: Git) -> list[bytes]:
    """Return the tracked paths that git takes for unchanged, whatever is in them: ``update-index --skip-worktree`` and
    the like.
    """
    records = git.records("ls-files", "-v", "-z")
    # "S" is to be skipped, a small letter is assumed to be as it was.
    return [record[2:] for record in records if record[:1] == b"S" or record[:1].islower()]


def hidden_edits(tree: Path, changes: tuple[Changed, ...]) -> tuple[bytes, ...]:
    """Return the paths among ``changes`` that the user has edited and has told git to ignore."""
    git = Git(tree)
    before = {each.path: each.old_id for each in changes}
    found = contents(git, [path for path in hidden_from(git) if path in before])
    return tuple(path for path, now in found.items() if now not in (NOTHING, (False, before[path])))


def place_in(tree: Path, path: bytes) -> Path:
    return tree / os.fsdecode(path)
