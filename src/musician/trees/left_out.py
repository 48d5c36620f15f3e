"""Paths in a working tree that no commit of ours may contain (D31, D33).

- The link to ``temp``, and whatever the plan has put there for the task (``share:``, ``copy:``, ``.worktreeinclude``).
- A link that leads out of the tree: in the user's tree it would take the place of what it leads to.
- A link where an ignore rule means a folder: ``node_modules/`` does not match a link of that name, and means it.

The paths put there are recorded, one after the other, in the tree's own git folder, and are removed with the
tree.
"""

import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from musician.trees.git import Git, git_dir_of

_GIVEN = "musician-given"


def are_left_out(tree: Path, links: list[bytes]) -> list[bool]:
    """Return for each link in ``tree`` whether it is left out of commits."""
    if not links:
        return []
    out = [leads_out(tree, path) for path in links]
    asked = [path for path, leads in zip(links, out, strict=True) if not leads]
    if asked:
        named = _named_as_folders(tree, asked)
        out = [leads or path in named for path, leads in zip(links, out, strict=True)]
    return out


def leads_out(tree: Path, path: bytes) -> bool:
    """Whether the link at ``path`` leads to something outside the tree, or would if the tree lay elsewhere."""
    place = os.path.join(os.fsencode(tree), path)
    target = os.readlink(place)
    if target.startswith(b"/"):
        return True
    top = os.path.realpath(os.fsencode(tree))
    meant = os.path.normpath(os.path.join(top, os.path.dirname(path), target))
    return not all(_is_below(each, top) for each in (meant, os.path.realpath(place)))


def given_to(tree: Path) -> tuple[bytes, ...]:
    """Return the paths that the plan has put into ``tree``."""
    git_dir = git_dir_of(tree)
    try:
        return tuple(filter(None, (git_dir / _GIVEN).read_bytes().split(b"\0"))) if git_dir else ()
    except FileNotFoundError:
        return ()


def note_given(tree: Path, paths: tuple[bytes, ...]) -> None:
    """Record what is about to be put into ``tree``."""
    git_dir = git_dir_of(tree)
    if git_dir is not None:
        new = git_dir / (_GIVEN + ".new")
        new.write_bytes(b"".join(path + b"\0" for path in paths))
        new.replace(git_dir / _GIVEN)


def _named_as_folders(tree: Path, paths: list[bytes]) -> frozenset[bytes]:
    """Return those links that an ignore rule would match if they were folders.

    Git does not look behind links, so it is asked in a tree that contains only the ignore rules.
    """
    git_dir = git_dir_of(tree)
    with TemporaryDirectory(prefix="musician-rules-") as folder:
        for above in {above for path in paths for above in Path(os.fsdecode(path)).parents}:
            rules, there = tree / above / ".gitignore", Path(folder, above)
            there.mkdir(parents=True, exist_ok=True)
            if rules.is_file():
                shutil.copyfile(rules, there / ".gitignore")
        where = (f"--git-dir={git_dir}", f"--work-tree={folder}")
        asked = b"".join(path + b"/\0" for path in paths)
        done = Git(Path(folder), finds=True).run(
            *where, "check-ignore", "--no-index", "-z", "--stdin", stdin=asked, accept=(0, 1)
        )
    return frozenset(record.rstrip(b"/") for record in done.stdout.split(b"\0") if record)


def _is_below(path: bytes, top: bytes) -> bool:
    return path == top or path.startswith(top + b"/")
