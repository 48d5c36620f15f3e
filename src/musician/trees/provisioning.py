"""Copies and links of the user's untracked files that a task's tree is given (D33).

``copy:`` and ``share:`` name it in the plan. A ``.worktreeinclude`` at the top of the project, as other tools read it,
is a list of patterns in the language of ``.gitignore``: what it matches *and* git ignores is copied. Git itself does
the matching. Rules: nothing that is there is written over, nothing is taken out of a folder that is ours or another
repository, and what is given is written down first, so that no commit ever holds it (``left_out.py``).
"""

import hashlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from musician.protocol.errors import TreeNotReady
from musician.trees.git import Git, tree_git_dir
from musician.trees.left_out import given_to, note_given
from musician.trees.root import Root

INCLUDE_FILE = ".worktreeinclude"

_MARK = "musician-copied-"
"""In a tree's git folder, with a digest of what was asked for: copying is looked at once."""


def give(root: Root, tree: Path, *, copy: tuple[str, ...], share: tuple[str, ...]) -> None:
    """Copy or link into ``tree`` what it lacks of these; :class:`TreeNotReady` if the file system refuses."""
    source = root.users_tree
    if tree == source or not (copy or share or (source / INCLUDE_FILE).is_file()):
        return
    mark = tree_git_dir(tree) / (_MARK + _digest(source, copy))
    shared = [each for each in share if _is_inside(each) and os.path.lexists(source / each)]
    links = {os.fsencode(os.path.normpath(each)) for each in shared}
    known = given_to(tree)
    lost = {path for path in known if os.path.lexists(source / os.fsdecode(path))}
    copies = lost if mark.exists() else {*_matched(root, source, copy)}
    try:
        new = [path for path in sorted(links | copies) if _has_room(tree, path)]
        if not set(new) <= set(known):
            note_given(tree, tuple(sorted({*known, *new})))
        for path in new:
            here, there = source / os.fsdecode(path), tree / os.fsdecode(path)
            if not _has_room(tree, path):
                continue  # it lies in a folder that was just shared
            there.parent.mkdir(parents=True, exist_ok=True)
            if path in links:
                there.symlink_to(here, target_is_directory=here.is_dir())
            else:
                _copy(here, there)
        mark.touch()
    except OSError as error:
        raise TreeNotReady(
            reason=f"what the plan copies or shares cannot be put into the working tree: {error.strerror}",
            paths=(str(error.filename),),
            remedy="make the place writable, or free space, and run it again",
        ) from error


def not_there(root: Root, *, copy: tuple[str, ...], share: tuple[str, ...]) -> Iterator[str]:
    """Yield the paths that a plan wants to give and the user does not have."""
    source = root.users_tree
    yield from (each for each in share if not (_is_inside(each) and os.path.lexists(source / each)))
    yield from (each for each in copy if not _listed(source, f"--exclude={each}"))


def _matched(root: Root, source: Path, copy: tuple[str, ...]) -> Iterator[bytes]:
    """Yield the paths of the files to copy."""
    found = set(_listed(source, *(f"--exclude={each}" for each in copy))) if copy else set()
    if (source / INCLUDE_FILE).is_file():
        included = set(_listed(source, f"--exclude-from={source / INCLUDE_FILE}"))
        found |= included.intersection(_listed(source, "--exclude-standard")) if included else set()
    ours = (b".musician/", bytes(root.temp_dir.relative_to(root.path)) + b"/", b".git/")
    yield from (path for path in found if not path.endswith(b"/") and not path.startswith(ours))


def _listed(source: Path, *patterns: str) -> list[bytes]:
    return Git(source).records("ls-files", "--others", "--ignored", "-z", *patterns)


def _has_room(tree: Path, path: bytes) -> bool:
    """Whether nothing is at the path in the tree, and no link on the way to it."""
    place = tree / os.fsdecode(path)
    above = [each for each in place.parents if each != tree and each.is_relative_to(tree)]
    return not os.path.lexists(place) and not any(
        each.is_symlink() or (each.exists() and not each.is_dir()) for each in above
    )


def _copy(here: Path, there: Path) -> None:
    """Copy a file, whole or not at all."""
    if here.is_symlink():
        there.symlink_to(os.readlink(here))
    elif here.is_file():
        new = there.with_name(there.name + ".musician-new")
        shutil.copy2(here, new)
        new.replace(there)


def _is_inside(path: str) -> bool:
    normal = os.path.normpath(path)
    return not os.path.isabs(path) and normal not in (".", "..") and not normal.startswith("../")


def _digest(source: Path, copy: tuple[str, ...]) -> str:
    include = source / INCLUDE_FILE
    text = "\0".join(copy).encode() + b"\0\0" + (include.read_bytes() if include.is_file() else b"")
    return hashlib.sha256(text).hexdigest()[:32]
